"""get_thought, list_memory, memory_stats; the size of results; access counts."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Put
from engram_kernel.model import Memory


def cycles(memory: Any, *pairs: tuple[str, int, int]) -> None:
    """Thoughts at cycles that only an application of its own can set."""
    changes = [
        Put(
            Memory(
                collection="thoughts", id=name, kind="NOTE", text=name, status="CREATED", priority=3, created_cycle=low, updated_cycle=high
            )
        )
        for name, low, high in pairs
    ]
    memory.kernel.store.apply(ChangeSet(tuple(changes)))


def ids(answer: Any) -> list[str]:
    return [thought["thought_id"] for thought in answer["thoughts"]]


@pytest.mark.parametrize("thought_id", ["nobody", "", "../x", "a" * 1000])
def test_an_unknown_id_is_no_error(shared: Any, thought_id: str) -> None:
    assert shared.call("get_thought", thought_id=thought_id) == {"found": False, "thought": None}


def test_listing_order_and_pages(memory: Any) -> None:
    cycles(memory, ("a", 0, 5), ("b", 0, 0), ("c", 0, 9), ("d", 0, 0), ("e", 0, 0))
    answer = memory.call("list_memory")
    assert ids(answer) == ["c", "a", "e", "d", "b"]
    assert (answer["count"], answer["limit"], answer["offset"], answer["total"]) == (5, 50, 0, 5)
    assert "next_offset" not in answer
    pages = [memory.call("list_memory", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert [thought_id for page in pages for thought_id in ids(page)] == ids(answer)
    assert [page.get("next_offset") for page in pages] == [2, 4, None]
    assert memory.call("list_memory", offset=2**63 - 1)["thoughts"] == []


def test_listing_filters(memory: Any) -> None:
    cycles(memory, ("low", 0, 1), ("high", 0, 8))
    memory.store("x", thought_id="task", thought_type="TASK", priority="P1")
    memory.store("x", thought_id="gone", expires_at="2020-01-01")
    memory.call("update_thought", thought_id="task", lifecycle_status="ACTIVE")
    memory.call("update_thought", thought_id="task", lifecycle_status="ARCHIVED")
    assert ids(memory.call("list_memory", thought_type="TASK")) == ["task"]
    assert ids(memory.call("list_memory", lifecycle_status="ARCHIVED", priority="P1")) == ["task"]
    assert ids(memory.call("list_memory", priority="P2")) == []
    assert ids(memory.call("list_memory", min_cycle=1)) == ["high", "low"]
    assert ids(memory.call("list_memory", min_cycle=1, max_cycle=1)) == ["low"]
    assert ids(memory.call("list_memory", min_cycle=-(2**63), max_cycle=2**63 - 1)) == ["high", "low", "task"]
    assert "gone" in ids(memory.call("list_memory", include_expired=True))
    assert "gone" not in ids(memory.call("list_memory"))


def test_statistics(memory: Any) -> None:
    memory.store("x", thought_id="a", thought_type="TASK")
    memory.store("y", thought_id="b", expires_at="2020-01-01")
    memory.store("z", thought_id="c")
    memory.call("delete_thought", thought_id="c")
    memory.call("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE")
    answer = memory.call("memory_stats")
    size = answer["metrics"].pop("storage_total_bytes")
    assert size > 0
    assert answer == {
        "thought_count": 1,
        "metrics": {
            "thoughts": {"total": 2, "by_type": {"TASK": 1, "NOTE": 1}, "by_status": {"CREATED": 2}},
            "edges": {"total": 1, "by_type": {"BRIDGE": 1}},
            "measured": True,
        },
    }


def test_statistics_without_metrics(start: Any) -> None:
    memory = start(metrics=False)
    memory.store("x")
    answer = memory.call("memory_stats")
    empty = {"thoughts": {"total": 0, "by_type": {}, "by_status": {}}, "edges": {"total": 0, "by_type": {}}}
    assert answer == {"thought_count": 1, "metrics": {**empty, "storage_total_bytes": 0, "measured": False}}


def test_access_is_counted(memory: Any) -> None:
    memory.store("findable words", thought_id="a")
    memory.get("a")
    memory.hits("findable")
    memory.call("search_keywords", query="findable")
    memory.call("list_memory")
    (row,) = memory.call("query_memory", query="FIND thoughts")["rows"]
    assert row["access_count"] == 3
    assert datetime.fromisoformat(row["last_accessed_at"]).tzinfo is not None


def test_access_counting_can_be_switched_off(start: Any) -> None:
    memory = start(access_counting=False)
    memory.store("findable", thought_id="a")
    memory.hits("findable")
    memory.get("a")
    assert memory.get("a")["access_count"] == 0


def test_read_only_sessions_leave_no_trace(memory: Any) -> None:
    from dataclasses import replace

    memory.store("findable", thought_id="a")
    memory.session = replace(memory.session, read_only=True)
    memory.hits("findable")
    assert memory.get("a")["access_count"] == 0
    assert memory.fails("store_thought", essence="e", content="c").code == "unknown"


def test_case_32_results_are_bounded_and_say_n_of_m(start: Any) -> None:
    memory = start(result_bytes=50_000)
    for number in range(50):
        memory.store(f"{number} " + "é" * 4000, essence=f"word {number}", thought_id=f"t{number:02}")
    seen: list[str] = []
    offset = 0
    while True:
        answer = memory.call("list_memory", limit=50, offset=offset)
        assert len(json.dumps(answer, ensure_ascii=False).encode()) < 52_000
        assert answer["total"] == 50
        assert all(len(thought["content"]) > 4000 for thought in answer["thoughts"])
        seen += ids(answer)
        if "next_offset" not in answer:
            break
        assert answer["next_offset"] == offset + answer["count"]
        offset = answer["next_offset"]
    assert len(seen) == len(set(seen)) == 50
    rows = memory.call("query_memory", query="FIND thoughts")
    assert (len(rows["rows"]), rows["total"], rows["next_offset"]) == (5, 50, 5)
    assert len(json.dumps(memory.call("search_memory", query_text="word", top_k=50, explain=True))) < 50_000


def test_one_record_larger_than_the_budget_is_still_read(start: Any) -> None:
    memory = start(result_bytes=10_000)
    memory.store("x" * 500_000, thought_id="big")
    memory.store("small", thought_id="small")
    assert ids(memory.call("list_memory")) == ["small"]
    assert len(memory.call("list_memory", offset=1)["thoughts"][0]["content"]) == 500_000

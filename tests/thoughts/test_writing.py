"""store_thought, update_thought, delete_thought."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

KEYS = set(
    """thought_id thought_type essence content priority lifecycle_status created_cycle updated_cycle source confidence source_type
    confirmation_count visibility access_count last_accessed_at action_outcome_score consolidated_from embedding_ref created_at
    updated_at expires_at valid_from valid_until metadata provenance pinned archived_at archived_at_cycle""".split()  # noqa: SIM905
)


def test_a_stored_thought_has_the_defaults(memory: Any) -> None:
    answer = memory.call("store_thought", essence="short", content="the long text")
    stored = answer["thought"]
    expected = {"essence": "short", "thought_type": "NOTE", "priority": "P3", "lifecycle_status": "CREATED"}
    assert stored == {"thought_id": stored["thought_id"], **expected}
    assert (answer["created"], answer["revision"]) == (True, 0)
    found = memory.call("get_thought", thought_id=stored["thought_id"])
    thought = found["thought"]
    assert found["found"] is True
    assert found["revision"] == 0
    assert set(thought) == KEYS
    assert len(KEYS) == 28
    assert thought["content"] == "the long text"
    assert (thought["source"], thought["source_type"], thought["visibility"]) == ("agent", "EXPERIENCE", "selective")
    assert (thought["confidence"], thought["created_cycle"], thought["updated_cycle"], thought["metadata"]) == (None, 0, 0, {})
    assert thought["created_at"] == thought["updated_at"]
    assert thought["created_at"].endswith("+00:00")


def test_everything_can_be_written_through_the_tool(memory: Any) -> None:
    given = {
        "thought_type": "BELIEF",
        "priority": "P1",
        "source": "person",
        "confidence": 0.25,
        "thought_id": "full",
        "valid_from": "2026-07-01T02:00:00+02:00",
        "valid_until": "2027-01-01",
        "expires_at": "2999-01-01 12:30",
        "metadata": {"topic": "x", "deep": {"n": 1, "none": None}},
        "visibility": "private",
        "pinned": True,
        "provenance": {"session_id": "s1", "retrieval_context_ids": ["a", "b"]},
    }
    memory.store("text", **given)
    thought = memory.get("full")
    assert thought["valid_from"] == "2026-07-01T00:00:00+00:00"
    assert thought["valid_until"] == "2027-01-01T00:00:00+00:00"
    assert thought["expires_at"] == "2999-01-01T12:30:00+00:00"
    same = set(given) - {"valid_from", "valid_until", "expires_at"}
    assert {name: thought[name] for name in same} == {name: given[name] for name in same}


def test_lists_and_objects_may_arrive_as_json_text(memory: Any) -> None:
    memory.store("text", thought_id="a", metadata='{"k": 1}', provenance='{"actor_id": "me"}')
    assert memory.get("a")["metadata"] == {"k": 1}
    memory.call("update_thought", thought_id="a", clear='["metadata", "provenance"]')
    assert (memory.get("a")["metadata"], memory.get("a")["provenance"]) == ({}, None)


def test_numbers_and_booleans_may_arrive_as_text(memory: Any) -> None:
    memory.store("text", thought_id="a", confidence="0.5", deduplicate="yes")
    assert memory.get("a")["confidence"] == 0.5
    assert memory.call("list_memory", limit="1", offset=0.0)["count"] == 1


def test_a_taken_id_is_refused_with_the_ways_out(memory: Any) -> None:
    memory.store("first", thought_id="same")
    error = memory.fails("store_thought", essence="e", content="second", thought_id="same")
    assert error.code == "already_exists"
    assert all(word in str(error) for word in ("'same'", "another id", "leave thought_id out", "deduplicate", "update_thought"))
    assert memory.get("same")["content"] == "first"


def test_a_deleted_id_may_be_used_again(memory: Any) -> None:
    memory.store("first", thought_id="same")
    assert memory.call("delete_thought", thought_id="same") == {"deleted": True}
    assert memory.call("delete_thought", thought_id="same") == {"deleted": False}
    assert memory.call("get_thought", thought_id="same") == {"found": False, "thought": None}
    memory.store("second", thought_id="same")
    assert memory.get("same")["content"] == "second"


def test_deleting_takes_edges_and_actions_along(memory: Any) -> None:
    from engram_kernel.changes import ChangeSet, Put
    from engram_kernel.model import Memory

    for name in "abc":
        memory.store(name, thought_id=name)
    memory.call("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE")
    memory.call("link_thoughts", from_thought_id="c", to_thought_id="a", edge_type="BRIDGE")
    actions = [
        Put(Memory(collection="actions", id=f"act-{owner}", kind="MESSAGE", text="do", attributes={"source_thought_id": owner}))
        for owner in "ab"
    ]
    memory.kernel.store.apply(ChangeSet(tuple(actions)))
    memory.call("delete_thought", thought_id="a")
    assert memory.find("FIND edges") == []
    assert memory.find("FIND actions") == ["act-b"]


def test_update_changes_only_what_is_given(memory: Any) -> None:
    memory.store("text", thought_id="a", confidence=0.5, metadata={"k": 1})
    before = memory.get("a")
    answer = memory.call("update_thought", thought_id="a", essence="new", priority="P1", lifecycle_status="ACTIVE", confidence=None)
    assert answer == {"thought": {"thought_id": "a", "essence": "new", "priority": "P1", "lifecycle_status": "ACTIVE"}, "revision": 1}
    after = memory.get("a")
    changed = {name for name in KEYS if before[name] != after[name]}
    assert changed == {"essence", "priority", "lifecycle_status", "updated_at", "access_count", "last_accessed_at"}


def test_an_empty_update_refreshes_the_stamp(memory: Any) -> None:
    memory.store("text", thought_id="a")
    before = memory.get("a")["updated_at"]
    assert memory.call("update_thought", thought_id="a")["revision"] == 1
    assert memory.get("a")["updated_at"] > before


def test_fields_can_be_cleared(memory: Any) -> None:
    names = ["confidence", "valid_from", "valid_until", "expires_at", "metadata", "provenance"]
    memory.store(
        "text",
        thought_id="a",
        confidence=1,
        valid_from="2026-01-01",
        valid_until="2026-02-01",
        expires_at="2999-01-01",
        metadata={"k": 1},
        provenance={"actor_id": "x"},
    )
    memory.call("update_thought", thought_id="a", clear=names)
    assert [memory.get("a")[name] for name in names] == [None, None, None, None, {}, None]
    error = memory.fails("update_thought", thought_id="a", clear=["confidence"], confidence=0.5)
    assert "confidence" in str(error)
    assert memory.fails("update_thought", thought_id="a", clear=["essence"]).code == "invalid_input"


def test_invalidate_through_update(memory: Any) -> None:
    memory.store("prefers coffee", thought_id="a", valid_from="2026-01-01")
    memory.call("update_thought", thought_id="a", valid_until="2026-06-01")
    assert memory.find("FIND thoughts WHERE valid_at '2026-05-31'") == ["a"]
    assert memory.find("FIND thoughts WHERE valid_at '2026-06-01'") == []
    error = memory.fails("update_thought", thought_id="a", valid_until="2025-01-01")
    assert error.data["fields"].keys() == {"valid_until"}
    assert memory.fails("update_thought", thought_id="a", valid_from="2027-01-01").data["fields"].keys() == {"valid_until"}
    assert memory.get("a")["valid_until"] == "2026-06-01T00:00:00+00:00"


MOVES = {("CREATED", "ACTIVE"), ("ACTIVE", "DONE"), ("ACTIVE", "ARCHIVED"), ("DONE", "ARCHIVED"), ("ARCHIVED", "ACTIVE")}
WAY = {"CREATED": [], "ACTIVE": ["ACTIVE"], "DONE": ["ACTIVE", "DONE"], "ARCHIVED": ["ACTIVE", "ARCHIVED"]}


@pytest.mark.parametrize("current", WAY)
@pytest.mark.parametrize("wanted", WAY)
def test_lifecycle_moves(shared: Any, current: str, wanted: str) -> None:
    thought_id = shared.store("text")
    for step in WAY[current]:
        shared.call("update_thought", thought_id=thought_id, lifecycle_status=step)
    if (current, wanted) in MOVES:
        answer = shared.call("update_thought", thought_id=thought_id, lifecycle_status=wanted)
        assert answer["thought"]["lifecycle_status"] == wanted
        return
    error = shared.fails("update_thought", thought_id=thought_id, lifecycle_status=wanted, essence="not applied")
    assert f"is {current}; it cannot become {wanted}" in str(error)
    assert set(error.data["open"]) == {target for start, target in MOVES if start == current}
    thought = shared.get(thought_id)
    assert (thought["lifecycle_status"], thought["essence"]) == (current, "note")


def test_unknown_thought(memory: Any) -> None:
    error = memory.fails("update_thought", thought_id="nobody", essence="x")
    assert error.code == "not_found"
    assert all(word in str(error) for word in ("'nobody'", "search_memory", "list_memory"))


def test_expected_revision(memory: Any) -> None:
    memory.store("text", thought_id="a")
    assert memory.call("update_thought", thought_id="a", essence="one", expected_revision=0)["revision"] == 1
    error = memory.fails("update_thought", thought_id="a", essence="two", expected_revision=0)
    assert error.code == "stale_revision"
    assert (error.data["expected"], error.data["current"]) == (0, 1)
    assert "get_thought" in str(error)
    assert memory.get("a")["essence"] == "one"


def test_an_update_that_loses_a_race_is_a_conflict(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from engram_thoughts import writing

    memory.store("text", thought_id="a")
    real = writing.check_move

    def other_writer_first(current: Any, wanted: Any) -> None:
        real(current, wanted)
        monkeypatch.setattr(writing, "check_move", real)
        memory.call("update_thought", thought_id="a", lifecycle_status="ACTIVE")

    monkeypatch.setattr(writing, "check_move", other_writer_first)
    error = memory.fails("update_thought", thought_id="a", lifecycle_status="ACTIVE")
    assert error.code == "stale_revision"
    assert "'a' was changed or deleted by another writer" in str(error)


def test_an_update_of_a_thought_deleted_meanwhile_is_a_conflict(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from engram_thoughts import writing

    memory.store("text", thought_id="a")
    monkeypatch.setattr(writing, "check_move", lambda current, wanted: memory.call("delete_thought", thought_id="a"))
    error = memory.fails("update_thought", thought_id="a", essence="x")
    assert (error.code, "another writer" in str(error)) == ("stale_revision", True)


def test_concurrent_updates_of_different_fields_all_count(memory: Any) -> None:
    memory.store("text", thought_id="a")
    changes: list[dict[str, Any]] = [
        {"essence": "new"},
        {"content": "other"},
        {"priority": "P1"},
        {"confidence": 0.5},
        {"pinned": True},
    ] * 4
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda change: memory.call("update_thought", thought_id="a", **change), changes))
    thought = memory.get("a")
    assert (thought["essence"], thought["content"], thought["priority"], thought["confidence"]) == ("new", "other", "P1", 0.5)
    assert memory.call("get_thought", thought_id="a")["revision"] == 20


def test_twenty_creates_with_one_id_give_one_thought(memory: Any) -> None:
    def create(number: int) -> bool:
        try:
            memory.store(f"text {number}", thought_id="same")
        except Exception as error:
            assert type(error).__name__ == "AlreadyExists"
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(20))) == 1


def test_deduplicate_confirms(memory: Any) -> None:
    first = memory.call("store_thought", essence="one", content="same text", deduplicate=True, thought_id="a")
    assert first["created"] is True
    again = memory.call(
        "store_thought", essence="two", content="same text", deduplicate=True, thought_id="b", priority="P1", source="agent"
    )
    assert again["created"] is False
    assert again["thought"] == first["thought"]
    assert sorted(again["ignored"]) == ["essence", "priority", "thought_id"]
    assert memory.get("a")["confirmation_count"] == 1
    assert memory.call("memory_stats")["thought_count"] == 1


@pytest.mark.parametrize("other", ["Same text", "same text ", "same  text", "same text\u0301"])
def test_deduplicate_compares_bytes(memory: Any, other: str) -> None:
    memory.store("same text", deduplicate=True)
    assert memory.call("store_thought", essence="e", content=other, deduplicate=True)["created"] is True


def test_without_deduplicate_equal_text_is_stored_twice(memory: Any) -> None:
    memory.store("same")
    assert memory.call("store_thought", essence="e", content="same")["created"] is True
    assert memory.call("memory_stats")["thought_count"] == 2


def test_deduplicate_follows_an_edit(memory: Any) -> None:
    memory.store("old text", thought_id="a")
    memory.call("update_thought", thought_id="a", content="new text")
    assert memory.call("store_thought", essence="e", content="new text", deduplicate=True)["created"] is False
    assert memory.call("store_thought", essence="e", content="old text", deduplicate=True)["created"] is True


def test_deduplicate_brings_an_archived_thought_back_and_says_so(memory: Any) -> None:
    memory.store("text", thought_id="a")
    for status in ("ACTIVE", "ARCHIVED"):
        memory.call("update_thought", thought_id="a", lifecycle_status=status)
    answer = memory.call("store_thought", essence="e", content="text", deduplicate=True)
    assert (answer["created"], answer["restored"]) == (False, True)
    assert answer["thought"]["lifecycle_status"] == "ACTIVE"
    assert memory.hits("text") == ["a"]
    assert "restored" not in memory.call("store_thought", essence="e", content="text", deduplicate=True)


def test_deduplicate_renews_an_expired_thought(memory: Any) -> None:
    memory.store("text", thought_id="a", expires_at="2020-01-01")
    answer = memory.call("store_thought", essence="note", content="text", deduplicate=True, expires_at="2999-01-01")
    assert (answer["created"], answer["restored"], "ignored" in answer) == (False, True, False)
    assert memory.get("a")["expires_at"] == "2999-01-01T00:00:00+00:00"


def test_twenty_equal_thoughts_at_once_are_one(memory: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda number: memory.call("store_thought", essence=str(number), content="text", deduplicate=True), range(20))
        )
    assert len({answer["thought"]["thought_id"] for answer in answers}) == 1
    assert sum(answer["created"] for answer in answers) == 1
    assert memory.get(answers[0]["thought"]["thought_id"])["confirmation_count"] == 19


RESENT: list[tuple[str, dict[str, Any]]] = [
    ("store_thought", {"essence": "e", "content": "another"}),
    ("store_thought", {"essence": "e", "content": "text", "deduplicate": True}),
    ("update_thought", {"thought_id": "a", "lifecycle_status": "ACTIVE"}),
    ("link_thoughts", {"from_thought_id": "a", "to_thought_id": "b", "edge_type": "BRIDGE"}),
    ("delete_edge", {"edge_id": "e"}),
    ("delete_thought", {"thought_id": "a"}),
]


@pytest.mark.parametrize(("name", "arguments"), RESENT, ids=[f"{name} {number}" for number, (name, _) in enumerate(RESENT)])
def test_a_call_sent_again_happens_once(memory: Any, name: str, arguments: dict[str, Any]) -> None:
    memory.store("text", thought_id="a")
    memory.store("other", thought_id="b")
    memory.call("link_thoughts", from_thought_id="b", to_thought_id="a", edge_type="BRIDGE", edge_id="e")
    first = memory.call(name, reference="request-1", **arguments)
    state = memory.state()
    assert memory.call(name, reference="request-1", resent=True, **arguments) == first
    assert memory.state() == state


def test_default_expiry(start: Any) -> None:
    memory = start(default_ttl_seconds=3600)
    memory.store("text", thought_id="a")
    memory.store("text", thought_id="b", expires_at="2999-01-01")
    assert memory.get("a")["expires_at"] > memory.get("a")["created_at"]
    assert memory.get("b")["expires_at"] == "2999-01-01T00:00:00+00:00"


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"k": [1]}, "'k'"),
        ({"k": {"deep": [1]}}, "'deep'"),
        ({"k": float("inf")}, "'k'"),
        ({"k": 2**64}, "'k'"),
        ({"k": "x" * 66_000}, "66,008 bytes as JSON; the maximum is 65,536 bytes"),
    ],
    ids=["list", "nested list", "infinite", "big integer", "too large"],
)
def test_metadata_faults(memory: Any, metadata: dict[str, Any], words: str) -> None:
    before = memory.state()
    error = memory.fails("store_thought", essence="e", content="c", metadata=metadata)
    assert words in str(error)
    assert memory.state() == before


def test_metadata_of_the_largest_size_is_kept(memory: Any) -> None:
    memory.store("text", thought_id="a", metadata={"k": "é" * 32_764})
    assert len(memory.get("a")["metadata"]["k"]) == 32_764


def test_history_and_earlier_states(memory: Any) -> None:
    memory.store("first", thought_id="a")
    stamp = memory.get("a")["updated_at"]
    memory.call("update_thought", thought_id="a", content="second")
    assert memory.call("get_thought", thought_id="a", as_of=stamp)["thought"]["content"] == "first"
    assert memory.call("get_thought", thought_id="a", as_of="2020-01-01") == {"found": False, "thought": None}
    memory.call("delete_thought", thought_id="a")
    answer = memory.call("get_thought", thought_id="a", include_history=True)
    assert answer["found"] is False
    shown = [(entry["revision"], entry["state"], entry["thought"]["content"]) for entry in answer["history"]]
    assert shown == [(2, "retired", "second"), (1, "live", "second"), (0, "live", "first")]
    assert answer["history_total"] == 3
    assert memory.call("get_thought", thought_id="a", as_of=stamp)["thought"]["content"] == "first"

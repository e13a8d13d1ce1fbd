"""search_memory and search_keywords."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Put
from engram_kernel.model import Memory, Ref
from engram_kernel.retrieval import Hit, Ranking
from engram_thoughts.selecting import capped, collapsed


def activate(memory: Any, thought_id: str, *more: str) -> None:
    for status in ("ACTIVE", *more):
        memory.call("update_thought", thought_id=thought_id, lifecycle_status=status)


def keywords(memory: Any, query: str, **arguments: Any) -> list[str]:
    return [hit["thought_id"] for hit in memory.call("search_keywords", query=query, **arguments)["results"]]


def test_ids_and_scores_only(memory: Any) -> None:
    memory.store("the cache is cleared every night", thought_id="a")
    memory.store("nothing of the kind", thought_id="b")
    answer = memory.call("search_memory", query_text="cache")
    assert answer.keys() == {"results", "backends_used"}
    (hit,) = answer["results"]
    assert hit.keys() == {"thought_id", "score", "relevance"}
    assert 0 < hit["relevance"] <= 1
    assert 0 < hit["score"] <= 1
    assert answer["backends_used"] == ["fts5", "priority"]
    (found,) = memory.call("search_keywords", query="cache")["results"]
    assert found.keys() == {"thought_id", "score"}


def test_recency_takes_part_only_with_a_reference_moment(memory: Any) -> None:
    memory.store("the cache", thought_id="a")
    assert memory.call("search_memory", query_text="cache", recency_now="2026-12-01")["backends_used"] == ["fts5", "priority", "recency"]
    assert memory.call("search_memory", query_text="", recency_now="2026-12-01")["backends_used"] == ["priority", "recency"]


def test_signals_without_a_candidate(memory: Any) -> None:
    answer = memory.call("search_memory", query_text="cache")
    assert (answer["results"], answer["backends_used"], answer["weak"]) == ([], ["fts5"], True)
    assert "not known" in answer["note"]


def test_a_weak_answer_says_so_and_a_good_one_does_not(memory: Any) -> None:
    for number in range(20):
        memory.store(f"The {number}th deployment of the billing service went through without trouble", thought_id=f"t{number:02}")
    good = memory.call("search_memory", query_text="billing service deployment")
    weak = memory.call("search_memory", query_text="which pianist inspired the trouble with Wagner operas at school")
    assert "weak" not in good
    assert (weak["weak"], len(weak["results"])) == (True, 10)
    assert f"{weak['results'][0]['relevance']:.2f}" in weak["note"]
    assert weak["results"][0]["relevance"] < 0.3 < good["results"][0]["relevance"]


def test_thoughts_of_one_session_are_read_together(memory: Any) -> None:
    talk = {"provenance": {"session_id": "s1"}}
    memory.store("What did you pay for the oak table?", thought_id="question", **talk)
    memory.store("Ninety crowns, a bargain", thought_id="answer", **talk)
    memory.store("The table is reserved for eight", thought_id="elsewhere", provenance={"session_id": "s2"})
    assert memory.hits("pay for oak table bargain", top_k=2) == ["question", "answer"]
    hits = memory.call("search_memory", query_text="pay for oak table bargain", explain=True)["results"]
    assert all(sum(hit["signals"].values()) == pytest.approx(hit["score"]) for hit in hits)
    assert {"neighbours", "session"} <= hits[1]["signals"].keys()


def test_a_session_can_be_set_changed_and_cleared_later(memory: Any) -> None:
    memory.store("x", thought_id="a", provenance={"session_id": "s1"})
    assert source(memory, "a") == "s1"
    memory.call("update_thought", thought_id="a", provenance={"session_id": "s2"})
    assert source(memory, "a") == "s2"
    memory.call("update_thought", thought_id="a", confidence=0.5)
    assert source(memory, "a") == "s2"
    memory.call("update_thought", thought_id="a", clear=["provenance"])
    assert source(memory, "a") is None


def source(memory: Any, name: str) -> str | None:
    found = memory.kernel.store.get([Ref("thoughts", name)])[0].source
    return str(found) if found else None


def test_context_can_be_switched_off(start: Any) -> None:
    memory = start(context=False)
    memory.store("The boat", thought_id="a", provenance={"session_id": "s1"}, source="Mira")
    memory.store("The boat and the harbour", thought_id="b", provenance={"session_id": "s1"})
    (first, _) = memory.call("search_memory", query_text="Mira boat", explain=True)["results"]
    assert first["signals"].keys() == {"fts5", "priority"}


@pytest.mark.parametrize("query", ["???", "*", " ", "", "AND", '"', "(", "NOT"])
def test_nothing_to_search_is_no_error(memory: Any, query: str) -> None:
    memory.store("some text")
    assert memory.call("search_keywords", query=query) == {"results": []}


def test_hidden_thoughts(memory: Any) -> None:
    memory.store("the cache", thought_id="plain")
    memory.store("the cache", thought_id="expired", expires_at="2020-01-01")
    memory.store("the cache", thought_id="archived")
    activate(memory, "archived", "ARCHIVED")
    memory.store("the cache", thought_id="draft", thought_type="REFLECTION")
    memory.store("the cache", thought_id="reflection", thought_type="REFLECTION")
    activate(memory, "reflection")
    assert sorted(memory.hits("cache")) == ["plain", "reflection"]
    assert sorted(keywords(memory, "cache")) == ["plain", "reflection"]
    assert memory.hits("cache", lifecycle_status="ARCHIVED") == ["archived"]
    assert memory.hits("cache", include_reflections=False) == ["plain"]
    assert sorted(memory.hits("")) == ["plain", "reflection"]
    activate(memory, "archived")
    assert "archived" in memory.hits("cache")


def test_filters_fill_the_result(memory: Any) -> None:
    for number in range(30):
        memory.store("cache " * (number + 1), thought_id=f"n{number}")
    memory.store(
        "there is a cache somewhere in this much longer text about other things", thought_id="task", thought_type="TASK", priority="P4"
    )
    answer = memory.call("search_memory", query_text="cache", top_k=5, thought_type="TASK", priority="P4", lifecycle_status="CREATED")
    assert [hit["thought_id"] for hit in answer["results"]] == ["task"]
    assert answer["filtered"] == {
        "criteria": {"thought_type": "TASK", "lifecycle_status": "CREATED", "priority": "P4"},
        "scanned": 1,
        "matched": 1,
        "dropped": 0,
    }
    assert memory.hits("cache", thought_type="BELIEF") == []


def test_case_27_filters_act_before_the_cut(memory: Any) -> None:
    thoughts = [
        Memory(
            collection="thoughts",
            id=f"noise{number}",
            kind="NOTE",
            status="CREATED",
            priority=3,
            text="water pump",
            metadata={"tag": "noise"},
        )
        for number in range(2000)
    ]
    rare = [
        Memory(collection="thoughts", id=f"rare{number}", kind="NOTE", status="CREATED", priority=3, text=text, metadata={"tag": "rare"})
        for number, text in enumerate(
            ["an old water pump in the cellar", "the pump for the garden water basin", "pump and water and more besides"]
        )
    ]
    memory.kernel.store.apply(ChangeSet(tuple(map(Put, thoughts + rare))))
    assert sorted(memory.hits("water pump", top_k=5, metadata_equals={"tag": "rare"})) == ["rare0", "rare1", "rare2"]
    assert len(memory.hits("water pump", top_k=1000)) == 1000


def test_collapse(memory: Any) -> None:
    for number in range(12):
        memory.store("the cache " * (number + 1), thought_id=f"t{number:02}", metadata={"session": number % 3} if number < 9 else {})
    found = memory.hits("cache", top_k=20, collapse_by="session")
    assert len(found) == 6
    assert {"t09", "t10", "t11"} < set(found)
    assert {int(name[1:]) % 3 for name in found if name < "t09"} == {0, 1, 2}
    assert memory.fails("search_memory", query_text="x", collapse_by="a.b").code == "invalid_input"


def test_explain(memory: Any) -> None:
    memory.store("the cache is cleared", essence="about the cache", thought_id="a", priority="P1")
    (hit,) = memory.call("search_memory", query_text="cache", explain=True)["results"]
    assert (hit["essence"], hit["lifecycle_status"]) == ("about the cache", "CREATED")
    assert set(hit["signals"]) == {"fts5", "priority"}
    assert sum(hit["signals"].values()) == pytest.approx(hit["score"])
    assert "cache" in hit["details"]["fts5"]


def test_priority_and_weights(start: Any) -> None:
    memory = start(weight_priority=0.0)
    memory.store("the cache", thought_id="a", priority="P1")
    assert memory.call("search_memory", query_text="cache")["backends_used"] == ["fts5"]
    assert memory.hits("") == ["a"]


def filled(memory: Any) -> datetime:
    """300 thoughts; the P1 one is the oldest."""
    changes = [
        Put(
            Memory(
                collection="thoughts",
                id=f"t{number:03}",
                kind="NOTE",
                text=f"x{number}",
                status="CREATED",
                priority=1 if number == 0 else 3,
            )
        )
        for number in range(300)
    ]
    for start in range(0, 300, 100):
        memory.kernel.store.apply(ChangeSet(tuple(changes[start : start + 100])))
    return datetime.now(UTC)


def test_a_blank_query_is_answered_in_the_final_order(memory: Any) -> None:
    moment = filled(memory)
    assert memory.hits("", top_k=3) == ["t000", "t001", "t002"]
    found = memory.hits(" ", top_k=3, recency_now=(moment + timedelta(days=1)).isoformat())
    assert found == ["t000", "t200", "t201"]
    earlier = memory.hits(" ", top_k=3, recency_now="2020-01-01")
    assert earlier == ["t000", "t001", "t002"]


def test_a_blank_query_obeys_filters_and_reflections(memory: Any) -> None:
    filled(memory)
    for number in range(5):
        memory.store(f"y{number}", thought_id=f"r{number}", thought_type="REFLECTION", priority="P1")
        activate(memory, f"r{number}")
    found = memory.hits("", top_k=10)
    assert sum(name.startswith("r") for name in found) == 3
    assert found[:4] == ["r0", "r1", "r2", "t000"]
    assert memory.hits("", top_k=2, priority="P3") == ["t001", "t002"]


def test_a_question_that_only_reflections_answer_is_answered(memory: Any) -> None:
    for number in range(4):
        memory.store(f"the cache pattern {number}", thought_id=f"r{number}", thought_type="REFLECTION")
        activate(memory, f"r{number}")
    assert len(memory.hits("cache", top_k=3)) == 3
    assert len(memory.hits("cache", top_k=10)) == 4


def hit(name: str, score: float, kind: str = "NOTE", **metadata: Any) -> Hit:
    return Hit(Memory(collection="thoughts", id=name, kind=kind, text="x", metadata=metadata), score)


def test_surplus_reflections_make_way_lowest_first() -> None:
    ranked = [hit(f"r{number}", 1 - number / 100, "REFLECTION") for number in range(5)]
    ranked += [hit(f"n{number}", 0.5 - number / 100) for number in range(7)]
    names = [found.memory.id for found in capped(ranked, 10, 0.3)]
    assert names == ["r0", "r1", "r2", "n0", "n1", "n2", "n3", "n4", "n5", "n6"]
    assert [found.memory.id for found in capped(ranked[:7], 10, 0.3)] == ["r0", "r1", "r2", "r3", "r4", "n0", "n1"]
    assert [found.memory.id for found in capped(ranked, 3, 0.3)] == ["n0", "n1", "n2"]


def test_collapse_compares_typed_values() -> None:
    ranked = [hit("a", 1, k=1), hit("b", 0.9, k="1"), hit("c", 0.8, k=1), hit("d", 0.7), hit("e", 0.6)]
    assert [found.memory.id for found in collapsed(ranked, "k")] == ["a", "b", "d", "e"]


@pytest.fixture
def reflected(memory: Any) -> Any:
    """A reflection on the cache, made from observations that do not name it."""
    memory.store("about the cache", thought_id="reflection", thought_type="REFLECTION")
    activate(memory, "reflection")
    for name, kind in (("seen", "OBSERVATION"), ("old", "OBSERVATION"), ("note", "NOTE"), ("weak", "OBSERVATION")):
        memory.store("nothing to see", thought_id=name, thought_type=kind)
        weight = 0.5 if name == "weak" else 1.0
        memory.call("link_thoughts", from_thought_id="reflection", to_thought_id=name, edge_type="CONSOLIDATED_FROM", weight=weight)
    activate(memory, "old", "ARCHIVED")
    return memory


def test_reflections_lead_to_their_sources(reflected: Any) -> None:
    answer = reflected.call("search_memory", query_text="cache", explain=True)
    scores = {found["thought_id"]: found["score"] for found in answer["results"]}
    assert list(scores) == ["reflection", "seen", "weak"]
    assert scores["seen"] == pytest.approx(scores["reflection"] * 0.7)
    assert scores["weak"] == pytest.approx(scores["reflection"] * 0.35)
    assert "graph_expansion" in answer["backends_used"]
    assert answer["results"][1]["signals"].keys() == {"graph_expansion"}
    assert "reflection" in answer["results"][1]["details"]["graph_expansion"]


def test_expansion_obeys_the_filters(reflected: Any) -> None:
    assert reflected.hits("cache", include_reflections=False) == []
    assert reflected.hits("cache", thought_type="REFLECTION") == ["reflection"]


def test_expansion_can_be_switched_off(start: Any) -> None:
    memory = start(expansion=False)
    memory.store("about the cache", thought_id="r", thought_type="REFLECTION")
    activate(memory, "r")
    memory.store("other", thought_id="o", thought_type="OBSERVATION")
    memory.call("link_thoughts", from_thought_id="r", to_thought_id="o", edge_type="CONSOLIDATED_FROM")
    assert memory.hits("cache") == ["r"]


def test_a_reflection_of_too_many_sources_is_not_followed(memory: Any) -> None:
    memory.store("about the cache", thought_id="r", thought_type="REFLECTION")
    activate(memory, "r")
    for number in range(51):
        memory.store("other", thought_id=f"o{number}", thought_type="OBSERVATION")
        memory.call(
            "link_thoughts", from_thought_id="r", to_thought_id=f"o{number}", edge_type="CONSOLIDATED_FROM", weight=1 - number / 100
        )
    assert memory.hits("cache", top_k=100) == ["r"]
    edges = memory.call("get_edges", thought_id="r")["edges"]
    memory.call("delete_edge", edge_id=edges[0]["edge_id"])
    assert memory.hits("cache", top_k=100) == ["r", *(f"o{number}" for number in range(1, 21))]


def test_a_failing_signal_is_left_out_and_named(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.store("the cache", thought_id="a", priority="P1")
    broken = Ranking(hits=(), signals=("priority",), allowed=1, considered=0, failed=("lexical",))
    monkeypatch.setattr(memory.kernel.retriever, "search", lambda reader, request: broken)
    answer = memory.call("search_memory", query_text="cache")
    assert answer == {"results": [], "backends_used": ["priority"], "failed_backends": ["fts5"]}

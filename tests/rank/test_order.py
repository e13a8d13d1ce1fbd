"""The final order: succession, repeats and ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engram_kernel.model import Memory, State
from engram_kernel.retrieval import Hit
from engram_rank.order import arranged


def hit(name: str, score: float, text: str = "", **more: Any) -> Hit:
    memory = Memory(collection="c", id=name, kind="NOTE", text=text or name, content_hash=f"hash of {text or name}", **more)
    return Hit(memory, score, {"lexical": score}, relevance=score)


def order(*hits: Hit) -> list[str]:
    return [found.memory.id for found in arranged(hits)]


def test_case_16_what_holds_now_stands_above_what_it_replaced() -> None:
    old = hit("old", 0.9, state=State.SUPERSEDED, superseded_by="new")
    first, second, third = arranged([old, hit("between", 0.5), hit("new", 0.1)])
    assert [found.memory.id for found in (first, second, third)] == ["new", "old", "between"]
    assert (first.score, second.memory.state) == (0.9, State.SUPERSEDED)
    assert sum(first.parts.values()) == pytest.approx(first.score)
    assert first.details["succession"] == "replaced old"


def test_of_several_generations_the_last_stands_first() -> None:
    hits = [
        hit("a", 0.8, state=State.SUPERSEDED, superseded_by="b"),
        hit("b", 0.3, state=State.SUPERSEDED, superseded_by="c"),
        hit("c", 0.2),
    ]
    assert order(*hits) == ["c", "a", "b"]
    assert order(*reversed(hits)) == ["c", "a", "b"]


def test_a_line_that_leads_in_a_circle_is_no_trap() -> None:
    hits = [hit("a", 0.8, state=State.SUPERSEDED, superseded_by="b"), hit("b", 0.3, state=State.SUPERSEDED, superseded_by="a")]
    assert order(*hits) == ["a", "b"]


def test_a_successor_that_is_not_among_the_hits_changes_nothing() -> None:
    assert order(hit("old", 0.9, state=State.SUPERSEDED, superseded_by="gone"), hit("x", 0.5)) == ["old", "x"]


def test_repeats_move_down_and_are_not_dropped() -> None:
    found = arranged([hit("a", 0.9, "same"), hit("b", 0.9, "same"), hit("c", 0.6), hit("d", 0.2)])
    assert [item.memory.id for item in found] == ["a", "c", "b", "d"]
    assert (found[2].score, found[2].details["repeat"]) == (0.45, "says the same as a")
    assert sum(found[2].parts.values()) == pytest.approx(found[2].score)


@pytest.mark.parametrize("change", [{"title": "another"}, {"content_hash": ""}, {"state": State.SUPERSEDED}])
def test_what_differs_is_no_repeat(change: dict[str, Any]) -> None:
    first, second = hit("a", 0.9, "same"), hit("b", 0.9, "same")
    second = replace(second, memory=replace(second.memory, **change))
    assert all("repeat" not in found.parts for found in arranged([first, second]))


def test_without_a_text_nothing_is_a_repeat() -> None:
    hits = [replace(hit(name, 0.5, "same"), relevance=None) for name in "ab"]
    assert all("repeat" not in found.parts for found in arranged(hits))


def test_ties_go_by_id_then_collection() -> None:
    assert order(hit("b", 0.5), hit("a", 0.5), hit("c", 0.5)) == ["a", "b", "c"]

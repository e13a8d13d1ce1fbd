"""Fusion: which memories come out, with which score, in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_kernel.model import Memory
from engram_kernel.query import Query
from engram_kernel.retrieval import Candidate, Ranking, SearchRequest
from engram_rank.pipeline import WeightedSum

WHOLE = Query(collections=("c",))


class Members(frozenset[int]):
    """A Selection."""


@dataclass
class FakeReader:
    """Memories 1..n; `allowed` is what any query selects."""

    memories: dict[int, Memory]
    allowed: Members

    def select(self, query: Query) -> Members:
        return self.allowed

    def by_number(self, numbers: Sequence[int]) -> list[Memory | None]:
        return [self.memories.get(number) for number in numbers]


@dataclass
class FakeRanker:
    name: str
    scores: Mapping[int, float] | None
    calls: list[tuple[str, int]] = field(default_factory=list)
    detail: str = ""

    def rank(self, text: str, selection: Members, depth: int) -> list[Candidate]:
        self.calls.append((text, depth))
        if self.scores is None:
            raise RuntimeError("broken")
        return [Candidate(number, score, self.detail) for number, score in self.scores.items()]


@dataclass
class FakeScorer:
    name: str
    scores: Mapping[int, float] | None
    on: bool = True
    seen: list[tuple[list[int], dict[int, float]]] = field(default_factory=list)

    def active(self, request: SearchRequest) -> bool:
        return self.on

    def score(self, request: SearchRequest, candidates: Sequence[Memory], base: Mapping[int, float]) -> Mapping[int, float]:
        self.seen.append(([memory.number for memory in candidates], dict(base)))
        if self.scores is None:
            raise RuntimeError("broken")
        return self.scores


def guard(item: object, call):
    try:
        return call()
    except RuntimeError:
        return None


def memory(number: int, name: str = "") -> Memory:
    return Memory(collection="c", id=name or f"m{number}", kind="NOTE", text="", number=number)


def reader(count: int = 9, allowed: Sequence[int] | None = None) -> FakeReader:
    memories = {number: memory(number) for number in range(1, count + 1)}
    return FakeReader(memories, Members(memories if allowed is None else allowed))


def search(signals, source: FakeReader | None = None, **options) -> Ranking:
    rankers = [signal for signal in signals if hasattr(signal, "rank")]
    scorers = [signal for signal in signals if hasattr(signal, "score")]
    weights = options.pop("weights", {signal.name: 1.0 for signal in signals})
    request = SearchRequest(text=options.pop("text", "words"), query=WHOLE, weights=weights, **options)
    return WeightedSum(rankers, scorers, guard).search(source or reader(), request)


def result(ranking: Ranking) -> dict[str, float]:
    return {hit.memory.id: pytest.approx(hit.score) for hit in ranking.hits}


def test_scores_are_the_weighted_sum_of_the_signals_that_took_part() -> None:
    signals = FakeRanker("a", {1: 1.0, 2: 0.5}), FakeRanker("b", {2: 0.8}), FakeScorer("c", {1: 0.0, 2: 1.0})
    ranking = search(signals, weights={"a": 3.0, "b": 1.0, "c": 1.0, "unknown": 5.0})
    assert result(ranking) == {"m2": 0.6 * 0.5 + 0.2 * 0.8 + 0.2, "m1": 0.6}
    assert [hit.memory.id for hit in ranking.hits] == ["m2", "m1"]
    assert ranking.hits[0].parts == pytest.approx({"a": 0.3, "b": 0.16, "c": 0.2})
    assert (ranking.signals, ranking.allowed, ranking.considered, ranking.failed) == (["a", "b", "c"], 9, 2, [])


@pytest.mark.parametrize("weights", [{"a": 1.0}, {"a": 1.0, "b": 0.0}, {"a": 1.0, "b": -1.0}])
def test_a_signal_without_weight_is_not_even_asked(weights) -> None:
    other = FakeRanker("b", {5: 1.0})
    ranking = search([FakeRanker("a", {1: 0.5}), other], weights=weights)
    assert result(ranking) == {"m1": 0.5}
    assert other.calls == []


def test_no_signal_at_all_gives_nothing() -> None:
    ranking = search([FakeRanker("a", {1: 1.0})], weights={})
    assert (ranking.hits, ranking.signals) == ([], [])


def test_a_failed_signal_is_named_and_the_others_share_its_weight() -> None:
    ranking = search([FakeRanker("a", {1: 0.5}), FakeRanker("b", None), FakeScorer("c", None)])
    assert result(ranking) == {"m1": 0.5}
    assert (ranking.signals, ranking.failed) == (["a"], ["b", "c"])


def test_when_every_signal_fails_the_result_is_empty_and_says_so() -> None:
    ranking = search([FakeRanker("a", None)])
    assert (ranking.hits, ranking.failed) == ([], ["a"])


def test_an_inactive_scorer_takes_no_part() -> None:
    ranking = search([FakeRanker("a", {1: 0.5}), FakeScorer("c", {1: 1.0}, on=False)])
    assert result(ranking) == {"m1": 0.5}
    assert (ranking.signals, ranking.failed) == (["a"], [])


def test_a_signal_without_hits_still_takes_part() -> None:
    ranking = search([FakeRanker("a", {1: 1.0}), FakeRanker("b", {})])
    assert result(ranking) == {"m1": 0.5}
    assert ranking.signals == ["a", "b"]


def test_equal_scores_are_ordered_by_id_whatever_the_ranker_says() -> None:
    numbers = list(range(1, 10))
    random.Random(7).shuffle(numbers)
    ranking = search([FakeRanker("a", dict.fromkeys(numbers, 0.5))], limit=4)
    assert [hit.memory.id for hit in ranking.hits] == ["m1", "m2", "m3", "m4"]


def test_equal_ids_of_two_collections_are_ordered_by_collection() -> None:
    source = FakeReader({1: Memory(collection="z", id="m", kind="", text="", number=1), 2: memory(2, "m")}, Members([1, 2]))
    assert [hit.memory.collection for hit in search([FakeRanker("a", {1: 0.5, 2: 0.5})], source).hits] == ["c", "z"]


def test_the_limit_cuts_after_fusion_and_considered_counts_before() -> None:
    ranking = search([FakeRanker("a", {1: 0.9, 2: 0.8, 3: 0.1}), FakeRanker("b", {3: 1.0})], limit=1)
    assert [hit.memory.id for hit in ranking.hits] == ["m3"]
    assert ranking.considered == 3


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_nothing_gives_nothing(limit: int) -> None:
    assert search([FakeRanker("a", {1: 0.9})], limit=limit).hits == []


def test_rankers_get_the_text_and_the_depth() -> None:
    ranker = FakeRanker("a", {})
    search([ranker], text="some words", depth=33)
    assert ranker.calls == [("some words", 33)]


def test_the_pool_is_considered_besides_what_rankers_propose() -> None:
    scorer = FakeScorer("c", {4: 1.0, 1: 0.0})
    ranking = search([FakeRanker("a", {1: 0.5}), scorer], pool=(memory(4), memory(1), memory(4)))
    assert result(ranking) == {"m4": 0.5, "m1": 0.25}
    assert ranking.considered == 2
    assert scorer.seen[0][1] == {1: 0.5}


def test_a_blank_query_ranks_the_pool_by_the_scorers_alone() -> None:
    ranker = FakeRanker("a", {1: 1.0})
    ranking = search([ranker, FakeScorer("c", {1: 0.2, 2: 0.7})], text="  \n", pool=(memory(1), memory(2)))
    assert result(ranking) == {"m2": 0.7, "m1": 0.2}
    assert (ranker.calls, ranking.signals) == ([], ["c"])


def test_nothing_outside_the_selection_comes_out() -> None:
    source = reader(allowed=[1, 2])
    ranking = search([FakeRanker("a", {1: 0.1, 5: 1.0})], source, pool=(memory(2), memory(6)))
    assert result(ranking) == {"m1": 0.1, "m2": 0.0}
    assert ranking.allowed == 2


def test_a_memory_that_vanished_meanwhile_is_left_out() -> None:
    source = reader()
    del source.memories[1]
    assert result(search([FakeRanker("a", {1: 1.0, 2: 0.5})], source)) == {"m2": 0.5}


@pytest.mark.parametrize(("given_score", "taken"), [(2.0, 1.0), (-1.0, 0.0), (float("nan"), 0.0), (float("inf"), 0.0)])
def test_scores_outside_their_range_are_bounded(given_score: float, taken: float) -> None:
    assert result(search([FakeRanker("a", {1: given_score})])) == {"m1": taken}


def test_details_are_kept_by_signal() -> None:
    (hit,) = search([FakeRanker("a", {1: 0.5}, detail="matched: words"), FakeRanker("b", {1: 0.5})]).hits
    assert hit.details == {"a": "matched: words"}


SCORES = st.dictionaries(st.integers(1, 9), st.floats(0, 1), max_size=9)
WEIGHTS = st.floats(0.01, 100)


@given(SCORES, SCORES, SCORES, WEIGHTS, WEIGHTS, WEIGHTS)
def test_fused_scores_stay_in_range_and_in_order(one, two, three, w1, w2, w3) -> None:
    signals = FakeRanker("a", one), FakeRanker("b", two), FakeScorer("c", three)
    ranking = search(signals, weights={"a": w1, "b": w2, "c": w3})
    scores = [hit.score for hit in ranking.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(-1e-9 <= score <= 1 + 1e-9 for score in scores)
    again = search(signals[::-1], weights={"c": w3, "b": w2, "a": w1})
    assert [(hit.memory.id, hit.score) for hit in again.hits] == [(hit.memory.id, hit.score) for hit in ranking.hits]

"""What every ranker must do. A third party runs it on its own ranker:

    from tests.contracts.ranker import RankerContract

    class TestMine(RankerContract):
        @pytest.fixture
        def ranked(self, tmp_path):
            def build(texts):                      # texts: memory number -> text
                return MyRanker(store_holding(texts))
            return build

A ranker that needs more than a moment to index should wait for it in `build`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pytest

from engram_kernel.retrieval import Candidate, Ranker

ODD_TEXTS = (
    "", " ", "\n\t", "???", "*", "**", '"', '""', '"""', "(", ")", "((()", "a AND", "AND", "NOT", "OR OR", "NEAR(", "col:value",
    "'; DROP TABLE x; --", "\\", "%", "_", "-", "--", "^", "title:", 'title:"', "essence:*", "NOT NOT harbour", "\ud800", "a\udfffb",
    "\x00", "\x01\x1f", "\u200b", "\u0301", "e" + "\u0301" * 500, "🦉", "\U0010ffff", "x" * 20_000, "NOT " * 2_000, "(" * 2_000, '"' * 999,
    "harbour " * 2_000, "ß", "İ", "ﬃ", "今", "한", "नमस्ते", "שלום", "\u202eabc",
)  # fmt: skip

HARBOUR = {
    3: "The harbour office opens at seven.",
    5: "Boats leave the harbour at noon; the harbour is busy then.",
    8: "A note about bread.",
    13: "Harbour fees are paid in advance at the harbour office.",
    21: "Another note, about the weather.",
}


@dataclass(frozen=True)
class Members:
    """A Selection of given numbers; its mask ends right after the highest one."""

    numbers: frozenset[int]

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        return number in self.numbers

    def mask(self) -> Any:
        mask = np.zeros(max(self.numbers, default=-1) + 1, bool)
        mask[list(self.numbers)] = True
        return mask


def members(*numbers: int) -> Members:
    return Members(frozenset(numbers))


class Build(Protocol):
    def __call__(self, texts: Mapping[int, str], /) -> Ranker: ...


class RankerContract:
    """Inherit and define the fixture `ranked`. `query` must be a text that finds at least numbers 3, 5 and 13 of `corpus`."""

    corpus: Mapping[int, str] = HARBOUR
    query = "harbour"
    finds = (3, 5, 13)

    @pytest.fixture
    def ranked(self) -> Callable[[Mapping[int, str]], Ranker]:
        raise NotImplementedError("define the fixture `ranked`: texts by number -> ranker")

    @pytest.fixture
    def ranker(self, ranked: Build) -> Ranker:
        return ranked(self.corpus)

    def everything(self) -> Members:
        return members(*self.corpus)

    def test_it_has_a_name(self, ranker: Ranker) -> None:
        assert isinstance(ranker.name, str)
        assert ranker.name

    def test_it_finds_what_matches(self, ranker: Ranker) -> None:
        assert set(self.finds) <= set(numbers(ranker.rank(self.query, self.everything(), 10)))

    def test_scores_lie_between_0_and_1_and_fall(self, ranker: Ranker) -> None:
        scores = [candidate.score for candidate in ranker.rank(self.query, self.everything(), 10)]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 and math.isfinite(score) for score in scores)

    def test_no_memory_is_proposed_twice(self, ranker: Ranker) -> None:
        found = numbers(ranker.rank(self.query, self.everything(), 10))
        assert len(found) == len(set(found))

    def test_depth_is_the_cut_and_keeps_the_best(self, ranker: Ranker) -> None:
        whole = ranker.rank(self.query, self.everything(), 10)
        for depth in range(len(whole) + 1):
            assert list(ranker.rank(self.query, self.everything(), depth)) == list(whole[:depth])

    def test_only_members_of_the_selection_come_back(self, ranker: Ranker) -> None:
        assert set(numbers(ranker.rank(self.query, members(3, 21, 999), 10))) <= {3, 21}
        assert list(ranker.rank(self.query, members(), 10)) == []

    def test_the_filter_comes_before_the_cut(self, ranker: Ranker) -> None:
        """Whatever is best over all, each allowed memory is found with depth 1."""
        for number in self.finds:
            assert numbers(ranker.rank(self.query, members(number), 1)) == [number]

    def test_the_selection_does_not_change_a_score(self, ranker: Ranker) -> None:
        scores = {candidate.number: candidate.score for candidate in ranker.rank(self.query, self.everything(), 10)}
        for number in self.finds:
            (alone,) = ranker.rank(self.query, members(number), 10)
            assert alone.score == pytest.approx(scores[number])

    def test_the_same_question_gets_the_same_answer(self, ranker: Ranker) -> None:
        first = list(ranker.rank(self.query, self.everything(), 10))
        assert all(list(ranker.rank(self.query, self.everything(), 10)) == first for _ in range(3))

    def test_a_blank_query_finds_nothing(self, ranker: Ranker) -> None:
        for blank in ("", " ", "\n\t "):
            assert list(ranker.rank(blank, self.everything(), 10)) == []

    @pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
    def test_no_text_raises(self, ranker: Ranker, text: str) -> None:
        assert set(numbers(ranker.rank(text, self.everything(), 10))) <= set(self.corpus)

    def test_an_empty_store_finds_nothing(self, ranked: Build) -> None:
        assert list(ranked({}).rank(self.query, members(1, 2), 10)) == []


def numbers(found: Sequence[Candidate]) -> list[int]:
    return [candidate.number for candidate in found]

"""Memories read together with their neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

FACTORS = (1.0, 0.5, 0.25)


def rows(*lists: tuple[int, ...]) -> Any:
    return np.array([(*given, 0, 0)[:3] for given in lists], np.int64)


@pytest.fixture
def talk(bench: Any) -> Any:
    """A ranker and the numbers of three memories."""
    bench.store.add("the red boat", "a boat in the harbour", "nothing of the kind")
    ranker = bench.ranker()
    ranker.rank("boat", bench.store.all(), 9)
    return ranker


def test_alone_it_is_the_score_of_rank(bench: Any, talk: Any) -> None:
    question = "red boat harbour unknown"
    ranked = {candidate.number: candidate.score for candidate in talk.rank(question, bench.store.all(), 9)}
    alone = talk.in_context(question, np.array([[1], [2], [3]]), (1.0,))
    assert alone.tolist() == pytest.approx([ranked[1], ranked[2], 0.0], rel=1e-5)


def test_a_word_counts_once_where_it_counts_most(talk: Any) -> None:
    alone, helped, twice = talk.in_context("red harbour", rows((1,), (1, 2), (1, 2, 2)), FACTORS).tolist()
    assert alone < helped == twice <= 1


def test_what_a_neighbour_repeats_adds_nothing(talk: Any) -> None:
    alone, helped = talk.in_context("boat", rows((2,), (2, 1)), FACTORS).tolist()
    assert helped == alone


def test_a_memory_without_a_word_is_found_through_its_neighbour_by_the_factor(talk: Any) -> None:
    itself, near, far = talk.in_context("red", rows((1,), (3, 1), (3, 2, 1)), FACTORS).tolist()
    assert (near, far) == pytest.approx((0.5 * itself, 0.25 * itself))


def test_stays_within_bounds_and_knows_unknown_numbers(talk: Any) -> None:
    scores = talk.in_context("red boat", rows((1, 1, 1), (99_999,), (0,)), FACTORS)
    assert 0 < scores[0] <= 1
    assert scores[1:].tolist() == [0, 0]


@pytest.mark.parametrize("text", ["", "???", '"red boat"', "red AND boat", "title:boat", "boat NOT red"])
def test_cannot_say_for_nothing_and_for_conditions(talk: Any, text: str) -> None:
    assert talk.in_context(text, rows((1,)), FACTORS) is None


def test_after_a_change_and_a_restart_only_the_valid_version_counts(bench: Any) -> None:
    one, two = bench.store.add("the red boat", "a lamp")
    bench.find("boat")
    bench.reopen()
    bench.store.write(replace(bench.store.memories[one], text="the blue boat"))
    bench.find("boat")
    scores = bench.ranker().in_context("red", rows((two, one), (one,)), FACTORS)
    assert scores.tolist() == [0, 0]
    assert bench.ranker().in_context("blue", rows((two, one), (one,)), FACTORS).min() > 0

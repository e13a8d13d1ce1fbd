"""Choosing the best of many: the short cuts give what sorting everything gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_lexical.expressions import Needle
from engram_lexical.scoring import Scores, ranked

NEEDLE = Needle("x", "x")


def by_sorting(sums: np.ndarray, allowed: np.ndarray, depth: int | None) -> list[int]:
    numbers = [n for n in range(min(len(sums), len(allowed))) if sums[n] > 0 and allowed[n]]
    return sorted(numbers, key=lambda n: (-sums[n], n))[:depth]


def check(sums: np.ndarray, allowed: np.ndarray, depth: int | None) -> None:
    sums = sums.astype(np.float32)
    scores = Scores(sums, 10.0, {NEEDLE: [np.flatnonzero(sums).astype(np.int32)]})
    assert ranked(scores, allowed, depth).tolist() == by_sorting(sums, allowed, depth)


@pytest.mark.parametrize("levels", [2, 10, 100_000])
@pytest.mark.parametrize("filled", [0.001, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("allowing", [0.001, 0.01, 0.5, 1.0])
def test_large(levels: int, filled: float, allowing: float) -> None:
    random = np.random.default_rng(levels)
    sums = random.integers(0, levels, 20_000) / levels * 10 * (random.random(20_000) < filled)
    allowed = random.random(19_000 if levels == 10 else 21_000) < allowing
    for depth in (None, 1, 10, 200, 5_000, 50_000):
        check(sums, allowed, depth)


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.booleans(), max_size=40), st.integers(1, 10))
def test_small(sums: list[int], allowed: list[bool], depth: int) -> None:
    check(np.array(sums, np.float32), np.array(allowed, bool), depth)


def test_scores_never_exceed_1() -> None:
    assert Scores(np.array([0.0, 10.000001, 5.0], np.float32), 10.0, {}).of(np.array([1, 2], np.int32)) == [1.0, 0.5]

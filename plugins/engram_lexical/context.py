"""Scoring a memory together with its neighbours: what one of them leaves unsaid the other may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engram_lexical.expressions import Needle
from engram_lexical.index import Index
from engram_lexical.scoring import look_up, shares, weight_of

Rows: TypeAlias = NDArray[np.int64]
"""Memory numbers, one row for each memory to score, 0 where a place is empty."""


def in_context(index: Index, needles: Sequence[Needle], rows: Rows, factors: Sequence[float]) -> NDArray[np.float32]:
    """The BM25 score of each row (0..1): every needle counts once, where its share times the place's factor is highest.

    `factors` has one value for each column of `rows`. The caller holds the index's lock.
    """
    known = np.unique(rows)
    places = np.searchsorted(known, rows)
    wanted = np.zeros(max(len(index.documents.owner), int(known[-1]) + 1), bool)
    wanted[known] = True
    total = np.zeros(len(rows), np.float32)
    reachable = 0.0
    for needle in needles:
        weight, held = _shares_of(index, needle, known, wanted)
        reachable += weight
        if held is not None:
            total += np.float32(weight) * (held[places] * np.asarray(factors, np.float32)).max(axis=1)
    return np.minimum(total / np.float32(reachable), 1) if reachable else total


def _shares_of(
    index: Index, needle: Needle, known: NDArray[np.int64], wanted: NDArray[np.bool_]
) -> tuple[float, NDArray[np.float32] | None]:
    """The needle's weight and its share in each of the known memories; None when it is in none of them."""
    found = look_up(index, needle)
    held: NDArray[np.float32] | None = None
    for numbers, frequencies in found:
        inside = wanted.take(numbers)
        if inside.any():
            held = np.zeros(len(known), np.float32) if held is None else held
            chosen = numbers[inside].astype(np.int64)
            held[np.searchsorted(known, chosen)] = shares(index, chosen, frequencies[inside])
    return weight_of(index, sum(len(numbers) for numbers, _ in found)), held

"""The `lexical` signal: BM25 over the store's texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engram_kernel.retrieval import Candidate
from engram_kernel.store import Selection, Store
from engram_lexical.context import Rows, in_context
from engram_lexical.expressions import Expression, Reading, Search, needs_text
from engram_lexical.index import Index
from engram_lexical.keeper import Keeper, Pace
from engram_lexical.parts import Numbers
from engram_lexical.scoring import Scores, bounds, matched, ranked, score
from engram_lexical.syntax import parse

READ_AT_ONCE = 256
READ_AT_MOST = 20_000
"""Texts read for one phrase or field condition; a phrase of very common words may have more candidates than that."""


class LexicalRanker:
    """A `Ranker`. `rank` never raises on any text and may be called from any thread."""

    name = "lexical"

    def __init__(self, store: Store, folder: Path, pace: Pace | None = None) -> None:
        self._store = store
        self._index = Index(folder)
        self._keeper = Keeper(store, self._index, pace or Pace())
        self._keeper.start()

    def rank(self, text: str, selection: Selection, depth: int) -> Sequence[Candidate]:
        """The best `depth` members of `selection`, best first, equal scores by number.

        `detail` names the words that matched. Everything committed before the call is considered.
        """
        search = parse(text)
        if search is None or depth < 1 or not len(selection):
            return []
        self._keeper.refresh()
        reading = search.condition if search.condition is not None and needs_text(search.condition) else None
        with self._index.lock:
            scores, numbers = self._candidates(search, selection, None if reading else depth)
        if reading:
            numbers = self._read(numbers, reading, depth)
        return _described(numbers, scores)

    def in_context(self, text: str, rows: Rows, factors: Sequence[float]) -> NDArray[np.float32] | None:
        """How well the memories of each row together cover the text, 0..1; see `context.in_context`.

        None where that cannot be said: there is nothing to search, or a phrase or operator must hold for each memory.
        """
        search = parse(text)
        if search is None or search.condition is not None or not len(rows):
            return None
        with self._index.lock:
            return in_context(self._index, search.needles, rows, factors)

    def _candidates(self, search: Search, selection: Selection, depth: int | None) -> tuple[Scores, Numbers]:
        scores = score(self._index, search.needles)
        allowed = selection.mask()
        if search.condition is not None:
            possibly = bounds(self._index, search.condition)[1]
            size = min(len(possibly), len(allowed))
            allowed = possibly[:size] & allowed[:size]
        return scores, ranked(scores, allowed, depth)

    def _read(self, numbers: Numbers, condition: Expression, depth: int) -> Numbers:
        """The first `depth` whose text satisfies the condition."""
        kept: list[int] = []
        for start in range(0, min(len(numbers), READ_AT_MOST), READ_AT_ONCE):
            batch = numbers[start : start + READ_AT_ONCE].tolist()
            memories = self._store.by_number(batch)
            kept += [number for number, memory in zip(batch, memories, strict=True) if memory and Reading(memory).holds(condition)]
            if len(kept) >= depth:
                break
        return np.array(kept[:depth], np.int32)

    def health(self) -> dict[str, str]:
        """Short facts for an operator."""
        return self._keeper.health()

    def close(self) -> None:
        """Save the index and stop the background work; call it before the store closes."""
        self._keeper.close()


def _described(numbers: Numbers, scores: Scores) -> list[Candidate]:
    words = matched(numbers, scores.holders, len(scores.sums))
    values = scores.of(numbers)
    return [
        Candidate(number, value, "matched: " + ", ".join(words[number])) for number, value in zip(numbers.tolist(), values, strict=True)
    ]

"""The vectors: half-precision rows, the older ones mapped from a file, the fresh ones in memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engram_faiss.arrays import Floats, Growing, Halves, Integers

BLOCK = 8192
"""Rows handled at once when all of them are gone through."""


class Matrix:
    """Rows are only ever appended. Every score is computed from the rounded rows, so it is the same after a restart."""

    def __init__(self, dimension: int, saved: Halves | None = None) -> None:
        self.dimension = dimension
        self._saved: Halves = np.empty((0, dimension), np.float16) if saved is None else saved
        self._fresh = Growing(np.empty((0, dimension), np.float16))

    def __len__(self) -> int:
        return len(self._saved) + len(self._fresh)

    @property
    def fresh(self) -> Halves:
        """The rows that are not in the file."""
        view: Halves = self._fresh.view
        return view

    def append(self, rows: Halves) -> None:
        self._fresh.extend(rows)

    def take(self, rows: Integers) -> Floats:
        """The chosen rows, shape (len(rows), dimension)."""
        if not len(self._fresh):
            return self._saved[rows].astype(np.float32)
        old = rows < len(self._saved)
        chosen = np.empty((len(rows), self.dimension), np.float32)
        chosen[old] = self._saved[rows[old]]
        chosen[~old] = self._fresh.view[rows[~old] - len(self._saved)]
        return chosen

    def blocks(self) -> Iterator[Halves]:
        """All rows in order, BLOCK at a time."""
        for part in (self._saved, self.fresh):
            for start in range(0, len(part), BLOCK):
                yield np.asarray(part[start : start + BLOCK])

    def saved_as(self, mapped: Halves) -> None:
        """All rows are in the file now, of which `mapped` is a view."""
        self._saved, self._fresh = mapped, Growing(np.empty((0, self.dimension), np.float16))

"""The index of one model: what is known of each memory's vectors, and the search among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from engram_faiss.arrays import Floats, Halves, Integers, Mask
from engram_faiss.matrix import Matrix
from engram_faiss.rows import Rows
from engram_faiss.scan import Exact, Scan, Signs
from engram_kernel.store import Selection

DIRECT = 1_000_000
"""Numbers (rows times dimension) that are compared without a scan: exact, and quick enough when so few rows are allowed."""
WIDER = 4


@dataclass(frozen=True, slots=True)
class Nearest:
    """Memory numbers and the similarity of each, best first."""

    numbers: Integers
    scores: Floats


NOTHING = Nearest(np.empty(0, np.int64), np.empty(0, np.float32))


class Index:
    """All vectors of `model`. One thread writes; any may search."""

    def __init__(self, model: str, matrix: Matrix, rows: Rows, exact_rows: int) -> None:
        self.model, self.matrix, self.rows, self._exact_rows = model, matrix, rows, exact_rows
        self.lock = Lock()
        self._scan = self._new_scan()

    @property
    def dimension(self) -> int:
        return self.matrix.dimension

    def _new_scan(self) -> Scan:
        scan: Scan = Exact(self.dimension) if len(self.matrix) <= self._exact_rows else Signs(self.dimension)
        for block in self.matrix.blocks():
            scan.add(block)
        return scan

    def apply(self, items: Sequence[tuple[int, bytes | None]]) -> int:
        """Set or drop (None) the vectors of memories; returns how many were faulty and therefore dropped."""
        faulty = 0
        blocks: list[Halves] = []
        with self.lock:
            for number, data in items:
                block = self._read(data) if data is not None else None
                faulty += block is None and data is not None
                if block is not None and self._holds(number, block):
                    continue
                self.rows.drop(number)
                if block is not None:
                    self.rows.add(number, len(block))
                    blocks.append(block)
            if blocks:
                self._append(np.concatenate(blocks))
        return faulty

    def _read(self, data: bytes) -> Halves | None:
        if not data or len(data) % (4 * self.dimension):
            return None
        block = np.frombuffer(data, "<f4").reshape(-1, self.dimension).astype(np.float16)
        return block if np.isfinite(block).all() else None

    def _holds(self, number: int, block: Halves) -> bool:
        rows = self.rows.of_one(number)
        return len(rows) == len(block) and bool(rows[-1] < len(self.matrix)) and bool(np.array_equal(self.matrix.take(rows), block))

    def _append(self, block: Halves) -> None:
        was_small = len(self.matrix) <= self._exact_rows
        self.matrix.append(block)
        if was_small and len(self.matrix) > self._exact_rows:
            self._scan = self._new_scan()
        else:
            self._scan.add(block)

    def search(self, query: Floats, selection: Selection, depth: int) -> Nearest:
        """The best `depth` members of the selection with a similarity above 0, by their best window; equals by number.

        Whatever the selection leaves of the rows is searched: nothing outside it takes a place.
        """
        mask = selection.mask()
        if depth < 1 or not len(selection) or not len(self.rows):
            return NOTHING
        with self.lock:
            few = DIRECT // self.dimension
            if len(selection) <= few:
                rows = self.rows.of(np.flatnonzero(mask))
                if len(rows) <= few:
                    return self._best(query, rows, depth)
            allowed = self.rows.allowed(mask)
            total = int(np.count_nonzero(allowed))
            if total <= few:
                return self._best(query, np.flatnonzero(allowed), depth)
            return self._scanned(query, None if total == len(allowed) else allowed, total, depth)

    def _scanned(self, query: Floats, allowed: Mask | None, total: int, depth: int) -> Nearest:
        """A long text may fill the choice with its windows; then it is made wider."""
        count = self._scan.breadth(depth)
        while True:
            rows = self._scan.nearest(query, count, allowed)
            best = self._best(query, rows, depth)
            if len(best.numbers) >= depth or count >= total or self._ended(query, rows):
                return best
            count *= WIDER

    def _ended(self, query: Floats, rows: Integers) -> bool:
        """Whether the choice has reached rows that are not similar at all."""
        return bool(len(rows)) and float((self.matrix.take(rows[-1:]) @ query)[0]) <= 0

    def _best(self, query: Floats, rows: Integers, depth: int) -> Nearest:
        if not len(rows):
            return NOTHING
        scores = np.round(np.einsum("ij,j->i", self.matrix.take(rows), query), 6)
        numbers = self.rows.numbers[rows]
        order = np.lexsort((-scores, numbers))
        numbers, scores = numbers[order], scores[order]
        first = np.flatnonzero(np.diff(numbers, prepend=-1))
        numbers, scores = numbers[first], np.minimum(scores[first], np.float32(1))
        order = np.lexsort((numbers, -scores))[:depth]
        order = order[scores[order] > 0]
        return Nearest(numbers[order], scores[order])

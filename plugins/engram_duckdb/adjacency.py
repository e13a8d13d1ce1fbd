"""Which edges start and end at a memory: two sorted arrays and a dict for edges made since they were sorted."""

from __future__ import annotations

import numpy as np

from engram_duckdb.columns import Array

_FRESH_LIMIT = 20_000


class _Side:
    def __init__(self) -> None:
        self.load(np.empty(0, np.int64), np.empty(0, np.int64))

    def load(self, ends: Array, edges: Array) -> None:
        order = np.argsort(ends)
        self._ends, self._edges = ends[order], edges[order]
        self._fresh: dict[int, list[int]] = {}

    def add(self, end: int, edge: int) -> None:
        self._fresh.setdefault(end, []).append(edge)

    def edges(self, memory: int) -> list[int]:
        low, high = (self._ends.searchsorted(np.int64(end)) for end in (memory, memory + 1))
        found: list[int] = self._edges[low:high].tolist()
        return found + self._fresh.get(memory, [])


class Adjacency:
    """Edge numbers by memory number, living or not: the caller filters by state."""

    def __init__(self) -> None:
        self._out, self._in = _Side(), _Side()
        self._count = self._sorted = 0

    def load(self, edges: Array, sources: Array, targets: Array) -> None:
        self._out.load(sources, edges)
        self._in.load(targets, edges)
        self._count = self._sorted = len(edges)

    def add(self, edge: int, source: int, target: int) -> None:
        self._out.add(source, edge)
        self._in.add(target, edge)
        self._count += 1

    @property
    def unsorted(self) -> bool:
        """Whether so many edges are fresh that sorting again pays."""
        return self._count - self._sorted > max(_FRESH_LIMIT, self._sorted // 4)

    def out(self, memory: int) -> list[int]:
        return self._out.edges(memory)

    def into(self, memory: int) -> list[int]:
        return self._in.edges(memory)

"""Signals that judge candidates: how recent, how important, how well linked to other good candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from engram_kernel.model import Memory, Ref
from engram_kernel.retrieval import SearchRequest
from engram_kernel.store import Reader

HALF_LIFE_SECONDS = 604_800.0
PRIORITY_SCORES: Mapping[int | None, float] = {1: 1.0, 2: 0.6, 3: 0.3, 4: 0.0, None: 0.0}
HEAVIEST_EDGES = 5
EDGE_SHARE = 0.5


class Recency:
    """2^(-age / half-life), age in seconds since the last update; needs `now` in the request."""

    name = "recency"

    def __init__(self, half_life_seconds: float = HALF_LIFE_SECONDS) -> None:
        self._half_life = half_life_seconds

    def active(self, request: SearchRequest) -> bool:
        return request.now is not None

    def score(self, request: SearchRequest, candidates: Sequence[Memory], base: Mapping[int, float]) -> Mapping[int, float]:
        now = request.now
        return {memory.number: self._of(memory, now) for memory in candidates} if now else {}

    def _of(self, memory: Memory, now: datetime) -> float:
        """1 for the newest, and for what claims to be from the future; 0 without a date."""
        stamp = memory.updated_at or memory.created_at
        if stamp is None:
            return 0.0
        age = (_aware(now) - _aware(stamp)).total_seconds()
        return float(2.0 ** (-max(age, 0.0) / self._half_life))


class Priority:
    """The memory's own priority: 1 gives 1.0, 4 and none give 0."""

    name = "priority"

    def active(self, request: SearchRequest) -> bool:
        return True

    def score(self, request: SearchRequest, candidates: Sequence[Memory], base: Mapping[int, float]) -> Mapping[int, float]:
        return {memory.number: PRIORITY_SCORES.get(memory.priority, 0.0) for memory in candidates}


class Graph:
    """Links to other candidates: the five heaviest edges, each worth half its weight times the neighbour's best score."""

    name = "graph"

    def __init__(self, store: Reader) -> None:
        self._store = store

    def active(self, request: SearchRequest) -> bool:
        return True

    def score(self, request: SearchRequest, candidates: Sequence[Memory], base: Mapping[int, float]) -> Mapping[int, float]:
        """Neighbours outside the candidates count 0, so nothing outside the caller's scope shines through."""
        scores = {memory.ref: base.get(memory.number, 0.0) for memory in candidates}
        return {memory.number: self._of(memory.ref, scores) for memory in candidates}

    def _of(self, ref: Ref, scores: Mapping[Ref, float]) -> float:
        total = 0.0
        for edge in self._store.edges_of(ref, "BOTH", HEAVIEST_EDGES):
            neighbour = edge.target if edge.source == ref else edge.source
            if neighbour != ref:
                total += edge.weight * scores.get(neighbour, 0.0) * EDGE_SHARE
        return min(max(total, 0.0), 1.0)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""The retrieval pipeline: collect, re-score, fuse by weighted sum, order, cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import structlog

from engram_kernel.model import Memory
from engram_kernel.retrieval import Candidate, Guard, Hit, Ranker, Ranking, Scorer, SearchRequest
from engram_kernel.store import Reader, Selection

Found: TypeAlias = Mapping[int, Candidate]
"""What one signal says, by memory number."""


@dataclass
class _Signals:
    """What the signals that took part found, and the names of those that failed."""

    found: dict[str, Found] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def best(self) -> dict[int, float]:
        """The highest score of each memory so far."""
        best: dict[int, float] = {}
        for candidates in self.found.values():
            for number, candidate in candidates.items():
                best[number] = max(best.get(number, 0.0), candidate.score)
        return best

    def add(self, name: str, candidates: Iterable[Candidate] | None) -> None:
        """None stands for a failure."""
        if candidates is None:
            self.failed.append(name)
        else:
            self.found[name] = {candidate.number: candidate for candidate in candidates}


class WeightedSum:
    """A `Retriever` over the registered rankers and scorers."""

    def __init__(self, rankers: Sequence[Ranker], scorers: Sequence[Scorer], guard: Guard) -> None:
        self._rankers, self._scorers, self._guard = list(rankers), list(scorers), guard
        self._log = structlog.get_logger("rank")

    def search(self, reader: Reader, request: SearchRequest) -> Ranking:
        """Never fails because one signal fails: that signal is left out and named in `failed`.

        Every hit is a member of the request's selection, whatever a ranker or the pool proposes. Order: score
        descending, then id, then collection, ascending.
        """
        selection = reader.select(request.query)
        signals = _Signals()
        self._collect(request, selection, signals)
        best = signals.best()
        memories = _candidates(reader, request.pool, selection, best)
        self._rescore(request, memories, best, signals)
        shares = _shares(request.weights, signals.found)
        hits = [_fuse(memory, signals.found, shares) for memory in memories]
        hits.sort(key=lambda hit: (-hit.score, hit.memory.id, hit.memory.collection, hit.memory.number))
        return Ranking(hits[: max(request.limit, 0)], sorted(signals.found), len(selection), len(memories), sorted(signals.failed))

    def _collect(self, request: SearchRequest, selection: Selection, signals: _Signals) -> None:
        if not request.text.strip():
            return
        for ranker in self._rankers:
            if _wanted(request, ranker.name):
                answered = self._guard(ranker, lambda ranker=ranker: [self._rank(ranker, request, selection)])  # type: ignore[misc]
                if answered != [None]:
                    signals.add(ranker.name, answered[0] if answered else None)

    def _rank(self, ranker: Ranker, request: SearchRequest, selection: Selection) -> list[Candidate] | None:
        """One ranker's candidates, held to what the interface promises: members of the selection, scores in 0..1.

        None when it is not available at the moment, which is no failure.
        """
        proposed = ranker.rank(request.text, selection, request.depth)
        if proposed is None:
            return None
        found = [_bounded(candidate) for candidate in proposed]
        allowed = [candidate for candidate in found if candidate.number in selection]
        if len(allowed) < len(found):
            self._log.warning("ranker ignored the selection", ranker=ranker.name, dropped=len(found) - len(allowed))
        return allowed

    def _rescore(self, request: SearchRequest, memories: Sequence[Memory], best: Mapping[int, float], signals: _Signals) -> None:
        if not memories:
            return
        for scorer in self._scorers:
            if _wanted(request, scorer.name):
                scores = self._guard(scorer, partial(_score, scorer, request, memories, best))
                if scores is None or scores:
                    signals.add(scorer.name, scores)


def _wanted(request: SearchRequest, name: str) -> bool:
    return request.weights.get(name, 0.0) > 0


def _bounded(candidate: Candidate) -> Candidate:
    score = float(candidate.score)
    sound = min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0
    return candidate if sound == score else replace(candidate, score=sound)


def _score(scorer: Scorer, request: SearchRequest, memories: Sequence[Memory], best: Mapping[int, float]) -> list[Candidate]:
    """One scorer's judgement; empty when it is not active."""
    if not scorer.active(request):
        return []
    return [_bounded(Candidate(number, score)) for number, score in scorer.score(request, memories, best).items()]


def _candidates(reader: Reader, pool: Sequence[Memory], selection: Selection, best: Mapping[int, float]) -> list[Memory]:
    """What the rankers proposed and what is in the pool, each once and only what is allowed."""
    ranked = [memory for memory in reader.by_number(list(best)) if memory is not None] if best else []
    pooled = [memory for memory in pool if memory.number in selection]
    return list({memory.number: memory for memory in (*pooled, *ranked)}.values())


def _shares(weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """The weights of the signals that took part, scaled to sum to 1."""
    taking_part = {name: weights[name] for name in present}
    total = math.fsum(taking_part.values())
    return {name: weight / total for name, weight in taking_part.items()}


def _fuse(memory: Memory, signals: Mapping[str, Found], shares: Mapping[str, float]) -> Hit:
    said = {name: found[memory.number] for name, found in sorted(signals.items()) if memory.number in found}
    parts = {name: shares[name] * candidate.score for name, candidate in said.items()}
    details = {name: candidate.detail for name, candidate in said.items() if candidate.detail}
    return Hit(memory, math.fsum(parts.values()), parts, details)

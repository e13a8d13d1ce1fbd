"""The retrieval pipeline: collect, complete, put into context, re-score, fuse by weighted sum, order, cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from engram_kernel.model import Memory
from engram_kernel.retrieval import Candidate, Guard, Hit, Ranker, Ranking, Scorer, SearchRequest
from engram_kernel.store import Reader, Selection
from engram_rank.context import LEADERS, Gains, factors, question_gains, session_gains, surroundings
from engram_rank.order import arranged
from engram_rank.rankers import Asking, wanted
from engram_rank.sessions import Lines, Numbers, Sessions
from engram_rank.settings import Settings
from engram_rank.signals import Signals, bounded, shares_of

CONTEXT = "context"
"""The name that switches the context steps on in a request's weights."""
LEAST_READ = 100
LIGHT = 0.25
"""Scorers with at most this share of the rankers' weight only move a candidate among its neighbours."""


class WeightedSum:
    """A `Retriever` over the registered rankers and scorers."""

    def __init__(
        self,
        rankers: Sequence[Ranker],
        scorers: Sequence[Scorer],
        guard: Guard,
        sessions: Sessions | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._asking, self._scorers, self._guard = Asking(rankers, guard), list(scorers), guard
        self._sessions, self._settings = sessions, settings or Settings()

    def search(self, reader: Reader, request: SearchRequest) -> Ranking:
        """Never fails because one signal fails: that signal is left out and named in `failed`.

        Every hit is a member of the request's selection, whatever a ranker or the pool proposes. Order: score
        descending, then living before superseded, then id, collection and number ascending; see `order.arranged`.
        """
        selection = reader.select(request.query)
        signals = Signals()
        if request.text.strip():
            self._asking.collect(request, selection, signals)
        gains, own = self._judge(request, selection, signals)
        rankers = list(signals.found)
        memories = _candidates(reader, request.pool, selection, self._leading(request, gains.over(own), rankers))
        best = signals.best()
        self._rescore(request, memories, best, signals)
        shares = shares_of(request.weights, signals.found)
        hits = [_fuse(memory, signals, shares, own.get(memory.number, 0.0) if rankers else None) for memory in memories]
        if rankers:
            if wanted(request, CONTEXT):
                gains.add(question_gains(self._settings, request.text, memories, gains.over(own)))
            hits = _lifted(hits, gains, math.fsum(shares[name] for name in rankers))
        hits = arranged(hits)[: max(request.limit, 0)]
        return Ranking(hits, sorted(signals.found), len(selection), len(memories), sorted(signals.failed), self._weak(hits, best, rankers))

    def _weak(self, hits: Sequence[Hit], best: Mapping[int, float], rankers: Sequence[str]) -> bool:
        """Whether nothing fits the text well, neither by all signals together nor by one of several."""
        relevance = max((hit.relevance or 0.0 for hit in hits), default=0.0)
        if len(rankers) < 2:
            return bool(rankers) and relevance < self._settings.weak_below_alone
        return relevance < self._settings.weak_below and max(best.values(), default=0.0) < self._settings.fits_alone

    def _judge(self, request: SearchRequest, selection: Selection, signals: Signals) -> tuple[Gains, dict[int, float]]:
        """Let every ranker judge every candidate and the neighbours of the best.

        Returns what the sessions add, and each memory's own score (the relevance).
        """
        numbers = signals.numbers()
        if not numbers:
            return Gains(), {}
        ranked = shares_of(request.weights, signals.found)
        lines = None
        if self._sessions is not None and wanted(request, CONTEXT):
            lines = self._sessions.around(_array(numbers), selection)
        if lines is not None:
            base = signals.mixed(ranked)
            leaders = sorted(base, key=lambda number: (-base[number], number))[:LEADERS]
            numbers |= set(surroundings(lines, _array(leaders)).tolist())
        self._asking.complete(request, numbers, signals)
        own = signals.mixed(ranked)
        gains = (
            Gains() if lines is None else self._from_sessions(request, lines, signals, {number: own.get(number, 0.0) for number in numbers})
        )
        return gains, own

    def _from_sessions(self, request: SearchRequest, lines: Lines, signals: Signals, own: Mapping[int, float]) -> Gains:
        """`own` holds the neighbours too, with 0 where no ranker finds anything in them."""
        numbers = _array(own)
        alone = np.array([own[number] for number in numbers.tolist()])
        joint = alone.copy()
        windows = lines.windows(numbers)
        for name, share in shares_of(request.weights, signals.found).items():
            together = self._asking.in_context(request, name, windows, factors(self._settings))
            if together is not None:
                found = signals.found[name]
                held = np.array([found[number].score if number in found else 0.0 for number in numbers.tolist()])
                joint += share * np.maximum(together - held, 0.0)
        known = joint > 0
        return session_gains(self._settings, numbers[known], lines, alone[known], joint[known])

    def _leading(self, request: SearchRequest, scores: Mapping[int, float], rankers: Sequence[str]) -> list[int]:
        """The candidates worth reading: a text costs more than all the scoring.

        Scorers with much weight can lift any of them, so then they are all read.
        """
        scorers = math.fsum(request.weights.get(scorer.name, 0.0) for scorer in self._scorers)
        rest = math.fsum(request.weights[name] for name in rankers)
        most = max(2 * request.limit, LEAST_READ) if scorers <= LIGHT * rest else len(scores)
        return sorted(scores, key=lambda number: (-scores[number], number))[:most]

    def _rescore(self, request: SearchRequest, memories: Sequence[Memory], best: Mapping[int, float], signals: Signals) -> None:
        if not memories:
            return
        for scorer in self._scorers:
            if wanted(request, scorer.name):
                scores = self._guard(scorer, partial(_score, scorer, request, memories, best))
                if scores is None or scores:
                    signals.add(scorer.name, scores)


def _array(numbers: Iterable[int]) -> Numbers:
    """Ascending."""
    return np.array(sorted(numbers), np.int64)


def _score(scorer: Scorer, request: SearchRequest, memories: Sequence[Memory], best: Mapping[int, float]) -> list[Candidate]:
    """One scorer's judgement; empty when it is not active."""
    if not scorer.active(request):
        return []
    return [bounded(Candidate(number, score)) for number, score in scorer.score(request, memories, best).items()]


def _candidates(reader: Reader, pool: Sequence[Memory], selection: Selection, numbers: Sequence[int]) -> list[Memory]:
    """What the rankers proposed and what is in the pool, each once and only what is allowed."""
    ranked = [memory for memory in reader.by_number(numbers) if memory is not None] if numbers else []
    pooled = [memory for memory in pool if memory.number in selection]
    return list({memory.number: memory for memory in (*pooled, *ranked)}.values())


def _fuse(memory: Memory, signals: Signals, shares: Mapping[str, float], relevance: float | None) -> Hit:
    said = {name: found[memory.number] for name, found in sorted(signals.found.items()) if memory.number in found}
    parts = {name: shares[name] * candidate.score for name, candidate in said.items()}
    details = {name: candidate.detail for name, candidate in said.items() if candidate.detail}
    return Hit(memory, math.fsum(parts.values()), parts, details, relevance)


def _lifted(hits: Sequence[Hit], gains: Gains, factor: float) -> list[Hit]:
    """The hits with the parts of their context, times `factor`; scaled together when the best would pass 1."""
    lifted = [_lift(hit, gains, factor) for hit in hits] if gains.parts else list(hits)
    highest = max((hit.score for hit in lifted), default=0.0)
    if highest <= 1.0:
        return lifted
    return [replace(hit, score=hit.score / highest, parts={name: part / highest for name, part in hit.parts.items()}) for hit in lifted]


def _lift(hit: Hit, gains: Gains, factor: float) -> Hit:
    number = hit.memory.number
    parts = {name: factor * held[number] for name, held in gains.parts.items() if number in held}
    if not parts:
        return hit
    details = {name: held[number] for name, held in gains.details.items() if number in held}
    whole = {**hit.parts, **parts}
    return replace(hit, score=math.fsum(whole.values()), parts=whole, details={**hit.details, **details})

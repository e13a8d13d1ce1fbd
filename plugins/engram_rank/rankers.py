"""Asking the rankers: for their candidates, then for their word on each other's candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from engram_kernel.retrieval import Candidate, Guard, Ranker, SearchRequest
from engram_kernel.store import Selection
from engram_rank.sessions import Numbers
from engram_rank.signals import Signals, bounded


class Few:
    """A Selection of a few numbers."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = frozenset(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(max(self._numbers, default=0) + 1, bool)
        mask[list(self._numbers)] = True
        return mask


@dataclass(frozen=True, slots=True)
class _Answer:
    """A ranker that is not available at the moment takes no part, which is no failure."""

    candidates: Sequence[Candidate] = ()
    available: bool = True


class Asking:
    """The rankers of the pipeline, each called under guard and held to what the interface promises."""

    def __init__(self, rankers: Sequence[Ranker], guard: Guard) -> None:
        self._rankers, self._guard = {ranker.name: ranker for ranker in rankers}, guard
        self._log = structlog.get_logger("rank")

    def collect(self, request: SearchRequest, selection: Selection, signals: Signals) -> None:
        """The best candidates of every wanted ranker."""
        for name, ranker in self._rankers.items():
            if wanted(request, name):
                answered = self._guard(ranker, partial(self._answer, ranker, request, selection, request.depth))
                if answered is None or answered.available:
                    signals.add(name, None if answered is None else answered.candidates)

    def complete(self, request: SearchRequest, numbers: set[int], signals: Signals) -> None:
        """Each ranker's score for those of `numbers` that it did not propose itself, as the cut says nothing about them."""
        for name in list(signals.found):
            held, ranker = signals.found[name], self._rankers[name]
            if missing := numbers - held.keys():
                held.update({candidate.number: candidate for candidate in self._judged(ranker, request, missing)})

    def _judged(self, ranker: Ranker, request: SearchRequest, numbers: set[int]) -> Sequence[Candidate]:
        """By the short way where the ranker has one: each memory read alone."""
        rows = np.array(sorted(numbers), np.int64)
        scores = self.in_context(request, ranker.name, rows[:, np.newaxis], (1.0,))
        if scores is not None:
            pairs = zip(rows.tolist(), np.asarray(scores, float).tolist(), strict=True)
            return [bounded(Candidate(number, score)) for number, score in pairs if score > 0]
        answered = self._guard(ranker, partial(self._answer, ranker, request, Few(numbers), len(numbers)))
        return answered.candidates if answered else ()

    def in_context(self, request: SearchRequest, name: str, windows: Numbers, factors: Sequence[float]) -> Any:
        """A ranker's scores for memories read together with their neighbours, float, one for each row of `windows`.

        None from a ranker that has no such method, or cannot say.
        """
        ranker: Any = self._rankers[name]
        if not hasattr(ranker, "in_context"):
            return None
        return self._guard(ranker, partial(ranker.in_context, request.text, windows, factors))

    def _answer(self, ranker: Ranker, request: SearchRequest, selection: Selection, depth: int) -> _Answer:
        proposed = ranker.rank(request.text, selection, depth)
        if proposed is None:
            return _Answer(available=False)
        found = [bounded(candidate) for candidate in proposed]
        allowed = [candidate for candidate in found if candidate.number in selection]
        if len(allowed) < len(found):
            self._log.warning("ranker ignored the selection", ranker=ranker.name, dropped=len(found) - len(allowed))
        return _Answer(allowed)


def wanted(request: SearchRequest, name: str) -> bool:
    return request.weights.get(name, 0.0) > 0

"""The retrieval pipeline: collect, re-score, fuse by weighted sum, order, cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from engram_kernel.model import Memory
from engram_kernel.retrieval import Candidate, Guard, Hit, Ranker, Ranking, Scorer, SearchRequest
from engram_kernel.store import Reader, Selection


class WeightedSum:
    """A `Retriever` over the registered rankers and scorers."""

    def __init__(self, rankers: Sequence[Ranker], scorers: Sequence[Scorer], guard: Guard) -> None:
        self._rankers, self._scorers, self._guard = list(rankers), list(scorers), guard

    def search(self, reader: Reader, request: SearchRequest) -> Ranking:
        """Never fails because one signal fails: it is left out and named in `failed`."""
        selection = reader.select(request.query)
        failed: list[str] = []
        lists = self._collect(request, selection, failed)
        best = _best(lists)
        ranked = [memory for memory in reader.by_number(list(best)) if memory is not None]
        memories = ranked + [memory for memory in request.pool if memory.number not in best]
        lists |= self._rescore(request, memories, best, failed)
        shares = _shares(request.weights, lists)
        hits = [_fuse(memory, lists, shares) for memory in memories]
        hits.sort(key=lambda hit: (-hit.score, hit.memory.id))
        return Ranking(hits[: request.limit], sorted(lists), len(selection), len(memories), failed)

    def _collect(self, request: SearchRequest, selection: Selection, failed: list[str]) -> dict[str, dict[int, Candidate]]:
        lists = {}
        for ranker in self._rankers:
            if request.weights.get(ranker.name, 0) > 0 and request.text.strip():
                found = self._guard(ranker, partial(ranker.rank, request.text, selection, request.depth))
                if found is None:
                    failed.append(ranker.name)
                else:
                    lists[ranker.name] = {candidate.number: candidate for candidate in found}
        return lists

    def _rescore(
        self, request: SearchRequest, memories: Sequence[Memory], best: Mapping[int, float], failed: list[str]
    ) -> dict[str, dict[int, Candidate]]:
        lists = {}
        for scorer in self._scorers:
            if request.weights.get(scorer.name, 0) > 0 and memories and scorer.active(request):
                scores = self._guard(scorer, partial(scorer.score, request, memories, best))
                if scores is None:
                    failed.append(scorer.name)
                else:
                    lists[scorer.name] = {number: Candidate(number, score) for number, score in scores.items()}
        return lists


def _best(lists: Mapping[str, Mapping[int, Candidate]]) -> dict[int, float]:
    best: dict[int, float] = {}
    for candidates in lists.values():
        for number, candidate in candidates.items():
            best[number] = max(best.get(number, 0.0), candidate.score)
    return best


def _shares(weights: Mapping[str, float], present: Mapping[str, object]) -> dict[str, float]:
    """Scale the weights of the signals that took part to sum to 1."""
    total = sum(weights[name] for name in present)
    return {name: weights[name] / total for name in present} if total else {}


def _fuse(memory: Memory, lists: Mapping[str, Mapping[int, Candidate]], shares: Mapping[str, float]) -> Hit:
    parts, details = {}, {}
    for name, candidates in lists.items():
        if candidate := candidates.get(memory.number):
            parts[name] = shares[name] * candidate.score
            if candidate.detail:
                details[name] = candidate.detail
    return Hit(memory, sum(parts.values()), parts, details)

"""What each signal says about the candidates of one search."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from engram_kernel.retrieval import Candidate

Found: TypeAlias = dict[int, Candidate]
"""What one signal says, by memory number."""


@dataclass
class Signals:
    """What the signals that took part found, and the names of those that failed. Rankers come first, then scorers."""

    found: dict[str, Found] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def add(self, name: str, candidates: Iterable[Candidate] | None) -> None:
        """None stands for a failure."""
        if candidates is None:
            self.failed.append(name)
        else:
            self.found[name] = {candidate.number: candidate for candidate in candidates}

    def numbers(self) -> set[int]:
        return set().union(*self.found.values())

    def best(self) -> dict[int, float]:
        """The highest score of each memory so far."""
        best: dict[int, float] = {}
        for candidates in self.found.values():
            for number, candidate in candidates.items():
                best[number] = max(best.get(number, 0.0), candidate.score)
        return best

    def mixed(self, shares: Mapping[str, float]) -> dict[int, float]:
        """The sum of the scores of the named signals, each times its share."""
        mixed: dict[int, float] = {}
        for name, share in shares.items():
            for number, candidate in self.found[name].items():
                mixed[number] = mixed.get(number, 0.0) + share * candidate.score
        return mixed


def bounded(candidate: Candidate) -> Candidate:
    """With a score in 0..1, whatever the signal said."""
    score = float(candidate.score)
    sound = min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0
    return candidate if sound == score else replace(candidate, score=sound)


def shares_of(weights: Mapping[str, float], present: Iterable[str]) -> dict[str, float]:
    """The weights of the signals that took part, scaled to sum to 1."""
    taking_part = {name: weights[name] for name in present}
    total = math.fsum(taking_part.values())
    return {name: weight / total for name, weight in taking_part.items()}

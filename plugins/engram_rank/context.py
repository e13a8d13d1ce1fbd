"""What surrounds a memory re-orders it: its neighbours and session, and the person and date that the question names.

Each step adds a part to the own score of a memory (the weighted sum of the rankers), and a memory outside every session keeps
its score, so that a store without sessions is ranked as if this module did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engram_kernel.model import Memory
from engram_rank.dates import dates_in
from engram_rank.persons import named
from engram_rank.sessions import ALONE, Lines, Numbers
from engram_rank.settings import Settings

LEADERS = 30
"""How many of the best candidates bring their neighbours along."""
FAR = 0.5
"""What a neighbour two places away counts, compared with the next one."""


@dataclass
class Gains:
    """What the steps add: by part, then by memory number."""

    parts: dict[str, dict[int, float]] = field(default_factory=dict)
    details: dict[str, dict[int, str]] = field(default_factory=dict)

    def put(self, name: str, numbers: Iterable[int], gains: Iterable[float], detail: str = "") -> None:
        held = {number: gain for number, gain in zip(numbers, gains, strict=True) if gain > 0}
        self.parts[name] = held
        if detail:
            self.details[name] = dict.fromkeys(held, detail)

    def add(self, other: Gains) -> None:
        self.parts.update(other.parts)
        self.details.update(other.details)

    def numbers(self) -> set[int]:
        return set().union(*self.parts.values())

    def over(self, scores: Mapping[int, float]) -> dict[int, float]:
        """The scores with the gains on top."""
        raised = dict(scores)
        for held in self.parts.values():
            for number, gain in held.items():
                raised[number] = raised.get(number, 0.0) + gain
        return raised


def factors(settings: Settings) -> tuple[float, ...]:
    """What a word counts that stands in each place of a window."""
    near = settings.neighbour_words
    return (1.0, near, near, near * FAR, near * FAR)


def surroundings(lines: Lines, leaders: Numbers) -> Numbers:
    """The neighbours of the best candidates."""
    found = np.unique(lines.windows(leaders)[:, 1:])
    return found[found > 0]


def session_gains(settings: Settings, numbers: Numbers, lines: Lines, own: NDArray[np.float64], joint: NDArray[np.float64]) -> Gains:
    """The parts of neighbours and session, for ascending `numbers`.

    `own` are their own scores, `joint` the same with words that their neighbours supply. Then
    near(i) = joint(i) + n (joint(i-1) + joint(i+1)) + n/2 (joint(i-2) + joint(i+2)), and a member of a session gets
    (near + s * best near of the session) / (1 + s).
    """
    near = joint + _from_neighbours(settings, numbers, lines, joint)
    codes = lines.codes(numbers)
    inside = codes != ALONE
    best = np.zeros(int(codes.max()) + 1)
    np.maximum.at(best, codes[inside], near[inside])
    share = settings.session
    lifted = np.where(inside, (near + share * best[np.maximum(codes, 0)]) / (1 + share), near)
    gains = Gains()
    gains.put("neighbours", numbers.tolist(), (near - own).tolist())
    gains.put("session", numbers.tolist(), (lifted - near).tolist())
    return gains


def _from_neighbours(settings: Settings, numbers: Numbers, lines: Lines, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    windows = lines.windows(numbers)[:, 1:]
    at = np.minimum(np.searchsorted(numbers, windows), len(numbers) - 1)
    beside = np.where(numbers[at] == windows, scores[at], 0.0)
    near = settings.neighbour_score
    gained: NDArray[np.float64] = beside @ np.array([near, near, near * FAR, near * FAR])
    return gained


def question_gains(settings: Settings, text: str, memories: Sequence[Memory], scores: Mapping[int, float]) -> Gains:
    """The parts of the person and the date that the text names: a share of the best score, for each memory that fits."""
    gains = Gains()
    best = max(scores.values(), default=0.0)
    name, theirs = named(text, memories) if settings.person else ("", set[int]())
    if name:
        fitting = [number for number in theirs if scores.get(number, 0.0) > 0]
        gains.put("person", fitting, [settings.person * best] * len(fitting), f"names {name}")
    if settings.date and (dates := dates_in(text)):
        dated = [memory.number for memory in memories if memory.valid_from and any(date.fits(memory.valid_from) for date in dates)]
        dated = [number for number in dated if scores.get(number, 0.0) > 0]
        gains.put("date", dated, [settings.date * best] * len(dated), "from the time named")
    return gains

"""Which memories stand next to each other in a session: equal `Memory.source`, ordered by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engram_kernel.store import Selection

Numbers: TypeAlias = NDArray[np.int64]
OFFSETS = (0, -1, 1, -2, 2)
"""The columns of a window: the memory itself, then its neighbours, nearest first."""
ALONE = -1


class Sessions:
    """Reads the store's sources. Only memories of the selection count as neighbours, so nothing hidden shines through."""

    def __init__(self, sources: Callable[[], Any]) -> None:
        self._sources = sources

    def around(self, numbers: Numbers, selection: Selection) -> Lines | None:
        """The sessions of these memories; None when each of them stands alone."""
        codes, mask = self._sources(), np.asarray(selection.mask(), bool)
        size = min(len(codes), len(mask))
        codes = np.asarray(codes[:size])
        wanted = codes[numbers[numbers < size]]
        wanted = wanted[wanted >= 0]
        if not len(wanted):
            return None
        chosen = np.zeros(int(codes.max()) + 2, bool)  # one more than needed: the code -1 looks at the last
        chosen[wanted] = True
        members = np.flatnonzero(chosen[codes] & mask[:size])
        lines = Lines(members, codes[members])
        return lines if len(members) > len(np.unique(codes[members])) else None


class Lines:
    """The members of some sessions, each session in its order."""

    def __init__(self, members: Numbers, codes: NDArray[Any]) -> None:
        """`members` ascend; `codes` say which session each belongs to."""
        order = np.argsort(codes, kind="stable")
        self._members = members
        self._line, self._codes = members[order], codes[order]
        self._place = np.empty(len(order), np.int64)
        self._place[order] = np.arange(len(order))

    def windows(self, numbers: Numbers) -> Numbers:
        """One row for each number with itself and its neighbours at OFFSETS, 0 where there is none."""
        places = self._places(numbers)
        inside = places >= 0
        windows = np.zeros((len(numbers), len(OFFSETS)), np.int64)
        windows[:, 0] = numbers
        for column, offset in enumerate(OFFSETS[1:], 1):
            beside = np.clip(places + offset, 0, len(self._line) - 1)
            same = inside & (beside == places + offset) & (self._codes[beside] == self._codes[places])
            windows[same, column] = self._line[beside[same]]
        return windows

    def codes(self, numbers: Numbers) -> NDArray[np.int64]:
        """The session of each number, ALONE where it has none."""
        places = self._places(numbers)
        return np.where(places >= 0, self._codes[places], ALONE)

    def _places(self, numbers: Numbers) -> Numbers:
        """Where each number stands in the line, -1 for one that is not in any session."""
        found = np.minimum(np.searchsorted(self._members, numbers), len(self._members) - 1)
        return np.where(self._members[found] == numbers, self._place[found], -1)

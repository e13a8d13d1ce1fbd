"""Which rows of the matrix belong to which memory. A memory has one row for each window of its text."""

from __future__ import annotations

import numpy as np

from engram_faiss.arrays import Growing, Integers, Mask


class Rows:
    """`numbers` gives each row's memory number; 0 marks a row that belongs to nobody any more."""

    def __init__(self, numbers: Integers | None = None) -> None:
        self._numbers = Growing(np.empty(0, np.int64) if numbers is None else numbers)
        self._first = Growing(np.empty(0, np.int64), fill=-1)
        self._count = Growing(np.empty(0, np.int32))
        self.dead = 0
        self.memories = 0
        if numbers is not None and len(numbers):
            self._index(numbers)

    def _index(self, numbers: Integers) -> None:
        """A memory's rows lie side by side."""
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        lengths = np.diff(np.append(starts, len(numbers)))
        owners = numbers[starts]
        alive = owners > 0
        self._reach(int(numbers.max()) + 1)
        self._first.view[owners[alive]] = starts[alive]
        self._count.view[owners[alive]] = lengths[alive]
        self.dead = int(lengths[~alive].sum())
        self.memories = int(alive.sum())

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def numbers(self) -> Integers:
        view: Integers = self._numbers.view
        return view

    def _reach(self, size: int) -> None:
        self._first.reach(size)
        self._count.reach(size)

    def add(self, number: int, count: int) -> None:
        """The next `count` rows are `number`'s, which had none."""
        self._reach(number + 1)
        self._first.view[number] = len(self._numbers)
        self._count.view[number] = count
        self._numbers.extend(np.full(count, number, np.int64))
        self.memories += 1

    def drop(self, number: int) -> None:
        rows = self.of_one(number)
        if len(rows):
            self._numbers.view[rows] = 0
            self._first.view[number] = -1
            self.dead += len(rows)
            self.memories -= 1

    def of_one(self, number: int) -> Integers:
        if not 0 < number < len(self._first) or self._first.view[number] < 0:
            return np.empty(0, np.int64)
        first = int(self._first.view[number])
        return np.arange(first, first + int(self._count.view[number]), dtype=np.int64)

    def of(self, numbers: Integers) -> Integers:
        """The rows of many memories."""
        known = numbers[(numbers > 0) & (numbers < len(self._first))]
        known = known[self._first.view[known] >= 0]
        counts = self._count.view[known].astype(np.int64)
        if not len(known):
            return np.empty(0, np.int64)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        rows: Integers = np.repeat(self._first.view[known], counts) + within
        return rows

    def held(self, size: int) -> Mask:
        """For each memory number below `size`, whether it has rows."""
        mask = np.zeros(size, np.bool_)
        known = min(size, len(self._first))
        mask[:known] = self._first.view[:known] >= 0
        return mask

    def allowed(self, mask: Mask) -> Mask:
        """For each row, whether its memory is in the mask."""
        if len(mask) < max(len(self._first), 1) or mask[0]:
            padded = np.zeros(max(len(mask), len(self._first), 1), np.bool_)
            padded[: len(mask)] = mask
            padded[0] = False
            mask = padded
        found: Mask = mask.take(self.numbers, mode="clip")
        return found

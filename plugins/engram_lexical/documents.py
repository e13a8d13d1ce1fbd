"""Which part of the index holds the valid version of each document, and the statistics over all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram_lexical.parts import Numbers

NOWHERE = -1
LARGEST = 2**31 - 1


class Documents:
    """Arrays indexed by memory number. `owner` is a part's id or NOWHERE, `length` is in counted terms.

    `outdated` counts, for each part, its documents whose valid version is elsewhere or nowhere.
    """

    def __init__(self) -> None:
        self.owner: NDArray[np.int32] = np.full(1024, NOWHERE, np.int32)
        self.length: NDArray[np.int32] = np.zeros(1024, np.int32)
        self.count = 0
        self.total = 0
        self.outdated: dict[int, int] = {}

    @property
    def mean(self) -> float:
        """Mean length of a document; 1 when there is nothing to average, so that it can be divided by."""
        return self.total / self.count if self.total else 1.0

    def owner_of(self, number: int) -> int:
        return int(self.owner[number]) if number < len(self.owner) else NOWHERE

    def take(self, numbers: NDArray[Any], lengths: NDArray[Any], part: int) -> None:
        """The valid version of these distinct documents is now in `part`."""
        if not len(numbers):
            return
        self._grow(int(numbers.max()) + 1)
        self.drop(numbers)
        self.owner[numbers], self.length[numbers] = part, lengths
        self.count += len(numbers)
        self.total += int(np.sum(lengths, dtype=np.int64))

    def drop(self, numbers: NDArray[Any]) -> None:
        """These distinct documents are valid nowhere now."""
        known = numbers[numbers < len(self.owner)]
        held = known[self.owner[known] != NOWHERE]
        parts, counts = np.unique(self.owner[held], return_counts=True)
        for part, outdated in zip(parts.tolist(), counts.tolist(), strict=True):
            self.outdated[part] = self.outdated.get(part, 0) + outdated
        self.owner[held] = NOWHERE
        self.count -= len(held)
        self.total -= int(np.sum(self.length[held], dtype=np.int64))

    def move(self, numbers: Numbers, sources: set[int], target: int) -> None:
        """A merge put the documents of `sources` into `target`; those changed meanwhile are outdated there."""
        still = np.isin(self.owner[numbers], list(sources))
        self.owner[numbers[still]] = target
        for source in sources:
            self.outdated.pop(source, None)
        if changed := len(numbers) - int(still.sum()):
            self.outdated[target] = changed

    def _grow(self, size: int) -> None:
        if size > LARGEST:
            raise OverflowError("memory numbers above 2^31 cannot be indexed")
        if size > len(self.owner):
            extra = max(size, 2 * len(self.owner)) - len(self.owner)
            self.owner = np.concatenate([self.owner, np.full(extra, NOWHERE, np.int32)])
            self.length = np.concatenate([self.length, np.zeros(extra, np.int32)])

"""A sorted table of strings in two flat arrays: UTF-8 bytes end to end, and where each begins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

AFTER_UTF8 = b"\xff"
"""Sorts after every UTF-8 text."""


class StringTable:
    """Read-only; UTF-8 keeps the order of the characters, so bytes are compared."""

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.uint32]) -> None:
        views: Any = (blob, offsets)  # a memoryview gives single values several times faster than an array
        self._bytes, self._offsets = memoryview(views[0]), memoryview(views[1])

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> bytes:
        return bytes(self._bytes[self._offsets[at] : self._offsets[at + 1]])

    def __iter__(self) -> Iterator[bytes]:
        bounds = self._offsets
        for first in range(0, len(self), 4096):
            ends = bounds[first : first + 4097].tolist()
            whole = bytes(self._bytes[ends[0] : ends[-1]])
            base = ends[0]
            for start, end in pairwise(ends):
                yield whole[start - base : end - base]

    def find(self, text: str) -> int:
        """The position of a string, or -1."""
        key = text.encode()
        at = self._at_or_after(key)
        return at if at < len(self) and self[at] == key else -1

    def prefixed(self, prefix: str) -> range:
        """The positions of all strings that start with `prefix`."""
        key = prefix.encode()
        return range(self._at_or_after(key), self._at_or_after(key + AFTER_UTF8))

    def _at_or_after(self, key: bytes) -> int:
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle] < key:
                low = middle + 1
            else:
                high = middle
        return low


def pack(strings: Iterable[bytes]) -> tuple[NDArray[Any], NDArray[Any]]:
    """(blob, offsets) of strings that are already sorted. Raises OverflowError above 4 GiB."""
    items = list(strings)
    ends = np.zeros(len(items) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, items), np.int64, len(items)), out=ends[1:])
    if ends[-1] > np.iinfo(np.uint32).max:
        raise OverflowError("the term dictionary of one segment would exceed 4 GiB")
    return np.frombuffer(b"".join(items), np.uint8), ends.astype(np.uint32)

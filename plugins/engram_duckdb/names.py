"""Compact look-up between record numbers and their ids: about 60 bytes for each, where a dict of strings takes 200."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engram_duckdb.columns import Array


class Hashes:
    """64-bit keys to record numbers. Keys may repeat, and a number stays when its record goes: the caller checks."""

    def __init__(self) -> None:
        self._keys: Array = np.empty(0, np.int64)
        self._numbers: Array = np.empty(0, np.int64)
        self._fresh: dict[int, list[int]] = {}

    def load(self, keys: Array, numbers: Array) -> None:
        order = np.argsort(keys, kind="stable")
        self._keys, self._numbers, self._fresh = keys[order], numbers[order], {}

    def add(self, key: int, number: int) -> None:
        self._fresh.setdefault(key, []).append(number)

    def find(self, key: int) -> list[int]:
        """Every number ever added under the key, oldest first."""
        low, high = np.searchsorted(self._keys, [key, key + 1] if key < 2**63 - 1 else [key, key])
        if key == 2**63 - 1:
            high = len(self._keys)
        old: list[int] = self._numbers[low:high].tolist()
        return old + self._fresh.get(key, [])


class Names:
    """The id of each number, and the numbers that ever held an id."""

    def __init__(self) -> None:
        self._blob = bytearray()
        self._starts: Array = np.zeros(1024, np.int64)
        self._lengths: Array = np.zeros(1024, np.int32)
        self._hashes = Hashes()

    def load(self, numbers: Array, names: Sequence[str]) -> None:
        encoded = [name.encode() for name in names]
        lengths = np.fromiter(map(len, encoded), np.int32, len(encoded))
        self._blob = bytearray(b"".join(encoded))
        self._reserve(int(numbers.max()) + 1 if len(numbers) else 0)
        self._starts[numbers] = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)[:-1])) if encoded else []
        self._lengths[numbers] = lengths
        self._hashes.load(np.fromiter(map(hash, names), np.int64, len(encoded)), numbers)

    def add(self, number: int, name: str) -> None:
        encoded = name.encode()
        self._reserve(number + 1)
        self._starts[number], self._lengths[number] = len(self._blob), len(encoded)
        self._blob += encoded
        self._hashes.add(hash(name), number)

    def name(self, number: int) -> str:
        start = int(self._starts[number])
        return self._blob[start : start + int(self._lengths[number])].decode()

    def find(self, name: str) -> list[int]:
        """Every number that ever held this id, oldest first."""
        return [number for number in self._hashes.find(hash(name)) if self.name(number) == name]

    def _reserve(self, size: int) -> None:
        if size > len(self._starts):
            wider = size + size // 4
            self._starts = np.concatenate((self._starts, np.zeros(wider - len(self._starts), np.int64)))
            self._lengths = np.concatenate((self._lengths, np.zeros(wider - len(self._lengths), np.int32)))

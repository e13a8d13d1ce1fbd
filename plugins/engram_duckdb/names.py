"""Compact look-up between record numbers and their ids: about 60 bytes for each, where a dict of strings takes 200."""

from __future__ import annotations

import hashlib

import numpy as np

from engram_duckdb.columns import Array


class Hashes:
    """64-bit keys to record numbers. Keys may repeat, and a number stays when its record goes: the caller checks."""

    def __init__(self) -> None:
        self._keys: Array = np.empty(0, np.int64)
        self._numbers: Array = np.empty(0, np.int64)
        self._fresh: dict[int, list[int]] = {}

    def load(self, keys: Array, numbers: Array) -> None:
        order = np.argsort(keys)
        self._keys, self._numbers, self._fresh = keys[order], numbers[order], {}

    def add(self, key: int, number: int) -> None:
        self._fresh.setdefault(key, []).append(number)

    def find(self, key: int) -> list[int]:
        """Every number ever added under the key, oldest first."""
        low = self._keys.searchsorted(np.int64(key))
        old: list[int] = []
        while low < len(self._keys) and self._keys[low] == key:
            old.append(int(self._numbers[low]))
            low += 1
        return sorted(old) + self._fresh.get(key, [])


def key_of(name: str) -> int:
    """The lower half of the MD5 sum, which DuckDB can compute too; it only has to spread, not to be secure."""
    return int.from_bytes(hashlib.md5(name.encode(), usedforsecurity=False).digest()[8:], "little", signed=True)


class Names:
    """The id of each number, and the numbers that ever held an id."""

    def __init__(self) -> None:
        self._blob = bytearray()
        self._starts: Array = np.zeros(1024, np.int64)
        self._lengths: Array = np.zeros(1024, np.int32)
        self._hashes = Hashes()

    def load(self, numbers: Array, lengths: Array, keys: Array, text: bytes) -> None:
        """`numbers` ascending; `text` holds the names one after the other, `lengths` in bytes, `keys` as of `key_of`."""
        self._blob = bytearray(text)
        if len(numbers):
            self._reserve(int(numbers[-1]) + 1)
            self._starts[numbers] = np.cumsum(lengths, dtype=np.int64) - lengths
            self._lengths[numbers] = lengths
        self._hashes.load(keys, numbers)

    def add(self, number: int, name: str) -> None:
        encoded = name.encode()
        self._reserve(number + 1)
        self._starts[number], self._lengths[number] = len(self._blob), len(encoded)
        self._blob += encoded
        self._hashes.add(key_of(name), number)

    def name(self, number: int) -> str:
        start = int(self._starts[number])
        return self._blob[start : start + int(self._lengths[number])].decode()

    def find(self, name: str) -> list[int]:
        """Every number that ever held this id, oldest first."""
        return [number for number in self._hashes.find(key_of(name)) if self.name(number) == name]

    def _reserve(self, size: int) -> None:
        if size > len(self._starts):
            wider = size + size // 4
            self._starts = np.concatenate((self._starts, np.zeros(wider - len(self._starts), np.int64)))
            self._lengths = np.concatenate((self._lengths, np.zeros(wider - len(self._lengths), np.int32)))

"""Numpy columns indexed by record number, with vocabularies for text of few distinct values.

A `Columns` object is written under the lock of its owner; readers take views under the same lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from engram_duckdb.moments import NONE

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
ABSENT = -1
"""Vocabulary code of a null, and of a number that was never used."""


class Kind(Enum):
    """How values of a column are held and how null is marked."""

    INT = "int"
    TIME = "time"
    FLOAT = "float"
    FLAG = "flag"
    WORD = "word"


_TYPES: dict[Kind, tuple[Any, Any]] = {
    Kind.INT: (np.int64, NONE),
    Kind.TIME: (np.int64, NONE),
    Kind.FLOAT: (np.float64, np.nan),
    Kind.FLAG: (np.bool_, False),
    Kind.WORD: (np.int32, ABSENT),
}


class Vocabulary:
    """Distinct texts, numbered in order of appearance."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: list[str] = []
        self._codes: dict[str, int] = {}
        self.extend(words)

    def extend(self, words: Iterable[str]) -> None:
        for word in words:
            self.add(word)

    def add(self, word: str) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self.words)
            self.words.append(word)
        return code

    def code(self, word: str) -> int | None:
        return self._codes.get(word)

    def ranks(self) -> Array:
        """The place of each code in code point order."""
        ranks = np.empty(len(self.words), np.int64)
        ranks[sorted(range(len(self.words)), key=self.words.__getitem__)] = np.arange(len(self.words))
        return ranks


class Column:
    """One growing array and, for WORD, its vocabulary."""

    def __init__(self, kind: Kind, words: Iterable[str] = ()) -> None:
        self.kind = kind
        self._dtype, self._null = _TYPES[kind]
        self.vocabulary = Vocabulary(words)
        self.array: Array = np.full(0, self._null, self._dtype)

    def grow(self, size: int) -> None:
        wider = np.full(size, self._null, self._dtype)
        wider[: len(self.array)] = self.array
        self.array = wider

    def encode(self, value: Any) -> Any:
        if value is None:
            return self._null
        return self.vocabulary.add(value) if self.kind is Kind.WORD else value

    def decode(self, number: int) -> Any:
        """The Python value, None for null; times stay microseconds."""
        value = self.array[number].item()
        if self.kind is Kind.WORD:
            return None if value == ABSENT else self.vocabulary.words[value]
        if self.kind is Kind.FLOAT:
            return None if value != value else value  # noqa: PLR0124
        return None if value == NONE else value

    def load(self, numbers: Array, values: Array) -> None:
        """Set many cells from a DuckDB result column (masked where null); words come as codes."""
        self.array[numbers] = np.ma.filled(values, self._null) if np.ma.isMaskedArray(values) else values

    def put(self, numbers: Sequence[int], values: Sequence[Any]) -> None:
        self.array[numbers] = [self.encode(value) for value in values]


class Columns:
    """A table of columns that share their numbering; `size` is one more than the highest number."""

    def __init__(self, spec: Mapping[str, Kind], fixed: Mapping[str, Sequence[str]] | None = None) -> None:
        self._columns = {name: Column(kind, (fixed or {}).get(name, ())) for name, kind in spec.items()}
        self.size = 1
        self._capacity = 0
        self._reserve(1024)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def view(self, name: str) -> Array:
        return self._columns[name].array[: self.size]

    def value(self, name: str, number: int) -> Any:
        return self._columns[name].decode(number)

    def put(self, rows: Mapping[int, Mapping[str, Any]]) -> None:
        """Set the named cells of several numbers; all rows name the same columns."""
        if not rows:
            return
        numbers = list(rows)
        self._extend(max(numbers))
        for name in next(iter(rows.values())):
            self._columns[name].put(numbers, [row[name] for row in rows.values()])

    def load(self, numbers: Array, values: Mapping[str, Array]) -> None:
        if len(numbers):
            self._extend(int(numbers.max()))
        for name, cells in values.items():
            self._columns[name].load(numbers, cells)

    def _extend(self, number: int) -> None:
        self.size = max(self.size, number + 1)
        if self.size > self._capacity:
            self._reserve(self.size + self.size // 4 + 1024)

    def _reserve(self, capacity: int) -> None:
        for column in self._columns.values():
            column.grow(capacity)
        self._capacity = capacity

"""The syntax tree of a FIND query, and its canonical text. `position` is a character offset and takes no part in equality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

MAX_DEPTH = 256


@dataclass(frozen=True, slots=True)
class Value:
    """A literal as written: quoted text without its quotes, or bare text."""

    text: str
    quoted: bool
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return "'" + self.text.replace("'", "''") + "'" if self.quoted else self.text


@dataclass(frozen=True, slots=True)
class Name:
    """A column or table as written."""

    text: str
    position: int = field(default=0, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Comparison:
    column: Name
    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    value: Value

    def __str__(self) -> str:
        return f"{self.column} {self.operator} {self.value}"


@dataclass(frozen=True, slots=True)
class Membership:
    column: Name
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(map(str, self.values))})"


@dataclass(frozen=True, slots=True)
class NullTest:
    column: Name

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


@dataclass(frozen=True, slots=True)
class Pattern:
    column: Name
    word: Literal["LIKE", "CONTAINS"]
    value: Value

    def __str__(self) -> str:
        return f"{self.column} {self.word} {self.value}"


@dataclass(frozen=True, slots=True)
class Between:
    column: Name
    low: Value
    high: Value

    def __str__(self) -> str:
        return f"{self.column} BETWEEN {self.low} AND {self.high}"


@dataclass(frozen=True, slots=True)
class Temporal:
    word: Literal["valid_now", "valid_at", "valid_within", "valid_between"]
    moments: tuple[Value, ...]

    def __str__(self) -> str:
        return " ".join((self.word, *map(str, self.moments)))


@dataclass(frozen=True, slots=True)
class Negation:
    part: Condition

    def __str__(self) -> str:
        return f"NOT ({self.part})" if isinstance(self.part, Junction) else f"NOT {self.part}"


@dataclass(frozen=True, slots=True)
class Junction:
    word: Literal["AND", "OR"]
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" if isinstance(part, Junction) else str(part) for part in self.parts)


Condition: TypeAlias = Comparison | Membership | NullTest | Pattern | Between | Temporal | Negation | Junction


@dataclass(frozen=True, slots=True)
class Key:
    column: Name
    descending: bool = False

    def __str__(self) -> str:
        return f"{self.column} DESC" if self.descending else str(self.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A whole query; `limit` and `offset` are what the query itself says."""

    table: Name
    where: Condition | None = None
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int | None = None
    as_of: Value | None = None
    count: bool = False
    explain: bool = False

    def __str__(self) -> str:
        clauses: Sequence[tuple[str, object]] = (
            ("EXPLAIN FIND" if self.explain else "FIND", self.table),
            ("AS OF", self.as_of),
            ("WHERE", self.where),
            ("ORDER BY", ", ".join(map(str, self.order)) or None),
            ("LIMIT", self.limit),
            ("OFFSET", self.offset),
        )
        text = " ".join(f"{word} {value}" for word, value in clauses if value is not None)
        return f"{text} COUNT" if self.count else text

"""The query tree that every store executes. MindQL and every list tool compile to it.

Fields are the names of `Memory` or `Edge` fields, or `metadata.<key>` and `attributes.<key>`. Logic is SQL's: a null
cell satisfies no comparison, not even `!=`, and NOT of such a comparison is not true either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, Literal, TypeAlias, TypeVar

from engram_kernel.model import Scalar, State

Operand: TypeAlias = Scalar | datetime
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compare:
    field: str
    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    value: Operand


@dataclass(frozen=True, slots=True)
class In:
    field: str
    values: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """True for a null cell; for a metadata or attribute path also when the key is absent."""

    field: str


@dataclass(frozen=True, slots=True)
class Like:
    """SQL LIKE with `%` and `_`, each taken literally after a backslash, as is `\\\\`; `fold` ignores case."""

    field: str
    pattern: str
    fold: bool = False


@dataclass(frozen=True, slots=True)
class ValidAt:
    """valid_from <= moment < valid_until, open bounds being infinite."""

    moment: datetime


@dataclass(frozen=True, slots=True)
class ValidWithin:
    """Overlap of the record's interval with the half-open [start, end)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class ValidBetween:
    """Containment in the closed [start, end]; both bounds of the record must be set."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Condition


Condition: TypeAlias = Compare | In | IsNull | Like | ValidAt | ValidWithin | ValidBetween | And | Or | Not


class Target(StrEnum):
    MEMORY = "memory"
    EDGE = "edge"


@dataclass(frozen=True, slots=True)
class Order:
    field: str
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Records of `collections` in one of `states` that satisfy `where`.

    Order is by `order`, then by newest first (descending `number`), so paging never repeats or skips. `as_of` asks
    what the store knew at that moment (transaction time). `limit` None means all.
    """

    collections: tuple[str, ...]
    target: Target = Target.MEMORY
    where: Condition | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    states: tuple[State, ...] = (State.LIVE,)
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a result; `total` counts all matches."""

    items: Sequence[T]
    total: int

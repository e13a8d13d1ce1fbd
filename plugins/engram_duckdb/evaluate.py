"""Conditions on the in-memory columns, with SQL's three-valued logic as two masks: certainly true, certainly false."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram_duckdb.columns import ABSENT, Array, Columns, Kind, Mask
from engram_duckdb.fields import field_of, is_number, operand
from engram_duckdb.moments import NONE, to_micros
from engram_duckdb.names import Names
from engram_kernel.query import And, Compare, Condition, In, IsNull, Like, Not, Or, Order, Query, Target, ValidAt, ValidBetween, ValidWithin

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_INFINITY = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Truth:
    """Where a condition is true and where it is false; it is unknown elsewhere."""

    true: Mask
    false: Mask


@dataclass(frozen=True, slots=True)
class Ids:
    """An id-valued field: the column that holds record numbers, and the names of those records."""

    column: Array
    names: Names


class Evaluator:
    """Evaluates on one table. `ids` maps fields that name records to where their numbers are."""

    def __init__(self, columns: Columns, target: Target, ids: Mapping[str, Ids]) -> None:
        self._columns, self._target, self._ids = columns, target, ids

    def can(self, condition: Condition | None) -> bool:
        """Whether every field of the condition is held in memory. Raises InvalidInput for an unknown field."""
        match condition:
            case None | ValidAt() | ValidWithin() | ValidBetween():
                return True
            case And(parts=parts) | Or(parts=parts):
                # Not `all(generator)`: every part must be looked at, so that an unknown field is always refused.
                return min([self.can(part) for part in parts], default=True)
            case Not(part=part):
                return self.can(part)
            case _:
                return self._can_leaf(condition)

    def _can_leaf(self, leaf: Compare | In | IsNull | Like) -> bool:
        field = field_of(leaf.field, self._target)
        if field.name in self._ids:
            return isinstance(leaf, In | IsNull) or (isinstance(leaf, Compare) and leaf.operator in ("=", "!="))
        return field.key is None and field.name in self._columns

    def can_order(self, order: Sequence[Order]) -> bool:
        fields = [field_of(item.field, self._target) for item in order]
        return all(field.key is None and field.name in self._columns for field in fields)

    def truth(self, condition: Condition) -> Truth:
        match condition:
            case And(parts=parts):
                return self._and([self.truth(part) for part in parts])
            case Or(parts=parts):
                return self._or([self.truth(part) for part in parts])
            case Not(part=part):
                inner = self.truth(part)
                return Truth(inner.false, inner.true)
            case ValidAt() | ValidWithin() | ValidBetween():
                return _known(self._valid(condition))
            case _:
                return self._leaf(condition)

    def _and(self, parts: Sequence[Truth]) -> Truth:
        true, false = self._full(True), self._full(False)
        for part in parts:
            true, false = true & part.true, false | part.false
        return Truth(true, false)

    def _or(self, parts: Sequence[Truth]) -> Truth:
        true, false = self._full(False), self._full(True)
        for part in parts:
            true, false = true | part.true, false & part.false
        return Truth(true, false)

    def _full(self, value: bool) -> Mask:
        return np.full(self._columns.size, value, np.bool_)

    def _valid(self, condition: ValidAt | ValidWithin | ValidBetween) -> Mask:
        start, until = self._columns.view("valid_from"), self._columns.view("valid_until")
        end = np.where(until == NONE, _INFINITY, until)
        match condition:
            case ValidAt(moment=moment):
                at = _micros(moment)
                inside: Mask = (start <= at) & (at < end)
                return inside
            case ValidWithin(start=first, end=last):
                overlap: Mask = (start < _micros(last)) & (end > _micros(first))
                return overlap
            case ValidBetween(start=first, end=last):
                bounded = (start != NONE) & (until != NONE)
                contained: Mask = bounded & (start >= _micros(first)) & (until <= _micros(last))
                return contained

    def _leaf(self, leaf: Compare | In | IsNull | Like) -> Truth:
        field = field_of(leaf.field, self._target)
        if field.name in self._ids:
            return self._id_leaf(self._ids[field.name], leaf)
        cells, kind = self._columns.view(field.name), self._columns[field.name].kind
        valid = _present(cells, kind)
        match leaf:
            case IsNull():
                return Truth(~valid, valid)
            case Compare(operator=sign, value=value):
                return self._compare(field.name, sign, operand(field, value), valid)
            case In(values=values):
                return self._or([self._compare(field.name, "=", operand(field, value), valid) for value in values])
            case Like(pattern=pattern, fold=fold):
                return self._words(field.name, like(pattern, fold), valid)

    def _compare(self, name: str, sign: str, value: Any, valid: Mask) -> Truth:
        column = self._columns[name]
        if value is None:
            return Truth(self._full(False), self._full(False))
        if (column.kind is Kind.WORD) is not isinstance(value, str):
            return _split(valid, self._full(sign == "!="))
        if column.kind is Kind.WORD:
            return self._words(name, lambda word: _OPERATORS[sign](word, value), valid)
        cells = column.array[: self._columns.size]
        return _split(valid, _numbers(cells, sign, value))

    def _words(self, name: str, test: Callable[[str], bool], valid: Mask) -> Truth:
        """One test for each distinct word, spread over the cells; the last entry answers for nulls."""
        column = self._columns[name]
        answers = np.fromiter((test(word) for word in column.vocabulary.words), np.bool_, len(column.vocabulary.words))
        return _split(valid, np.append(answers, False)[column.array[: self._columns.size]])

    def _id_leaf(self, ids: Ids, leaf: Compare | In | IsNull | Like) -> Truth:
        exists = ids.column > 0
        values: Iterable[Any] = ()
        match leaf:
            case IsNull():
                return Truth(self._full(False), exists)
            case Compare(value=value):
                values = (value,)
            case In(values=several):
                values = several
        wanted = [number for value in values if isinstance(value, str) for number in ids.names.find(value)]
        same = _split(exists, np.isin(ids.column, wanted))
        if isinstance(leaf, Compare) and leaf.operator == "!=":
            same = Truth(same.false, same.true)
        if any(value is None for value in values):
            return Truth(same.true if isinstance(leaf, In) else self._full(False), self._full(False))
        return same

    def order(self, numbers: Array, order: Sequence[Order], wanted: int | None) -> Array:
        """The first `wanted` of `numbers` (ascending on the way in) in order; ties newest first, nulls last."""
        if not order:
            return numbers[::-1][:wanted]
        keys = [self._key(item)[numbers] for item in order]
        places = np.arange(len(numbers))[::-1]
        if wanted is not None and wanted < len(numbers):
            places = _cut(places, keys, wanted)
        tie = -places
        ranked = places[np.lexsort([tie, *(key[places] for key in reversed(keys))])]
        return numbers[ranked][:wanted]

    def _key(self, item: Order) -> Array:
        cells, column = self._columns.view(item.field), self._columns[item.field]
        if column.kind is Kind.WORD:
            ranks = np.append(column.vocabulary.ranks(), NONE)
            cells = ranks[cells]
        if column.kind is Kind.FLOAT:
            signed = -cells if item.descending else cells
            return np.where(np.isnan(signed), np.inf, signed)
        numeric = cells.astype(np.int64)
        signed = -numeric if item.descending else numeric
        return np.where(numeric == NONE, _INFINITY, signed)


def base_mask(columns: Columns, query: Query) -> Mask:
    """Memories in the query's collections and states."""
    return _among(columns, "collection", query.collections) & states_mask(columns, query)


def states_mask(columns: Columns, query: Query) -> Mask:
    return _among(columns, "state", [state.value for state in query.states])


def edge_mask(edges: Columns, memories: Columns, query: Query) -> Mask:
    """Edges in the query's states whose two ends lie in its collections."""
    inside = _among(memories, "collection", query.collections)
    ends = [np.clip(edges.view(side), 0, memories.size - 1) for side in ("src", "dst")]
    mask: Mask = states_mask(edges, query) & inside[ends[0]] & inside[ends[1]]
    return mask


def _among(columns: Columns, name: str, words: Iterable[str]) -> Mask:
    column, cells = columns[name], columns.view(name)
    codes = [code for word in dict.fromkeys(words) if (code := column.vocabulary.code(word)) is not None]
    chosen = np.zeros(len(column.vocabulary.words) + 1, np.bool_)
    chosen[codes] = True
    return chosen[cells]


def _known(mask: Mask) -> Truth:
    return Truth(mask, ~mask)


def _split(valid: Mask, answer: Mask) -> Truth:
    return Truth(valid & answer, valid & ~answer)


def _present(cells: Array, kind: Kind) -> Mask:
    if kind is Kind.FLOAT:
        return ~np.isnan(cells)
    if kind is Kind.FLAG:
        return np.ones(len(cells), np.bool_)
    present: Mask = cells != (ABSENT if kind is Kind.WORD else NONE)
    return present


def _numbers(cells: Array, sign: str, value: Any) -> Mask:
    if not is_number(value):
        return np.full(len(cells), sign == "!=", np.bool_)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        value = float(value) if abs(value) < 2**1000 else float("inf") * (1 if value > 0 else -1)
    if cells.dtype == np.bool_:
        cells = cells.astype(np.int64)
    answer: Mask = _OPERATORS[sign](cells, int(value) if isinstance(value, bool) else value)
    return answer


def _cut(places: Array, keys: Sequence[Array], wanted: int) -> Array:
    """The places that can be among the first `wanted`, without sorting all of them."""
    sure: list[Array] = []
    for key in keys:
        if len(places) <= wanted:
            break
        values = key[places]
        limit = np.partition(values, wanted - 1)[wanted - 1] if wanted else values.min()
        below = places[values < limit]
        sure.append(below)
        wanted -= len(below)
        places = places[values == limit]
    return np.concatenate([*sure, places[:wanted]])


def like(pattern: str, fold: bool) -> Callable[[str], bool]:
    """A test for SQL LIKE; a backslash takes the next character literally.

    Every run between two `%` is taken where it first occurs and never tried elsewhere, so the time stays bounded.
    """
    parts = re.findall(r"\\.|.", pattern.lower() if fold else pattern, re.DOTALL)
    regex = "".join({"%": "%", "_": "."}.get(part, re.escape(part[-1]).replace("%", "\\x25")) for part in parts)
    first, *middle = regex.split("%")
    last = ".*" + middle.pop() if middle else ""
    compiled = re.compile(first + "".join(f"(?>.*?{run})" for run in middle if run) + last, re.DOTALL)
    return lambda word: compiled.fullmatch(word.lower() if fold else word) is not None


def _micros(moment: Any) -> int:
    value = to_micros(moment)
    assert value is not None
    return value

"""Syntax tree to the kernel's `Query`. Every name and value is checked here, with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from engram_kernel.query import And, Compare, Condition, In, Like, Not, Or, Order, Query, ValidAt, ValidBetween, ValidWithin
from engram_kernel.query import IsNull as Null
from engram_kernel.times import format_time
from engram_thoughts.mindql import faults
from engram_thoughts.mindql.faults import refuse, shorten
from engram_thoughts.mindql.syntax import (
    Between,
    Comparison,
    Find,
    Junction,
    Membership,
    Name,
    Negation,
    NullTest,
    Pattern,
    Temporal,
)
from engram_thoughts.mindql.tables import EMBEDDINGS, TABLES, Column, Kind, Table
from engram_thoughts.mindql.values import as_moment, as_text, compare, of_words, plain
from engram_thoughts.vocabulary import INT64_MAX, MAX_PAGE

_PATH = re.compile(r"metadata\.[A-Za-z0-9_]+", re.ASCII)
_UNKNOWN_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Compiled:
    table: Table
    query: Query


def compile_find(text: str, find: Find, now: datetime, limit: int | None = None) -> Compiled:
    """The query behind a tree. `limit`, when given, replaces the query's own LIMIT outright.

    Raises InvalidInput naming the unknown table or column, the malformed value or the clause out of range.
    """
    table = _table(text, find.table)
    compiler = _Compiler(text, table, now)
    return Compiled(
        table,
        Query(
            collections=(table.collection,),
            target=table.target,
            where=None if find.where is None else compiler.condition(find.where),
            order=tuple(Order(compiler.column(key.column).field, key.descending) for key in find.order),
            limit=_limit(find.limit, limit),
            offset=_offset(find.offset),
            as_of=None if find.as_of is None else as_moment(text, find.as_of),
        ),
    )


def _table(text: str, name: Name) -> Table:
    word = name.text.lower()
    if word in EMBEDDINGS:
        raise refuse(faults.NO_EMBEDDINGS, text, name.position)
    if word not in TABLES:
        raise refuse(faults.NO_TABLE, text, name.position, found=shorten(name.text))
    return TABLES[word]


def _limit(own: int | None, given: int | None) -> int:
    if given is not None or own is None:
        return given or MAX_PAGE
    if not 1 <= own <= MAX_PAGE:
        raise refuse(faults.LIMIT_RANGE, maximum=MAX_PAGE, value=_number(own))
    return own


def _offset(own: int | None) -> int:
    if own is not None and own > INT64_MAX:
        raise refuse(faults.OFFSET_RANGE, value=_number(own))
    return own or 0


def _number(value: int) -> str:
    return str(value) if value < 10**30 else "a number of more than 30 digits"


class _Compiler:
    """Translates the conditions of one query."""

    def __init__(self, text: str, table: Table, now: datetime) -> None:
        self._text, self._table, self._now = text, table, now
        self._by_type: Mapping[type, Callable[[Any], Condition]] = {
            Comparison: self._comparison,
            Membership: self._membership,
            NullTest: self._null_test,
            Pattern: self._pattern,
            Between: self._between,
            Temporal: self._temporal,
            Negation: lambda node: Not(self.condition(node.part)),
            Junction: self._junction,
        }

    def condition(self, node: Any) -> Condition:
        return self._by_type[type(node)](node)

    def column(self, name: Name) -> Column:
        """Raises InvalidInput naming the column and those that exist."""
        table, found = self._table, name.text
        if found in table.columns:
            return table.columns[found]
        if (table.has_metadata and found.startswith(("metadata.", "metadata["))) or found == "metadata":
            if not _PATH.fullmatch(found):
                raise refuse(faults.BAD_PATH, self._text, name.position, found=shorten(found))
            return Column(found, Kind.METADATA)
        if found in table.shown:
            hint = faults.METADATA_HINT if found == "metadata_json" else ""
            raise refuse(faults.NO_CLAUSE_COLUMN, self._text, name.position, found=shorten(found), hint=hint)
        known = ", ".join(table.columns) + (", metadata.<key>" if table.has_metadata else "")
        raise refuse(faults.NO_COLUMN, self._text, name.position, found=shorten(found), table=table.name, columns=known)

    def _comparison(self, node: Comparison) -> Condition:
        return compare(self._text, self.column(node.column), node.operator, node.value)

    def _membership(self, node: Membership) -> Condition:
        column = self.column(node.column)
        if column.kind is Kind.WORDS:
            return Or(tuple(compare(self._text, column, "=", value) for value in node.values))
        operands = (plain(self._text, column, value) for value in node.values)
        return In(column.field, tuple(operand for operand in operands if operand is not None))

    def _null_test(self, node: NullTest) -> Condition:
        return Null(self.column(node.column).field)

    def _pattern(self, node: Pattern) -> Condition:
        column = self.column(node.column)
        wanted = as_text(self._text, node.value)
        pattern = whole(wanted) if node.word == "LIKE" else f"%{escape(wanted)}%"
        if column.kind is Kind.WORDS and all(isinstance(word, str) for word in column.words):
            return of_words(column, lambda word: like(str(word), pattern))
        if column.kind not in (Kind.TEXT, Kind.METADATA):
            raise refuse(faults.NOT_TEXT_COLUMN, self._text, node.column.position, word=node.word, found=shorten(node.column.text))
        return Like(column.field, pattern, fold=True)

    def _between(self, node: Between) -> Condition:
        column = self.column(node.column)
        return And((compare(self._text, column, ">=", node.low), compare(self._text, column, "<=", node.high)))

    def _temporal(self, node: Temporal) -> Condition:
        if not self._table.has_valid_time:
            raise refuse(faults.NO_VALID_TIME, self._text, None, table=self._table.name)
        moments = [as_moment(self._text, value) for value in node.moments]
        if len(moments) == 2 and moments[0] > moments[1]:
            start, end = map(format_time, moments)
            raise refuse(faults.INVERTED_WINDOW, self._text, node.moments[0].position, word=node.word, start=start, end=end)
        if node.word == "valid_within":
            return ValidWithin(*moments)
        if node.word == "valid_between":
            return ValidBetween(*moments)
        return ValidAt(*(moments or [self._now]))

    def _junction(self, node: Junction) -> Condition:
        parts = [self.condition(part) for part in node.parts]
        if node.word == "AND":
            merged, others = merge(parts, "!=")
            return And((*others, *map(Not, merged)))
        merged, others = merge(parts, "=")
        return Or((*others, *merged))


def merge(parts: Sequence[Condition], sign: str) -> tuple[list[In], list[Condition]]:
    """Comparisons of one field with several values as one `In`, and the other conditions: long chains stay quick."""
    values: dict[str, list[Any]] = {}
    others: list[Condition] = []
    for part in parts:
        if isinstance(part, Compare) and part.operator == sign:
            values.setdefault(part.field, []).append(part.value)
        else:
            others.append(part)
    return [In(field, tuple(found)) for field, found in values.items()], others


def escape(text: str) -> str:
    """A LIKE pattern that matches `text` itself."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def whole(pattern: str) -> str:
    """A pattern whose last backslash stands for itself, since nothing follows it."""
    trailing = len(pattern) - len(pattern.rstrip("\\"))
    return pattern + "\\" if trailing % 2 else pattern


def like(text: str, pattern: str) -> bool:
    """LIKE without regard to case, as the store does it; each run between two `%` is taken where it first occurs."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": "%", "_": "."}.get(part, re.escape(part[-1]).replace("%", "\\x25")) for part in parts)
    first, *middle = regex.split("%")
    last = ".*" + middle.pop() if middle else ""
    whole_regex = first + "".join(f"(?>.*?{run})" for run in middle if run) + last
    return re.fullmatch(whole_regex, text, re.DOTALL | re.IGNORECASE) is not None

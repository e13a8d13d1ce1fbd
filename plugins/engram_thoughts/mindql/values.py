"""What a literal means when it is compared with a column of a given kind."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from engram_kernel.errors import InvalidInput
from engram_kernel.model import Scalar
from engram_kernel.query import Compare, Condition, In, IsNull, Not
from engram_kernel.times import parse_time
from engram_thoughts.mindql.faults import INTEGER_RANGE, NOT_A_MOMENT, refuse, shorten
from engram_thoughts.mindql.syntax import Value
from engram_thoughts.mindql.tables import Column, Kind
from engram_thoughts.vocabulary import INT64_MAX, INT64_MIN

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_JSON_WORDS: Mapping[str, bool] = {"true": True, "false": False}
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def never(field: str) -> Condition:
    """No record."""
    return In(field, ())


def always(field: str) -> Condition:
    """Every record that has a value."""
    return Not(IsNull(field))


def scalar(query: str, value: Value) -> str | int | float:
    """A quoted literal is text; a bare one is an integer, else a number, else text. Raises InvalidInput past 64 bits."""
    return value.text if value.quoted else _bare(query, value)


def _bare(query: str, value: Value) -> str | int | float:
    if _INTEGER.fullmatch(value.text):
        digits = value.text.lstrip("+-0")
        number = int(value.text) if len(digits) < 40 else INT64_MAX + 1
        if not INT64_MIN <= number <= INT64_MAX:
            raise refuse(INTEGER_RANGE, query, value.position, found=shorten(value.text))
        return number
    if _NUMBER.fullmatch(value.text) and math.isfinite(number_ := float(value.text)):
        return number_
    return value.text


def as_text(query: str, value: Value) -> str:
    """A number is compared with a text column by its text form."""
    return str(scalar(query, value))


def as_number(query: str, value: Value) -> int | float | None:
    """Quoted digits count as a number; None for what is no number."""
    found = scalar(query, Value(value.text.strip(), quoted=False, position=value.position))
    return None if isinstance(found, str) else found


def as_json(query: str, value: Value) -> str | int | float | bool:
    """The typed value for metadata: bare true and false are booleans."""
    return _JSON_WORDS[value.text] if not value.quoted and value.text in _JSON_WORDS else scalar(query, value)


def as_moment(query: str, value: Value) -> datetime:
    """Raises InvalidInput."""
    try:
        return parse_time(value.text)
    except InvalidInput:
        raise refuse(NOT_A_MOMENT, query, value.position, found=shorten(value.text)) from None


def plain(query: str, column: Column, value: Value) -> Scalar | datetime:
    """The operand for a column that is not WORDS; None for text that cannot equal a number."""
    readers: Mapping[Kind, Callable[[str, Value], Any]] = {
        Kind.TEXT: as_text,
        Kind.NUMBER: as_number,
        Kind.TIME: as_moment,
        Kind.METADATA: as_json,
    }
    return readers[column.kind](query, value)  # type: ignore[no-any-return]


def compare(query: str, column: Column, sign: Any, value: Value) -> Condition:
    """One comparison. A number sorts before every text, so `number < text` holds for each number."""
    if column.kind is Kind.WORDS:
        return of_words(column, lambda word: _words_match(query, word, sign, value))
    operand = plain(query, column, value)
    if operand is None:
        return always(column.field) if sign in ("!=", "<", "<=") else never(column.field)
    return Compare(column.field, sign, operand)


def of_words(column: Column, matches: Callable[[str | int], bool]) -> Condition:
    """The records whose word satisfies a test: closed lists are decided here, not in the store."""
    held: tuple[Any, ...] = tuple(stored for word, stored in column.words.items() if matches(word))
    return In(column.field, held)


def _words_match(query: str, word: str | int, sign: str, value: Value) -> bool:
    if isinstance(word, str):
        return OPERATORS[sign](word, as_text(query, value))
    number = as_number(query, value)
    return sign in ("!=", "<", "<=") if number is None else OPERATORS[sign](word, number)

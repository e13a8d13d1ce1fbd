"""Text to syntax tree, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, cast

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from engram_kernel.errors import InvalidInput
from engram_thoughts import messages
from engram_thoughts.messages import fault
from engram_thoughts.mindql import faults
from engram_thoughts.mindql.faults import refuse, shorten
from engram_thoughts.mindql.syntax import (
    MAX_DEPTH,
    Between,
    Comparison,
    Condition,
    Find,
    Junction,
    Key,
    Membership,
    Name,
    Negation,
    NullTest,
    Pattern,
    Temporal,
    Value,
)

_IS_FIND = re.compile(r"\s*(?:EXPLAIN\s+)?FIND\b", re.IGNORECASE)
_OPEN_TEMPORAL = re.compile(r"\b(valid_now|valid_at|valid_within|valid_between)(?:\s+(?:'[^']*'|[0-9]\S*)){0,2}\s*$", re.IGNORECASE)
_VALUES = {"QUOTED", "BARE", "BARE_ITEM", "DOUBLE"}


@dataclass(frozen=True, slots=True)
class _Deep:
    """A condition and how deep its parentheses go."""

    node: Condition
    depth: int = 0


def parse(query: str) -> Find:
    """Raises InvalidInput, and nothing else."""
    if not _IS_FIND.match(query):
        raise fault(InvalidInput, messages.NOT_FIND, {"fields": {"query": "is not a FIND query"}})
    try:
        return cast(Find, _parser().parse(query))
    except UnexpectedInput as error:
        raise _explain(query, error) from None
    except _Refusal as refusal:
        raise refuse(refusal.text, query, refusal.position, **refusal.values) from None


class _Refusal(Exception):
    """A fault found while building the tree, where the whole query is not at hand."""

    def __init__(self, text: str, position: int, **values: object) -> None:
        super().__init__(text)
        self.text, self.position, self.values = text, position, values


@v_args(inline=True)
class _Build(Transformer[Token, Find]):
    """Builds the tree bottom-up while the parser runs, so no depth of nesting needs recursion."""

    def start(self, *clauses: Any) -> Find:
        explain, table, as_of, where, order, limit, offset = clauses
        return Find(table=table, where=where, order=order or (), limit=limit, offset=offset, as_of=as_of, explain=bool(explain))

    def counted(self, explain: Any, table: Name, as_of: Any, where: Any) -> Find:
        return Find(table=table, where=where, as_of=as_of, count=True, explain=bool(explain))

    def explain(self) -> bool:
        return True

    def table(self, word: Token) -> Name:
        return _name(word)

    def as_of(self, moment: Token) -> Value:
        return _value(moment)

    def where(self, condition: _Deep) -> Condition:
        return condition.node

    def order(self, *keys: Key) -> tuple[Key, ...]:
        return keys

    def limit(self, digits: Token) -> int:
        return _whole(digits)

    def offset(self, digits: Token) -> int:
        return _whole(digits)

    def key(self, column: Token, direction: Token | None) -> Key:
        return Key(_name(column), direction is not None and direction.type == "DESC")

    def or_(self, *parts: _Deep) -> _Deep:
        return _joined("OR", parts)

    def and_(self, *parts: _Deep) -> _Deep:
        return _joined("AND", parts)

    def group(self, opening: Token, inner: _Deep) -> _Deep:
        if inner.depth >= MAX_DEPTH:
            raise _Refusal(faults.TOO_DEEP, opening.start_pos or 0, maximum=MAX_DEPTH)
        return _Deep(inner.node, inner.depth + 1)

    def negation(self, _word: Token, part: _Deep) -> _Deep:
        return _Deep(_negated(part.node), part.depth)

    def comparison(self, column: Token, operator: Token, literal: Token) -> _Deep:
        return _Deep(Comparison(_name(column), cast(Any, str(operator)), _value(literal)))

    def membership(self, column: Token, negated: Token | None, *items: Token) -> _Deep:
        return _maybe(negated, Membership(_name(column), tuple(_value(item) for item in items)))

    def null_test(self, column: Token, negated: Token | None) -> _Deep:
        return _maybe(negated, NullTest(_name(column)))

    def pattern(self, column: Token, negated: Token | None, word: Token, literal: Token) -> _Deep:
        return _maybe(negated, Pattern(_name(column), cast(Any, word.type), _value(literal)))

    def between(self, column: Token, negated: Token | None, low: Token, high: Token) -> _Deep:
        return _maybe(negated, Between(_name(column), _value(low), _value(high)))

    def temporal(self, word: Token, *moments: Token) -> _Deep:
        return _Deep(Temporal(cast(Any, word.lower()), tuple(_value(moment) for moment in moments)))


def _joined(word: Literal["AND", "OR"], parts: Iterable[_Deep]) -> _Deep:
    found = list(parts)
    return _Deep(Junction(word, tuple(part.node for part in found)), max(part.depth for part in found))


def _maybe(negated: Token | None, node: Condition) -> _Deep:
    return _Deep(node if negated is None else Negation(node))


def _negated(node: Condition) -> Condition:
    """Two negations cancel out, also where a null makes both unknown."""
    return node.part if isinstance(node, Negation) else Negation(node)


def _name(token: Token) -> Name:
    return Name(str(token), token.start_pos or 0)


def _value(token: Token) -> Value:
    position = token.start_pos or 0
    if token.type == "DOUBLE":
        raise _Refusal(faults.DOUBLE_QUOTED, position)
    if token.type == "QUOTED":
        return Value(token[1:-1].replace("''", "'"), quoted=True, position=position)
    return Value(str(token), quoted=False, position=position)


def _whole(digits: Token) -> int:
    """Python refuses to read very long digit runs; any of them is out of range anyway."""
    return int(digits[:40]) if len(digits.lstrip("0")) <= 40 else 10**40


@cache
def _parser() -> Lark:
    grammar = (files("engram_thoughts.mindql") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=_Build(), maybe_placeholders=True)


def _explain(query: str, error: UnexpectedInput) -> InvalidInput:
    """A syntax fault in the language's own words."""
    position, found, ended = _found(query, error)
    expected = _expected(error)
    if temporal := _open_temporal(query[:position], found, expected):
        return refuse(faults.BAD_TEMPORAL, query, position, word=temporal, moments=faults.MOMENTS[temporal])
    if found.startswith('"'):
        return refuse(faults.DOUBLE_QUOTED, query, position)
    if found.startswith("'") and isinstance(error, UnexpectedCharacters):
        return refuse(faults.UNCLOSED, query, position)
    text = faults.INCOMPLETE if ended else faults.UNEXPECTED
    return refuse(text, query, position, found=shorten(found), expected=_in_words(expected))


def _found(query: str, error: UnexpectedInput) -> tuple[int, str, bool]:
    """Where the fault is, what stands there, and whether the query ended."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return error.token.start_pos or 0, str(error.token), False
    if isinstance(error, UnexpectedCharacters):
        position = error.pos_in_stream or 0
        word = re.match(r"[\w.]+|\S", query[position:])
        return position, word.group() if word else "", False
    return len(query), "", True


def _expected(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.expected)
    return set(getattr(error, "allowed", None) or ())


def _open_temporal(before: str, found: str, expected: set[str]) -> str | None:
    """The temporal predicate whose moments are too few or too many at this place."""
    match = _OPEN_TEMPORAL.search(before)
    if match and (expected & _VALUES or found.startswith("'")):
        return match[1].lower()
    return None


def _in_words(expected: set[str]) -> str:
    words = {faults.TOKENS.get(name, name.lstrip("_")) for name in expected}
    return " or ".join(sorted(words)) or "something else"

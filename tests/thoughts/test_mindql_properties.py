"""Properties of the language: the parser fails in one way only, and what it reads can be written and read again."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engram_kernel.errors import InvalidInput
from engram_thoughts.mindql.compiler import compile_find, escape, like, whole
from engram_thoughts.mindql.parser import parse
from engram_thoughts.mindql.syntax import (
    Between,
    Comparison,
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

NOW = datetime(2026, 11, 30, tzinfo=UTC)
WORDS = """FIND EXPLAIN thoughts edges actions embeddings WHERE ORDER BY LIMIT OFFSET COUNT AS OF AND OR NOT IN IS NULL LIKE CONTAINS
    BETWEEN valid_now valid_at valid_within valid_between priority weight status metadata.topic created_at = != < ( ) , 'P1'
    '2026-01-01' 5 -1 1e999 99999999999999999999 "x" ' '' ; -- é P1 null"""
PIECES = st.lists(st.sampled_from(WORDS.split()), max_size=14)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), PIECES.map(" ".join), PIECES.map("".join)), st.booleans())
@example("FIND thoughts WHERE essence = '\x00'", False)
@example("FIND thoughts LIMIT " + "9" * 10_000, False)
@example("FIND thoughts WHERE confidence = " + "9" * 10_000, False)
@example("FIND thoughts WHERE confidence = 1e-99999", False)
def test_only_the_defined_error(text: str, prefixed: bool) -> None:
    query = f"FIND thoughts WHERE {text}" if prefixed else text
    try:
        compile_find(query, parse(query), NOW)
    except InvalidInput as error:
        assert str(error).strip()


@settings(deadline=None)
@given(st.text(min_size=0, max_size=200))
def test_quoted_literals_round_trip(text: str) -> None:
    value = Value(text, quoted=True)
    where = parse(f"FIND thoughts WHERE essence = {value} AND source IN ({value}, {value})").where
    assert where == Junction("AND", (Comparison(Name("essence"), "=", value), Membership(Name("source"), (value, value))))


NAMES = st.sampled_from(["priority", "essence", "metadata.topic", "valid_from"]).map(Name)
MOMENTS = st.sampled_from(["2026-01-01", "2026-07-01T00:00:00Z"]).map(lambda text: Value(text, quoted=True))
BARE = st.from_regex(r"[A-Za-z0-9_.+-]{1,12}", fullmatch=True).map(lambda text: Value(text, quoted=False))
VALUES = st.one_of(st.text(max_size=20).map(lambda text: Value(text, quoted=True)), BARE)
LEAVES = st.one_of(
    st.builds(Comparison, NAMES, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), VALUES),
    st.builds(Membership, NAMES, st.lists(VALUES, min_size=1, max_size=4).map(tuple)),
    st.builds(NullTest, NAMES),
    st.builds(Pattern, NAMES, st.sampled_from(["LIKE", "CONTAINS"]), VALUES),
    st.builds(Between, NAMES, VALUES, VALUES),
    st.just(Temporal("valid_now", ())),
    st.builds(lambda moment: Temporal("valid_at", (moment,)), MOMENTS),
    st.builds(
        lambda word, first, last: Temporal(word, (first, last)), st.sampled_from(["valid_within", "valid_between"]), MOMENTS, MOMENTS
    ),
)


def negated(part):
    return part.part if isinstance(part, Negation) else Negation(part)


CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(negated),
        st.builds(Junction, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=12,
)
FINDS = st.builds(
    Find,
    table=st.sampled_from(["thoughts", "edge"]).map(Name),
    where=st.none() | CONDITIONS,
    order=st.lists(st.builds(Key, NAMES, st.booleans()), max_size=3).map(tuple),
    limit=st.none() | st.integers(0, 10**9),
    offset=st.none() | st.integers(0, 10**9),
    as_of=st.none() | MOMENTS,
    count=st.just(False),
    explain=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(FINDS)
def test_a_tree_is_written_and_read_again(find: Find) -> None:
    assert parse(str(find)) == find


@given(st.text(alphabet=r"ab%_\X", max_size=8), st.text(alphabet=r"ab%_\X", max_size=4))
def test_an_escaped_text_matches_itself_only(text: str, other: str) -> None:
    assert like(text, escape(text))
    assert like(other, escape(text)) == (other.lower() == text.lower())
    assert like(f"x{text}y", f"%{escape(text)}%")


@given(st.text(alphabet=r"ab\%", max_size=6))
def test_a_pattern_never_ends_inside_an_escape(pattern: str) -> None:
    closed = whole(pattern)
    assert closed.startswith(pattern)
    assert (len(closed) - len(closed.rstrip("\\"))) % 2 == 0


@given(st.text(alphabet="ab", max_size=12), st.text(alphabet="ab%_", max_size=6))
def test_like_agrees_with_a_plain_definition(text: str, pattern: str) -> None:
    def matches(rest: str, left: str) -> bool:
        if not left:
            return not rest
        if left[0] == "%":
            return any(matches(rest[at:], left[1:]) for at in range(len(rest) + 1))
        return bool(rest) and left[0] in ("_", rest[0]) and matches(rest[1:], left[1:])

    assert like(text, pattern) == matches(text, pattern)

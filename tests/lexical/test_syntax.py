"""How a query is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_lexical.expressions import AllOf, AnyOf, InField, NoneOf, Phrase, Word
from engram_lexical.syntax import parse


def needles(query: str) -> list[str]:
    found = parse(query)
    return [needle.text + "*" * needle.prefix for needle in found.needles] if found else []


def condition(query: str):
    found = parse(query)
    return found.condition if found else None


@pytest.mark.parametrize("query", ["", " ", "???", "*", "**", "AND", "NOT", "OR", "NOT AND", '"', '""', "(", ")", "()", "( OR )", "~~ --"])
def test_nothing_to_search(query: str) -> None:
    assert parse(query) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("berlin trip", ["berlin", "trip"]),
        ("Berlin berlin BERLIN", ["berlin"]),
        ("the trip", ["trip"]),
        ("to be", ["\x01to", "\x01be"]),
        ("berl*", ["berl*"]),
        ("REQ-FUNC*", ["req-func*"]),
        ("*berlin", ["berlin"]),
        ("**bold**", ["bold"]),
        ("a * b", ["b"]),
        ("foo(bar* baz)", ["foo", "bar*", "baz"]),
        ("車", ["車*"]),
        ("成语接龙", ["成语", "语接", "接龙"]),
        ("成语*", ["成语"]),
        ("berlin and rome", ["berlin", "rome"]),
        ("a AND", ["\x01a"]),
        ("berlin AND", ["berlin"]),
        ("NOT berlin", ["berlin"]),
        ("NEAR(", ["near"]),
        ("col:value", ["col:value", "colvalue", "col", "valu"]),
        ("'; DROP TABLE x; --", ["drop", "tabl", "x"]),
        ('"unbalanced words', ["unbalanc", "word"]),
        ("title: foo", ["titl", "foo"]),
        ("berlin AND (rome", ["berlin", "rome"]),
    ],
)
def test_plain_reading(query: str, expected: list[str]) -> None:
    assert needles(query) == expected
    assert condition(query) is None


def test_a_quoted_phrase_is_required_and_the_other_words_are_not() -> None:
    assert needles('"quick brown" fox') == ["quick", "brown", "fox"]
    match condition('"quick brown" fox'):
        case AllOf((Phrase(words),)):
            assert words == ("quick", "brown")
        case other:
            pytest.fail(str(other))


def test_a_phrase_keeps_its_stop_words() -> None:
    match condition('"to be or not"'):
        case AllOf((Phrase(words),)):
            assert words == ("to", "be", "or", "not")
        case other:
            pytest.fail(str(other))


def test_or_binds_weaker_than_and() -> None:
    match condition("one AND two OR three"):
        case AnyOf((AllOf((Word(), Word())), Word())):
            pass
        case other:
            pytest.fail(str(other))


def test_parentheses_group_and_words_side_by_side_are_all_wanted() -> None:
    match condition("one (two OR three) NOT four"):
        case AllOf((Word(), AnyOf((Word(), Word())), NoneOf(Word()))):
            pass
        case other:
            pytest.fail(str(other))


def test_excluded_words_are_not_scored() -> None:
    assert needles("berlin NOT rome") == ["berlin"]


@pytest.mark.parametrize(("field", "part"), [("essence", "title"), ("title", "title"), ("content", "text"), ("text", "text")])
def test_fields(field: str, part: str) -> None:
    match condition(f'{field}:berlin {field}:"new york"'):
        case AllOf((InField(first, Word()), InField(second, Phrase()))):
            assert (first, second) == (part, part)
        case other:
            pytest.fail(str(other))


def test_deep_nesting_is_read_plainly() -> None:
    assert needles("(" * 5_000 + "one AND two" + ")" * 5_000) == ["one", "two"]
    assert needles("NOT " * 5_000 + "one") == ["one"]


QUERY_PIECES = st.sampled_from(
    ["AND", "OR", "NOT", "(", ")", '"', "title:", "content:", "*", "berlin", "the", "C++", "今日", " ", "REQ-1", "'"]
)


@given(st.lists(QUERY_PIECES, max_size=20).map("".join) | st.lists(QUERY_PIECES, max_size=20).map(" ".join) | st.text(max_size=60))
def test_no_query_is_an_error(query: str) -> None:
    found = parse(query)
    assert found is None or found.needles

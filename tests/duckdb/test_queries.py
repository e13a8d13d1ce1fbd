"""Both ways of running a query, on the columns in memory and as SQL, agree with a plain reading of the rules."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_duckdb.search import Search
from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Link, Put, Retire, Supersede
from engram_kernel.model import Edge, Memory, Ref, State
from engram_kernel.query import And, Compare, In, IsNull, Like, Not, Or, Order, Query, Target, ValidAt, ValidBetween, ValidWithin

BASE = datetime(2026, 1, 1, tzinfo=UTC)
OPERATORS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
WORDS = ["", "a", "B", "ab", "a%", "a_b", "é", "漢字", "\\", "1"]
VALUES: list[Any] = [None, 0, 1, 1.0, 1.5, -2, 2**60, 2**60 + 1, True, False, "1", "a", "", "true", {"x": 1}, [1]]


def _moments() -> list[datetime | None]:
    return [None, *(BASE + timedelta(hours=hours) for hours in range(0, 5))]


def _memories() -> list[Memory]:
    made = []
    for number in range(60):
        start, end = _moments()[number % 6], _moments()[(number * 5 + 2) % 6]
        if start is not None and end is not None and start > end:
            start, end = end, start
        made.append(
            Memory(
                collection="ab"[number % 7 == 0],
                id=f"m{number}",
                kind=WORDS[number % 10],
                text=WORDS[number % 9] + str(number),
                title=WORDS[number % 8],
                status=WORDS[number % 3],
                priority=[None, 1, 2, 3][number % 4],
                confidence=[None, 0.0, 0.5, 1.0, -0.5][number % 5],
                source=[None, "a", "b%"][number % 3],
                pinned=number % 2 == 0,
                created_cycle=number % 6,
                valid_from=start,
                valid_until=end,
                metadata={"v": VALUES[number % 16]} if number % 9 else {},
                attributes={"odd key/~": VALUES[number % 5]},
            )
        )
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckStore]:
    folder: Path = tmp_path_factory.mktemp("queries")
    store = DuckStore(folder, Settings())
    store.apply(ChangeSet(tuple(Put(memory) for memory in _memories())))
    store.apply(
        ChangeSet(
            (Retire(Ref("a", "m3")), Retire(Ref("b", "m7")), Supersede(Ref("a", "m4"), Memory(collection="a", id="n", kind="a", text="n")))
        )
    )
    ends = [(first, second) for first in range(8, 20) for second in (first + 1, first * 2) if first != 14]
    edges = [
        Edge(
            id=f"e{place}",
            source=_ref(first),
            target=_ref(second),
            type=WORDS[place % 5] or "x",
            weight=place % 3 / 2,
            metadata={"v": VALUES[place % 16]},
            valid_from=_moments()[place % 6],
            created_cycle=place % 4,
        )
        for place, (first, second) in enumerate(ends)
    ]
    store.apply(ChangeSet(tuple(Link(edge) for edge in edges)))
    yield store
    store.close()


def _ref(number: int) -> Ref:
    return Ref("ab"[number % 7 == 0], f"m{number}")


# The oracle: True, False or None (unknown)


def _cell(record: Any, field: str) -> Any:
    head, _, key = field.partition(".")
    value = getattr(record, head)
    if key:
        return value.get(key)
    if isinstance(value, Ref):
        return value.id
    return value.value if isinstance(value, State) else value


def _compare(cell: Any, sign: str, value: Any) -> bool | None:
    if cell is None or value is None:
        return None
    numbers = isinstance(cell, bool | int | float) and isinstance(value, bool | int | float)
    if numbers or (type(cell) is type(value) and isinstance(cell, str | datetime)):
        return bool(OPERATORS[sign](cell, value))
    return sign == "!="


def _like(pattern: str, text: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    body = "".join({"%": "(?s:.*)", "_": "(?s:.)"}.get(part, re.escape(part[-1])) for part in parts)
    return re.fullmatch(body, text) is not None


def _any(answers: list[bool | None]) -> bool | None:
    return True if True in answers else None if None in answers else False


def _truth(record: Any, condition: Any) -> bool | None:
    match condition:
        case Compare(field=field, operator=sign, value=value):
            return _compare(_cell(record, field), sign, value)
        case In(field=field, values=values):
            return _any([_compare(_cell(record, field), "=", value) for value in values])
        case IsNull(field=field):
            return _cell(record, field) is None
        case Like(field=field, pattern=pattern):
            cell = _cell(record, field)
            return None if cell is None else isinstance(cell, str) and _like(pattern, cell)
        case And(parts=parts):
            return _negated(_any([_negated(_truth(record, part)) for part in parts]))
        case Or(parts=parts):
            return _any([_truth(record, part) for part in parts])
        case Not(part=part):
            return _negated(_truth(record, part))
        case _:
            return _valid(record, condition)


def _negated(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _valid(record: Any, condition: Any) -> bool:
    start, end = record.valid_from or datetime.min.replace(tzinfo=UTC), record.valid_until or datetime.max.replace(tzinfo=UTC)
    match condition:
        case ValidAt(moment=moment):
            return start <= moment < end
        case ValidWithin(start=first, end=last):
            return start < last and end > first
        case _:
            both = record.valid_from is not None and record.valid_until is not None
            return both and start >= condition.start and end <= condition.end


# Strategies

MOMENTS = st.sampled_from([moment for moment in _moments() if moment])
SCALARS = st.sampled_from([value for value in VALUES if not isinstance(value, dict | list)]) | st.integers(-3, 3) | st.sampled_from(WORDS)
SIGNS = st.sampled_from(sorted(OPERATORS))
PATTERNS = st.text("a%_b\\é", max_size=4)


def _leaves(words: list[str], numbers: list[str], slow: list[str]) -> st.SearchStrategy[Any]:
    field = st.sampled_from(words + numbers + slow)
    times = st.sampled_from(["valid_from", "valid_until"])
    return st.one_of(
        st.builds(Compare, field, SIGNS, SCALARS),
        st.builds(Compare, times, SIGNS, MOMENTS | st.none()),
        st.builds(In, field, st.lists(SCALARS, max_size=3).map(tuple)),
        st.builds(IsNull, field | times),
        st.builds(Like, st.sampled_from(words + slow), PATTERNS),
        st.builds(ValidAt, MOMENTS),
        st.builds(ValidWithin, MOMENTS, MOMENTS),
        st.builds(ValidBetween, MOMENTS, MOMENTS),
    )


def _trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, max_size=3).map(tuple)
        return st.builds(And, several) | st.builds(Or, several) | st.builds(Not, inner)

    return st.recursive(leaves, grow, max_leaves=6)


MEMORY_WORDS, MEMORY_NUMBERS = (
    ["kind", "status", "source", "state", "collection"],
    ["priority", "confidence", "pinned", "created_cycle", "number"],
)
MEMORY_TREES = _trees(_leaves(MEMORY_WORDS, MEMORY_NUMBERS, ["id", "text", "title", "metadata.v", "attributes.odd key/~", "superseded_by"]))
QUICK_TREES = _trees(_leaves(MEMORY_WORDS, MEMORY_NUMBERS, []))
EDGE_TREES = _trees(_leaves(["type", "origin", "state"], ["weight", "created_cycle"], ["id", "source", "target", "metadata.v"]))
ORDERS = st.lists(
    st.builds(Order, st.sampled_from(["kind", "priority", "confidence", "valid_from", "pinned", "title"]), st.booleans()), max_size=3
).map(tuple)
STATES = st.lists(st.sampled_from(list(State)), min_size=1, unique=True).map(tuple)
COLLECTIONS = st.sampled_from([("a",), ("b",), ("a", "b"), ("none", "a"), ()])


def _both(store: DuckStore) -> list[Search]:
    return [store.search, Search(store._database, store._records, prefer_sql=True)]


def _sorted(records: list[Any], order: tuple[Order, ...]) -> list[Any]:
    records = sorted(records, key=lambda record: -record.number)
    for item in reversed(order):
        known = [record for record in records if _cell(record, item.field) is not None]
        unknown = [record for record in records if _cell(record, item.field) is None]
        records = sorted(known, key=lambda record: _cell(record, item.field), reverse=item.descending) + unknown
    return records


def _everything(store: DuckStore, target: Target) -> list[Any]:
    query = Query(collections=("a", "b"), target=target, states=tuple(State))
    return list((store.find(query) if target is Target.MEMORY else store.find_edges(query)).items)


def _check_memories(store: DuckStore, query: Query) -> None:
    chosen = [
        record
        for record in _everything(store, Target.MEMORY)
        if record.collection in query.collections
        and record.state in query.states
        and (query.where is None or _truth(record, query.where) is True)
    ]
    wanted = [record.id for record in _sorted(chosen, query.order)]
    shown = wanted[query.offset :][: query.limit]
    for search in _both(store):
        page = search.memories(store._state, query)
        assert ([record.id for record in page.items], page.total) == (shown, len(wanted)), search.prefer_sql
        assert {number for number, inside in enumerate(search.select(store._state, query).mask()) if inside} == {
            record.number for record in chosen
        }


@settings(max_examples=150, deadline=None)
@given(MEMORY_TREES, COLLECTIONS, STATES)
def test_memory_conditions_agree(filled: DuckStore, where: Any, collections: tuple[str, ...], states: tuple[State, ...]) -> None:
    _check_memories(filled, Query(collections=collections, where=where, states=states))


@settings(max_examples=80, deadline=None)
@given(QUICK_TREES | st.none(), ORDERS, st.integers(0, 70) | st.none(), st.integers(0, 70))
def test_order_and_pages_agree(filled: DuckStore, where: Any, order: tuple[Order, ...], limit: int | None, offset: int) -> None:
    _check_memories(filled, Query(collections=("a", "b"), where=where, order=order, limit=limit, offset=offset))


@settings(max_examples=100, deadline=None)
@given(EDGE_TREES, COLLECTIONS, STATES)
def test_edge_conditions_agree(filled: DuckStore, where: Any, collections: tuple[str, ...], states: tuple[State, ...]) -> None:
    query = Query(collections=collections, target=Target.EDGE, where=where, states=states)
    wanted = [
        record.id
        for record in _everything(filled, Target.EDGE)
        if {record.source.collection, record.target.collection} <= set(collections)
        and record.state in states
        and _truth(record, where) is True
    ]
    for search in _both(filled):
        page = search.edges(filled._state, query)
        assert ([record.id for record in page.items], page.total) == (wanted, len(wanted)), search.prefer_sql


def test_the_oracle_sees_matches(filled: DuckStore) -> None:
    """The comparisons above are not about empty results."""
    everything = _everything(filled, Target.MEMORY)
    assert len(everything) == 61
    assert sum(_truth(record, Compare("metadata.v", "=", 1)) is True for record in everything) >= 5
    assert len(_everything(filled, Target.EDGE)) >= 10

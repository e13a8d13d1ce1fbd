"""The store contract: conditions, order, both time axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.contracts.store_base import StoreFixtures, apply, ask, before_and_after, day, edge, ids, memory, one, put, ref

from engram_kernel.changes import (
    Confirm,
    Link,
    Put,
    Retire,
    Revise,
    Supersede,
    Unlink,
)
from engram_kernel.errors import InvalidInput
from engram_kernel.model import State
from engram_kernel.query import And, Compare, In, IsNull, Like, Not, Or, Order, Query, Target, ValidAt, ValidBetween, ValidWithin
from engram_kernel.store import Store


class QueryContract(StoreFixtures):
    """What a query finds."""

    # Conditions

    @pytest.fixture
    def varied(self, store: Store) -> Store:
        put(
            store,
            "m1",
            kind="NOTE",
            priority=1,
            confidence=0.9,
            status="OPEN",
            title="Alpha",
            metadata={"n": 1, "s": "1", "b": True, "z": None},
        )
        put(store, "m2", kind="TASK", priority=2, confidence=None, source="web", title="beta_x", metadata={"n": 1.0, "s": 1, "b": False})
        put(
            store,
            "m3",
            kind="TASK",
            priority=None,
            confidence=0.1,
            pinned=True,
            title="100%",
            metadata={"n": "1", "d.e": "x", "o": {"p": 1}},
        )
        return store

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            (None, "321"),
            (Compare("kind", "=", "TASK"), "32"),
            (Compare("kind", "!=", "TASK"), "1"),
            (Compare("kind", "<", "O"), "1"),
            (Compare("kind", "=", "NONE"), ""),
            (Compare("priority", ">=", 1), "21"),
            (Compare("priority", "!=", 1), "2"),
            (Not(Compare("priority", "=", 1)), "2"),
            (IsNull("priority"), "3"),
            (Not(IsNull("priority")), "21"),
            (Compare("priority", "=", None), ""),
            (Not(Compare("priority", "=", None)), ""),
            (Compare("confidence", ">", 0.5), "1"),
            (IsNull("confidence"), "2"),
            (In("kind", ("TASK", "X")), "32"),
            (In("priority", (1, 3)), "1"),
            (In("kind", ()), ""),
            (Not(In("kind", ())), "321"),
            (In("priority", (1, None)), "1"),
            (Not(In("priority", (1, None))), ""),
            (Compare("pinned", "=", True), "3"),
            (Compare("pinned", "=", 0), "21"),
            (Compare("source", "=", "web"), "2"),
            (IsNull("source"), "31"),
            (Compare("source", "!=", "x"), "2"),
            (Compare("priority", "=", "1"), ""),
            (Compare("priority", "!=", "1"), "21"),
            (Compare("kind", "=", 1), ""),
            (Compare("priority", "<", 10**30), "21"),
            (Compare("priority", ">", -(10**30)), "21"),
            (Compare("priority", "=", 1.0), "1"),
            (Like("title", "%a"), "1"),
            (Like("title", "a%"), ""),
            (Like("title", "a%", fold=True), "1"),
            (Like("title", "beta_x"), "2"),
            (Like("title", "BETA\\_X", fold=True), "2"),
            (Like("title", "____"), "3"),
            (Like("title", "%\\%"), "3"),
            (Like("status", "O%"), "1"),
            (Like("kind", "%"), "321"),
            (Compare("id", "=", "m2"), "2"),
            (Compare("id", "!=", "m2"), "31"),
            (In("id", ("m1", "m3", "x")), "31"),
            (Like("id", "%3"), "3"),
            (Compare("id", ">", "m1"), "32"),
            (Compare("text", "=", "text of m1"), "1"),
            (Like("text", "%OF M%", fold=True), "321"),
            (Compare("metadata.n", "=", 1), "21"),
            (Compare("metadata.n", "=", "1"), "3"),
            (Compare("metadata.n", "!=", 1), "3"),
            (Compare("metadata.s", "=", "1"), "1"),
            (Compare("metadata.b", "=", True), "1"),
            (Compare("metadata.b", "=", 1), "1"),
            (Compare("metadata.b", "!=", True), "2"),
            (IsNull("metadata.z"), "321"),
            (IsNull("metadata.b"), "3"),
            (Not(IsNull("metadata.b")), "21"),
            (Compare("metadata.z", "!=", 1), ""),
            (Compare("metadata.n", ">", 0), "21"),
            (Compare("metadata.n", ">", "0"), "3"),
            (Compare("metadata.d.e", "=", "x"), "3"),
            (Compare("metadata.o", "=", 1), ""),
            (Compare("metadata.o", "!=", 1), "3"),
            (Like("metadata.n", "_"), "3"),
            (In("metadata.n", (1, "1")), "321"),
            (IsNull("attributes.x"), "321"),
            (Compare("metadata.' or 1=1 --", "=", 1), ""),
            (And(()), "321"),
            (Or(()), ""),
            (And((Compare("kind", "=", "TASK"), IsNull("priority"))), "3"),
            (Or((Compare("priority", "=", 1), Compare("metadata.n", "=", "1"))), "31"),
            (Not(And((Compare("kind", "=", "TASK"), Compare("priority", "=", 2)))), "1"),
            (Compare("revision", "=", 0), "321"),
            (Compare("state", "=", "live"), "321"),
            (Compare("collection", "=", "a"), "321"),
        ],
    )
    def test_conditions(self, varied: Store, where: Any, expected: str) -> None:
        page = varied.find(ask(where=where))
        assert ("".join(item.id[1] for item in page.items), page.total) == (expected, len(expected))
        selection = varied.select(ask(where=where))
        numbers = {item.number for item in page.items}
        assert len(selection) == len(numbers) and all(number in selection for number in numbers)
        assert {number for number, chosen in enumerate(selection.mask()) if chosen} == numbers

    @pytest.mark.parametrize("name", ["nonsense", "metadata", "metadata.", "rid", "kind; drop", "Kind", ""])
    def test_unknown_fields_are_named(self, varied: Store, name: str) -> None:
        for query in (
            ask(where=Compare(name, "=", 1)),
            ask(order=(Order(name),)),
            ask(where=Or((Compare("kind", "=", "NOTE"), IsNull(name)))),
        ):
            with pytest.raises(InvalidInput) as caught:
                varied.find(query)
            assert name in caught.value.data["fields"]
        with pytest.raises(InvalidInput):
            varied.select(ask(where=IsNull(name)))
        with pytest.raises(InvalidInput):
            varied.find_edges(ask(target=Target.EDGE, where=Compare("text", "=", "memories have it")))

    @pytest.mark.parametrize(
        "query",
        [
            ask(limit=-1),
            ask(offset=-1),
            ask(where=Compare("priority", "=", math.nan)),
            ask(where=Compare("created_at", ">", "yesterday")),
            ask(where=Compare("created_at", ">", 5)),
        ],
    )
    def test_bad_queries_are_refused(self, varied: Store, query: Query) -> None:
        with pytest.raises(InvalidInput):
            varied.find(query)

    def test_order_and_paging(self, varied: Store) -> None:
        assert ids(varied, order=(Order("priority"),)) == ["m1", "m2", "m3"]
        assert ids(varied, order=(Order("priority", True),)) == ["m2", "m1", "m3"]
        assert ids(varied, order=(Order("confidence"),)) == ["m3", "m1", "m2"]
        assert ids(varied, order=(Order("kind", True), Order("title"))) == ["m3", "m2", "m1"]
        assert ids(varied, order=(Order("kind"),)) == ["m1", "m3", "m2"]
        assert ids(varied, order=(Order("title"),)) == ["m3", "m1", "m2"]
        assert ids(varied, order=(Order("id"),)) == ["m1", "m2", "m3"]
        for order in ((), (Order("kind"),), (Order("title", True),)):
            whole = ids(varied, order=order)
            assert [ids(varied, order=order, limit=1, offset=place)[0] for place in range(3)] == whole
        page = varied.find(ask(limit=1, offset=7))
        assert (list(page.items), page.total) == ([], 3)
        assert varied.find(ask(where=Like("text", "%"), offset=7)).total == varied.find(ask(limit=0)).total == 3

    def test_paging_with_many_ties(self, store: Store) -> None:
        put(store, *(f"m{number:02}" for number in range(30)), priority=1)
        pages = [ids(store, order=(Order("priority"),), limit=7, offset=offset) for offset in range(0, 35, 7)]
        assert [name for page in pages for name in page] == [f"m{number:02}" for number in reversed(range(30))]

    def test_collections_are_kept_apart(self, store: Store) -> None:
        put(store, "m1")
        put(store, "m2", collection="b")
        assert [item.id for item in store.find(Query(collections=("a", "b"))).items] == ["m2", "m1"]
        for none in ((), ("none",)):
            query = Query(collections=none)
            assert (store.find(query).total, len(store.select(query)), store.find(replace(query, where=Like("text", "%"))).total) == (
                0,
                0,
                0,
            )

    def test_case_27_a_selection_holds_every_match(self, store: Store) -> None:
        apply(store, *(Put(memory(f"n{number}", status="noise")) for number in range(300)))
        apply(store, *(Put(memory(f"r{number}", status="rare", valid_from=day(2), valid_until=day(9))) for number in range(3)))
        where = And((Compare("status", "=", "rare"), ValidAt(day(5))))
        assert len(store.select(ask(where=where))) == 3
        assert sorted(ids(store, where=where, limit=5)) == ["r0", "r1", "r2"]

    # Time

    def test_valid_time_is_half_open(self, store: Store) -> None:
        put(store, "m1", valid_from=day(10), valid_until=day(20))
        put(store, "open")
        put(store, "point", valid_from=day(15), valid_until=day(15))
        second = timedelta(microseconds=1)
        for moment, expected in (
            (day(10) - second, ["open"]),
            (day(10), ["open", "m1"]),
            (day(20) - second, ["open", "m1"]),
            (day(20), ["open"]),
            (day(15), ["open", "m1"]),
        ):
            for where in (ValidAt(moment), And((ValidAt(moment), Like("text", "%")))):
                assert ids(store, where=where) == expected, (moment, where)
        for first, last, expected in (
            (day(1), day(10), ["open"]),
            (day(1), day(10) + second, ["open", "m1"]),
            (day(20), day(30), ["open"]),
            (day(14), day(16), ["point", "open", "m1"]),
        ):
            for where in (ValidWithin(first, last), And((ValidWithin(first, last), Like("text", "%")))):
                assert ids(store, where=where) == expected, (first, last)
        for where in (ValidBetween(day(10), day(20)), And((ValidBetween(day(10), day(20)), Like("text", "%")))):
            assert ids(store, where=where) == ["point", "m1"]
        assert ids(store, where=ValidBetween(day(11), day(20))) == ["point"]
        assert ids(store, where=Not(ValidBetween(day(11), day(20)))) == ["open", "m1"]

    def test_case_17_every_form_of_a_moment_sorts_and_filters(self, store: Store) -> None:
        eastern = timezone(timedelta(hours=5, minutes=30))
        moments = [
            datetime(2026, 3, 1),
            datetime(2026, 3, 1, 10, tzinfo=eastern),
            datetime(2026, 3, 1, 10),
            datetime(2026, 3, 1, 10, tzinfo=UTC),
        ]
        for number, moment in enumerate(moments):
            put(store, f"m{number}", valid_from=moment)
        assert ids(store, order=(Order("valid_from"),)) == ["m0", "m1", "m3", "m2"]
        assert ids(store, where=Compare("valid_from", "<", datetime(2026, 3, 1, 10))) == ["m1", "m0"]
        assert ids(store, where=Compare("valid_from", "=", "2026-03-01T10:00:00+05:30")) == ["m1"]

    def test_case_19_what_was_known_then(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "A", valid_from=day(1), status="OLD")
        put(store, "C", expires_at=day(1, 12))
        apply(store, Link(edge("e1", "A", "C")))
        then = datetime.now(UTC)
        apply(store, Supersede(ref("A"), memory("B", valid_from=day(1, 10)), ended=day(1, 10)))
        apply(store, Confirm(ref("C")), Revise(ref("C"), {"text": "changed"}), Unlink("e1"))
        apply(store, Retire(ref("C")))
        for reader in before_and_after(store, open_store):
            known = reader.find(ask(as_of=then, where=ValidAt(day(1, 6))))
            assert [(item.id, item.state, item.text) for item in known.items] == [
                ("C", State.LIVE, "text of C"),
                ("A", State.LIVE, "text of A"),
            ]
            assert ids(reader, as_of=then, where=Compare("status", "=", "OLD")) == ["A"]
            assert [item.id for item in reader.find_edges(ask(target=Target.EDGE, as_of=then)).items] == ["e1"]
            assert ids(reader, as_of=day(1)) == []
            assert len(reader.select(ask(as_of=then))) == 2
            assert ids(reader) == ["B"]

    def test_as_of_sees_no_intermediate_step_of_a_set(self, store: Store) -> None:
        put(store, "m1")
        apply(store, Revise(ref("m1"), {"status": "one"}), Revise(ref("m1"), {"status": "two"}))
        moment = one(store, "m1").updated_at
        assert [item.status for item in store.find(ask(as_of=moment)).items] == ["two"]

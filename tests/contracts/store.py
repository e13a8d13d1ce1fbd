"""What every store must do. A third party runs it on its own store:

from tests.contracts.store import StoreContract

class TestMine(StoreContract):
    @pytest.fixture
    def provider(self):
        return MyProvider()
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.changes import (
    Applied,
    Change,
    ChangeSet,
    Confirm,
    Embed,
    Link,
    Put,
    PutCard,
    Restore,
    Retire,
    RetireCard,
    Revise,
    Supersede,
    Unlink,
)  # fmt: skip
from engram_kernel.errors import AlreadyExists, DuplicateContent, EngramError, InvalidInput, NotFound, StaleRevision
from engram_kernel.model import Collection, Edge, Memory, Obligation, Ref, Source, State, Tier
from engram_kernel.query import And, Compare, In, IsNull, Like, Not, Or, Order, Query, Target, ValidAt, ValidBetween, ValidWithin
from engram_kernel.store import Store, StoreProvider


def memory(name: str, text: str = "", **fields: Any) -> Memory:
    return Memory(**{"collection": "a", "id": name, "kind": "NOTE", "text": text or f"text of {name}", **fields})


def edge(name: str, source: str, target: str, **fields: Any) -> Edge:
    return Edge(**{"id": name, "source": Ref("a", source), "target": Ref("a", target), "type": "ABOUT", **fields})


def ref(name: str) -> Ref:
    return Ref("a", name)


def day(number: int, month: int = 1) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def apply(store: Store, *changes: Change, **options: Any) -> Applied:
    return store.apply(ChangeSet(changes, **options))


def put(store: Store, *names: str, **fields: Any) -> None:
    apply(store, *(Put(memory(name, **fields)) for name in names))


def ask(**fields: Any) -> Query:
    return Query(**{"collections": ("a",), **fields})


def ids(store: Store, **fields: Any) -> list[str]:
    return [found.id for found in store.find(ask(**fields)).items]


def one(store: Store, name: str) -> Memory:
    found = store.get([ref(name)])[0]
    assert found is not None
    return found


def refused(store: Store, kind: type[EngramError], *changes: Change) -> EngramError:
    """The error of a ChangeSet that must fail and change nothing."""
    before = (store.sequence(), store.statistics(["a"]))
    with pytest.raises(kind) as caught:
        apply(store, *changes)
    assert (store.sequence(), store.statistics(["a"])) == before
    return caught.value


def before_and_after(store: Store, open_store: Callable[[], Store]) -> Iterator[Store]:
    """The store as it runs, then opened again from what is on disk."""
    yield store
    yield open_store()


class StoreContract:
    """Override `provider`."""

    @pytest.fixture
    def provider(self) -> StoreProvider:
        raise NotImplementedError

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "data"

    @pytest.fixture
    def open_store(self, provider: StoreProvider, folder: Path) -> Iterator[Callable[[], Store]]:
        """Opens the store of the test, closing it first when it is open."""
        opened: list[Store] = []

        def reopen() -> Store:
            while opened:
                opened.pop().close()
            opened.append(provider.open(folder, {}))
            return opened[-1]

        yield reopen
        while opened:
            opened.pop().close()

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        return open_store()

    # Memories

    def test_put_and_get_every_field(self, store: Store, open_store: Callable[[], Store]) -> None:
        full = memory(
            "m1", "Grüße, 世界 🦉\n", title="Title: x", kind="TASK", status="OPEN", priority=2, confidence=0.25, origin="agent", source="s1", pinned=True,
            confirmations=3, created_cycle=4, updated_cycle=5, valid_from=day(1), valid_until=day(2), expires_at=day(3),
            metadata={"a": 1, "b": {"c": [1, None, "ü"]}, "d.e": True}, attributes={"x": 1.5}, created_at=day(1),
        )  # fmt: skip
        done = apply(store, Put(full)).outcomes[0]
        for reader in before_and_after(store, open_store):
            found = one(reader, "m1")
            assert found == replace(
                full,
                number=done.number,
                updated_at=found.updated_at,
                content_hash=hashlib.sha256(full.text.encode()).hexdigest(),
                revision=0,
            )
            assert found.updated_at is not None and found.updated_at.tzinfo is not None

    def test_created_and_updated_are_equal_on_insert(self, store: Store) -> None:
        before = datetime.now(UTC)
        put(store, "m1")
        found = one(store, "m1")
        assert found.created_at == found.updated_at
        assert found.created_at is not None and before <= found.created_at <= datetime.now(UTC)

    def test_what_only_the_store_sets_is_ignored(self, store: Store) -> None:
        put(store, "m1", number=99, revision=7, state=State.RETIRED, superseded_by="x", content_hash="nonsense")
        found = one(store, "m1")
        assert (found.revision, found.state, found.superseded_by, found.number != 99) == (0, State.LIVE, None, True)

    def test_get_keeps_the_order_and_marks_the_missing(self, store: Store) -> None:
        put(store, "m1", "m2")
        found = store.get([ref("m2"), ref("nope"), ref("m1"), Ref("b", "m1"), ref("m2")])
        assert [item.id if item else None for item in found] == ["m2", None, "m1", None, "m2"]
        assert store.get([]) == []

    def test_by_number(self, store: Store) -> None:
        number = apply(store, Put(memory("m1"))).outcomes[0].number
        assert [item.id if item else None for item in store.by_number([number, number + 1, 0, -1])] == ["m1", None, None, None]
        apply(store, Retire(ref("m1")))
        assert store.by_number([number]) == [None]

    def test_numbers_grow_with_time(self, store: Store) -> None:
        numbers = [apply(store, Put(memory(f"m{i}"))).outcomes[0].number for i in range(4)]
        assert numbers == sorted(set(numbers))

    @pytest.mark.parametrize("fields", [
        {"id": ""}, {"id": " \t"}, {"collection": ""}, {"text": "a\x00b"}, {"text": "lone \ud800"}, {"title": "\udfff"}, {"priority": 2**63},
        {"priority": "1"}, {"confidence": math.nan}, {"confidence": math.inf}, {"metadata": {"a": math.nan}}, {"metadata": {1: 2}},
        {"metadata": {"a": object()}}, {"metadata": {"\ud800": 1}}, {"metadata": [1]}, {"valid_from": day(2), "valid_until": day(1)},
        {"valid_from": "2026-01-01"}, {"pinned": 1}, {"confirmations": None}, {"text": None},
    ])  # fmt: skip
    def test_bad_memories_are_refused_by_field(self, store: Store, fields: dict[str, Any]) -> None:
        error = refused(store, InvalidInput, Put(memory("ok")), Put(memory("m1", **fields)) if "text" not in fields else Put(
            replace(memory("m1"), **fields)))  # fmt: skip
        assert set(error.data["fields"]) & set(fields)
        assert store.get([ref("ok")]) == [None]

    def test_equal_bounds_are_allowed(self, store: Store) -> None:
        put(store, "m1", valid_from=day(1), valid_until=day(1))
        assert one(store, "m1").valid_until == day(1)

    def test_naive_moments_are_utc_and_offsets_are_converted(self, store: Store) -> None:
        naive, eastern = datetime(2026, 3, 1), datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=5, minutes=30)))
        put(store, "m1", valid_from=naive, valid_until=eastern)
        found = one(store, "m1")
        assert (found.valid_from, found.valid_until) == (day(1, 3), datetime(2026, 3, 1, 4, 30, tzinfo=UTC))
        assert found.valid_from is not None and found.valid_from.utcoffset() == timedelta(0)

    def test_the_whole_calendar_can_be_stored(self, store: Store) -> None:
        first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
        put(store, "m1", valid_from=first, valid_until=last)
        assert (one(store, "m1").valid_from, one(store, "m1").valid_until) == (first, last)
        assert ids(store, where=ValidBetween(first, last)) == ["m1"]

    def test_an_id_is_unique_in_its_collection_only(self, store: Store) -> None:
        put(store, "m1")
        error = refused(store, AlreadyExists, Put(memory("m1", "another text")))
        assert error.data["taken"] == "id"
        put(store, "m1", collection="b")
        assert [item.collection for item in store.get([Ref("b", "m1"), ref("m1")]) if item] == ["b", "a"]

    def test_one_id_twice_in_a_set_is_refused(self, store: Store) -> None:
        refused(store, AlreadyExists, Put(memory("m1")), Put(memory("m1", "other")))

    def test_ids_are_any_text(self, store: Store) -> None:
        names = ["a b", "../x", "😀", "'; drop table x; --", "A", "ä", "a\u0308", "x" * 5000]
        put(store, *names)
        assert [item.id for item in store.get([ref(name) for name in names]) if item] == names

    def test_a_retired_id_can_be_used_again(self, store: Store) -> None:
        put(store, "m1")
        apply(store, Retire(ref("m1")))
        put(store, "m1", text="second")
        assert one(store, "m1").text == "second"
        assert [item.text for item in store.history(ref("m1"))] == ["text of m1", "text of m1", "second"]

    # Unique content

    def test_case_12_unique_content(self, store: Store) -> None:
        put(store, "m1", text="same")
        error = refused(store, DuplicateContent, Put(memory("m2", "same"), unique_content=True))
        assert error.data["id"] == "m1"
        apply(store, Confirm(ref("m1")))
        assert (one(store, "m1").confirmations, store.find(ask()).total) == (1, 1)
        apply(store, Put(memory("m2", "Same"), unique_content=True), Put(memory("m3", "same")))
        apply(store, Put(memory("m1", "same", collection="b"), unique_content=True))

    def test_unique_content_follows_revisions_and_retirement(self, store: Store) -> None:
        put(store, "m1", text="old")
        apply(store, Revise(ref("m1"), {"text": "new"}))
        apply(store, Put(memory("m2", "old"), unique_content=True))
        refused(store, DuplicateContent, Put(memory("m3", "new"), unique_content=True))
        apply(store, Retire(ref("m1")))
        apply(store, Put(memory("m3", "new"), unique_content=True))
        refused(store, DuplicateContent, Put(memory("m4", "x"), unique_content=True), Put(memory("m5", "x"), unique_content=True))

    def test_unique_content_race(self, store: Store) -> None:
        def attempt(number: int) -> str:
            try:
                apply(store, Put(memory(f"m{number}", "the same"), unique_content=True))
                return "put"
            except DuplicateContent as error:
                apply(store, Confirm(ref(error.data["id"])))
                return "confirmed"

        with ThreadPoolExecutor(20) as pool:
            results = list(pool.map(attempt, range(20)))
        found = store.find(ask()).items
        assert (results.count("put"), len(found), found[0].confirmations) == (1, 1, 19)

    # Revise, confirm

    def test_revise_changes_only_the_fields(self, store: Store) -> None:
        put(store, "m1", title="T", metadata={"a": 1})
        apply(store, Revise(ref("m1"), {"text": "new", "priority": 3}))
        found = one(store, "m1")
        assert (found.text, found.title, found.priority, found.metadata, found.revision) == ("new", "T", 3, {"a": 1}, 1)
        assert found.content_hash == hashlib.sha256(b"new").hexdigest()
        assert found.updated_at is not None and found.created_at is not None and found.updated_at > found.created_at

    def test_an_empty_revision_refreshes_the_time(self, store: Store) -> None:
        put(store, "m1")
        before = one(store, "m1")
        apply(store, Revise(ref("m1"), {}))
        after = one(store, "m1")
        assert after == replace(before, revision=1, updated_at=after.updated_at)
        assert after.updated_at is not None and before.updated_at is not None and after.updated_at > before.updated_at

    def test_a_stale_revision_is_refused(self, store: Store) -> None:
        put(store, "m1")
        apply(store, Revise(ref("m1"), {"title": "x"}, expected_revision=0))
        error = refused(store, StaleRevision, Revise(ref("m1"), {"title": "y"}, expected_revision=0))
        assert (error.data["expected"], error.data["current"]) == (0, 1)
        refused(store, StaleRevision, Supersede(ref("m1"), memory("m2"), expected_revision=0))

    @pytest.mark.parametrize("name", ["id", "collection", "number", "state", "revision", "content_hash", "nonsense"])
    def test_fields_that_cannot_be_revised(self, store: Store, name: str) -> None:
        put(store, "m1")
        assert name in refused(store, InvalidInput, Revise(ref("m1"), {name: "x"})).data["fields"]

    def test_a_revision_is_checked_against_the_other_bound(self, store: Store) -> None:
        put(store, "m1", valid_from=day(5))
        refused(store, InvalidInput, Revise(ref("m1"), {"valid_until": day(4)}))
        apply(store, Revise(ref("m1"), {"valid_until": day(5)}))

    def test_revise_and_confirm_need_a_memory(self, store: Store) -> None:
        for change in (Revise(ref("x"), {}), Confirm(ref("x")), Retire(ref("x")), Supersede(ref("x"), memory("y")), Restore(ref("x"))):
            refused(store, NotFound, change)

    def test_concurrent_confirmations_all_count(self, store: Store) -> None:
        put(store, "m1")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: apply(store, Confirm(ref("m1"))), range(40)))
        assert (one(store, "m1").confirmations, one(store, "m1").revision) == (40, 40)

    def test_case_04_twenty_parallel_writes(self, store: Store) -> None:
        with ThreadPoolExecutor(20) as pool:
            done = list(pool.map(lambda number: apply(store, Put(memory(f"m{number}", f"text {number}"))), range(20)))
        assert len({item.outcomes[0].number for item in done}) == len({item.sequence for item in done}) == 20
        assert {item.id: item.text for item in store.find(ask()).items} == {f"m{number}": f"text {number}" for number in range(20)}
        assert store.verify(deep=True).sound

    def test_history_holds_every_revision(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1")
        apply(store, Revise(ref("m1"), {"text": "two"}), Revise(ref("m1"), {"text": "three"}))
        for reader in before_and_after(store, open_store):
            assert [(item.text, item.revision) for item in reader.history(ref("m1"))] == [("text of m1", 0), ("two", 1), ("three", 2)]
            assert reader.history(ref("none")) == []

    # Supersede, retire, restore

    def test_supersede(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", valid_from=day(1))
        apply(store, Supersede(ref("m1"), memory("m2"), ended=day(9)))
        apply(store, Supersede(ref("m2"), memory("m3")))
        for reader in before_and_after(store, open_store):
            old = one(reader, "m1")
            assert (old.state, old.superseded_by, old.valid_until) == (State.SUPERSEDED, "m2", day(9))
            assert ids(reader) == ["m3"]
            assert ids(reader, states=(State.SUPERSEDED,)) == ["m2", "m1"]
            for name in ("m1", "m2", "m3"):
                assert [item.id for item in reader.lineage(ref(name))] == ["m1", "m2", "m3"]
        assert store.lineage(ref("none")) == []

    def test_supersede_refusals(self, store: Store) -> None:
        put(store, "m1", "taken", valid_from=day(5))
        refused(store, InvalidInput, Supersede(ref("m1"), memory("m2"), ended=day(4)))
        refused(store, AlreadyExists, Supersede(ref("m1"), memory("taken")))
        refused(store, AlreadyExists, Supersede(ref("m1"), memory("m1")))
        apply(store, Supersede(ref("m1"), memory("m2")))
        refused(store, InvalidInput, Supersede(ref("m1"), memory("m3")))
        refused(store, AlreadyExists, Put(memory("m1")))

    def test_restore_a_superseded_memory(self, store: Store) -> None:
        put(store, "m1", valid_until=day(20))
        apply(store, Supersede(ref("m1"), memory("m2"), ended=day(9)))
        apply(store, Restore(ref("m1")))
        found = one(store, "m1")
        assert (found.state, found.superseded_by, found.valid_until) == (State.LIVE, None, day(20))
        assert ids(store) == ["m2", "m1"]

    def test_retire_and_restore_with_edges(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2", "m3")
        apply(
            store, Link(edge("e1", "m1", "m2")), Link(edge("e2", "m3", "m1")), Link(edge("e3", "m1", "m3")), Link(edge("loop", "m1", "m1"))
        )
        apply(store, Unlink("e3"))
        apply(store, Retire(ref("m1"), reason="test"))
        for reader in before_and_after(store, open_store):
            assert reader.get([ref("m1")]) == [None]
            assert reader.edges_of(ref("m2")) == []
            assert (reader.edge("e1"), reader.statistics(["a"]).edges) == (None, 0)
        again = open_store()
        apply(again, Restore(ref("m1")))
        assert {item.id for item in again.edges_of(ref("m1"))} == {"e1", "e2", "loop"}
        assert one(again, "m1").state is State.LIVE
        assert again.verify(deep=True).sound

    def test_restore_waits_for_the_other_end(self, store: Store) -> None:
        put(store, "m1", "m2")
        apply(store, Link(edge("e1", "m1", "m2")))
        apply(store, Retire(ref("m1")), Retire(ref("m2")))
        apply(store, Restore(ref("m1")))
        assert store.edges_of(ref("m1")) == []
        apply(store, Restore(ref("m2")))
        assert [item.id for item in store.edges_of(ref("m1"))] == ["e1"]

    def test_restore_does_not_double_a_link_made_meanwhile(self, store: Store) -> None:
        put(store, "m1", "m2")
        apply(store, Link(edge("e1", "m1", "m2")))
        apply(store, Retire(ref("m1")))
        put(store, "m3")
        apply(store, Link(edge("e1", "m3", "m2")))
        apply(store, Restore(ref("m1")))
        assert [item.source.id for item in store.edges_of(ref("m2"))] == ["m3"]

    def test_restore_refusals(self, store: Store) -> None:
        put(store, "m1")
        refused(store, AlreadyExists, Restore(ref("m1")))
        apply(store, Retire(ref("m1")))
        put(store, "m1", text="second")
        refused(store, AlreadyExists, Restore(ref("m1")))

    def test_case_14_retired_memories_can_be_listed_and_come_back(self, store: Store) -> None:
        put(store, *(f"m{number}" for number in range(10)))
        apply(store, *(Retire(ref(f"m{number}")) for number in range(10)))
        assert store.find(ask()).total == 0
        assert store.find(ask(states=(State.RETIRED,))).total == 10
        apply(store, *(Restore(ref(f"m{number}")) for number in range(10)))
        assert {item.text for item in store.find(ask()).items} == {f"text of m{number}" for number in range(10)}

    def test_missing_ok(self, store: Store) -> None:
        done = apply(store, Retire(ref("x"), missing_ok=True), Unlink("x", missing_ok=True))
        assert [item.changed for item in done.outcomes] == [False, False]

    # Edges

    def test_link_and_every_field(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2")
        full = edge("e1", "m1", "m2", weight=0.5, origin="agent", created_cycle=3, valid_from=day(1), valid_until=day(2), metadata={"k": "v"},
                    attributes={"n": 1}, created_at=day(1))  # fmt: skip
        number = apply(store, Link(full)).outcomes[0].number
        for reader in before_and_after(store, open_store):
            found = reader.edge("e1")
            assert found is not None
            assert found == replace(full, number=number, updated_at=found.updated_at)
            assert reader.edges_of(ref("m1")) == reader.edges_of(ref("m2"), "IN") == [found]
            assert reader.edges_of(ref("m1"), "IN") == []

    def test_edges_heaviest_first_then_oldest(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2", "m3", "m4")
        apply(
            store,
            Link(edge("e1", "m1", "m2", weight=0.5)),
            Link(edge("e2", "m3", "m1", weight=0.9)),
            Link(edge("e3", "m1", "m4", weight=0.5)),
        )
        apply(store, Link(edge("e4", "m1", "m1", weight=0.1)))
        for reader in before_and_after(store, open_store):
            assert [item.id for item in reader.edges_of(ref("m1"))] == ["e2", "e1", "e3", "e4"]
            assert [item.id for item in reader.edges_of(ref("m1"), limit=2)] == ["e2", "e1"]
            assert [item.id for item in reader.edges_of(ref("m1"), "OUT")] == ["e1", "e3", "e4"]
            assert reader.edges_of(ref("none")) == []

    def test_link_refusals(self, store: Store) -> None:
        put(store, "m1", "m2", "gone")
        apply(store, Retire(ref("gone")))
        apply(store, Link(edge("e1", "m1", "m2")))
        assert refused(store, AlreadyExists, Link(edge("e1", "m2", "m1"))).data["taken"] == "id"
        same = refused(store, AlreadyExists, Link(edge("e2", "m1", "m2"))).data
        assert (same["taken"], same["id"]) == ("link", "e1")
        refused(store, NotFound, Link(edge("e2", "m1", "none")))
        refused(store, NotFound, Link(edge("e2", "gone", "m1")))
        for fields in ({"id": " "}, {"type": ""}, {"weight": math.nan}, {"weight": "1"}, {"valid_from": day(2), "valid_until": day(1)}):
            assert set(refused(store, InvalidInput, Link(replace(edge("e2", "m2", "m1"), **fields))).data["fields"]) & set(fields)
        apply(store, Link(edge("e2", "m2", "m1")), Link(edge("e3", "m1", "m2", type="OTHER")))

    def test_unlink_frees_id_and_link(self, store: Store) -> None:
        put(store, "m1", "m2")
        apply(store, Link(edge("e1", "m1", "m2")))
        apply(store, Unlink("e1"))
        refused(store, NotFound, Unlink("e1"))
        apply(store, Link(edge("e1", "m1", "m2", weight=0.2)))
        found = store.edge("e1")
        assert found is not None and found.weight == 0.2

    def test_put_and_link_in_one_set(self, store: Store) -> None:
        apply(store, Put(memory("m1")), Put(memory("m2")), Link(edge("e1", "m1", "m2")), Retire(ref("m2")))
        assert (store.edge("e1"), ids(store)) == (None, ["m1"])

    def test_find_edges(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2")
        put(store, "m1", collection="b")
        apply(store, Link(edge("e1", "m1", "m2", weight=0.3, metadata={"k": 1})), Link(edge("e2", "m2", "m1", type="OTHER", weight=0.7)))
        apply(store, Link(replace(edge("e3", "m1", "m1"), target=Ref("b", "m1"))))
        for reader in before_and_after(store, open_store):
            for where, expected in (
                (None, ["e2", "e1"]), (Compare("weight", ">", 0.5), ["e2"]), (Compare("source", "=", "m1"), ["e1"]), (In("target", ("m1",)), ["e2"]),
                (Compare("type", "=", "ABOUT"), ["e1"]), (Compare("metadata.k", "=", 1), ["e1"]), (Compare("id", "=", "e2"), ["e2"]),
                (Like("source", "%2"), ["e2"]),
            ):  # fmt: skip
                page = reader.find_edges(ask(target=Target.EDGE, where=where))
                assert ([item.id for item in page.items], page.total) == (expected, len(expected)), where

    # Atomicity and references

    def test_a_failing_set_changes_nothing(self, store: Store) -> None:
        put(store, "m1")
        refused(store, NotFound, Put(memory("m2")), Revise(ref("m1"), {"text": "x"}), Confirm(ref("none")))
        assert (store.get([ref("m2")]), one(store, "m1").revision) == ([None], 0)
        number = apply(store, Put(memory("m2"))).outcomes[0].number
        assert number == one(store, "m1").number + 1

    def test_a_reference_is_applied_once(self, store: Store, open_store: Callable[[], Store]) -> None:
        first = apply(store, Put(memory("m1")), reference="r1")
        assert not first.repeated
        for target in before_and_after(store, open_store):
            again = apply(target, Put(memory("m9")), reference="r1")
            assert again == replace(first, repeated=True) == target.recorded("r1")
        assert ids(open_store()) == ["m1"]

    def test_a_reference_sent_twice_at_once(self, store: Store) -> None:
        with ThreadPoolExecutor(8) as pool:
            done = list(pool.map(lambda number: apply(store, Put(memory(f"m{number}")), reference="one"), range(8)))
        assert len({item.sequence for item in done}) == 1 and sum(not item.repeated for item in done) == 1
        assert store.find(ask()).total == 1

    def test_a_failed_reference_can_be_tried_again(self, store: Store) -> None:
        refused(store, NotFound, Confirm(ref("m1")))
        with pytest.raises(NotFound):
            apply(store, Confirm(ref("m1")), reference="r1")
        assert store.recorded("r1") is None
        put(store, "m1")
        assert not apply(store, Confirm(ref("m1")), reference="r1").repeated

    def test_one_bad_set_among_many_fails_alone(self, store: Store) -> None:
        def attempt(number: int) -> bool:
            try:
                apply(store, Put(memory("same" if number % 3 == 0 else f"m{number}", f"t{number}")))
                return True
            except AlreadyExists:
                return False

        with ThreadPoolExecutor(16) as pool:
            results = list(pool.map(attempt, range(48)))
        assert results.count(False) == 15
        assert store.find(ask()).total == 33
        assert store.verify(deep=True).sound

    def test_listeners_hear_commits_in_order_before_apply_returns(self, store: Store) -> None:
        heard: list[int] = []
        store.subscribe(lambda applied: heard.append(applied.sequence))
        done = apply(store, Put(memory("first")))
        assert heard == [done.sequence]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: put(store, f"m{number}"), range(24)))
        assert heard == list(range(done.sequence, done.sequence + 25))

    def test_a_failing_listener_does_not_undo_the_write(self, store: Store) -> None:
        def broken(applied: Applied) -> None:
            raise RuntimeError("listener")

        store.subscribe(broken)
        put(store, "m1")
        assert ids(store) == ["m1"]

    def test_readers_see_whole_commits(self, store: Store) -> None:
        put(store, "m1", "m2")
        stop, torn = threading.Event(), []

        def read() -> None:
            while not stop.is_set():
                pair = store.find(ask()).items
                if len({item.text for item in pair if item.revision}) > 1 and len({item.revision for item in pair}) > 1:
                    torn.append(pair)

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(60):
            apply(store, *(Revise(ref(name), {"text": f"round {number}"}) for name in ("m1", "m2")))
        stop.set()
        reader.join()
        assert torn == []

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

    @pytest.mark.parametrize(("where", "expected"), [
        (None, "321"), (Compare("kind", "=", "TASK"), "32"), (Compare("kind", "!=", "TASK"), "1"), (Compare("kind", "<", "O"), "1"),
        (Compare("kind", "=", "NONE"), ""), (Compare("priority", ">=", 1), "21"), (Compare("priority", "!=", 1), "2"),
        (Not(Compare("priority", "=", 1)), "2"), (IsNull("priority"), "3"), (Not(IsNull("priority")), "21"), (Compare("priority", "=", None), ""),
        (Not(Compare("priority", "=", None)), ""), (Compare("confidence", ">", 0.5), "1"), (IsNull("confidence"), "2"),
        (In("kind", ("TASK", "X")), "32"), (In("priority", (1, 3)), "1"), (In("kind", ()), ""), (Not(In("kind", ())), "321"),
        (In("priority", (1, None)), "1"), (Not(In("priority", (1, None))), ""), (Compare("pinned", "=", True), "3"),
        (Compare("pinned", "=", 0), "21"), (Compare("source", "=", "web"), "2"), (IsNull("source"), "31"), (Compare("source", "!=", "x"), "2"),
        (Compare("priority", "=", "1"), ""), (Compare("priority", "!=", "1"), "21"), (Compare("kind", "=", 1), ""),
        (Compare("priority", "<", 10**30), "21"), (Compare("priority", ">", -(10**30)), "21"), (Compare("priority", "=", 1.0), "1"),
        (Like("title", "%a"), "1"), (Like("title", "a%"), ""), (Like("title", "a%", fold=True), "1"), (Like("title", "beta_x"), "2"),
        (Like("title", "BETA\\_X", fold=True), "2"), (Like("title", "____"), "3"), (Like("title", "%\\%"), "3"), (Like("status", "O%"), "1"), (Like("kind", "%"), "321"),
        (Compare("id", "=", "m2"), "2"), (Compare("id", "!=", "m2"), "31"), (In("id", ("m1", "m3", "x")), "31"), (Like("id", "%3"), "3"),
        (Compare("id", ">", "m1"), "32"), (Compare("text", "=", "text of m1"), "1"), (Like("text", "%OF M%", fold=True), "321"),
        (Compare("metadata.n", "=", 1), "21"), (Compare("metadata.n", "=", "1"), "3"), (Compare("metadata.n", "!=", 1), "3"),
        (Compare("metadata.s", "=", "1"), "1"), (Compare("metadata.b", "=", True), "1"), (Compare("metadata.b", "=", 1), "1"),
        (Compare("metadata.b", "!=", True), "2"), (IsNull("metadata.z"), "321"), (IsNull("metadata.b"), "3"), (Not(IsNull("metadata.b")), "21"),
        (Compare("metadata.z", "!=", 1), ""), (Compare("metadata.n", ">", 0), "21"), (Compare("metadata.n", ">", "0"), "3"),
        (Compare("metadata.d.e", "=", "x"), "3"), (Compare("metadata.o", "=", 1), ""), (Compare("metadata.o", "!=", 1), "3"),
        (Like("metadata.n", "_"), "3"), (In("metadata.n", (1, "1")), "321"), (IsNull("attributes.x"), "321"),
        (Compare("metadata.' or 1=1 --", "=", 1), ""),
        (And(()), "321"), (Or(()), ""), (And((Compare("kind", "=", "TASK"), IsNull("priority"))), "3"),
        (Or((Compare("priority", "=", 1), Compare("metadata.n", "=", "1"))), "31"),
        (Not(And((Compare("kind", "=", "TASK"), Compare("priority", "=", 2)))), "1"),
        (Compare("revision", "=", 0), "321"), (Compare("state", "=", "live"), "321"), (Compare("collection", "=", "a"), "321"),
    ])  # fmt: skip
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

    @pytest.mark.parametrize("query", [
        ask(limit=-1), ask(offset=-1), ask(where=Compare("priority", "=", math.nan)), ask(where=Compare("created_at", ">", "yesterday")),
        ask(where=Compare("created_at", ">", 5)),
    ])  # fmt: skip
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
        assert sum(pages, []) == [f"m{number:02}" for number in reversed(range(30))]

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
        for moment, expected in ((day(10) - second, ["open"]), (day(10), ["open", "m1"]), (day(20) - second, ["open", "m1"]), (day(20), ["open"]),
                                 (day(15), ["open", "m1"])):  # fmt: skip
            for where in (ValidAt(moment), And((ValidAt(moment), Like("text", "%")))):
                assert ids(store, where=where) == expected, (moment, where)
        for first, last, expected in ((day(1), day(10), ["open"]), (day(1), day(10) + second, ["open", "m1"]), (day(20), day(30), ["open"]),
                                      (day(14), day(16), ["point", "open", "m1"])):  # fmt: skip
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

    # Cards

    def test_cards(self, store: Store, open_store: Callable[[], Store]) -> None:
        home = Collection(id="a", title="A", tool_set="graph", tier=Tier.SENSITIVE, metadata={"k": [1]})
        due = Obligation(id="o1", collection="a", memory="m1", kind="tax", expires_at=day(1), effective_at=day(2))
        web = Source(id="s1", collection="a", kind="web", reference="x")
        apply(store, PutCard(home), PutCard(due), PutCard(web), PutCard(replace(web, id="s0", collection="b")))
        apply(store, PutCard(replace(web, label="new")), PutCard(replace(web, label="newer")))
        for reader in before_and_after(store, open_store):
            assert reader.cards(Collection) == [home]
            assert reader.cards(Source) == [replace(web, id="s0", collection="b"), replace(web, label="newer")]
            assert reader.cards(Source, "a") == [replace(web, label="newer")]
            assert reader.card(Obligation, "a", "o1") == due
            assert reader.card(Obligation, "b", "o1") is None
        again = open_store()
        apply(again, RetireCard("obligation", "a", "o1"))
        refused(again, NotFound, RetireCard("obligation", "a", "o1"))
        assert (again.cards(Obligation), open_store().cards(Obligation)) == ([], [])

    # Usage, vectors, statistics, catch-up

    def test_usage(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2")
        number = one(store, "m1").number
        store.touch([number, number])
        store.touch([number, 10**9, 0])
        for reader in before_and_after(store, open_store):
            usage = reader.usage([number, number + 1])
            assert (usage[number].count, usage[number + 1].count, usage[number + 1].last) == (3, 0, None)
            assert usage[number].last is not None and usage[number].last.tzinfo is not None
        assert one(open_store(), "m1").revision == 0

    def test_vectors(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2")
        number = one(store, "m1").number
        vector = struct.pack("<3f", 1, 2, 3)
        apply(store, Embed(ref("m1"), "x", 3, struct.pack("<3f", 0, 0, 0)))
        apply(store, Embed(ref("m1"), "x", 3, vector), Embed(ref("m1"), "y", 1, struct.pack("<f", 5)))
        for reader in before_and_after(store, open_store):
            assert reader.vectors("x", [number, number + 1]) == {number: vector}
            assert reader.vectors("none", [number]) == {}
        again = open_store()
        refused(again, InvalidInput, Embed(ref("m1"), "x", 3, b"1234"))
        refused(again, InvalidInput, Embed(ref("m1"), "x", 1, b"1234"))
        refused(again, NotFound, Embed(ref("none"), "x", 3, vector))
        apply(again, Retire(ref("m1")))
        assert again.vectors("x", [number]) == {}
        apply(again, Restore(ref("m1")))
        assert again.vectors("x", [number]) == {number: vector}
        assert again.verify(deep=True).sound

    def test_statistics(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2", "m3", kind="TASK", priority=1)
        put(store, "m4", collection="b")
        apply(store, Link(edge("e1", "m1", "m2")), Retire(ref("m3")))
        for reader in before_and_after(store, open_store):
            found = reader.statistics(["a"])
            assert (found.memories, found.edges, found.memories_by["kind"], found.edges_by["type"]) == (2, 1, {"TASK": 2}, {"ABOUT": 1})
            assert found.last_sequence == reader.sequence() == 3
            assert reader.statistics([]).memories == 0

    def test_changed_since_names_content_and_state_changes(self, store: Store) -> None:
        put(store, "m1", "m2")
        first, second = (one(store, name).number for name in ("m1", "m2"))
        apply(store, Confirm(ref("m1")))
        apply(store, Revise(ref("m1"), {"title": "new"}))
        apply(store, Retire(ref("m2")))
        assert store.changed_since(0) == [(1, first), (1, second), (3, first), (4, second)]
        assert store.changed_since(3) == [(4, second)]
        seen: list[tuple[int, int]] = []
        while batch := store.changed_since(seen[-1][0] if seen else 0, limit=1):
            seen += batch
        assert seen == store.changed_since(0)

    def test_scan(self, store: Store) -> None:
        put(store, *(f"m{number}" for number in range(7)))
        apply(store, Retire(ref("m3")))
        batches: list[Sequence[Memory]] = list(store.scan(batch=2))
        assert [[item.id for item in batch] for batch in batches] == [["m0", "m1"], ["m2", "m4"], ["m5", "m6"]]
        assert [item.id for batch in store.scan(after=one(store, "m4").number) for item in batch] == ["m5", "m6"]

    # The log, backup

    def test_the_log_is_chained_and_holds_no_text(self, store: Store) -> None:
        apply(store, Put(memory("m1", "a very private sentence", title="a private title", metadata={"k": "private value"})), actor="åsa")
        apply(store, Confirm(ref("m1")))
        events = store.events()
        assert [item.sequence for item in events] == [1, 2]
        assert events[1].previous == events[0].hash
        assert (events[0].actor, events[0].operation) == ("åsa", "put")
        assert "private" not in events[0].payload
        json.loads(events[0].payload)
        assert [item.sequence for item in store.events(after=1, limit=5)] == [2]
        assert [item.sequence for item in store.events(limit=1)] == [1]

    def test_verify(self, store: Store) -> None:
        put(store, "m1", "m2")
        apply(store, Link(edge("e1", "m1", "m2")))
        steps: list[tuple[int, int, str]] = []
        found = store.verify(deep=True, progress=lambda *step: steps.append(step))
        assert (found.sound, found.events, found.memories, found.edges) == (True, 2, 2, 1)
        assert steps and steps[-1][0] == steps[-1][1]

    def test_backup_and_restore(self, store: Store, provider: StoreProvider, tmp_path: Path) -> None:
        put(store, "m1", "m2", text="Grüße", valid_from=day(1))
        apply(
            store,
            Link(edge("e1", "m1", "m2")),
            PutCard(Collection(id="a", title="A", tool_set="x")),
            Embed(ref("m1"), "x", 1, b"abcd"),
            reference="r",
        )
        apply(store, Revise(ref("m1"), {"text": "new"}))
        target = tmp_path / "backup one"
        manifest = store.backup(target)
        assert (manifest["last_sequence"], manifest["memories"], manifest["edges"]) == (3, 2, 1)
        with pytest.raises(AlreadyExists):
            store.backup(target)
        copy = tmp_path / "copy"
        assert provider.restore(copy, target, {})["last_hash"] == manifest["last_hash"]
        again = provider.open(copy, {})
        try:
            assert again.get([ref("m1"), ref("m2")]) == store.get([ref("m1"), ref("m2")])
            assert (again.edge("e1"), again.cards(Collection), again.events()) == (
                store.edge("e1"),
                store.cards(Collection),
                store.events(),
            )
            assert again.history(ref("m1")) == store.history(ref("m1"))
            assert again.recorded("r") is not None
            assert again.verify(deep=True).sound
            assert apply(again, Put(memory("m3"))).sequence == 4
        finally:
            again.close()

    def test_restore_refusals(self, store: Store, provider: StoreProvider, folder: Path, tmp_path: Path) -> None:
        put(store, "m1")
        target = tmp_path / "backup"
        store.backup(target)
        with pytest.raises(AlreadyExists):
            provider.restore(folder, target, {})
        with pytest.raises(InvalidInput):
            provider.restore(tmp_path / "x", tmp_path / "none", {})
        damaged = max(target.iterdir(), key=lambda path: path.stat().st_size)
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
        with pytest.raises(InvalidInput):
            provider.restore(tmp_path / "y", target, {})
        assert not (tmp_path / "y").exists() or not any((tmp_path / "y").iterdir())

    def test_health_and_close(self, store: Store) -> None:
        put(store, "m1")
        assert all(isinstance(key, str) and isinstance(value, str) for key, value in store.health().items())
        store.close()
        store.close()
        with pytest.raises(EngramError):
            put(store, "m2")

    def test_read_only(self, store: Store, provider: StoreProvider, folder: Path) -> None:
        put(store, "m1")
        store.close()
        reader = provider.open(folder, {}, read_only=True)
        try:
            assert ids(reader) == ["m1"]
            with pytest.raises(EngramError):
                put(reader, "m2")
        finally:
            reader.close()

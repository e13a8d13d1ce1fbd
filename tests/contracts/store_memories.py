"""The store contract: memories and their life."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.contracts.store_base import StoreFixtures, apply, ask, before_and_after, day, edge, ids, memory, one, put, ref, refused

from engram_kernel.changes import (
    Confirm,
    Link,
    Put,
    Restore,
    Retire,
    Revise,
    Supersede,
    Unlink,
)
from engram_kernel.errors import AlreadyExists, DuplicateContent, InvalidInput, NotFound, StaleRevision
from engram_kernel.model import Ref, State
from engram_kernel.query import ValidBetween
from engram_kernel.store import Store


class MemoryContract(StoreFixtures):
    """Putting, revising, superseding, retiring, restoring."""

    # Memories

    def test_put_and_get_every_field(self, store: Store, open_store: Callable[[], Store]) -> None:
        full = memory(
            "m1",
            "Grüße, 世界 🦉\n",
            title="Title: x",
            kind="TASK",
            status="OPEN",
            priority=2,
            confidence=0.25,
            origin="agent",
            source="s1",
            pinned=True,
            confirmations=3,
            created_cycle=4,
            updated_cycle=5,
            valid_from=day(1),
            valid_until=day(2),
            expires_at=day(3),
            metadata={"a": 1, "b": {"c": [1, None, "ü"]}, "d.e": True},
            attributes={"x": 1.5},
            created_at=day(1),
        )
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

    @pytest.mark.parametrize(
        "fields",
        [
            {"id": ""},
            {"id": " \t"},
            {"collection": ""},
            {"text": "a\x00b"},
            {"text": "lone \ud800"},
            {"title": "\udfff"},
            {"priority": 2**63},
            {"priority": "1"},
            {"confidence": math.nan},
            {"confidence": math.inf},
            {"metadata": {"a": math.nan}},
            {"metadata": {1: 2}},
            {"metadata": {"a": object()}},
            {"metadata": {"\ud800": 1}},
            {"metadata": [1]},
            {"valid_from": day(2), "valid_until": day(1)},
            {"valid_from": "2026-01-01"},
            {"pinned": 1},
            {"confirmations": None},
            {"text": None},
        ],
    )
    def test_bad_memories_are_refused_by_field(self, store: Store, fields: dict[str, Any]) -> None:
        error = refused(
            store,
            InvalidInput,
            Put(memory("ok")),
            Put(memory("m1", **fields)) if "text" not in fields else Put(replace(memory("m1"), **fields)),
        )
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

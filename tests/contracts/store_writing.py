"""The store contract: edges, and how a set of changes is applied."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from tests.contracts.store_base import StoreFixtures, apply, ask, before_and_after, day, edge, ids, memory, one, put, ref, refused

from engram_kernel.changes import (
    Applied,
    Confirm,
    Link,
    Put,
    Retire,
    Revise,
    Unlink,
)
from engram_kernel.errors import AlreadyExists, InvalidInput, NotFound
from engram_kernel.model import Ref
from engram_kernel.query import Compare, In, Like, Target
from engram_kernel.store import Store


class WritingContract(StoreFixtures):
    """Edges, atomicity, references, listeners."""

    # Edges

    def test_link_and_every_field(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2")
        full = edge(
            "e1",
            "m1",
            "m2",
            weight=0.5,
            origin="agent",
            created_cycle=3,
            valid_from=day(1),
            valid_until=day(2),
            metadata={"k": "v"},
            attributes={"n": 1},
            created_at=day(1),
        )
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
                (None, ["e2", "e1"]),
                (Compare("weight", ">", 0.5), ["e2"]),
                (Compare("source", "=", "m1"), ["e1"]),
                (In("target", ("m1",)), ["e2"]),
                (Compare("type", "=", "ABOUT"), ["e1"]),
                (Compare("metadata.k", "=", 1), ["e1"]),
                (Compare("id", "=", "e2"), ["e2"]),
                (Like("source", "%2"), ["e2"]),
            ):
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

"""The store contract: cards, usage, vectors, catch-up, log, backup."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.store_base import StoreFixtures, apply, before_and_after, day, edge, ids, memory, one, put, ref, refused

from engram_kernel.changes import (
    Confirm,
    Embed,
    Link,
    Put,
    PutCard,
    Restore,
    Retire,
    RetireCard,
    Revise,
)
from engram_kernel.errors import AlreadyExists, EngramError, InvalidInput, NotFound
from engram_kernel.model import Collection, Memory, Obligation, Source, Tier
from engram_kernel.store import Store, StoreProvider


class KeepingContract(StoreFixtures):
    """What else a store keeps."""

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

    def test_sources_tell_which_memories_come_from_the_same(self, store: Store, open_store: Callable[[], Store]) -> None:
        put(store, "m1", "m2", source="talk")
        put(store, "m3", source="other")
        put(store, "m4")
        apply(store, Revise(ref("m2"), {"source": "other"}))
        numbers = [one(store, name).number for name in ("m1", "m2", "m3", "m4")]
        for current in before_and_after(store, open_store):
            first, second, third, fourth = (int(code) for code in current.sources()[numbers])
            assert first >= 0
            assert second == third != first
            assert fourth < 0

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

    def test_a_backup_is_checked_before_it_is_restored(self, store: Store, provider: StoreProvider, folder: Path, tmp_path: Path) -> None:
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

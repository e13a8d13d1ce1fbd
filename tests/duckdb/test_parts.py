"""The in-memory parts on their own, and random histories of the whole."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_duckdb.adjacency import Adjacency
from engram_duckdb.names import Hashes, Names, key_of
from engram_duckdb.records import Cache
from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Confirm, Link, Put, Restore, Retire, Revise, Supersede, Unlink
from engram_kernel.errors import EngramError
from engram_kernel.model import Edge, Memory, Ref, State
from engram_kernel.query import Query, Target

KEYS = st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1])


@given(st.lists(KEYS, max_size=12), st.lists(KEYS, max_size=6))
def test_colliding_hashes_are_all_found(loaded: list[int], added: list[int]) -> None:
    hashes = Hashes()
    hashes.load(np.array(loaded, np.int64), np.arange(1, len(loaded) + 1))
    for place, key in enumerate(added):
        hashes.add(key, 100 + place)
    for key in (-(2**63), -1, 0, 1, 2**63 - 1):
        wanted = [place + 1 for place, own in enumerate(loaded) if own == key] + [
            100 + place for place, own in enumerate(added) if own == key
        ]
        assert hashes.find(key) == wanted


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=20), st.integers(0, 20))
def test_names_loaded_and_added(names: list[str], split: int) -> None:
    first, rest = names[:split], names[split:]
    table = Names()
    encoded = [name.encode() for name in first]
    keys = np.array([key_of(name) for name in first], np.int64)
    table.load(np.arange(1, len(first) + 1), np.array([len(name) for name in encoded], np.int64), keys, b"".join(encoded))
    for number, name in enumerate(rest, len(first) + 1):
        table.add(number, name)
    for number, name in enumerate(names, 1):
        assert table.name(number) == name
        assert table.find(name) == [place for place, other in enumerate(names, 1) if other == name]
    assert table.find("\U0010fffe never") == []


def test_a_key_is_what_the_database_computes(tmp_path: Path) -> None:
    store = DuckStore(tmp_path, Settings())
    try:
        for name in ("", "a", "é漢🦉", "x" * 1000):
            ((low,),) = store._database.rows("select signed(md5_number_lower(?))", [name])
            assert low == key_of(name)
    finally:
        store.close()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), max_size=20), st.integers(0, 20))
def test_adjacency(ends: list[tuple[int, int]], split: int) -> None:
    table, old = Adjacency(), ends[:split]
    table.load(np.arange(1, len(old) + 1), np.array([end for end, _ in old], np.int64), np.array([end for _, end in old], np.int64))
    for number, (source, target) in enumerate(ends[split:], len(old) + 1):
        table.add(number, source, target)
    for memory in range(1, 6):
        assert sorted(table.out(memory)) == [number for number, (source, _) in enumerate(ends, 1) if source == memory]
        assert sorted(table.into(memory)) == [number for number, (_, target) in enumerate(ends, 1) if target == memory]


def test_the_cache_is_bounded_and_forgets_the_oldest() -> None:
    cache = Cache(20_000)
    for number in range(100):
        cache.put(number, Memory(collection="a", id=str(number), kind="N", text="x" * 500))
        assert cache.get(0) is not None
    assert cache.size <= 20_000
    assert 99 in cache and 50 not in cache
    cache.put(1000, Memory(collection="a", id="big", kind="N", text="x" * 50_000))
    assert 1000 not in cache
    cache.drop(99)
    cache.clear()
    assert (cache.size, 0 in cache) == (0, False)


NAMES = st.sampled_from(["m1", "m2", "m3"])
REFS = NAMES.map(lambda name: Ref("a", name))
MEMORIES = st.builds(lambda name, text: Memory(collection="a", id=name, kind="N", text=text), NAMES, st.sampled_from("xyz"))
EDGES = st.builds(
    lambda name, source, target: Edge(id=name, source=source, target=target, type="T"), st.sampled_from(["e1", "e2"]), REFS, REFS
)
CHANGES = st.one_of(
    st.builds(Put, MEMORIES, st.booleans()),
    st.builds(Retire, REFS),
    st.builds(Restore, REFS),
    st.builds(Confirm, REFS),
    st.builds(Supersede, REFS, MEMORIES),
    st.builds(Revise, REFS, st.fixed_dictionaries({"text": st.sampled_from("xyz")})),
    st.builds(Link, EDGES),
    st.builds(Unlink, st.sampled_from(["e1", "e2"])),
)
SETS = st.lists(st.lists(CHANGES, min_size=1, max_size=4).map(tuple), min_size=1, max_size=12)


def _picture(store: DuckStore) -> Any:
    everything = Query(collections=("a",), states=tuple(State))
    refs = [Ref("a", name) for name in ("m1", "m2", "m3")]
    return [
        store.get(refs),
        store.find(everything),
        store.find_edges(Query(collections=("a",), states=tuple(State), target=Target.EDGE)),
        [store.edges_of(ref) for ref in refs],
        [store.history(ref) for ref in refs],
        [store.lineage(ref) for ref in refs],
        store.changed_since(0),
        store.statistics(["a"]).memories_by,
        [store.edge(name) for name in ("e1", "e2")],
    ]


def _invariants(store: DuckStore) -> None:
    living = store.find(Query(collections=("a",), states=(State.LIVE, State.SUPERSEDED))).items
    assert len({memory.id for memory in living}) == len(living)
    edges = store.find_edges(Query(collections=("a",), target=Target.EDGE)).items
    assert len({edge.id for edge in edges}) == len(edges) == len({(edge.source, edge.target, edge.type) for edge in edges})
    ends = {end for edge in edges for end in (edge.source, edge.target)}
    assert ends <= {memory.ref for memory in living}


@settings(max_examples=40, deadline=None)
@given(SETS)
def test_random_histories_survive_reopening(sets: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        store = DuckStore(Path(name), Settings())
        for changes in sets:
            try:
                store.apply(ChangeSet(changes))
            except EngramError:
                continue
            _invariants(store)
        before = _picture(store)
        assert store.verify(deep=True).faults == ()
        store.close()
        store = DuckStore(Path(name), Settings())
        try:
            assert _picture(store) == before
        finally:
            store.close()

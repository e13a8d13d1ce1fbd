"""Brings the in-memory state up to a commit that is already durable."""

from __future__ import annotations

from engram_duckdb.heads import edge_cells, memory_cells, print_of
from engram_duckdb.overlay import Layer
from engram_duckdb.records import Cache
from engram_duckdb.state import State


def publish(state: State, layer: Layer, cache: Cache) -> None:
    """`layer` holds the final form of everything that a group changed."""
    with state.lock:
        _publish_memories(state, layer, cache)
        _publish_edges(state, layer)
        _publish_cards(state, layer)
        state.models.update(layer.models)
        if state.adjacency.unsorted:
            state.sort_edges()


def _publish_memories(state: State, layer: Layer, cache: Cache) -> None:
    rids, size = state.memories["rid"].array, state.memories.size
    rows = {}
    for number, held in layer.memories.items():
        own = {"rid": held.rid, "cid": held.cid, "root": held.root, "print": print_of(held.memory.content_hash)}
        rows[number] = memory_cells(held.memory) | own
        cache.drop(int(rids[number]) if number < size else 0)
        cache.put(held.rid, held.memory)
    state.memories.put(rows)
    for ref, numbers in layer.ids.items():
        for number in numbers:
            state.memory_names.add(number, ref.id)
    for (_, digest), numbers in layer.prints.items():
        for number in numbers:
            state.prints.add(print_of(digest), number)


def _publish_edges(state: State, layer: Layer) -> None:
    for edge_id, numbers in layer.edge_ids.items():
        for number in numbers:
            state.edge_names.add(number, edge_id)
            state.adjacency.add(number, *layer.edges[number].ends)
    rows = {}
    for number, held in layer.edges.items():
        own = {"rid": held.rid, "src": held.ends[0], "dst": held.ends[1], "retired_with": held.retired_with}
        bare = not held.edge.metadata and not held.edge.attributes
        rows[number] = edge_cells(held.edge) | own | {"bare": bare}
    state.edges.put(rows)


def _publish_cards(state: State, layer: Layer) -> None:
    for key, (card, revision) in layer.cards.items():
        state.card_revisions[key] = revision
        if card is None:
            state.cards.pop(key, None)
        else:
            state.cards[key] = card

"""The state as it will be after changes that are planned but not yet committed, in layers over what is in memory.

A ChangeSet is planned on a layer of its own; the layers of one commit group lie on each other, so a ChangeSet sees
the earlier ones, and one that fails is thrown away whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from engram_duckdb import state as memory_state
from engram_duckdb.heads import print_of
from engram_duckdb.moments import to_micros
from engram_duckdb.records import Records
from engram_duckdb.state import LIVE, SUPERSEDED, CardKey
from engram_duckdb.statements import statements
from engram_kernel.model import Card, Edge, Memory, Ref, State


@dataclass(frozen=True, slots=True)
class Held:
    """A memory with what only the store knows of it."""

    memory: Memory
    rid: int
    cid: int
    root: int


@dataclass(frozen=True, slots=True)
class HeldEdge:
    """An edge with its row number, its ends and the memory whose retirement took it along (0: none)."""

    edge: Edge
    rid: int
    ends: tuple[int, int]
    retired_with: int = 0


class View(Protocol):
    """What planning needs to know."""

    def memory(self, number: int) -> Held | None: ...
    def alive(self, number: int) -> bool: ...
    def holders(self, ref: Ref) -> list[int]: ...
    def same_content(self, collection: str, digest: str) -> list[int]: ...
    def edge(self, number: int) -> HeldEdge | None: ...
    def edge_numbers(self, edge_id: str) -> list[int]: ...
    def edges_out(self, number: int) -> list[int]: ...
    def edges_into(self, number: int) -> list[int]: ...
    def card(self, key: CardKey) -> tuple[Card | None, int]: ...
    def model(self, name: str) -> tuple[int, int] | None: ...
    def last_living_end(self, number: int) -> int | None: ...


class Base:
    """The committed state."""

    def __init__(self, state: memory_state.State, records: Records) -> None:
        self.state, self._records = state, records

    def prefetch(self, refs: Iterable[Ref]) -> None:
        """Bring the newest records of many addresses into the cache with one statement."""
        rids = self.state.memories["rid"].array
        numbers = {number for ref in refs if (number := self.state.holder(ref)) is not None}
        cold = [int(rids[number]) for number in numbers if int(rids[number]) not in self._records.cache]
        if len(cold) > 1:
            self._records.fetch(cold, self.state)

    def memory(self, number: int) -> Held | None:
        heads = self.state.memories
        if not 0 < number < heads.size:
            return None
        rid, cid, root = (int(heads[name].array[number]) for name in ("rid", "cid", "root"))
        found = self._records.memories([rid], self.state)[0]
        return Held(found, rid, cid, root) if found is not None else None

    def alive(self, number: int) -> bool:
        """Living or superseded, known without reading the record."""
        states = self.state.memories.view("state")
        return 0 < number < len(states) and states[number] in (LIVE, SUPERSEDED)

    def holders(self, ref: Ref) -> list[int]:
        return self.state.holders(ref)

    def same_content(self, collection: str, digest: str) -> list[int]:
        key, heads = print_of(digest), self.state.memories
        code = heads["collection"].vocabulary.code(collection)
        prints, codes, states = (heads[name].array for name in ("print", "collection", "state"))
        found = dict.fromkeys(self.state.prints.find(key))
        return [number for number in found if prints[number] == key and codes[number] == code and states[number] == LIVE]

    def edge(self, number: int) -> HeldEdge | None:
        heads = self.state.edges
        if not 0 < number < heads.size:
            return None
        rid, src, dst, retired_with = (int(heads[name].array[number]) for name in ("rid", "src", "dst", "retired_with"))
        found = self._records.edges(self.state, [number])
        return HeldEdge(found[0], rid, (src, dst), retired_with) if found else None

    def edge_numbers(self, edge_id: str) -> list[int]:
        return self.state.edge_names.find(edge_id)

    def edges_out(self, number: int) -> list[int]:
        return self.state.adjacency.out(number)

    def edges_into(self, number: int) -> list[int]:
        return self.state.adjacency.into(number)

    def card(self, key: CardKey) -> tuple[Card | None, int]:
        return self.state.cards.get(key), self.state.card_revisions.get(key, -1)

    def model(self, name: str) -> tuple[int, int] | None:
        return self.state.models.get(name)

    def last_living_end(self, number: int) -> int | None:
        rows = self._records.database.rows(statements("read")["last_living_end"], [number])
        return rows[0][0] if rows else None


@dataclass
class Layer:
    """Changes on top of another view."""

    below: View
    memories: dict[int, Held] = field(default_factory=dict)
    ids: dict[Ref, list[int]] = field(default_factory=dict)
    prints: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    edges: dict[int, HeldEdge] = field(default_factory=dict)
    edge_ids: dict[str, list[int]] = field(default_factory=dict)
    out: dict[int, list[int]] = field(default_factory=dict)
    into: dict[int, list[int]] = field(default_factory=dict)
    cards: dict[CardKey, tuple[Card | None, int]] = field(default_factory=dict)
    models: dict[str, tuple[int, int]] = field(default_factory=dict)
    living_ends: dict[int, int | None] = field(default_factory=dict)

    def memory(self, number: int) -> Held | None:
        return self.memories[number] if number in self.memories else self.below.memory(number)

    def alive(self, number: int) -> bool:
        if number in self.memories:
            return self.memories[number].memory.state is not State.RETIRED
        return self.below.alive(number)

    def holders(self, ref: Ref) -> list[int]:
        return self.below.holders(ref) + self.ids.get(ref, [])

    def same_content(self, collection: str, digest: str) -> list[int]:
        found = self.below.same_content(collection, digest) + self.prints.get((collection, digest), [])
        return [number for number in found if number not in self.memories or _is_same(self.memories[number].memory, digest)]

    def edge(self, number: int) -> HeldEdge | None:
        return self.edges[number] if number in self.edges else self.below.edge(number)

    def edge_numbers(self, edge_id: str) -> list[int]:
        return self.below.edge_numbers(edge_id) + self.edge_ids.get(edge_id, [])

    def edges_out(self, number: int) -> list[int]:
        return self.below.edges_out(number) + self.out.get(number, [])

    def edges_into(self, number: int) -> list[int]:
        return self.below.edges_into(number) + self.into.get(number, [])

    def card(self, key: CardKey) -> tuple[Card | None, int]:
        return self.cards[key] if key in self.cards else self.below.card(key)

    def model(self, name: str) -> tuple[int, int] | None:
        return self.models[name] if name in self.models else self.below.model(name)

    def last_living_end(self, number: int) -> int | None:
        return self.living_ends[number] if number in self.living_ends else self.below.last_living_end(number)

    def add_memory(self, held: Held, fresh: bool, new: bool) -> None:
        number, memory = held.memory.number, held.memory
        self.memories[number] = held
        if new:
            self.ids.setdefault(memory.ref, []).append(number)
        if fresh:
            self.prints.setdefault((memory.collection, memory.content_hash), []).append(number)
        if memory.state is State.LIVE:
            self.living_ends[number] = to_micros(memory.valid_until)

    def add_edge(self, held: HeldEdge, new: bool) -> None:
        number = held.edge.number
        self.edges[number] = held
        if new:
            self.edge_ids.setdefault(held.edge.id, []).append(number)
            self.out.setdefault(held.ends[0], []).append(number)
            self.into.setdefault(held.ends[1], []).append(number)

    def absorb(self, upper: Layer) -> None:
        """Take over the changes of a layer planned on top of this one."""
        for name in ("memories", "edges", "cards", "models", "living_ends"):
            getattr(self, name).update(getattr(upper, name))
        for name in ("ids", "prints", "edge_ids", "out", "into"):
            _extend(getattr(self, name), getattr(upper, name))


def _extend(lists: dict[Any, list[int]], more: dict[Any, list[int]]) -> None:
    for key, numbers in more.items():
        lists.setdefault(key, []).extend(numbers)


def _is_same(memory: Memory, digest: str) -> bool:
    return memory.state is State.LIVE and memory.content_hash == digest

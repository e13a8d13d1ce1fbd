"""Everything about the store that is held in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from engram_duckdb.adjacency import Adjacency
from engram_duckdb.columns import Columns
from engram_duckdb.heads import edge_heads, memory_heads
from engram_duckdb.names import Hashes, Names
from engram_kernel.model import Card, Ref

FIRST_HASH = "0" * 64
LIVE, SUPERSEDED, RETIRED = 0, 1, 2
CardKey = tuple[str, str, str]


@dataclass(slots=True)
class Counters:
    """The last number given to each kind of row."""

    mid: int = 0
    cid: int = 0
    rid: int = 0
    eid: int = 0
    erid: int = 0


@dataclass(slots=True)
class Tail:
    """The end of the operation log."""

    sequence: int = 0
    hash: str = FIRST_HASH
    micros: int = 0


@dataclass
class State:
    """Written by the writer thread under `lock`; read under `lock` wherever two cells must fit together."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    memories: Columns = field(default_factory=memory_heads)
    edges: Columns = field(default_factory=edge_heads)
    memory_names: Names = field(default_factory=Names)
    edge_names: Names = field(default_factory=Names)
    prints: Hashes = field(default_factory=Hashes)
    adjacency: Adjacency = field(default_factory=Adjacency)
    cards: dict[CardKey, Card] = field(default_factory=dict)
    card_revisions: dict[CardKey, int] = field(default_factory=dict)
    models: dict[str, tuple[int, int]] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    tail: Tail = field(default_factory=Tail)
    damaged: dict[str, str] = field(default_factory=dict)

    def holders(self, ref: Ref) -> list[int]:
        """The numbers of every memory that ever had this address, oldest first."""
        code = self.memories["collection"].vocabulary.code(ref.collection)
        if code is None:
            return []
        codes = self.memories["collection"].array
        return [number for number in self.memory_names.find(ref.id) if codes[number] == code]

    def holder(self, ref: Ref) -> int | None:
        """The living or superseded memory of this address."""
        states = self.memories["state"].array
        return next((number for number in reversed(self.holders(ref)) if states[number] in (LIVE, SUPERSEDED)), None)

    def edge_holder(self, edge_id: str) -> int | None:
        states = self.edges["state"].array
        return next((number for number in reversed(self.edge_names.find(edge_id)) if states[number] == LIVE), None)

    def ref(self, number: int) -> Ref:
        return Ref(self.memories.value("collection", number), self.memory_names.name(number))

    def sort_edges(self) -> None:
        numbers = np.flatnonzero(self.edges.view("rid") > 0)
        self.adjacency.load(numbers, self.edges["src"].array[numbers], self.edges["dst"].array[numbers])

"""Everything about the store that is held in memory, loaded from the database in a few statements."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engram_duckdb import cards
from engram_duckdb.adjacency import Adjacency
from engram_duckdb.columns import Array, Columns
from engram_duckdb.database import Database
from engram_duckdb.heads import edge_heads, memory_heads, print_of
from engram_duckdb.names import Hashes, Names
from engram_duckdb.statements import statements
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


def load(database: Database) -> State:
    state, sql = State(), statements("load")
    with database.reading() as cursor:
        state.counters = Counters(*(cursor.execute(sql["counters"]).fetchone() or ()))
        tail = cursor.execute(sql["tail"]).fetchone()
        state.tail = Tail(*tail) if tail else Tail()
        state.models = {name: (model, dimension) for model, name, dimension in cursor.execute(sql["models"]).fetchall()}
        _load_cards(state, cursor.execute(sql["cards"]).fetchall())
        _load_memories(state, cursor, sql)
        _load_edges(state, cursor.execute(sql["edges"]).fetchnumpy())
    return state


def _load_cards(state: State, rows: list[tuple[Any, ...]]) -> None:
    for kind, collection, name, body, revision in rows:
        key = (kind, collection, name)
        state.card_revisions[key] = revision
        if body is None:
            continue
        try:
            state.cards[key] = cards.read(kind, json.loads(body))
        except (ValueError, TypeError, KeyError) as error:
            state.damaged[f"{kind} {name}"] = f"the record cannot be read: {error}"


def _load_memories(state: State, cursor: Any, sql: dict[str, str]) -> None:
    known = cursor.execute(sql["identities"]).fetchnumpy()
    numbers = np.ma.getdata(known["mid"])
    heads, names = state.memories, np.ma.getdata(known["id"]).tolist()
    heads.load(
        numbers, {"number": numbers, "collection": known["collection"], "created_at": known["created_at"], "root": known["root_mid"]}
    )
    state.memory_names.load(numbers, names)
    newest = cursor.execute(sql["memories"]).fetchnumpy()
    numbers = np.ma.getdata(newest.pop("mid"))
    newest["revision"] = newest.pop("rev")
    heads.load(numbers, newest)
    _load_prints(state, numbers, cursor.execute(sql["contents"]).fetchnumpy())
    used = cursor.execute(sql["usage"]).fetchnumpy()
    heads.load(np.ma.getdata(used["mid"]), {"used": used["count"], "used_at": used["last_at"]})


def _load_prints(state: State, numbers: Array, contents: dict[str, Array]) -> None:
    cids, digests = np.ma.getdata(contents["cid"]), np.ma.getdata(contents["hash"]).tolist()
    prints = np.zeros(int(cids.max()) + 1 if len(cids) else 1, np.int64)
    prints[cids] = [print_of(digest) for digest in digests]
    own = prints[state.memories["cid"].array[numbers]] if len(numbers) else prints[:0]
    state.memories.load(numbers, {"print": own})
    state.prints.load(own, numbers)


def _load_edges(state: State, newest: dict[str, Array]) -> None:
    numbers = np.ma.getdata(newest.pop("eid"))
    state.edge_names.load(numbers, np.ma.getdata(newest.pop("id")).tolist())
    newest["revision"] = newest.pop("rev")
    state.edges.load(numbers, {"number": numbers, **newest})
    state.sort_edges()

"""`DuckStore`: the store protocol on one DuckDB file, put together from the parts of this package."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import structlog

from engram_duckdb import backup, cards, checks, oplog, schema, state, statistics, warm
from engram_duckdb.columns import Array
from engram_duckdb.database import Database
from engram_duckdb.faults import Faults
from engram_duckdb.faults import none as no_faults
from engram_duckdb.load import load
from engram_duckdb.moments import from_micros
from engram_duckdb.records import Cache, Records
from engram_duckdb.search import Search
from engram_duckdb.selection import MaskSelection
from engram_duckdb.settings import Places, Settings
from engram_duckdb.state import LIVE, RETIRED
from engram_duckdb.statements import statements
from engram_duckdb.writer import Writer
from engram_kernel.changes import Applied, ChangeSet
from engram_kernel.errors import NotAllowed
from engram_kernel.model import Card, Edge, Event, Memory, Ref
from engram_kernel.query import Page, Query
from engram_kernel.store import Direction, Progress, Statistics, Usage, Verification

C = TypeVar("C")
_log = structlog.get_logger("duckdb")


class DuckStore:
    """See `engram_kernel.store.Store`. `fault` is the seam for tests; see `faults.py`."""

    def __init__(self, folder: Path, settings: Settings, *, read_only: bool = False, fault: Faults = no_faults) -> None:
        self._database = Database(Places(folder), settings, read_only, fault)
        try:
            schema.migrate(self._database, self._before_migration)
            self._records = Records(self._database, Cache(settings.cache_mb << 20))
            self._state = load(self._database)
        except BaseException:
            self._database.close()
            raise
        self._note_missing_events()
        self.search = Search(self._database, self._records)
        self._writer = None if read_only else Writer(self._database, self._state, self._records, self._reload)
        self._warming = warm.start(self._records, self._state)
        self._closing = threading.Lock()
        self._closed = False

    def _before_migration(self, version: int) -> None:
        places = self._database.places
        backup.export(self._database, backup.free_name(places.backups, f"before-schema-{version}"))

    def _note_missing_events(self) -> None:
        """The anchor is written after a commit, so a log that ends before it has lost its end."""
        anchor, tail = oplog.read_anchor(self._database.places.anchor), self._state.tail
        if anchor is not None and anchor.sequence > tail.sequence:
            note = f"At least {anchor.sequence - tail.sequence} events after number {tail.sequence} are missing."
            self._database.notes.append(note)
            _log.error("events are missing", after=tail.sequence, at_least=anchor.sequence - tail.sequence)

    def _reload(self) -> state.State:
        self._records.cache.clear()
        self._state = load(self._database)
        return self._state

    # Writing

    def apply(self, changes: ChangeSet) -> Applied:
        return self._writing().submit(changes).result()

    def _writing(self) -> Writer:
        if self._writer is None:
            raise NotAllowed("The store is open for reading only.")
        return self._writer

    def recorded(self, reference: str) -> Applied | None:
        rows = self._database.rows(statements("read")["recorded"], [[reference]])
        return oplog.applied_from(rows[0][1], rows[0][2]) if rows else None

    def touch(self, numbers: Sequence[int]) -> None:
        if self._writer is not None:
            self._writer.touch(numbers)

    def subscribe(self, listener: Callable[[Applied], None]) -> None:
        if self._writer is not None:
            self._writer.subscribe(listener)

    # Reading

    def get(self, refs: Sequence[Ref]) -> list[Memory | None]:
        now = self._state
        with now.lock:
            numbers = [now.holder(ref) for ref in refs]
            rids = now.memories["rid"].array[[number or 0 for number in numbers]].tolist() if refs else []
        return self._records.memories(rids, now)

    def by_number(self, numbers: Sequence[int]) -> list[Memory | None]:
        now = self._state
        with now.lock:
            heads = now.memories
            rids, states = heads["rid"].array, heads["state"].array
            alive = [number if 0 < number < heads.size and states[number] not in (RETIRED, -1) else 0 for number in numbers]
            chosen = [int(rids[number]) if number else 0 for number in alive]
        return self._records.memories(chosen, now)

    def edge(self, edge_id: str) -> Edge | None:
        now = self._state
        number = now.edge_holder(edge_id)
        found = self._records.edges(now, [number]) if number is not None else []
        return found[0] if found else None

    def edges_of(self, ref: Ref, direction: Direction = "BOTH", limit: int | None = None) -> list[Edge]:
        now = self._state
        with now.lock:
            number = now.holder(ref)
            chosen = _heaviest(now, _incident(now, number, direction), limit) if number is not None else []
        return self._records.edges(now, chosen)

    def find(self, query: Query) -> Page[Memory]:
        return self.search.memories(self._state, query)

    def find_edges(self, query: Query) -> Page[Edge]:
        return self.search.edges(self._state, query)

    def select(self, query: Query) -> MaskSelection:
        return self.search.select(self._state, query)

    def history(self, ref: Ref) -> list[Memory]:
        now = self._state
        numbers = now.holders(ref)
        rows = self._database.rows(statements("read")["history_of"], [numbers]) if numbers else []
        found = self._records.memories([rid for (rid,) in rows], now)
        return [memory for memory in found if memory is not None]

    def lineage(self, ref: Ref) -> list[Memory]:
        now = self._state
        with now.lock:
            numbers = now.holders(ref)
            if not numbers:
                return []
            number = now.holder(ref) or numbers[-1]
            roots = now.memories.view("root")
            chain = np.flatnonzero(roots == roots[number])
            rids = now.memories["rid"].array[chain].tolist()
        return [memory for memory in self._records.memories(rids, now) if memory is not None]

    def cards(self, kind: type[C], collection: str | None = None) -> list[C]:
        name, now = cards.kind_of(kind), self._state
        with now.lock:
            found = [(key, card) for key, card in now.cards.items() if key[0] == name and collection in (None, key[1])]
        return [card for _, card in sorted(found, key=lambda item: (item[0][2], item[0][1]))]  # type: ignore[misc]

    def card(self, kind: type[Card], collection: str, card_id: str) -> Card | None:
        name = cards.kind_of(kind)
        return self._state.cards.get((name, cards.home(name, collection, card_id), card_id))

    def usage(self, numbers: Sequence[int]) -> Mapping[int, Usage]:
        heads = self._state.memories
        known = [number for number in numbers if 0 < number < heads.size]
        return {number: Usage(heads.value("used", number) or 0, from_micros(heads.value("used_at", number))) for number in known}

    def sources(self) -> Array:
        """The column itself, not a copy: a later commit may show through."""
        now = self._state
        with now.lock:
            return now.memories.view("source")

    def vectors(self, model: str, numbers: Sequence[int]) -> Mapping[int, bytes]:
        """Vectors of the current content only: one made of an older text counts as missing."""
        now = self._state
        known = now.models.get(model)
        if known is None or not numbers:
            return {}
        rows = self._database.rows(statements("read")["vectors"], [known[0], list(numbers)])
        cids, states = now.memories["cid"].array, now.memories["state"].array
        return {mid: bytes(vector) for mid, cid, vector in rows if cids[mid] == cid and states[mid] != RETIRED}

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        return list(oplog.events(self._database, after, limit))

    def statistics(self, collections: Sequence[str]) -> Statistics:
        return statistics.collect(self._state, collections, self._database.bytes_on_disk)

    def changed_since(self, sequence: int, limit: int = 1000) -> list[tuple[int, int]]:
        """Never ends inside a sequence number, so that the next call may start after the last one."""
        sql = statements("read")
        rows = self._database.rows(sql["changed"], [sequence, limit])
        if len(rows) == limit:
            last = rows[-1][0]
            rows = [row for row in rows if row[0] < last] + self._database.rows(sql["changed_within"], [last])
        return rows

    def scan(self, after: int = 0, batch: int = 1000) -> Iterator[Sequence[Memory]]:
        while True:
            now = self._state
            with now.lock:
                living = np.flatnonzero(now.memories.view("state")[after + 1 :] == LIVE)[:batch] + after + 1
                rids = now.memories["rid"].array[living].tolist()
            if not rids:
                return
            after = int(living[-1])
            yield [memory for memory in self._records.uncached(rids, now) if memory is not None]

    def sequence(self) -> int:
        return self._state.tail.sequence

    # Care

    def verify(self, deep: bool = False, progress: Progress | None = None) -> Verification:
        return checks.verify(self._database, self._state, deep, progress)

    def backup(self, target: Path, progress: Progress | None = None) -> Mapping[str, Any]:
        return backup.backup(self._database, target, progress)

    def health(self) -> Mapping[str, str]:
        return checks.health(self._database, self._state)

    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._warming.stop()
        if self._writer is not None:
            self._writer.close()
        self._database.close()


def _incident(now: state.State, number: int, direction: Direction) -> list[int]:
    out = now.adjacency.out(number) if direction in ("OUT", "BOTH") else []
    into = now.adjacency.into(number) if direction in ("IN", "BOTH") else []
    states = now.edges["state"].array
    return [edge for edge in dict.fromkeys(out + into) if states[edge] == LIVE]


def _heaviest(now: state.State, numbers: list[int], limit: int | None) -> list[int]:
    """Heaviest first, then oldest first."""
    weights = now.edges["weight"].array
    return sorted(numbers, key=lambda number: (-weights[number], number))[:limit]

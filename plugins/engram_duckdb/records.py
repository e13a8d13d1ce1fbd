"""Whole records by revision number. A revision never changes, so a cached one is never stale."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import structlog

from engram_duckdb import state as memory_state
from engram_duckdb.database import Database
from engram_duckdb.moments import from_micros
from engram_duckdb.rows import Damaged, Row, edge_from, memory_from, read_document
from engram_duckdb.statements import statements
from engram_kernel.model import Edge, Memory, State

_OVERHEAD = 1100
_BY_RID = " where r.rid in (select unnest(?::bigint[]))"
_log = structlog.get_logger("duckdb")


class Cache:
    """Least recently used memories, bounded by their estimated size in bytes."""

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self._items: OrderedDict[int, tuple[Memory, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, rid: int) -> bool:
        return rid in self._items

    def get(self, rid: int) -> Memory | None:
        with self._lock:
            found = self._items.get(rid)
            if found is None:
                return None
            self._items.move_to_end(rid)
            return found[0]

    def put(self, rid: int, memory: Memory, *, oldest: bool = False) -> None:
        weight = _weight(memory)
        with self._lock:
            if rid in self._items or weight > self.limit:
                return
            self._items[rid] = (memory, weight)
            self._items.move_to_end(rid, last=not oldest)
            self.size += weight
            while self.size > self.limit:
                self.size -= self._items.popitem(last=False)[1][1]

    def drop(self, rid: int) -> None:
        with self._lock:
            found = self._items.pop(rid, None)
            self.size -= found[1] if found else 0

    def clear(self) -> None:
        with self._lock:
            self._items.clear()
            self.size = 0


def _weight(memory: Memory) -> int:
    documents = 8 * (len(str(memory.metadata)) + len(str(memory.attributes))) if memory.metadata or memory.attributes else 0
    return _OVERHEAD + sys.getsizeof(memory.text) + sys.getsizeof(memory.title) + documents


class Records:
    """Reads memories and edges through the cache."""

    def __init__(self, database: Database, cache: Cache) -> None:
        self.database, self.cache = database, cache

    def memories(self, rids: Sequence[int], state: memory_state.State) -> list[Memory | None]:
        """In the order of `rids`; a damaged record is named in `state.damaged` and left out as None."""
        found = {rid: memory for rid in rids if (memory := self.cache.get(rid)) is not None}
        missing = [rid for rid in rids if rid not in found]
        if missing:
            found |= self.fetch(missing, state)
        return [found.get(rid) for rid in rids]

    def uncached(self, rids: Sequence[int], state: memory_state.State) -> list[Memory | None]:
        """Like `memories`, for long scans: what was not cached before stays out."""
        found = {rid: memory for rid in rids if (memory := self.cache.get(rid)) is not None}
        missing = [rid for rid in rids if rid not in found]
        found |= self.fetch(missing, state, keep=False) if missing else {}
        return [found.get(rid) for rid in rids]

    def fetch(self, rids: Sequence[int], state: memory_state.State, *, oldest: bool = False, keep: bool = True) -> dict[int, Memory]:
        found: dict[int, Memory] = {}
        for row in self._rows(rids, state):
            try:
                found[row[0]] = memory_from(row)
            except Damaged as error:
                _name_damage(state.damaged, f"memory {row[2]}/{row[3]}", str(error))
                continue
            if keep:
                self.cache.put(row[0], found[row[0]], oldest=oldest)
        return found

    def _rows(self, rids: Sequence[int], state: memory_state.State) -> Iterator[Row]:
        """Rows as of the statement `records`. Two look-ups and what is in memory take a third of the time of its joins."""
        revisions = self._look_up("revisions", rids)
        contents = {cid: rest for cid, *rest in self._look_up("contents", [row[2] for row in revisions])}
        for rid, mid, cid, kind, *cells in revisions:
            if cid not in contents:
                _name_damage(state.damaged, f"memory {'/'.join(state.ref(mid))}", "its text is missing")
                continue
            text, title, digest = contents[cid]
            created = state.memories.value("created_at", mid)
            yield (rid, mid, *state.ref(mid), created, kind, text, title, *cells, digest)

    def _look_up(self, name: str, keys: Sequence[int]) -> list[Row]:
        if len(keys) == 1:
            return self.database.rows(statements("read")[name].format(those="= ?"), [keys[0]])
        return self.database.rows(statements("read")[name].format(those="in (select unnest(?::bigint[]))"), [list(keys)])

    def edges(self, state: memory_state.State, numbers: Sequence[int]) -> list[Edge]:
        """Edges in their newest revision, assembled from memory; only those with documents need the database."""
        rids, bare = state.edges["rid"].array, state.edges["bare"].array
        with state.lock:
            plain = {number: (int(rids[number]), _edge(state, number)) for number in numbers}
            wanted = [rid for number, (rid, _) in plain.items() if not bare[number]]
        documents = self._documents(wanted) if wanted else {}
        return [edge for number in numbers if (edge := self._full(*plain[number], documents, state.damaged)) is not None]

    def _documents(self, rids: Iterable[int]) -> dict[int, tuple[str, str]]:
        rows = self.database.rows(statements("read")["edge_documents"], [list(rids)])
        return {rid: (metadata, attributes) for rid, metadata, attributes in rows}

    @staticmethod
    def _full(rid: int, edge: Edge, documents: dict[int, tuple[str, str]], damaged: dict[str, str]) -> Edge | None:
        if rid not in documents:
            return edge
        try:
            metadata, attributes = (
                read_document(text, what) for text, what in zip(documents[rid], ("metadata", "attributes"), strict=True)
            )
        except Damaged as error:
            _name_damage(damaged, f"edge {edge.id}", str(error))
            return None
        return replace(edge, metadata=metadata, attributes=attributes)

    def old_edges(self, rids: Sequence[int], damaged: dict[str, str]) -> list[Edge]:
        """Edges of any revision, in the order of `rids`."""
        sql = statements("read")["edge_records"] + _BY_RID.replace("r.rid", "e.rid")
        found: dict[int, Edge] = {}
        for row in self.database.rows(sql, [list(rids)]):
            try:
                found[row[0]] = edge_from(row)
            except Damaged as error:
                _name_damage(damaged, f"edge {row[2]}", str(error))
        return [found[rid] for rid in rids if rid in found]


def _edge(state: memory_state.State, number: int) -> Edge:
    value = state.edges.value
    return Edge(
        number=number,
        id=state.edge_names.name(number),
        source=state.ref(value("src", number)),
        target=state.ref(value("dst", number)),
        type=value("type", number),
        weight=value("weight", number),
        origin=value("origin", number),
        created_cycle=value("created_cycle", number),
        valid_from=from_micros(value("valid_from", number)),
        valid_until=from_micros(value("valid_until", number)),
        created_at=from_micros(value("created_at", number)),
        updated_at=from_micros(value("updated_at", number)),
        revision=value("revision", number),
        state=State(value("state", number)),
    )


def _name_damage(damaged: dict[str, str], record: str, fault: str) -> None:
    if damaged.get(record) != fault:
        damaged[record] = fault
        _log.error("damaged record skipped", record=record, fault=fault)

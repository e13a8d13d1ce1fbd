"""The rows that one ChangeSet will write, and the effects that the operation log will record for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from engram_duckdb import cards
from engram_duckdb.heads import content_hash
from engram_duckdb.moments import from_micros, to_micros
from engram_duckdb.names import key_of
from engram_duckdb.overlay import Held, HeldEdge, Layer
from engram_duckdb.rows import Row, document, edge_row, revision_row, stamp
from engram_duckdb.state import Counters
from engram_kernel.changes import Outcome
from engram_kernel.model import Card, Edge, Memory


@dataclass
class Rows:
    """Table rows of one ChangeSet or of a whole group, in column order."""

    memory: list[Row] = field(default_factory=list)
    content: list[Row] = field(default_factory=list)
    revision: dict[int, list[Any]] = field(default_factory=dict)
    edge: dict[int, list[Any]] = field(default_factory=dict)
    card: list[list[Any]] = field(default_factory=list)
    model: list[Row] = field(default_factory=list)
    vectors: dict[tuple[int, int], Row] = field(default_factory=dict)
    oplog: list[Row] = field(default_factory=list)
    closed_revisions: dict[int, int] = field(default_factory=dict)
    """Row number to the microsecond from which a newer revision holds."""
    closed_edges: dict[int, int] = field(default_factory=dict)
    closed_cards: dict[tuple[str, str, str], int] = field(default_factory=dict)


class Stage:
    """Collects what one ChangeSet does. Numbers are taken from a copy of the counters, so a failed one leaves no gap."""

    def __init__(self, layer: Layer, counters: Counters, sequence: int, micros: int) -> None:
        self.layer, self.counters, self.sequence, self.micros = layer, replace(counters), sequence, micros
        self.time: datetime = from_micros(micros)  # type: ignore[assignment]
        self.rows = Rows()
        self.effects: list[Mapping[str, Any]] = []
        self.outcomes: list[Outcome] = []

    def insert(self, memory: Memory, root: int = 0) -> Memory:
        """A new memory; `root` is the first of its supersede chain, 0 for itself."""
        self.counters.mid += 1
        number = self.counters.mid
        created = memory.created_at or self.time
        memory = replace(
            memory,
            number=number,
            revision=0,
            created_at=created,
            updated_at=self.time,
            superseded_by=None,
            content_hash=content_hash(memory.text),
        )
        self.rows.memory.append((number, memory.collection, memory.id, stamp(created), root or number, key_of(memory.id)))
        self._revision(memory, self._content(memory), root or number, fresh=True, new=True)
        return memory

    def revise(self, held: Held, **fields: Any) -> Memory:
        """A new revision of a memory with some fields changed."""
        old = held.memory
        memory = replace(old, **fields, revision=old.revision + 1, updated_at=self.time)
        cid = held.cid
        if (memory.text, memory.title) != (old.text, old.title):
            memory = replace(memory, content_hash=content_hash(memory.text))
            cid = self._content(memory)
        self.rows.closed_revisions[held.rid] = self.micros
        self._revision(memory, cid, held.root, fresh=cid != held.cid or memory.state is not old.state, new=False)
        return memory

    def _content(self, memory: Memory) -> int:
        self.counters.cid += 1
        title_hash = content_hash(memory.title)
        self.rows.content.append((self.counters.cid, memory.number, memory.title, memory.text, title_hash, memory.content_hash))
        return self.counters.cid

    def _revision(self, memory: Memory, cid: int, root: int, *, fresh: bool, new: bool) -> None:
        self.counters.rid += 1
        rid = self.counters.rid
        row = self.rows.revision[rid] = revision_row(memory, rid, cid, self.sequence, fresh)
        self.layer.add_memory(Held(memory, rid, cid, root), fresh, new)
        self.effects.append(memory_effect(memory, document_hashes(row[22], row[23])))

    def link(self, edge: Edge, ends: tuple[int, int]) -> Edge:
        self.counters.eid += 1
        edge = replace(edge, number=self.counters.eid, revision=0, created_at=edge.created_at or self.time, updated_at=self.time)
        self._edge(HeldEdge(edge, 0, ends), new=True)
        return edge

    def revise_edge(self, held: HeldEdge, retired_with: int = 0, **fields: Any) -> Edge:
        edge = replace(held.edge, **fields, revision=held.edge.revision + 1, updated_at=self.time)
        self.rows.closed_edges[held.rid] = self.micros
        self._edge(HeldEdge(edge, 0, held.ends, retired_with), new=False)
        return edge

    def _edge(self, held: HeldEdge, *, new: bool) -> None:
        self.counters.erid += 1
        rid = self.counters.erid
        row = self.rows.edge[rid] = edge_row(held.edge, rid, held.ends, self.sequence, held.retired_with)
        self.layer.add_edge(replace(held, rid=rid), new)
        self.effects.append(edge_effect(held.edge, held.ends, document_hashes(row[16], row[17])))

    def card(self, key: tuple[str, str, str], card: Card | None, revision: int) -> None:
        """A new version of a card, or its retirement."""
        body = document(cards.write(card)) if card is not None else None
        if revision > 0 and key not in self.rows.closed_cards:
            self.rows.closed_cards[key] = self.micros
        for row in self.rows.card:
            if tuple(row[:3]) == key and row[7] is None:
                row[7] = stamp(self.time)
        self.rows.card.append([*key, revision, self.sequence, body, stamp(self.time), None])
        self.layer.cards[key] = (card, revision)
        self.effects.append({"card": list(key), "rev": revision, "body": content_hash(body) if body is not None else None})

    def embed(self, held: Held, model: int, vector: bytes) -> None:
        number = held.memory.number
        self.rows.vectors[number, model] = (number, model, held.cid, vector)
        self.effects.append({"vector": number, "model": model, "hash": hashlib.sha256(vector).hexdigest()})

    def model(self, name: str, dimension: int, number: int) -> int:
        self.rows.model.append((number, name, dimension))
        self.layer.models[name] = (number, dimension)
        return number

    def done(self, operation: str, memory: Memory, *, changed: bool = True) -> None:
        self.outcomes.append(Outcome(operation, memory.collection, memory.id, memory.number, memory.revision, changed))

    def done_edge(self, operation: str, edge: Edge) -> None:
        self.outcomes.append(Outcome(operation, edge.source.collection, edge.id, edge.number, edge.revision))


def document_hashes(metadata: str, attributes: str) -> list[str]:
    """Short marks for the log: "" for an empty document, else the hash of its canonical JSON."""
    return ["" if text == "{}" else content_hash(text) for text in (metadata, attributes)]


def memory_effect(memory: Memory, documents: list[str]) -> dict[str, Any]:
    """What the log records of a memory: everything but its texts, of which it holds hashes."""
    return {
        "memory": memory.number,
        "address": [memory.collection, memory.id],
        "rev": memory.revision,
        "state": memory.state.value,
        "text": memory.content_hash,
        "title": content_hash(memory.title) if memory.title else "",
        "fields": [memory.kind, memory.status, memory.priority, memory.confidence, memory.origin, memory.source, memory.pinned],
        "counts": [memory.confirmations, memory.created_cycle, memory.updated_cycle],
        "times": [to_micros(moment) for moment in (memory.created_at, memory.valid_from, memory.valid_until, memory.expires_at)],
        "by": memory.superseded_by,
        "documents": documents,
    }


def edge_effect(edge: Edge, ends: tuple[int, int], documents: list[str]) -> dict[str, Any]:
    return {
        "edge": edge.number,
        "id": edge.id,
        "rev": edge.revision,
        "state": edge.state.value,
        "ends": list(ends),
        "fields": [edge.type, edge.weight, edge.origin, edge.created_cycle],
        "times": [to_micros(moment) for moment in (edge.created_at, edge.valid_from, edge.valid_until)],
        "documents": documents,
    }

"""Records to table rows and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engram_duckdb.heads import content_hash, print_of
from engram_duckdb.moments import column_value, from_micros, to_micros
from engram_duckdb.names import key_of
from engram_kernel.model import Edge, Memory, Ref, State

Row = tuple[Any, ...]


class Damaged(Exception):
    """A stored row that cannot be turned into a record."""


def document(value: Mapping[str, Any]) -> str:
    """Canonical JSON. Raises ValueError or TypeError for what JSON cannot hold."""
    if not value:
        return "{}"
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_document(text: str, what: str) -> dict[str, Any]:
    if text == "{}":
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Damaged(f"{what} is not JSON") from error
    if not isinstance(value, dict):
        raise Damaged(f"{what} is not a JSON object")
    return value


def stamp(moment: Any) -> Any:
    return column_value(to_micros(moment))


def revision_row(memory: Memory, rid: int, cid: int, seq: int, fresh: bool) -> list[Any]:
    """The row of table `revision` for a record as it is after this event, in column order; the last cell is known_to."""
    return [
        rid,
        memory.number,
        memory.revision,
        seq,
        cid,
        print_of(memory.content_hash),
        fresh,
        memory.kind,
        memory.status,
        memory.priority,
        memory.confidence,
        memory.origin,
        memory.source,
        memory.pinned,
        memory.confirmations,
        memory.created_cycle,
        memory.updated_cycle,
        stamp(memory.valid_from),
        stamp(memory.valid_until),
        stamp(memory.expires_at),
        memory.state.value,
        memory.superseded_by,
        document(memory.metadata),
        document(memory.attributes),
        stamp(memory.updated_at),
        stamp(memory.updated_at),
        None,
    ]


def edge_row(edge: Edge, rid: int, ends: tuple[int, int], seq: int, retired_with: int) -> list[Any]:
    """The row of table `edge`, in column order; the last cell is known_to."""
    return [
        rid,
        edge.number,
        edge.revision,
        seq,
        edge.id,
        key_of(edge.id),
        *ends,
        edge.type,
        edge.weight,
        edge.origin,
        edge.created_cycle,
        stamp(edge.valid_from),
        stamp(edge.valid_until),
        edge.state.value,
        retired_with,
        document(edge.metadata),
        document(edge.attributes),
        stamp(edge.created_at),
        stamp(edge.updated_at),
        stamp(edge.updated_at),
        None,
    ]


def memory_from(row: Row, checked: bool = True) -> Memory:
    """A record from a row of the statement `records`. Raises Damaged; unchecked, it comes without documents."""
    text, digest = row[6], row[26]
    if checked and content_hash(text) != digest:
        raise Damaged("the text does not match its stored hash")
    return Memory(
        number=row[1],
        collection=row[2],
        id=row[3],
        created_at=from_micros(row[4]),
        kind=row[5],
        text=text,
        title=row[7],
        status=row[8],
        priority=row[9],
        confidence=row[10],
        origin=row[11],
        source=row[12],
        pinned=row[13],
        confirmations=row[14],
        created_cycle=row[15],
        updated_cycle=row[16],
        valid_from=from_micros(row[17]),
        valid_until=from_micros(row[18]),
        expires_at=from_micros(row[19]),
        metadata=read_document(row[20], "the metadata") if checked else {},
        attributes=read_document(row[21], "the attributes") if checked else {},
        updated_at=from_micros(row[22]),
        revision=row[23],
        state=State(row[24]),
        superseded_by=row[25],
        content_hash=digest,
    )


def edge_from(row: Row) -> Edge:
    """A record from a row of the statement `edge_records`. Raises Damaged."""
    return Edge(
        number=row[1],
        id=row[2],
        source=Ref(row[3], row[4]),
        target=Ref(row[5], row[6]),
        type=row[7],
        weight=row[8],
        origin=row[9],
        created_cycle=row[10],
        valid_from=from_micros(row[11]),
        valid_until=from_micros(row[12]),
        metadata=read_document(row[13], "the metadata"),
        attributes=read_document(row[14], "the attributes"),
        created_at=from_micros(row[15]),
        updated_at=from_micros(row[16]),
        revision=row[17],
        state=State(row[18]),
    )

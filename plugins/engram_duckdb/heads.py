"""The small columns of every memory and edge in their newest revision, kept in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from engram_duckdb.columns import Columns, Kind
from engram_duckdb.moments import NONE, to_micros
from engram_kernel.model import Edge, Memory, State

STATES = tuple(state.value for state in State)

MEMORY_FIELDS: Mapping[str, Kind] = {
    "collection": Kind.WORD,
    "kind": Kind.WORD,
    "status": Kind.WORD,
    "origin": Kind.WORD,
    "source": Kind.WORD,
    "state": Kind.WORD,
    "pinned": Kind.FLAG,
    "priority": Kind.INT,
    "confidence": Kind.FLOAT,
    "confirmations": Kind.INT,
    "created_cycle": Kind.INT,
    "updated_cycle": Kind.INT,
    "revision": Kind.INT,
    "number": Kind.INT,
    "valid_from": Kind.TIME,
    "valid_until": Kind.TIME,
    "expires_at": Kind.TIME,
    "created_at": Kind.TIME,
    "updated_at": Kind.TIME,
}
"""Memory fields that conditions are evaluated on without SQL."""

EDGE_FIELDS: Mapping[str, Kind] = {
    "type": Kind.WORD,
    "origin": Kind.WORD,
    "state": Kind.WORD,
    "weight": Kind.FLOAT,
    "created_cycle": Kind.INT,
    "revision": Kind.INT,
    "number": Kind.INT,
    "valid_from": Kind.TIME,
    "valid_until": Kind.TIME,
    "created_at": Kind.TIME,
    "updated_at": Kind.TIME,
}

_OWN_MEMORY: Mapping[str, Kind] = dict.fromkeys(("rid", "cid", "root", "print", "used", "used_at"), Kind.INT)
_OWN_EDGE: Mapping[str, Kind] = {"rid": Kind.INT, "src": Kind.INT, "dst": Kind.INT, "retired_with": Kind.INT, "bare": Kind.FLAG}


def memory_heads() -> Columns:
    return Columns({**MEMORY_FIELDS, **_OWN_MEMORY}, {"state": STATES})


def edge_heads() -> Columns:
    return Columns({**EDGE_FIELDS, **_OWN_EDGE}, {"state": STATES})


def content_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def print_of(digest: str) -> int:
    """The first 64 bits of a hex content hash, as the signed number that stands for it in memory."""
    return int.from_bytes(bytes.fromhex(digest[:16]), "big", signed=True)


def memory_cells(memory: Memory) -> dict[str, Any]:
    """The head columns of a record."""
    return {name: _cell(getattr(memory, name), kind) for name, kind in MEMORY_FIELDS.items()} | {"state": memory.state.value}


def edge_cells(edge: Edge) -> dict[str, Any]:
    return {name: _cell(getattr(edge, name), kind) for name, kind in EDGE_FIELDS.items()} | {"state": edge.state.value}


def _cell(value: Any, kind: Kind) -> Any:
    if kind is Kind.TIME:
        return to_micros(value)
    if kind is Kind.INT and value is not None and value == NONE:
        return NONE + 1
    return value

"""Checks of records on their way in. Each fault is an InvalidInput that names the field; nothing is corrected silently."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from engram_duckdb.moments import utc
from engram_duckdb.rows import document
from engram_kernel.arguments import refused, text_fault
from engram_kernel.model import Edge, Memory

_TEXTS = ("collection", "id", "kind", "text", "title", "status", "origin")
_TIMES = ("valid_from", "valid_until", "expires_at", "created_at")
_COUNTS = ("confirmations", "created_cycle", "updated_cycle")
_SET_BY_STORE = {"collection", "id", "created_at", "updated_at", "number", "revision", "state", "superseded_by", "content_hash"}
REVISABLE = frozenset(field.name for field in fields(Memory)) - _SET_BY_STORE


def checked_memory(memory: Memory) -> Memory:
    """The record with its moments in UTC. Raises InvalidInput."""
    faults = {name: fault for name in _TEXTS if (fault := _text(getattr(memory, name)))}
    faults |= {name: "is blank" for name in ("collection", "id") if name not in faults and not getattr(memory, name).strip()}
    faults |= {name: fault for name in (*_COUNTS, "priority") if (fault := _whole(getattr(memory, name), name == "priority"))}
    if memory.source is not None and (fault := _text(memory.source)):
        faults["source"] = fault
    if memory.confidence is not None and (fault := _number(memory.confidence)):
        faults["confidence"] = fault
    if not isinstance(memory.pinned, bool):
        faults["pinned"] = "is not true or false"
    faults |= _common_faults(memory)
    if faults:
        raise refused(faults)
    moments: dict[str, Any] = {name: utc(getattr(memory, name)) for name in _TIMES}
    return replace(memory, confidence=None if memory.confidence is None else float(memory.confidence), **moments)


def checked_edge(edge: Edge) -> Edge:
    """The edge with its moments in UTC. Raises InvalidInput."""
    faults = {name: fault for name in ("id", "type", "origin") if (fault := _text(getattr(edge, name)))}
    faults |= {name: "is blank" for name in ("id", "type") if name not in faults and not getattr(edge, name).strip()}
    if fault := _number(edge.weight):
        faults["weight"] = fault
    if fault := _whole(edge.created_cycle, False):
        faults["created_cycle"] = fault
    faults |= _common_faults(edge)
    if faults:
        raise refused(faults)
    moments: dict[str, Any] = {name: utc(getattr(edge, name)) for name in ("valid_from", "valid_until", "created_at")}
    return replace(edge, weight=float(edge.weight), **moments)


def _common_faults(record: Memory | Edge) -> dict[str, str]:
    faults = {name: "is not a moment" for name in _TIMES if not _is_moment(getattr(record, name, None))}
    faults |= {name: fault for name in ("metadata", "attributes") if (fault := _document(getattr(record, name)))}
    if not faults and inverted(record.valid_from, record.valid_until):
        faults["valid_until"] = "lies before valid_from"
    return faults


def inverted(start: datetime | None, end: datetime | None) -> bool:
    first, last = utc(start), utc(end)
    return first is not None and last is not None and first > last


def check_fields(given: Mapping[str, Any]) -> None:
    """Raises InvalidInput for fields that a revision cannot change."""
    faults = {name: "cannot be revised" for name in given if name not in REVISABLE}
    if faults:
        raise refused(faults)


def _text(value: Any) -> str | None:
    return text_fault(value) if isinstance(value, str) else "is not text"


def _whole(value: Any, optional: bool) -> str | None:
    if value is None and optional:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        return "is not a whole number"
    return None if -(2**63) < value < 2**63 else "does not fit in 64 bits"


def _number(value: Any) -> str | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return "is not a number"
    try:
        return None if math.isfinite(value) else "is not finite"
    except OverflowError:
        return "is too large"


def _is_moment(value: Any) -> bool:
    return value is None or isinstance(value, datetime)


def _document(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return "is not an object"
    if not value:
        return None
    if not all(isinstance(key, str) for key in value):
        return "has a name that is not text"
    try:
        return text_fault(document(value).replace("\\u0000", "\x00"))
    except (TypeError, ValueError, RecursionError) as error:
        return f"cannot be written as JSON: {error}"

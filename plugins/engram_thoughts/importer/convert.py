"""Foreign rows to the kernel's records. Each function raises ValueError with the reason a row cannot be brought over."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engram_kernel.arguments import text_fault
from engram_kernel.changes import Embed
from engram_kernel.errors import InvalidInput
from engram_kernel.model import Edge, Memory
from engram_kernel.times import parse_time
from engram_thoughts.importer.source import Row
from engram_thoughts.records import IMPORTED, session_of, thought_ref
from engram_thoughts.vocabulary import (
    ACTION_STATUSES,
    ACTION_TYPES,
    ACTIONS,
    INT64_MAX,
    MAX_ID,
    THOUGHTS,
    VERIFICATION_STATUSES,
    EdgeType,
    KnowledgeSource,
    LifecycleStatus,
    Priority,
    ThoughtType,
    Visibility,
)

MAX_DIMENSION = 65_536


def thought(row: Row) -> Memory:
    """A thought with both time axes; counters and stamps that the store sets by itself are kept as attributes."""
    valid_from, valid_until = _interval(row)
    return Memory(
        collection=THOUGHTS.id,
        id=_identity(row, "thought_id"),
        kind=_one_of(row, "thought_type", tuple(ThoughtType)),
        title=_string(row, "essence", required=True),
        text=_string(row, "content", required=True),
        status=_one_of(row, "lifecycle_status", tuple(LifecycleStatus), "CREATED"),
        priority=int(_one_of(row, "priority", tuple(Priority))[1:]),
        origin=_string(row, "source") or "human",
        source=session_of(_document(row, "provenance")),
        confidence=_unit(row, "confidence"),
        pinned=bool(row.get("pinned")),
        confirmations=_whole(row, "confirmation_count"),
        created_cycle=_whole(row, "created_cycle"),
        updated_cycle=_whole(row, "updated_cycle"),
        valid_from=valid_from,
        valid_until=valid_until,
        expires_at=_moment(row, "expires_at"),
        metadata=_document(row, "metadata_json") or {},
        created_at=_moment(row, "created_at"),
        updated_at=_moment(row, "updated_at"),
        attributes=_attributes(row),
    )


def _attributes(row: Row) -> Mapping[str, Any]:
    return {
        "source_type": _one_of(row, "source_type", tuple(KnowledgeSource), "EXPERIENCE"),
        "visibility": _one_of(row, "visibility", tuple(Visibility), "selective"),
        "action_outcome_score": _unit(row, "action_outcome_score"),
        "consolidated_from": _ids(row, "consolidated_from"),
        "embedding_ref": _string(row, "embedding_ref") or None,
        "provenance": _document(row, "provenance"),
        "archived_at": _string(row, "archived_at") or None,
        "archived_at_cycle": None if row.get("archived_at_cycle") is None else _whole(row, "archived_at_cycle"),
        IMPORTED: {
            "updated_at": _string(row, "updated_at") or None,
            "access_count": _whole(row, "access_count"),
            "last_accessed_at": _string(row, "last_accessed_at") or None,
            "revision": _whole(row, "revision"),
            "content_hash": _string(row, "content_hash") or None,
        },
    }


def edge(row: Row) -> Edge:
    valid_from, valid_until = _interval(row)
    decay = 1.0 if row.get("decay_multiplier") is None else row["decay_multiplier"]
    if not isinstance(decay, int | float) or not math.isfinite(decay) or decay < 0:
        raise ValueError(f"decay_multiplier {decay!r} is not a number from 0")
    return Edge(
        id=_identity(row, "edge_id"),
        source=thought_ref(_identity(row, "from_thought_id")),
        target=thought_ref(_identity(row, "to_thought_id")),
        type=_one_of(row, "edge_type", tuple(EdgeType)),
        weight=1.0 if (weight := _unit(row, "weight")) is None else weight,
        origin=_one_of(row, "source", tuple(KnowledgeSource), "EXPERIENCE"),
        created_cycle=_whole(row, "created_cycle"),
        valid_from=valid_from,
        valid_until=valid_until,
        metadata=_document(row, "metadata_json") or {},
        attributes={"decay_multiplier": float(decay), IMPORTED: {"revision": _whole(row, "revision")}},
    )


def action(row: Row) -> Memory:
    return Memory(
        collection=ACTIONS.id,
        id=_identity(row, "action_id"),
        kind=_one_of(row, "action_type", ACTION_TYPES),
        text=_string(row, "intent", required=True),
        status=_one_of(row, "status", ACTION_STATUSES, "PLANNED"),
        attributes={
            "source_thought_id": _identity(row, "source_thought_id"),
            "verification_status": _one_of(row, "verification_status", VERIFICATION_STATUSES, "PENDING"),
            "raw_metrics_json": _string(row, "raw_metrics_json") or None,
            IMPORTED: {"revision": _whole(row, "revision")},
        },
    )


def embedding(row: Row) -> Embed:
    """A vector of little-endian 32-bit floats."""
    dimension, vector = row.get("dimension"), row.get("vector_blob")
    if (owner := _string(row, "owner_type") or "thought").lower() != "thought":
        raise ValueError(f"it belongs to the record type {owner!r}, not to a thought")
    if not isinstance(dimension, int) or not 1 <= dimension <= MAX_DIMENSION:
        raise ValueError(f"dimension {dimension!r} is not a whole number from 1 to {MAX_DIMENSION}")
    if not isinstance(vector, bytes) or len(vector) != 4 * dimension:
        raise ValueError(f"the vector does not hold {dimension} 32-bit numbers")
    return Embed(thought_ref(_identity(row, "owner_id")), _string(row, "model_name", required=True), dimension, vector)


def _identity(row: Row, name: str) -> str:
    text = _string(row, name, required=True)
    if not text.strip() or len(text) > MAX_ID:
        raise ValueError(f"{name} is blank or longer than {MAX_ID} characters")
    return text


def _string(row: Row, name: str, *, required: bool = False) -> str:
    value = row.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{name} is not a text")  # noqa: TRY004  a row fault is a ValueError, whatever the kind
    if required and not value:
        raise ValueError(f"{name} is empty")
    if fault := text_fault(value):
        raise ValueError(f"{name} {fault}")
    return value


def _one_of(row: Row, name: str, allowed: tuple[str, ...], default: str | None = None) -> str:
    value = row.get(name)
    if value is None and default is not None:
        return default
    if value not in allowed:
        raise ValueError(f"{name} {str(value)[:40]!r} is not one of {', '.join(allowed)}")
    return str(value)


def _unit(row: Row, name: str) -> float | None:
    value = row.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{name} {str(value)[:40]!r} is not a number from 0 to 1")
    return float(value)


def _whole(row: Row, name: str) -> int:
    value = row.get(name) or 0
    if not isinstance(value, int) or not 0 <= value <= INT64_MAX:
        raise ValueError(f"{name} {str(value)[:40]!r} is not a whole number from 0")
    return value


def _moment(row: Row, name: str) -> datetime | None:
    text = _string(row, name)
    try:
        return parse_time(text, name) if text else None
    except InvalidInput as error:
        raise ValueError(error.what) from None


def _interval(row: Row) -> tuple[datetime | None, datetime | None]:
    start, end = _moment(row, "valid_from"), _moment(row, "valid_until")
    if start and end and end < start:
        raise ValueError("valid_until is before valid_from")
    return start, end


def _document(row: Row, name: str) -> dict[str, Any] | None:
    value = _json(row, name)
    if value is not None and not isinstance(value, dict):
        raise ValueError(f"{name} is not a JSON object")
    return value


def _ids(row: Row, name: str) -> list[str] | None:
    value = _json(row, name)
    if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        raise ValueError(f"{name} is not a JSON list of ids")
    return value


def _json(row: Row, name: str) -> Any:
    text = _string(row, name)
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} is not JSON: {error}") from None

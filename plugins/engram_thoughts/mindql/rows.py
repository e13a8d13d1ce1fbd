"""Result rows: the stored columns of each table, in the published order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from engram_kernel.model import Edge, Memory
from engram_kernel.store import Reader
from engram_thoughts.mindql.syntax import Find
from engram_thoughts.mindql.tables import Table
from engram_thoughts.records import to_edge, to_thoughts

Row: TypeAlias = dict[str, Any]
THOUGHT_COLUMNS = (
    "thought_id",
    "thought_type",
    "essence",
    "content",
    "content_hash",
    "priority",
    "lifecycle_status",
    "created_cycle",
    "updated_cycle",
    "source",
    "confidence",
    "embedding_ref",
    "source_type",
    "confirmation_count",
    "consolidated_from",
    "visibility",
    "access_count",
    "last_accessed_at",
    "created_at",
    "updated_at",
    "expires_at",
    "metadata_json",
    "valid_from",
    "valid_until",
    "action_outcome_score",
    "provenance",
    "pinned",
    "archived_at_cycle",
    "archived_at",
    "revision",
)
EDGE_COLUMNS = (
    "edge_id",
    "from_thought_id",
    "to_thought_id",
    "edge_type",
    "weight",
    "created_cycle",
    "source",
    "decay_multiplier",
    "valid_from",
    "valid_until",
    "metadata_json",
    "revision",
)
ACTION_COLUMNS = (
    "action_id",
    "source_thought_id",
    "action_type",
    "intent",
    "status",
    "verification_status",
    "raw_metrics_json",
    "revision",
)
COLUMNS: Mapping[str, tuple[str, ...]] = {"thoughts": THOUGHT_COLUMNS, "edges": EDGE_COLUMNS, "actions": ACTION_COLUMNS}
PLAN_COLUMNS = ("table", "as_of", "where", "order_by", "limit", "offset", "count")


def json_text(value: Any) -> str | None:
    """A document as JSON text; None stays None."""
    return None if value is None else json.dumps(value, ensure_ascii=False)


def thought_rows(reader: Reader, memories: Sequence[Memory]) -> Iterator[Row]:
    for memory, thought in zip(memories, to_thoughts(reader, memories), strict=True):
        values = thought.model_dump()
        values |= {
            "metadata_json": json_text(thought.metadata),
            "provenance": json_text(thought.provenance),
            "consolidated_from": json_text(thought.consolidated_from),
            "pinned": int(memory.pinned),
            "content_hash": memory.content_hash,
            "revision": memory.revision,
        }
        yield {name: values[name] for name in THOUGHT_COLUMNS}


def edge_rows(edges: Sequence[Edge]) -> Iterator[Row]:
    for edge in edges:
        values = to_edge(edge).model_dump()
        values |= {"metadata_json": json_text(values["metadata"]), "revision": edge.revision}
        yield {name: values[name] for name in EDGE_COLUMNS}


def action_rows(memories: Sequence[Memory]) -> Iterator[Row]:
    for memory in memories:
        yield {
            "action_id": memory.id,
            "source_thought_id": memory.attributes.get("source_thought_id"),
            "action_type": memory.kind,
            "intent": memory.text,
            "status": memory.status,
            "verification_status": memory.attributes.get("verification_status"),
            "raw_metrics_json": memory.attributes.get("raw_metrics_json"),
            "revision": memory.revision,
        }


def plan_row(find: Find, table: Table, limit: int, offset: int) -> Row:
    """What EXPLAIN answers: the query as it was understood, in the language itself; nothing of the storage."""
    return {
        "table": table.name,
        "as_of": None if find.as_of is None else str(find.as_of),
        "where": None if find.where is None else str(find.where),
        "order_by": ", ".join(map(str, find.order)) or "newest first",
        "limit": None if find.count else limit,
        "offset": None if find.count else offset,
        "count": find.count,
    }

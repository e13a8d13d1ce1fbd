"""The tables and columns of the language, and the record fields behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as default
from enum import Enum

from engram_kernel.query import Target
from engram_thoughts.vocabulary import ACTIONS, THOUGHTS


class Kind(Enum):
    """How a column compares."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    WORDS = "words"
    """A closed list of values whose text or number differs from what the record holds."""
    METADATA = "metadata"
    """As the value itself: JSON is typed."""


@dataclass(frozen=True, slots=True)
class Column:
    field: str
    kind: Kind = Kind.TEXT
    words: Mapping[str | int, object] = default(default_factory=dict)
    """For WORDS: the value in the language to the value in the record."""


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` may be used in clauses; `shown` are further columns that only appear in rows."""

    name: str
    collection: str
    target: Target
    columns: Mapping[str, Column]
    shown: tuple[str, ...]
    has_valid_time: bool = True
    has_metadata: bool = True


_PRIORITIES: Mapping[str | int, object] = {f"P{number}": number for number in (1, 2, 3, 4)}
_FLAGS: Mapping[str | int, object] = {0: False, 1: True}
_TIMES = {name: Column(name, Kind.TIME) for name in ("valid_from", "valid_until", "created_at", "updated_at", "expires_at")}

_THOUGHTS = Table(
    "thoughts",
    THOUGHTS.id,
    Target.MEMORY,
    {
        "thought_id": Column("id"),
        "thought_type": Column("kind"),
        "essence": Column("title"),
        "content": Column("text"),
        "priority": Column("priority", Kind.WORDS, _PRIORITIES),
        "lifecycle_status": Column("status"),
        "created_cycle": Column("created_cycle", Kind.NUMBER),
        "updated_cycle": Column("updated_cycle", Kind.NUMBER),
        "source": Column("origin"),
        "confidence": Column("confidence", Kind.NUMBER),
        "source_type": Column("attributes.source_type"),
        "visibility": Column("attributes.visibility"),
        "confirmation_count": Column("confirmations", Kind.NUMBER),
        "pinned": Column("pinned", Kind.WORDS, _FLAGS),
        **_TIMES,
    },
    (
        "embedding_ref",
        "consolidated_from",
        "access_count",
        "last_accessed_at",
        "metadata_json",
        "action_outcome_score",
        "provenance",
        "archived_at_cycle",
        "archived_at",
        "content_hash",
        "revision",
    ),
)
_EDGES = Table(
    "edges",
    THOUGHTS.id,
    Target.EDGE,
    {
        "edge_id": Column("id"),
        "from_thought_id": Column("source"),
        "to_thought_id": Column("target"),
        "edge_type": Column("type"),
        "weight": Column("weight", Kind.NUMBER),
        "created_cycle": Column("created_cycle", Kind.NUMBER),
        "source": Column("origin"),
        "decay_multiplier": Column("attributes.decay_multiplier", Kind.NUMBER),
        "valid_from": _TIMES["valid_from"],
        "valid_until": _TIMES["valid_until"],
    },
    ("metadata_json", "revision"),
)
_ACTIONS = Table(
    "actions",
    ACTIONS.id,
    Target.MEMORY,
    {
        "action_id": Column("id"),
        "source_thought_id": Column("attributes.source_thought_id"),
        "action_type": Column("kind"),
        "intent": Column("text"),
        "status": Column("status"),
        "verification_status": Column("attributes.verification_status"),
    },
    ("raw_metrics_json", "revision"),
    has_valid_time=False,
    has_metadata=False,
)

TABLES: Mapping[str, Table] = {
    "thoughts": _THOUGHTS,
    "thought": _THOUGHTS,
    "edges": _EDGES,
    "edge": _EDGES,
    "actions": _ACTIONS,
    "action": _ACTIONS,
}
EMBEDDINGS = ("embeddings", "embedding")

"""Translation between the kernel's records and the thoughts, edges and actions that a caller sees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from engram_kernel.model import Edge, Memory, Ref
from engram_kernel.store import Reader, Usage
from engram_kernel.times import format_time
from engram_thoughts.results import EdgeRecord, Thought
from engram_thoughts.vocabulary import THOUGHTS, KnowledgeSource, Visibility

IMPORTED = "imported"
"""Attribute that keeps counters and stamps which an import brought along and the store sets by itself."""


def thought_ref(thought_id: str) -> Ref:
    return Ref(THOUGHTS.id, thought_id)


def moment_text(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def new_attributes(visibility: str, provenance: Mapping[str, Any] | None) -> dict[str, Any]:
    """All attributes of a thought, so that queries always find a value."""
    return {
        "source_type": KnowledgeSource.EXPERIENCE.value,
        "visibility": visibility,
        "action_outcome_score": None,
        "consolidated_from": None,
        "embedding_ref": None,
        "provenance": provenance,
        "archived_at": None,
        "archived_at_cycle": None,
    }


def session_of(provenance: Mapping[str, Any] | None) -> str | None:
    """The session that a thought belongs to: those of one session are read together when they are ranked."""
    name = (provenance or {}).get("session_id")
    return name if isinstance(name, str) and name else None


def to_thought(memory: Memory, usage: Usage | None = None) -> Thought:
    """The 28 published fields of a thought."""
    extra = memory.attributes
    return Thought(
        thought_id=memory.id,
        thought_type=memory.kind,
        essence=memory.title,
        content=memory.text,
        priority=f"P{memory.priority}",
        lifecycle_status=memory.status,
        created_cycle=memory.created_cycle,
        updated_cycle=memory.updated_cycle,
        source=memory.origin,
        confidence=memory.confidence,
        source_type=extra.get("source_type") or KnowledgeSource.EXPERIENCE,
        confirmation_count=memory.confirmations,
        visibility=extra.get("visibility") or Visibility.SELECTIVE,
        access_count=_access_count(memory, usage),
        last_accessed_at=_last_access(memory, usage),
        action_outcome_score=extra.get("action_outcome_score"),
        consolidated_from=extra.get("consolidated_from"),
        embedding_ref=extra.get("embedding_ref"),
        created_at=moment_text(memory.created_at),
        updated_at=moment_text(memory.updated_at),
        expires_at=moment_text(memory.expires_at),
        valid_from=moment_text(memory.valid_from),
        valid_until=moment_text(memory.valid_until),
        metadata=dict(memory.metadata),
        provenance=extra.get("provenance"),
        pinned=memory.pinned,
        archived_at=extra.get("archived_at"),
        archived_at_cycle=extra.get("archived_at_cycle"),
    )


def _access_count(memory: Memory, usage: Usage | None) -> int:
    before = memory.attributes.get(IMPORTED) or {}
    return int(before.get("access_count") or 0) + (usage.count if usage else 0)


def _last_access(memory: Memory, usage: Usage | None) -> str | None:
    if usage and usage.last:
        return format_time(usage.last)
    return (memory.attributes.get(IMPORTED) or {}).get("last_accessed_at")


def to_thoughts(reader: Reader, memories: Sequence[Memory]) -> Iterator[Thought]:
    """Many thoughts with their access counts, which are read in one go; each is made when it is taken."""
    usage = reader.usage([memory.number for memory in memories])
    return (to_thought(memory, usage.get(memory.number)) for memory in memories)


def to_edge(edge: Edge) -> EdgeRecord:
    """The 11 published fields of an edge."""
    return EdgeRecord(
        edge_id=edge.id,
        from_thought_id=edge.source.id,
        to_thought_id=edge.target.id,
        edge_type=edge.type,
        weight=edge.weight,
        created_cycle=edge.created_cycle,
        source=edge.origin or KnowledgeSource.EXPERIENCE,
        decay_multiplier=edge.attributes.get("decay_multiplier", 1.0),
        valid_from=moment_text(edge.valid_from),
        valid_until=moment_text(edge.valid_until),
        metadata=dict(edge.metadata),
    )


def is_thought_edge(edge: Edge) -> bool:
    """Both ends are thoughts; edges of other tool sets are not ours to show or delete."""
    return edge.source.collection == edge.target.collection == THOUGHTS.id

"""The results of every thought tool. Keys are the published contract; what we add is small and named here.

The models have comments, not docstrings: pydantic publishes docstrings in the schemas, which every host pays for.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core.core_schema import CoreSchema

from engram_kernel.arguments import Result

Unset: TypeAlias = SkipJsonSchema[None]
_ABSENT: Any = Field(None, exclude_if=lambda value: value is None)
"""A key that is left out of the answer when it has nothing to say."""


# A record with a fixed set of keys; its schema names them without repeating every type in each tool.
class Published(Result):
    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "required": list(cls.model_fields)}


# The 28 published keys.
class Thought(Published):
    thought_id: str
    thought_type: str
    essence: str
    content: str
    priority: str
    lifecycle_status: str
    created_cycle: int
    updated_cycle: int
    source: str
    confidence: float | None
    source_type: str
    confirmation_count: int
    visibility: str
    access_count: int
    last_accessed_at: str | None
    action_outcome_score: float | None
    consolidated_from: list[str] | None
    embedding_ref: str | None
    created_at: str | None
    updated_at: str | None
    expires_at: str | None
    valid_from: str | None
    valid_until: str | None
    metadata: dict[str, Any]
    provenance: dict[str, Any] | None
    pinned: bool
    archived_at: str | None
    archived_at_cycle: int | None


# The 11 published keys.
class EdgeRecord(Published):
    edge_id: str
    from_thought_id: str
    to_thought_id: str
    edge_type: str
    weight: float
    created_cycle: int
    source: str
    decay_multiplier: float
    valid_from: str | None
    valid_until: str | None
    metadata: dict[str, Any]


# One entry of a thought's history.
class Revision(Published):
    revision: int
    state: str
    thought: Thought


class FoundThought(Result):
    found: bool
    thought: Thought | None
    revision: int | Unset = _ABSENT
    history: list[Revision] | Unset = _ABSENT
    history_total: int | Unset = _ABSENT


class StoredFields(Result):
    thought_id: str
    essence: str
    thought_type: str
    priority: str
    lifecycle_status: str


# `created` is false when an equal thought was confirmed; `ignored` names arguments that then had no effect.
class Stored(Result):
    thought: StoredFields
    created: bool
    revision: int
    restored: bool | Unset = _ABSENT
    ignored: list[str] | Unset = _ABSENT


class UpdatedFields(Result):
    thought_id: str
    essence: str
    priority: str
    lifecycle_status: str


class Updated(Result):
    thought: UpdatedFields
    revision: int


class LinkedFields(Result):
    edge_id: str
    from_thought_id: str
    to_thought_id: str
    edge_type: str
    weight: float
    metadata: dict[str, Any]


class Linked(Result):
    edge: LinkedFields


class Deleted(Result):
    deleted: bool


# `relevance`, 0 to 1, compares between questions, unlike `score`; a thought brought by its links alone has none.
# `essence` and what follows only with `explain`, except `valid_until`, which marks an ended thought.
class Hit(Result):
    thought_id: str
    score: float
    relevance: float | Unset = _ABSENT
    valid_until: str | Unset = _ABSENT
    essence: str | Unset = _ABSENT
    lifecycle_status: str | Unset = _ABSENT
    updated_at: str | Unset = _ABSENT
    signals: dict[str, float] | Unset = _ABSENT
    details: dict[str, str] | Unset = _ABSENT


class Filtered(Result):
    criteria: dict[str, str]
    scanned: int
    matched: int
    dropped: int


# `weak` and `note` when nothing fits the question well.
class Found(Result):
    results: list[Hit]
    backends_used: list[str]
    filtered: Filtered | Unset = _ABSENT
    failed_backends: list[str] | Unset = _ABSENT
    total: int | Unset = _ABSENT
    weak: bool | Unset = _ABSENT
    note: str | Unset = _ABSENT


class KeywordHit(Result):
    thought_id: str
    score: float


class Keywords(Result):
    results: list[KeywordHit]
    total: int | Unset = _ABSENT


# `next_offset` is present when more can be read; `total` counts all matches.
class Listing(Result):
    thoughts: list[Thought]
    count: int
    limit: int
    offset: int
    total: int
    next_offset: int | Unset = _ABSENT


class Edges(Result):
    edges: list[EdgeRecord]
    count: int
    total: int
    next_offset: int | Unset = _ABSENT


class Rows(Result):
    columns: list[str]
    rows: list[dict[str, Any]]
    total: int
    next_offset: int | Unset = _ABSENT


class Count(Result):
    total: int
    by_type: dict[str, int]


class ThoughtCount(Count):
    by_status: dict[str, int]


class Metrics(Result):
    thoughts: ThoughtCount
    edges: Count
    storage_total_bytes: int
    measured: bool


class Stats(Result):
    thought_count: int
    metrics: Metrics

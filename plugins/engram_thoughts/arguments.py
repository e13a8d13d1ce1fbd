"""The arguments of every thought tool. Names, enums, bounds and defaults are the published contract."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from engram_kernel.arguments import Arguments, JsonTolerant
from engram_thoughts.fields import (
    Content,
    Cycle,
    Equals,
    Essence,
    FlatMetadata,
    Members,
    Metadata,
    Moment,
    NewId,
    Offset,
    PageSize,
    TopK,
    Unit,
)
from engram_thoughts.vocabulary import (
    Clearable,
    Direction,
    EdgeType,
    KnowledgeSource,
    LifecycleStatus,
    Priority,
    ThoughtType,
    Visibility,
)

Name = Annotated[str, Field(max_length=256)]
SearchText = Annotated[str, Field(max_length=10_000)]
Passage = Annotated[str, Field(max_length=4096)]


class Provenance(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    session_id: Name | None = None
    actor_id: Name | None = None
    retrieval_query: Passage | None = None
    instruction_context: Passage | None = None
    retrieval_context_ids: Annotated[list[Name], Field(max_length=128)] | None = None


class StoreThought(Arguments):
    essence: Essence = Field(description="The thought in one line")
    content: Content = Field(description="The full text")
    thought_type: ThoughtType = ThoughtType.NOTE
    priority: Priority = Field(Priority.P3, description="P1 is highest")
    source: Annotated[str, Field(min_length=1, max_length=256)] = Field("agent", description="Who or what it comes from")
    confidence: Unit | None = None
    thought_id: NewId | None = Field(None, description="Own id; default a new one")
    deduplicate: bool = Field(False, description="Confirm an existing thought of equal content instead of adding one")
    valid_from: Moment | None = Field(None, description="True in the world from (ISO 8601)")
    valid_until: Moment | None = Field(None, description="True until (excluded)")
    expires_at: Moment | None = Field(None, description="Hidden from lists and searches from then on")
    metadata: Metadata | None = Field(None, description="Own fields")
    visibility: Visibility = Visibility.SELECTIVE
    pinned: bool = False
    provenance: JsonTolerant[Provenance] | None = None


class UpdateThought(Arguments):
    thought_id: str
    essence: Essence | None = None
    content: Content | None = None
    priority: Priority | None = None
    lifecycle_status: LifecycleStatus | None = Field(None, description="CREATED>ACTIVE>DONE>ARCHIVED; ACTIVE>ARCHIVED; ARCHIVED>ACTIVE")
    confidence: Unit | None = None
    expected_revision: Annotated[int, Field(ge=0)] | None = Field(None, description="Refuse if the thought has another revision now")
    valid_from: Moment | None = None
    valid_until: Moment | None = Field(None, description="Set to end its validity (invalidate)")
    expires_at: Moment | None = None
    metadata: Metadata | None = Field(None, description="Replaces all metadata")
    visibility: Visibility | None = None
    pinned: bool | None = None
    provenance: JsonTolerant[Provenance] | None = None
    clear: JsonTolerant[list[Clearable]] = Field([], description="Fields to empty")


class DeleteThought(Arguments):
    thought_id: str


class LinkThoughts(Arguments):
    from_thought_id: str
    to_thought_id: str
    edge_type: EdgeType
    weight: Unit = 1.0
    edge_id: NewId | None = None
    metadata: FlatMetadata | None = Field(None, description="Flat object of scalars")
    valid_from: Moment | None = None
    valid_until: Moment | None = None


class DeleteEdge(Arguments):
    edge_id: str


class GetThought(Arguments):
    thought_id: str
    as_of: Moment | None = Field(None, description="As the store knew it at this time")
    include_history: bool = Field(False, description="Add all revisions, newest first")


class SearchMemory(Arguments):
    query_text: SearchText
    top_k: TopK = 10
    include_reflections: bool = True
    thought_type: ThoughtType | None = None
    lifecycle_status: LifecycleStatus | None = None
    priority: Priority | None = None
    recency_now: Moment | None = Field(None, description="Rank by age at this time (ISO 8601)")
    metadata_equals: Equals | None = Field(None, description="Only thoughts with these metadata values")
    collapse_by: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$", max_length=256)] | None = Field(
        None, description="At most one hit per value of this metadata key"
    )
    valid_at: Moment | None = Field(None, description="Only what was true at this time")
    include_ended: bool = Field(False, description="Also thoughts whose validity has ended, marked by valid_until")
    explain: bool = Field(False, description="Add essence, status and each signal's share")


class SearchKeywords(Arguments):
    query: SearchText = Field(description='Words; "a phrase"; prefix*')
    top_k: TopK = 10


class ListMemory(Arguments):
    thought_type: ThoughtType | None = None
    lifecycle_status: LifecycleStatus | None = None
    priority: Priority | None = None
    min_cycle: Cycle | None = Field(None, description="Least updated_cycle")
    max_cycle: Cycle | None = None
    include_expired: bool = False
    limit: PageSize = 50
    offset: Offset = 0


class QueryMemory(Arguments):
    query: str = Field(description="A FIND query")
    limit: PageSize | None = Field(None, description="Replaces the query's LIMIT")


class GetEdges(Arguments):
    thought_id: str
    direction: Direction = Direction.BOTH
    limit: PageSize | None = None
    offset: Offset = 0


class ListEdges(Arguments):
    edge_type: EdgeType | None = None
    source: KnowledgeSource | None = None
    metadata_equals: Equals | None = Field(None, description="Key to required value")
    metadata_in: Members | None = Field(None, description="Key to list of allowed values")
    limit: PageSize = 100
    offset: Offset = 0


class MemoryStats(Arguments):
    pass

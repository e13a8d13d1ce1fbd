"""The domain records. Frozen and typed; what only the store may set has a default and is ignored on the way in.

Two time axes run through everything: valid time (`valid_from` included, `valid_until` excluded; when it is true in
the world) and transaction time (`created_at`, `updated_at`, revisions; when the store knew it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

Scalar: TypeAlias = str | int | float | bool | None
Document: TypeAlias = Mapping[str, Any]


class Ref(NamedTuple):
    """The public address of a memory: an id is unique among the living of its collection."""

    collection: str
    id: str


class State(StrEnum):
    """What the store thinks of a record; nothing is ever destroyed by a tool."""

    LIVE = "live"
    SUPERSEDED = "superseded"
    RETIRED = "retired"


class Tier(StrEnum):
    """Sensitivity of a collection; reading a SENSITIVE one needs consent."""

    PUBLIC = "public"
    PERSONAL = "personal"
    SENSITIVE = "sensitive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A node, thought or project memory: one attested unit of text with both time axes.

    `kind`, `status` and `priority` (1 is highest) are the tool set's own vocabularies. `metadata` belongs to the
    caller; `attributes` to the tool set. `created_cycle` and `updated_cycle` are an application's logical clock.
    """

    collection: str
    id: str
    kind: str
    text: str
    title: str = ""
    status: str = ""
    priority: int | None = None
    confidence: float | None = None
    origin: str = ""
    source: str | None = None
    pinned: bool = False
    confirmations: int = 0
    created_cycle: int = 0
    updated_cycle: int = 0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    metadata: Document = field(default_factory=dict)
    attributes: Document = field(default_factory=dict)
    # Set by the store; `created_at` may be given by an import.
    created_at: datetime | None = None
    updated_at: datetime | None = None
    number: int = 0
    revision: int = 0
    state: State = State.LIVE
    superseded_by: str | None = None
    content_hash: str = ""

    @property
    def ref(self) -> Ref:
        return Ref(self.collection, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A directed, typed, weighted relation; `id` is unique store-wide, (source, target, type) among the living."""

    id: str
    source: Ref
    target: Ref
    type: str
    weight: float = 1.0
    origin: str = ""
    created_cycle: int = 0
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    metadata: Document = field(default_factory=dict)
    attributes: Document = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    number: int = 0
    revision: int = 0
    state: State = State.LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A named set of memories with one sensitivity: an engram, a workspace's project memory, the thought store."""

    id: str
    title: str
    tool_set: str
    tier: Tier = Tier.PERSONAL
    archived: bool = False
    metadata: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One ingested unit (file, page, clip, conversation) from which memories were made."""

    id: str
    collection: str
    kind: str
    reference: str
    label: str = ""
    content_hash: str = ""
    added_by: str = ""
    metadata: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """A due date attached to a memory, independent of the memory's validity."""

    id: str
    collection: str
    memory: str
    kind: str
    expires_at: datetime
    effective_at: datetime | None = None
    metadata: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A write that waits for a person. `preview` is exactly what will be stored; `preview_hash` is its SHA-256."""

    id: str
    collection: str
    title: str
    preview: str
    preview_hash: str
    workspace: str = ""
    expires_at: datetime | None = None
    metadata: Document = field(default_factory=dict)


Card: TypeAlias = Collection | Source | Obligation | Proposal
"""The low-volume records that a store keeps as versioned documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the append-only operation log; `hash` is SHA-256 over the previous hash, time, actor and payload."""

    sequence: int
    operation: str
    recorded_at: datetime
    actor: str
    payload: str
    previous: str
    hash: str

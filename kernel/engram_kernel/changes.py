"""`ChangeSet`: the only way anything is written. All of it is applied in one durable transaction, or nothing.

Operations name records by `Ref` and may carry the revision the caller read; a mismatch raises StaleRevision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from engram_kernel.model import Card, Edge, Memory, Ref


@dataclass(frozen=True, slots=True)
class Put:
    """Insert a memory. Raises AlreadyExists for a living id; with `unique_content`, DuplicateContent for equal text."""

    memory: Memory
    unique_content: bool = False


@dataclass(frozen=True, slots=True)
class Revise:
    """Write a new revision with the given `Memory` fields changed (an empty mapping only refreshes `updated_at`)."""

    ref: Ref
    fields: Mapping[str, Any]
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Confirm:
    """Raise `confirmations` by one without touching the content; concurrent confirmations all count."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Supersede:
    """Insert `memory` as the successor of `ref`; the old one becomes SUPERSEDED and its valid time ends at `ended`."""

    ref: Ref
    memory: Memory
    ended: datetime | None = None
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Retire:
    """Hide a memory together with its living edges; its history stays and Restore brings all of it back."""

    ref: Ref
    reason: str = ""
    missing_ok: bool = False


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring the latest retired or superseded holder of an id, and the edges retired with it, back to life."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Link:
    """Insert an edge. NotFound for a missing endpoint; AlreadyExists (`data["taken"]` is `id` or `link`)."""

    edge: Edge


@dataclass(frozen=True, slots=True)
class Unlink:
    """Retire an edge."""

    edge: str
    missing_ok: bool = False


@dataclass(frozen=True, slots=True)
class Embed:
    """Attach the vectors of a named model (see `Embedder.embed`) to a memory, replacing that model's older ones.

    With `content_hash`, nothing is attached when the memory has another content by now."""

    ref: Ref
    model: str
    dimension: int
    vector: bytes
    content_hash: str | None = None


@dataclass(frozen=True, slots=True)
class PutCard:
    """Insert or replace a collection, source, obligation or proposal."""

    card: Card


@dataclass(frozen=True, slots=True)
class RetireCard:
    """Hide a card; its versions stay."""

    kind: str
    collection: str
    id: str


Change: TypeAlias = Put | Revise | Confirm | Supersede | Retire | Restore | Link | Unlink | Embed | PutCard | RetireCard


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """`reference` identifies the client's request: a set whose reference is in the log is answered, not repeated."""

    changes: tuple[Change, ...]
    actor: str = "system"
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one change did: the record's address, its internal number and its revision afterwards."""

    operation: str
    collection: str
    id: str
    number: int
    revision: int
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Applied:
    """The durable result of a ChangeSet; `repeated` when it had been applied before under the same reference."""

    sequence: int
    outcomes: tuple[Outcome, ...] = field(default=())
    repeated: bool = False

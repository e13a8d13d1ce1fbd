"""Arguments and results of the operator tools."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from engram_kernel.arguments import Arguments, Result


class VerifyArguments(Arguments):
    deep: bool = Field(False, description="Also replay the log and compare it with the state")


class BackupArguments(Arguments):
    target: str | None = Field(None, max_length=4096, description="New folder; default a dated one under backup/")


class EventsArguments(Arguments):
    after: int = Field(0, ge=0, description="Sequence number to start behind")
    limit: int = Field(50, ge=1, le=1000, description="Most entries")
    payload: bool = Field(False, description="Add what each entry recorded")


class CollectionFacts(Result):
    id: str
    title: str
    tool_set: str
    tier: str
    memories: int


class StatusResult(Result):
    """`last_backup` is an ISO time; bytes are bytes."""

    folder: str
    memories: int
    edges: int
    sequence: int
    collections: list[CollectionFacts]
    bytes_on_disk: int
    bytes_free: int
    last_backup: str | None
    health: dict[str, str]
    warnings: list[str]


class VerifyResult(Result):
    sound: bool
    events: int
    memories: int
    edges: int
    faults: list[str]
    notes: list[str]


class BackupResult(Result):
    path: str
    bytes: int
    sequence: int
    manifest: dict[str, Any]


class FindingResult(Result):
    level: Literal["ok", "warning", "error"]
    check: str
    text: str
    advice: str


class DoctorResult(Result):
    healthy: bool
    findings: list[FindingResult]


class EventResult(Result):
    """`hash` chains it to the entry before; `bytes` is the size of what it recorded."""

    sequence: int
    operation: str
    recorded_at: str
    actor: str
    bytes: int
    hash: str
    payload: str | None = None


class EventsResult(Result):
    """`next_after` is present when more entries follow."""

    events: list[EventResult]
    last_sequence: int
    next_after: int | None = None

"""The operation log: one hash-chained entry for each ChangeSet, and the anchor of its end in a file of its own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import structlog

from engram_duckdb.database import Database
from engram_duckdb.moments import from_micros
from engram_duckdb.statements import statements
from engram_kernel.changes import Applied, Outcome
from engram_kernel.model import Event

_OUTCOME = tuple(field.name for field in fields(Outcome))
_WINDOW = 4 << 20
_log = structlog.get_logger("duckdb")


def link_hash(previous: str, micros: int, actor: str, payload: str) -> str:
    """The chain hash; `checks.sql` computes the same in SQL."""
    actor_hash = hashlib.sha256(actor.encode()).hexdigest()
    return hashlib.sha256(f"{previous}|{micros}|{actor_hash}|{payload}".encode()).hexdigest()


def payload_of(effects: Sequence[Any]) -> str:
    return json.dumps(effects, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def result_of(outcomes: Sequence[Outcome]) -> str:
    return json.dumps([[getattr(outcome, name) for name in _OUTCOME] for outcome in outcomes], ensure_ascii=False, separators=(",", ":"))


def applied_from(sequence: int, result: str) -> Applied:
    """The recorded result of an earlier ChangeSet."""
    return Applied(sequence, tuple(Outcome(*cells) for cells in json.loads(result)), repeated=True)


def summary_of(outcomes: Sequence[Outcome]) -> str:
    """The distinct operations in order, such as `put+link`."""
    return "+".join(dict.fromkeys(outcome.operation for outcome in outcomes))


def event_from(row: tuple[Any, ...]) -> Event:
    sequence, operation, micros, actor, payload, previous, digest = row
    moment = from_micros(micros)
    assert moment is not None
    return Event(sequence=sequence, operation=operation, recorded_at=moment, actor=actor, payload=payload, previous=previous, hash=digest)


def events(database: Database, after: int, limit: int) -> Iterator[Event]:
    """Events in order, read in windows of bounded size: DuckDB is slow with many very long texts in one result."""
    sql = statements("read")
    for start, end in _windows(after, database.rows(sql["event_sizes"], [after, limit])):
        for row in database.rows(sql["events"], [start, end]):
            yield event_from(row)


def _windows(after: int, sizes: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(after, last) bounds, each with at most `_WINDOW` bytes of payload or one event."""
    start = last = after
    total = 0
    for sequence, size in sizes:
        if total and total + size > _WINDOW:
            yield start, last
            start, total = last, 0
        last, total = sequence, total + size
    if total:
        yield start, last


@dataclass(frozen=True, slots=True)
class Anchor:
    """The newest event as noted outside the database: a chain cannot show that its end was cut off."""

    sequence: int
    hash: str


def write_anchor(path: Path, sequence: int, digest: str) -> None:
    """Replace the anchor file in one step; a failure is logged, for the log itself is safe."""
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text(json.dumps({"sequence": sequence, "hash": digest}), encoding="utf-8")
        os.replace(fresh, path)  # noqa: PTH105
    except OSError as error:
        _log.warning("the anchor of the operation log could not be written", error=str(error))


def read_anchor(path: Path) -> Anchor | None:
    """None when there is none or it cannot be read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return Anchor(int(value["sequence"]), str(value["hash"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""`verify` and `health`: is the store what its operation log says it is?"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from engram_duckdb import oplog, replay, schema
from engram_duckdb.database import Database
from engram_duckdb.state import State
from engram_duckdb.statements import statements
from engram_kernel.store import Progress, Verification

_log = structlog.get_logger("duckdb")


def _silent(done: int, total: int, text: str) -> None:
    """No one watches."""


def verify(database: Database, state: State, deep: bool, progress: Progress | None) -> Verification:
    """Hash chain, its anchored end, contents and references; `deep` also replays the log against the tables."""
    tell, sql = progress or _silent, statements("checks")
    steps = 4 if deep else 3
    tell(0, steps, "hash chain")
    faults = [f"Event {seq} does not follow from the one before it." for (seq,) in database.rows(sql["chain"])]
    faults += _anchor_faults(database)
    tell(1, steps, "contents")
    faults += [f"Memory {collection}/{name}: {fault}." for collection, name, fault in database.rows(sql["contents"])]
    tell(2, steps, "edges")
    faults += [f"Edge {name}: {fault}." for name, fault in database.rows(sql["edges"])]
    faults += [f"{record}: {fault}." for record, fault in state.damaged.items() if not record.startswith(("memory ", "edge "))]
    if deep:
        tell(3, steps, "replay of the operation log")
        faults += replay.differences(database)
    tell(steps, steps, "done")
    events, memories, edges = database.rows(sql["counts"])[0]
    return Verification(events, memories, edges, tuple(faults), tuple(notes(database)))


def _anchor_faults(database: Database) -> list[str]:
    anchor = oplog.read_anchor(database.places.anchor)
    if anchor is None or anchor.sequence == 0:
        return []
    found = database.rows(statements("checks")["event_hash"], [anchor.sequence])
    if not found:
        return [f"The operation log ends before event {anchor.sequence}, which had been written."]
    return [] if found[0][0] == anchor.hash else [f"Event {anchor.sequence} is not the one that had been written."]


def notes(database: Database) -> list[str]:
    """Things an operator should know that are not faults of the data."""
    kept = sorted(path.name for path in database.places.folder.glob("*.damaged-*"))
    told = " ".join(database.notes)
    earlier = [f"A write-ahead log that could not be replayed is kept as {name}." for name in kept if name not in told]
    return [*database.notes, *earlier]


def health(database: Database, state: State) -> Mapping[str, str]:
    facts = {
        "engine": f"DuckDB {_version()}",
        "schema": str(schema.newest()),
        "bytes": str(database.bytes_on_disk),
        "sequence": str(state.tail.sequence),
        "durability": "every confirmed write is on disk",
        "checkpoint": "possible" if database.room_to_checkpoint() else "postponed: the disk is nearly full",
    }
    if state.damaged:
        facts["damaged"] = "; ".join(f"{record}: {fault}" for record, fault in state.damaged.items())
    if told := notes(database):
        facts["warnings"] = " ".join(told)
    return facts


def _version() -> str:
    import duckdb

    return str(duckdb.__version__)

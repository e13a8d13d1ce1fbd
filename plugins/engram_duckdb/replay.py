"""Replays the operation log and compares what it says with what the tables hold now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from engram_duckdb import oplog
from engram_duckdb.database import Database
from engram_duckdb.heads import content_hash
from engram_duckdb.rows import memory_from
from engram_duckdb.stage import document_hashes, memory_effect
from engram_duckdb.statements import statements

_ALL = 2**62
_WINDOW = {"memory": 5000, "edge": 20000, "embedding": 5000}
# The same bounds on every table: DuckDB does not carry them over the joins.
_CURRENT = " where r.known_to is null" + "".join(f" and {table}.mid > $1 and {table}.mid <= $2" for table in "rmc")
_SHOWN = 50
Key = tuple[Any, ...]
Digests = dict[Key, bytes]


def differences(database: Database) -> list[str]:
    """One line for each record whose newest logged form is not the stored one."""
    logged, stored = _logged(database), dict(_stored(database))
    faults = [f"{_name(key)} is stored but not in the log." for key in stored if key not in logged]
    faults += [f"{_name(key)} is in the log but not stored." for key in logged if key not in stored]
    faults += [f"{_name(key)} differs from what the log says." for key, digest in stored.items() if logged.get(key, digest) != digest]
    return faults[:_SHOWN]


def _logged(database: Database) -> Digests:
    found: Digests = {}
    for event in oplog.events(database, 0, _ALL):
        for effect in json.loads(event.payload):
            key = _key(effect)
            if key is not None:
                found[key] = _digest(effect)
    return found


def _key(effect: Mapping[str, Any]) -> Key | None:
    for kind in ("memory", "edge"):
        if kind in effect:
            return (kind, effect[kind])
    if "card" in effect:
        return ("card", *effect["card"])
    return ("vector", effect["vector"], effect["model"]) if "vector" in effect else None


def _stored(database: Database) -> Iterator[tuple[Key, bytes]]:
    sql = statements("checks")
    for row in _windows(database, statements("read")["records"] + _CURRENT, "memory", "mid"):
        memory = memory_from(row, checked=False)
        effect = memory_effect(memory, document_hashes(row[20], row[21]))
        yield ("memory", row[1]), _digest(effect)
    for row in _windows(database, sql["current_edges"], "edge", "eid"):
        yield ("edge", row[0]), _digest(_edge_effect(row))
    for kind, collection, name, revision, body in database.rows(sql["current_cards"]):
        digest = content_hash(body) if body is not None else None
        yield ("card", kind, collection, name), _digest({"card": [kind, collection, name], "rev": revision, "body": digest})
    for mid, model, digest in _windows(database, sql["current_vectors"], "embedding", "mid"):
        yield ("vector", mid, model), _digest({"vector": mid, "model": model, "hash": digest})


def _edge_effect(row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        "edge": row[0],
        "id": row[1],
        "rev": row[2],
        "state": row[3],
        "ends": [row[4], row[5]],
        "fields": list(row[6:10]),
        "times": list(row[10:13]),
        "documents": document_hashes(row[13], row[14]),
    }


def _windows(database: Database, sql: str, table: str, key: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement in windows of its key, so that memory stays bounded whatever the size of the store."""
    ((last,),) = database.rows(f"select coalesce(max({key}), 0) from {table}")  # noqa: S608 - names are ours
    for start in range(0, last, _WINDOW[table]):
        yield from database.rows(sql, [start, start + _WINDOW[table]])


def _digest(effect: Mapping[str, Any]) -> bytes:
    text = json.dumps(effect, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _name(key: Key) -> str:
    return f"{str(key[0]).capitalize()} {'/'.join(str(part) for part in key[1:])}"

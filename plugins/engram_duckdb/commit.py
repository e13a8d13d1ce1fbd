"""Writes the rows of one group in a single transaction: one statement per table, the appender for long ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from engram_duckdb.moments import column_value
from engram_duckdb.stage import Rows
from engram_duckdb.statements import statements

_APPEND_FROM = 24
"""Rows from which the appender is quicker than a multi-row INSERT."""


def merge(parts: Iterable[Rows]) -> Rows:
    """The rows of a group. A row closed by a later part of the same group is closed before it is written."""
    whole = Rows()
    for part in parts:
        for key, micros in part.closed_cards.items():
            _close_cards(whole, key, micros)
        for name in ("memory", "content", "card", "model", "oplog"):
            getattr(whole, name).extend(getattr(part, name))
        for name in ("revision", "edge", "vectors", "closed_revisions", "closed_edges", "closed_cards"):
            getattr(whole, name).update(getattr(part, name))
    _close_own(whole.revision, whole.closed_revisions)
    _close_own(whole.edge, whole.closed_edges)
    return whole


def _close_cards(whole: Rows, key: tuple[str, str, str], micros: int) -> None:
    for row in whole.card:
        if tuple(row[:3]) == key and row[-1] is None:
            row[-1] = column_value(micros)


def _close_own(rows: dict[int, list[Any]], closed: dict[int, int]) -> None:
    for rid in [rid for rid in closed if rid in rows]:
        rows[rid][-1] = column_value(closed.pop(rid))


def write(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    """Everything but begin and commit. Raises duckdb.Error."""
    sql = statements("write")
    _close(connection, sql["close_revisions"], rows.closed_revisions)
    _close(connection, sql["close_edges"], rows.closed_edges)
    for key, micros in rows.closed_cards.items():
        connection.execute(sql["close_card"], [micros, *key])
    _insert(connection, "memory", rows.memory)
    _insert(connection, "content", rows.content)
    _insert(connection, "revision", list(rows.revision.values()))
    _insert(connection, "edge", list(rows.edge.values()))
    _insert(connection, "card", rows.card)
    _insert(connection, "embedding_model", rows.model)
    for model in {model for _, model in rows.vectors}:
        connection.execute(sql["drop_vectors"], [model, [number for number, own in rows.vectors if own == model]])
    _insert(connection, "embedding", list(rows.vectors.values()))
    _insert(connection, "oplog", rows.oplog)


def _close(connection: duckdb.DuckDBPyConnection, sql: str, closed: dict[int, int]) -> None:
    by_time: dict[int, list[int]] = {}
    for rid, micros in closed.items():
        by_time.setdefault(micros, []).append(rid)
    for micros, rids in by_time.items():
        connection.execute(sql, [micros, rids])


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Sequence[Any]]) -> None:
    if not rows:
        return
    if len(rows) >= _APPEND_FROM:
        appender = connection.appender(table)
        appender.append_rows(rows)
        appender.flush()
        return
    marks = "(" + ",".join("?" * len(rows[0])) + ")"
    values = [cell for row in rows for cell in row]
    connection.execute(f"insert into {table} values " + ",".join([marks] * len(rows)), values)  # noqa: S608 - table names are ours

"""Numbered migrations, each in one transaction with the version it reaches."""

from __future__ import annotations

from collections.abc import Callable

import duckdb

from engram_duckdb.database import Database
from engram_duckdb.statements import migrations
from engram_kernel.errors import StoreUnusable

_VERSION = "schema_version"


def newest() -> int:
    return max(migrations())


def version(connection: duckdb.DuckDBPyConnection) -> int:
    """0 for an empty file. Raises StoreUnusable for a file that is not one of our stores."""
    tables = {row[0] for row in connection.execute("select table_name from information_schema.tables").fetchall()}
    if "meta" not in tables:
        if tables:
            raise StoreUnusable("The database file holds something else than memories.", next_step="Choose another data folder.")
        return 0
    row = connection.execute("select v from meta where k = ?", [_VERSION]).fetchone()
    return int(row[0]) if row else 0


def migrate(database: Database, before: Callable[[int], None], upto: int | None = None) -> None:
    """Bring the schema up to date; `before` is called with the old version when an existing store will change.

    Raises StoreUnusable for a newer store.
    """
    current, wanted = version(database.writer), newest() if upto is None else upto
    if max(current, wanted) > newest():
        raise StoreUnusable(
            f"The store was written by a newer version (schema {max(current, wanted)}, this program knows {newest()}).",
            next_step="Upgrade engram-kernel, or restore a backup made by this version.",
        )
    if current == wanted:
        return
    if database.read_only:
        raise StoreUnusable("The store has to be upgraded first.", next_step="Open it once for writing.")
    if current > 0:
        before(current)
    for number, script in migrations().items():
        if current < number <= wanted:
            _step(database, number, script)


def _step(database: Database, number: int, script: str) -> None:
    database.begin()
    try:
        database.writer.execute(script)
        database.writer.execute("insert or replace into meta values (?, ?)", [_VERSION, str(number)])
        database.commit()
    except duckdb.Error as error:
        database.rollback()
        raise StoreUnusable(f"Upgrading the store to schema {number} failed: {error}", next_step="Report this.") from error

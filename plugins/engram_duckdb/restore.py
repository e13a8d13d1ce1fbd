"""Fills an empty data folder from a backup; the store appears in place only when it has proved to be the one backed up."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from engram_duckdb import backup, checks, oplog, schema
from engram_duckdb.database import Database, failed_write, quoted
from engram_duckdb.load import load
from engram_duckdb.settings import Places, Settings
from engram_kernel.errors import AlreadyExists, StoreUnusable


def restore(folder: Path, source: Path, settings: Settings) -> Mapping[str, Any]:
    """The manifest, with `faults` that were already in the backed-up store.

    Raises AlreadyExists, InvalidInput for a damaged backup, StoreUnusable; in each case the folder is as it was.
    """
    manifest = backup.read_manifest(source)
    places = Places(folder)
    if places.database.exists() or places.wal.exists():
        raise AlreadyExists(f"{folder} already holds a store.", next_step="Restore into an empty data folder.")
    work = folder / f".restoring-{uuid.uuid4().hex[:8]}"
    work.mkdir(parents=True, mode=0o700)
    try:
        faults = _build(work, source, manifest, settings)
        Places(work).database.rename(places.database)
    except OSError as error:
        raise StoreUnusable(f"The backup could not be restored: {error}", next_step="Check the disk space.") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    oplog.write_anchor(places.anchor, manifest["last_sequence"], manifest["last_hash"])
    return manifest | {"faults": faults}


def _build(work: Path, source: Path, manifest: Mapping[str, Any], settings: Settings) -> list[str]:
    database = Database(Places(work), settings, read_only=False)
    try:
        _import(database, source, int(manifest["schema_version"]))
        loaded = load(database)
        tail = (loaded.tail.sequence, loaded.tail.hash if loaded.tail.sequence else "")
        if tail != (manifest["last_sequence"], manifest["last_hash"]):
            raise StoreUnusable("The restored log does not end where the backup says.", next_step="Use another backup.")
        faults = list(checks.verify(database, loaded, False, None).faults)
        database.writer.execute("checkpoint")
        return faults
    except duckdb.Error as error:
        raise failed_write(error) from error
    finally:
        database.close()


def _import(database: Database, source: Path, version: int) -> None:
    """Tables in the schema of the backup, then the migrations it has missed."""
    schema.migrate(database, lambda _: None, upto=version)
    inside = database.places.backups / "incoming"
    inside.mkdir()
    database.begin()
    database.writer.execute("delete from meta")
    for table in backup.TABLES:
        copied = inside / f"{table}.parquet"
        shutil.copyfile(source / copied.name, copied)
        database.writer.execute(f"insert into {table} by name select * from read_parquet({quoted(str(copied))})")  # noqa: S608
    database.commit()
    schema.migrate(database, lambda _: None)

"""Backups: every table as Parquet in one consistent snapshot, and a manifest that proves them complete."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from engram_duckdb import schema
from engram_duckdb.database import Connection, Database, failed_write, quoted
from engram_kernel.errors import AlreadyExists, EngramError, InvalidInput, StoreUnusable
from engram_kernel.store import Progress
from engram_kernel.times import format_time, now

MANIFEST = "manifest.json"
FORMAT = "engram-backup"
FORMAT_VERSION = 1
TABLES = ("meta", "memory", "content", "revision", "edge", "card", "embedding_model", "embedding", "usage", "oplog")


def backup(database: Database, target: Path, progress: Progress | None) -> Mapping[str, Any]:
    """Raises AlreadyExists for an existing target, StoreUnusable when the disk cannot take it; leaves nothing half-made."""
    target = target.expanduser().absolute()
    if os.path.lexists(target):
        raise AlreadyExists(f"{target} exists; a backup never overwrites.", next_step="Name a folder that does not exist.")
    work = free_name(database.places.backups, "in-progress")
    try:
        manifest = export(database, work, progress)
        _move(work, target)
    except OSError as error:
        raise StoreUnusable(
            f"The backup could not be written: {error}", next_step="Check the disk space and the rights of the folder."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def free_name(folder: Path, stem: str) -> Path:
    """A folder name that is not taken."""
    return folder / f"{stem}-{now():%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def export(database: Database, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Write all tables and the manifest into a new folder inside the store's own backup folder."""
    folder.mkdir(mode=0o700, parents=True)
    try:
        with database.reading() as cursor:
            return _export(cursor, folder, progress)
    except EngramError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _export(cursor: Connection, folder: Path, progress: Progress | None) -> dict[str, Any]:
    cursor.execute("begin")
    try:
        counts = {}
        for done, table in enumerate(TABLES):
            if progress:
                progress(done, len(TABLES), table)
            counts[table] = _copy(cursor, table, folder / f"{table}.parquet")
        manifest = _manifest(cursor, folder, counts)
    finally:
        cursor.execute("rollback")
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    if progress:
        progress(len(TABLES), len(TABLES), "done")
    return manifest


def _copy(cursor: Connection, table: str, file: Path) -> int:
    try:
        row = cursor.execute(f"copy {table} to {quoted(str(file))} (format parquet, compression zstd)").fetchone()
    except duckdb.IOException as error:
        raise failed_write(error) from error
    return int(row[0]) if row else 0


def _manifest(cursor: Connection, folder: Path, counts: Mapping[str, int]) -> dict[str, Any]:
    tail = cursor.execute("select seq, hash from oplog order by seq desc limit 1").fetchone() or (0, "")
    living = "select count(*) from {} where known_to is null and state = 'live'"
    memories, edges = (cursor.execute(living.format(table)).fetchall()[0][0] for table in ("revision", "edge"))
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "schema_version": schema.version(cursor),
        "created_at": format_time(now()),
        "last_sequence": tail[0],
        "last_hash": tail[1],
        "memories": memories,
        "edges": edges,
        "rows": dict(counts),
        "files": {path.name: {"sha256": file_hash(path), "bytes": path.stat().st_size} for path in sorted(folder.glob("*.parquet"))},
    }


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move(work: Path, target: Path) -> None:
    """Into place in one step, also across disks."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{uuid.uuid4().hex[:6]}")
    try:
        shutil.copytree(work, beside)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a backup whose files are all there and unchanged. Raises InvalidInput."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files = {str(name): str(entry["sha256"]) for name, entry in manifest["files"].items()}
        form, form_version = manifest["format"], int(manifest["format_version"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{folder} holds no readable backup manifest: {error}", data={"fields": {"backup": "no manifest"}}) from error
    if form != FORMAT or form_version > FORMAT_VERSION:
        raise InvalidInput(f"{folder} is a backup of another format ({form} {form_version}).", next_step="Use the version that made it.")
    for table in TABLES:
        _check_file(folder / f"{table}.parquet", files.get(f"{table}.parquet"))
    return dict(manifest)


def _check_file(path: Path, wanted: str | None) -> None:
    try:
        found = file_hash(path)
    except OSError as error:
        raise InvalidInput(f"The backup is incomplete: {path.name} cannot be read ({error.strerror}).") from error
    if found != wanted:
        raise InvalidInput(
            f"The backup is damaged: {path.name} is not the file that its manifest describes.", next_step="Use another backup."
        )

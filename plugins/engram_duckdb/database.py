"""The DuckDB instance: opening with safe settings, a pool of reading cursors, checkpoints, recovery.

Nothing here opens, copies or hashes the database file by ordinary file calls: closing any descriptor of it would drop
DuckDB's own lock.
"""

from __future__ import annotations

import os
import queue
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import duckdb
import structlog

from engram_duckdb import faults
from engram_duckdb.settings import Places, Settings
from engram_kernel.errors import Busy, StoreUnusable

Connection = duckdb.DuckDBPyConnection
_MEGABYTE = 1 << 20
_log = structlog.get_logger("duckdb")


class Database:
    """One open instance. `writer` belongs to the writing thread; readers borrow cursors from `reading()`."""

    def __init__(self, places: Places, settings: Settings, read_only: bool, fault: faults.Faults = faults.none) -> None:
        self.places, self.settings, self.read_only, self.fault = places, settings, read_only, fault
        self.notes: list[str] = []
        self.writer: Connection
        self._pool: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._closed = threading.Event()
        self.invalid = threading.Event()
        """Set when a reader found the instance unusable; the writer then opens it again."""
        self._open()

    def _open(self) -> None:
        if not self.read_only:
            self.places.temporary.mkdir(mode=0o700, exist_ok=True)
            self.places.backups.mkdir(mode=0o700, exist_ok=True)
        self.writer = self._connect()
        for _ in range(self.settings.readers):
            self._pool.put(self.writer.cursor())

    def _connect(self) -> Connection:
        try:
            return self._configured()
        except duckdb.Error as error:
            if self.read_only or not _is_replay_failure(error):
                raise unusable(error) from error
            self._set_wal_aside(str(error))
        try:
            return self._configured()
        except duckdb.Error as error:
            raise unusable(error) from error

    def _configured(self) -> Connection:
        connection = duckdb.connect(str(self.places.database), read_only=self.read_only)
        limits = {
            "threads": self.settings.threads,
            "memory_limit": f"'{self.settings.memory_limit_mb}MB'",
            "wal_autocheckpoint_entries": 1000,
            # DuckDB picks it for long texts; reading single rows then takes seconds (measured: 740 short log entries 58 s).
            "disabled_compression_methods": "'zstd'",
            "temp_directory": quoted(str(self.places.temporary)),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allowed_directories": f"[{quoted(str(self.places.backups) + os.sep)}]",
            "enable_external_access": "false",
            "lock_configuration": "true",
        }
        for name, value in limits.items():
            connection.execute(f"set {name} = {value}")
        return connection

    def _set_wal_aside(self, reason: str) -> None:
        """A damaged write-ahead log is kept under another name, never deleted."""
        kept = self.places.wal.with_suffix(f".damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        self.places.wal.rename(kept)
        self.notes.append(f"The write-ahead log could not be replayed and was kept as {kept.name}; the newest events may be missing.")
        _log.error("write-ahead log set aside", kept=kept.name, reason=reason[:300])

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A cursor for one short read; do not nest. Raises StoreUnusable after close."""
        cursor = self._borrow()
        try:
            yield cursor
        except duckdb.FatalException as error:
            self.invalid.set()
            raise Busy("The database has to be opened again.", next_step="Repeat the call in a moment.") from error
        except duckdb.Error as error:
            raise _failed_read(error) from error
        finally:
            self._pool.put(cursor)

    def _borrow(self) -> Connection:
        while not self._closed.is_set():
            try:
                return self._pool.get(timeout=0.5)
            except queue.Empty:
                continue
        raise StoreUnusable("The store is closed.")

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        with self.reading() as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def begin(self) -> None:
        self.writer.execute("begin")

    def commit(self) -> None:
        self.fault("commit")
        self.writer.execute("commit")
        self.fault("committed")

    def rollback(self) -> None:
        try:
            self.writer.execute("rollback")
        except duckdb.Error as error:
            _log.debug("nothing to roll back", error=str(error)[:200])

    def checkpoint(self) -> bool:
        """Fold the write-ahead log into the file when there is room; False when there is not. Raises duckdb.Error."""
        if self.read_only or not self.room_to_checkpoint():
            return False
        self.fault("checkpoint")
        self.writer.execute("checkpoint")
        return True

    def room_to_checkpoint(self) -> bool:
        needed = _size(self.places.wal) + self.settings.spare_mb * _MEGABYTE
        try:
            return shutil.disk_usage(self.places.folder).free >= needed
        except OSError:  # the folder is gone, or its disk
            return False

    @property
    def bytes_on_disk(self) -> int:
        return _size(self.places.database) + _size(self.places.wal)

    def reopen(self) -> None:
        """After an error that invalidated the instance: wait for the readers, close everything, open again."""
        self._shut()
        self._open()
        self.invalid.clear()

    def close(self) -> None:
        self._shut()
        self._closed.set()

    def _shut(self) -> None:
        for _ in range(self.settings.readers):
            _quietly_close(self._pool.get())
        _quietly_close(self.writer)


def unusable(error: duckdb.Error) -> StoreUnusable:
    """What a person should read when the database cannot be opened."""
    text = str(error).split("\n", 1)[0][:300]
    if "lock" in text.lower():
        return StoreUnusable(f"Another program has the database open: {text}", next_step="Close that program, then try again.")
    return StoreUnusable(f"The database cannot be opened: {text}", next_step="Restore the last backup with `engram restore`.")


def failed_write(error: duckdb.Error) -> StoreUnusable | Busy:
    """The kernel error for a write that the database refused and rolled back."""
    text = str(error).split("\n", 1)[0][:300]
    if "space" in text.lower() or "disk" in text.lower():
        return StoreUnusable(f"The disk is full: {text}", next_step="Free some space on the disk of the data folder, then repeat the call.")
    return Busy(f"The database could not take the write: {text}", next_step="Repeat the call; if it fails again, run `engram doctor`.")


def _failed_read(error: duckdb.Error) -> StoreUnusable | Busy:
    text = str(error).split("\n", 1)[0][:300]
    if isinstance(error, duckdb.OutOfMemoryException):
        return Busy(
            f"The database ran out of memory: {text}", next_step="Raise plugins.settings.duckdb.memory_limit_mb, or ask for less at once."
        )
    return StoreUnusable(f"The database could not answer: {text}", next_step="Run `engram verify`.")


def _is_replay_failure(error: duckdb.Error) -> bool:
    text = str(error).lower()
    return "replaying wal" in text or "corrupt wal" in text or "wal file" in text


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _size(path: Any) -> int:
    try:
        return int(os.stat(path).st_size)  # noqa: PTH116 - stat alone does not open the file
    except OSError:
        return 0


def _quietly_close(connection: Connection) -> None:
    try:
        connection.close()
    except duckdb.Error as error:
        _log.warning("closing a connection failed", error=str(error)[:300])

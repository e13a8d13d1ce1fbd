"""Reading the other store: read-only, schema detected, a damaged row named and passed over."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from engram_kernel.errors import InvalidInput

HEADER = b"SQLite format 3\x00"
REQUIRED: Mapping[str, tuple[str, ...]] = {
    "thought": ("thought_id", "thought_type", "essence", "content", "priority"),
    "edge": ("edge_id", "from_thought_id", "to_thought_id", "edge_type"),
    "action": ("action_id", "source_thought_id", "action_type", "intent"),
    "embedding": ("owner_id", "model_name", "dimension", "vector_blob"),
}
"""Tables that are brought over, with the columns without which a row means nothing."""
NOT_IMPORTED = ("journal_entry",)
_NO_FILE = "file: there is no file {path}"
_NOT_SQLITE = "file: {path} is not an SQLite database"
_NO_THOUGHTS = "file: {path} holds no table of thoughts; is it a store of engrava?"
_MISSING = "file: the table {table} lacks the columns {columns}"
_UNREADABLE = "file: {path} cannot be read: {reason}"

Row = Mapping[str, Any]


class Source:
    """An open foreign store. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidInput for a file that is missing, no SQLite database, or holds no thoughts."""
        if not path.is_file():
            raise InvalidInput(_NO_FILE.format(path=path))
        with path.open("rb") as stream:
            if stream.read(len(HEADER)) != HEADER:
                raise InvalidInput(_NOT_SQLITE.format(path=path))
        self.path = path
        try:
            self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self.columns = self._read_columns()
        except sqlite3.Error as error:
            raise InvalidInput(_UNREADABLE.format(path=path, reason=error)) from None
        self._check()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connection.close()

    def _read_columns(self) -> dict[str, set[str]]:
        tables = [row[0] for row in self._connection.execute("select name from sqlite_master where type = 'table'")]
        wanted = [table for table in (*REQUIRED, *NOT_IMPORTED) if table in tables]
        # Table names come from our own list above, never from the file.
        return {table: {row[1] for row in self._connection.execute(f"pragma table_info({table})")} for table in wanted}

    def _check(self) -> None:
        fault = "" if "thought" in self.columns else _NO_THOUGHTS.format(path=self.path)
        for table, required in REQUIRED.items():
            missing = sorted(set(required) - self.columns.get(table, set(required)))
            if missing:
                fault = _MISSING.format(table=table, columns=", ".join(missing))
        if fault:
            self._connection.close()
            raise InvalidInput(fault)

    def count(self, table: str) -> int:
        """Rows of a table; 0 when it does not exist or cannot be counted."""
        if table not in self.columns:
            return 0
        try:
            return int(self._connection.execute(f"select count(*) from {table}").fetchone()[0])  # noqa: S608
        except sqlite3.Error:
            return 0

    def batches(self, table: str, size: int) -> Iterator[Sequence[Row]]:
        """All rows in insertion order. Raises sqlite3.Error where the file is damaged.

        Text that is not UTF-8 arrives as bytes and is refused by the converter.
        """
        if table not in self.columns:
            return
        self._connection.text_factory = _text
        with closing(self._connection.execute(f"select * from {table} order by rowid")) as cursor:  # noqa: S608
            while rows := cursor.fetchmany(size):
                yield [dict(row) for row in rows]


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw

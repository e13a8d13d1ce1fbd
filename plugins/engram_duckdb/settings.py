"""The settings of the store and the places of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

DATABASE = "memory.duckdb"
BACKUPS = "backup"


@dataclass(frozen=True, slots=True)
class Settings:
    """See `engram-plugin.yaml` for what each one means."""

    cache_mb: int = 64
    memory_limit_mb: int = 256
    threads: int = 2
    readers: int = 3
    idle_seconds: float = 2.0
    group_size: int = 64
    spare_mb: int = 64

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known and value is not None})


@dataclass(frozen=True, slots=True)
class Places:
    """Files inside the data folder."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / DATABASE

    @property
    def wal(self) -> Path:
        return self.folder / f"{DATABASE}.wal"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def backups(self) -> Path:
        return self.folder / BACKUPS

    @property
    def anchor(self) -> Path:
        return self.folder / "oplog.anchor"

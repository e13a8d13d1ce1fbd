"""Where backups go, and when the last one was made."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engram_kernel.times import format_time, now, parse_time

FOLDER, NOTE = "backup", "last-backup.json"


@dataclass(frozen=True)
class Backups:
    """The backups of one data folder; those written elsewhere are remembered in a note."""

    data: Path

    @property
    def folder(self) -> Path:
        return self.data / FOLDER

    def default_target(self) -> Path:
        """A folder that does not exist, named after this moment in UTC."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return self.folder / now().strftime("%Y%m%dT%H%M%S.%fZ")

    def remember(self, target: Path) -> None:
        """Write down that a backup was made just now."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        temporary = self.folder / f"{NOTE}.{os.getpid()}"
        temporary.write_text(json.dumps({"path": str(target), "at": format_time(now())}), encoding="utf-8")
        temporary.replace(self.folder / NOTE)

    def last(self) -> datetime | None:
        """The moment of the newest backup that is known of."""
        known = [moment for moment in (self._noted(), *self._present()) if moment is not None]
        return max(known, default=None)

    def _noted(self) -> datetime | None:
        try:
            return parse_time(json.loads((self.folder / NOTE).read_text(encoding="utf-8"))["at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _present(self) -> list[datetime]:
        folders = [path for path in self.folder.glob("*/") if any(path.glob("*.json"))] if self.folder.is_dir() else []
        return [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in folders]


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

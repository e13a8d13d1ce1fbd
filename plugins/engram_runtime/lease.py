"""The lease: an advisory lock on a file of its own decides which process owns a data folder.

The operating system frees it however the owner dies, so a stale `owner.json` or socket never means anything by itself.
Standard library only.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

LOCK, RECORD, HANDOVER = "owner.lock", "owner.json", "handover.json"


@dataclass(frozen=True)
class OwnerRecord:
    """How to reach the owner. `endpoint` is a socket path, or `host:port`; `key` must be shown in the hello."""

    pid: int
    version: str
    endpoint: str
    key: str


class Lease:
    """The lock of one data folder. Never deletes the lock file: another process may already wait on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock without waiting; False when another process, or another Lease, holds it."""
        descriptor = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    @property
    def held(self) -> bool:
        return self._descriptor is not None

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def publish(self, record: OwnerRecord) -> None:
        write_private(self.folder / RECORD, json.dumps(asdict(record)))

    def withdraw(self) -> None:
        (self.folder / RECORD).unlink(missing_ok=True)


def read_record(folder: Path) -> OwnerRecord | None:
    """The published record, or None when there is none that can be read; it may be stale."""
    try:
        return OwnerRecord(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 atomically."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

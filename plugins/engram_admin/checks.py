"""Health checks for `engram doctor`: the store, the free space, the last backup."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from engram_admin.backups import Backups
from engram_kernel.errors import EngramError
from engram_kernel.model import Collection
from engram_kernel.services import Check, Finding
from engram_kernel.store import Store
from engram_kernel.times import now

NO_SPACE = 50_000_000
MEGABYTE = 1_000_000
TROUBLE = ("warning", "damage", "fault", "error")
"""A fact of the store whose name holds one of these words is trouble when its value says anything."""
QUIET = frozenset({"", "0", "none", "no", "false", "ok"})


@dataclass(frozen=True)
class Examiner:
    """What the checks look at."""

    store: Store
    folder: Path
    settings: Mapping[str, Any]

    def checks(self) -> tuple[Check, ...]:
        return (Check("store", self.store_health), Check("disk", self.free_space), Check("backup", self.last_backup))

    def store_health(self) -> list[Finding]:
        trouble = troubles(self.store.health())
        advice = "Run `engram verify --deep`; sound records are still served."
        if trouble:
            return [Finding("warning", text, advice) for text in trouble]
        return [Finding("ok", f"answers; {self.store.sequence():,} changes so far")]

    def free_space(self) -> list[Finding]:
        free = shutil.disk_usage(self.folder).free
        text = f"{free / MEGABYTE:,.0f} MB free"
        advice = "Free some space: writes are refused when the disk is full; nothing stored is lost."
        if free < NO_SPACE:
            return [Finding("error", text, advice)]
        return [Finding("warning", text, advice) if free < self.settings["free_space_mb"] * MEGABYTE else Finding("ok", text)]

    def last_backup(self) -> list[Finding]:
        """Asks for a backup only when there is something to lose: a store younger than the limit is left in peace."""
        limit = self.settings["backup_after_days"]
        last = Backups(self.folder).last()
        since = last or self._first_write()
        words = f"the last one is from {last:%Y-%m-%d %H:%M} UTC" if last else "there is none yet"
        if limit and since is not None and now() - since > timedelta(days=limit):
            return [Finding("warning", words, "Make one with `engram backup`.")]
        return [Finding("ok", words)]

    def _first_write(self) -> Any:
        first = self.store.events(0, 1)
        return first[0].recorded_at if first and self._has_memories() else None

    def _has_memories(self) -> bool:
        return self.store.statistics([card.id for card in self.store.cards(Collection)]).memories > 0


def troubles(health: Mapping[str, str]) -> list[str]:
    """The facts that need a person, as `name: value`."""
    named = ((name, value) for name, value in health.items() if any(word in name.lower() for word in TROUBLE))
    return [f"{name.replace('_', ' ')}: {value}" for name, value in named if value.strip().lower() not in QUIET]


def run(check: Check) -> list[Finding]:
    """A check that fails is itself a finding."""
    try:
        return check.run()
    except EngramError as error:
        return [Finding("error", error.what, error.next_step)]
    except Exception as error:
        text = f"the check itself failed: {type(error).__name__}: {error}"
        return [Finding("error", text, "Update or disable the plugin it belongs to; see the log.")]

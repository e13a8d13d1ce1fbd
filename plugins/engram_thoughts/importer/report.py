"""What the import says afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engram_kernel.arguments import Result

SHOWN = 200
"""How many skipped records and differences are named; all are counted."""


class Skipped(Result):
    kind: str
    id: str
    reason: str


class Tally(Result):
    """`found` = `imported` + `present` + `skipped`; `verified` were read back and equal their source."""

    found: int
    imported: int
    present: int
    skipped: int
    verified: int


class ImportReport(Result):
    """The structured answer of import_engrava."""

    file: str
    thoughts: Tally
    edges: Tally
    actions: Tally
    embeddings: Tally
    not_imported: Mapping[str, int]
    skipped: list[Skipped]
    skipped_total: int
    differences: list[Skipped]
    differences_total: int


@dataclass
class Counter:
    """Counts of one kind while the import runs, and the reasons of what was left."""

    kind: str
    found: int = 0
    imported: int = 0
    present: int = 0
    verified: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    differences: list[Skipped] = field(default_factory=list)

    def skip(self, record_id: object, reason: str) -> None:
        self.skipped.append(Skipped(kind=self.kind, id=str(record_id)[:80], reason=reason))

    def differs(self, record_id: str, what: str) -> None:
        self.differences.append(Skipped(kind=self.kind, id=record_id, reason=what))

    def tally(self) -> Tally:
        return Tally(found=self.found, imported=self.imported, present=self.present, skipped=len(self.skipped), verified=self.verified)

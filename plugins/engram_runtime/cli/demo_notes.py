"""The notes that `engram demo` imports: this project's decision records and change log.

They come with the package; in a working copy they are read from the repository itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from engram_kernel.errors import NotFound

PACKAGED = Path(__file__).with_name("demo_data")
REPOSITORY = Path(__file__).resolve().parents[3]
FACT = re.compile(r"^- (Holds from|Holds until|Builds on|Replaced by): (.+)$", re.MULTILINE)
CHANGE = re.compile(r"^- (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Note:
    """One note; `holds_from` and `holds_until` are its valid time, `builds_on` and `replaced_by` name other notes."""

    id: str
    title: str
    text: str
    kind: str
    source: str
    holds_from: str | None = None
    holds_until: str | None = None
    builds_on: tuple[str, ...] = field(default=())
    replaced_by: str | None = None


def read() -> list[Note]:
    """All notes, the decision records first. Raises NotFound when they were not installed."""
    folder = next((place for place in (PACKAGED, REPOSITORY / "docs") if (place / "decisions").is_dir()), None)
    if folder is None:
        raise NotFound("The notes of the demonstration were not installed.", next_step="Install engram-kernel again.")
    log = folder / "CHANGELOG.md" if folder == PACKAGED else REPOSITORY / "CHANGELOG.md"
    records = sorted((folder / "decisions").glob("[0-9]*.md"))
    return [decision(path.read_text(encoding="utf-8")) for path in records] + changes(log.read_text(encoding="utf-8"))


def decision(text: str) -> Note:
    """One decision record. Raises ValueError when its first line is not `# <number>. <title>`."""
    found = re.match(r"# (\d+)\. (.+)\n", text)
    if found is None:
        raise ValueError(f"not a decision record: {text[:60]!r}")
    facts = dict(FACT.findall(text))
    return Note(
        id=_decision_id(found[1]),
        title=found[2],
        text=text[found.end() :].strip(),
        kind="BELIEF",
        source="decisions",
        holds_from=facts.get("Holds from"),
        holds_until=facts.get("Holds until"),
        builds_on=tuple(_decision_id(number) for number in facts.get("Builds on", "").split(", ") if number),
        replaced_by=_decision_id(facts["Replaced by"]) if "Replaced by" in facts else None,
    )


def _decision_id(number: str) -> str:
    return f"decision-{int(number):02d}"


def changes(text: str) -> list[Note]:
    """One note for each entry of the change log."""
    entries = CHANGE.findall(text)
    return [Note(f"change-{number:02d}", entry.partition(":")[0], entry, "NOTE", "changelog") for number, entry in enumerate(entries, 1)]

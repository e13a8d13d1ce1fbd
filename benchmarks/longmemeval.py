"""`make bench-longmemeval`: LongMemEval's retrieval task through the same adapters as LoCoMo.

The file is the user's own (named by LONGMEMEVAL; it is not part of this project). Every question has its own history of
sessions: each turn is stored with its session and date, and the question is asked. Found is a turn that the file marks
as holding the answer, or, where it marks none, any turn of an answer session. Questions without an answer session
(`_abs`) count only for how often the server says that nothing fits.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from marks import NAMES, marks, means
from rich.console import Console
from rich.table import Table
from system import BUILD, ENGRAM, Adapter, Stored, System, running

K = 20
ABSTAIN = "_abs"
_DATES = ("%Y/%m/%d (%a) %H:%M", "%Y/%m/%d %H:%M", "%Y/%m/%d")


@dataclass
class Outcome:
    rows: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    abstained: list[bool] = field(default_factory=list)

    def report(self) -> dict[str, Any]:
        every = [row for rows in self.rows.values() for row in rows]
        return {
            "questions": len(every),
            "all": means(every),
            **{kind: means(rows) for kind, rows in sorted(self.rows.items())},
            "unanswerable, said weak": sum(self.abstained) / max(1, len(self.abstained)),
        }


def turns(entry: Mapping[str, Any]) -> Iterator[tuple[Stored, bool]]:
    """Each turn of a question's history, and whether it answers."""
    answers = set(entry.get("answer_session_ids", ()))
    marked = any(turn.get("has_answer") for session in entry["haystack_sessions"] for turn in session)
    sessions = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
    for place, (name, date, session) in enumerate(sessions):
        for number, turn in enumerate(session):
            right = bool(turn.get("has_answer")) if marked else name in answers
            memory = Stored(
                id=f"{place}-{number}", text=turn["content"] or "-", speaker=turn["role"], session=f"{name}-{place}", at=_moment(date)
            )
            yield memory, right


def _moment(text: str) -> str:
    for form in _DATES:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).isoformat()
        except ValueError:
            continue
    return ""


def ask(system: System, entry: Mapping[str, Any], outcome: Outcome) -> None:
    history = list(turns(entry))
    for memory, _ in history:
        system.store(memory)
    system.settle(history[-1][0])
    found = system.search(entry["question"], K)
    right = {memory.id for memory, answers in history if answers}
    if entry["question_id"].endswith(ABSTAIN) or not right:
        outcome.abstained.append(isinstance(system.last, Mapping) and bool(system.last.get("weak")))
    else:
        outcome.rows.setdefault(entry["question_type"], []).append(marks(found, right))


def measure(entries: Sequence[Mapping[str, Any]], adapter: Adapter, folder: Path) -> Outcome:
    outcome = Outcome()
    for entry in entries:
        shutil.rmtree(folder, ignore_errors=True)
        with running(adapter, folder, {}) as system:
            ask(system, entry, outcome)
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", type=Path, default=ENGRAM, help="JSON file that describes another MCP memory server")
    parser.add_argument("--questions", type=int, default=None, help="only the first so many")
    given = parser.parse_args()
    if "LONGMEMEVAL" not in os.environ:
        sys.exit("Set LONGMEMEVAL to the path of a LongMemEval file, such as longmemeval_s.json (not part of this project).")
    entries = json.loads(Path(os.environ["LONGMEMEVAL"]).read_bytes())[: given.questions]
    report = measure(entries, Adapter.read(given.adapter), BUILD / f"longmemeval-{given.adapter.stem}").report()
    target = BUILD / f"longmemeval-{given.adapter.stem}.json"
    target.write_text(json.dumps(report, indent=1), encoding="utf-8")
    table = Table("type", *NAMES, title=f"LongMemEval, {report['questions']} questions")
    for kind, row in report.items():
        if isinstance(row, Mapping) and row:
            table.add_row(kind, *(f"{row[name]:.3f}" for name in NAMES))
    Console(width=140).print(table)
    Console().print(f"Unanswerable and said so: {report['unanswerable, said weak']:.2f}. Written to {os.path.relpath(target)}.")


if __name__ == "__main__":
    main()

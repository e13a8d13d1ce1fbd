"""`make bench-locomo`: how much of the evidence a memory server finds for the questions of LoCoMo.

Each conversation gets a store of its own; its turns (or, with --corpus facts, the statements drawn from them) are stored
through the server's own tools, and every question of categories 1 to 4 is asked. The file is named by LOCOMO.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from locomo_data import CATEGORIES, Conversation, Item, read
from marks import NAMES, marks, means, quantile
from rich.console import Console
from rich.table import Table
from system import BUILD, ENGRAM, Adapter, Stored, System, running
from variants import VARIANTS, WITHOUT_VECTORS

K = 20
FIRST_HALF = 5
"""The ranking was chosen on the first five conversations; the others are reported apart."""
_console = Console(stderr=True)


@dataclass
class Outcome:
    """The marks of one variant: a row for each question, with its category and the place of its conversation."""

    rows: list[dict[str, float]] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    unanswerable: int = 0
    told_weak: int = 0
    answerable_weak: int = 0

    def report(self) -> dict[str, Any]:
        groups = {name: [row for row in self.rows if row["category"] == number] for number, name in CATEGORIES.items()}
        halves = {
            "conversations 1-5": [row for row in self.rows if row["place"] < FIRST_HALF],
            "conversations 6-10": [row for row in self.rows if row["place"] >= FIRST_HALF],
        }
        return {
            "questions": len(self.rows),
            "all": means(self.rows),
            **{name: means(rows) for name, rows in (groups | halves).items()},
            "search_ms": {"p50": quantile(self.milliseconds, 0.5), "p95": quantile(self.milliseconds, 0.95)},
            "said weak": {
                "answerable": self.answerable_weak / max(1, len(self.rows)),
                "adversarial": self.told_weak / max(1, self.unanswerable),
            },
        }


def stored(item: Item) -> Stored:
    return Stored(id=item.id, text=item.text, speaker=item.speaker, session=item.session, at=item.at.isoformat())


def fill(system: System, conversation: Conversation) -> None:
    for item in conversation.items:
        system.store(stored(item))


def settle(system: System, conversation: Conversation) -> None:
    """A model is loaded when it is first needed, and memories are embedded in the background."""
    if not system.settle(stored(conversation.items[-1])):
        _console.print(f"[yellow]{conversation.id}: not everything takes part in searches yet")


def ask(system: System, conversation: Conversation, place: int, outcome: Outcome) -> None:
    for question in conversation.questions:
        row = marks(system.search(question.text, K), question.evidence)
        outcome.rows.append(row | {"category": question.category, "place": place})
        outcome.answerable_weak += _weak(system)
    for text in conversation.unanswerable:
        system.search(text, K)
        outcome.unanswerable += 1
        outcome.told_weak += _weak(system)
    outcome.milliseconds += system.milliseconds


def _weak(system: System) -> bool:
    return isinstance(system.last, Mapping) and bool(system.last.get("weak"))


def measure(
    conversations: Sequence[tuple[int, Conversation]], adapter: Adapter, variants: Mapping[str, Any], folder: Path
) -> dict[str, Outcome]:
    outcomes = {name: Outcome() for name in variants}
    for place, conversation in conversations:
        home = folder / conversation.id
        if "default" in variants:
            shutil.rmtree(home, ignore_errors=True)
        for name, config in variants.items():
            with running(adapter, home, config) as system:
                if name == "default":
                    fill(system, conversation)
                if name not in WITHOUT_VECTORS:
                    settle(system, conversation)
                ask(system, conversation, place, outcomes[name])
        _console.print(f"{conversation.id}: " + ", ".join(f"{name} {_recall(outcome, place):.3f}" for name, outcome in outcomes.items()))
    return outcomes


def _recall(outcome: Outcome, place: int) -> float:
    return means([row for row in outcome.rows if row["place"] == place])["recall@10"]


def table(title: str, reports: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    overall = Table("system", *NAMES, "p50 ms", title=title)
    detail = Table("recall@10", *CATEGORIES.values(), "conv. 1-5", "conv. 6-10", "weak: answerable", "weak: adversarial")
    for name, report in reports.items():
        overall.add_row(name, *(f"{report['all'][mark]:.3f}" for mark in NAMES), f"{report['search_ms']['p50']:.1f}")
        groups = (*CATEGORIES.values(), "conversations 1-5", "conversations 6-10")
        weak = (f"{share:.3f}" for share in report["said weak"].values())
        detail.add_row(name, *(f"{report[group].get('recall@10', float('nan')):.3f}" for group in groups), *weak)
    yield from (overall, detail)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", choices=("turns", "facts"), default="turns")
    parser.add_argument("--adapter", type=Path, default=ENGRAM, help="JSON file that describes another MCP memory server")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="of our own server, by name; all by default")
    parser.add_argument("--conversations", default="1-10", help="such as 1-5")
    return parser.parse_args()


def main() -> None:
    given = options()
    if "LOCOMO" not in os.environ:
        sys.exit("Set LOCOMO to the path of locomo10.json (not part of this project; licence CC BY-NC 4.0).")
    first, _, last = given.conversations.partition("-")
    chosen = list(enumerate(read(Path(os.environ["LOCOMO"]), given.corpus)))[int(first) - 1 : int(last or first)]
    ours = given.adapter == ENGRAM
    variants = {name: VARIANTS[name] for name in given.variants.split(",")} if ours else {"default": None}
    folder = BUILD / f"locomo-{given.corpus}" / given.adapter.stem
    outcomes = measure(chosen, Adapter.read(given.adapter), variants, folder)
    reports = {name if ours else given.adapter.stem: outcome.report() for name, outcome in outcomes.items()}
    target = BUILD / f"locomo-{given.corpus}-{given.adapter.stem}.json"
    target.write_text(json.dumps({"corpus": given.corpus, "conversations": given.conversations, "systems": reports}, indent=1))
    console = Console(width=160)
    for part in table(f"LoCoMo {given.corpus}, conversations {given.conversations}", reports):
        console.print(part)
    console.print(f"Written to {os.path.relpath(target)}.")


if __name__ == "__main__":
    main()

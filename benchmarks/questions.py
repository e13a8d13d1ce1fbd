"""`make bench-questions`: our own questions with exact answers, asked through the real tools; no judge is needed.

Seven kinds of wording (paraphrase, other languages, diacritics, unspaced scripts, jargon), questions that nothing stored
answers, and a story in which facts end, are replaced and contradict each other.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from marks import marks, means
from rich.console import Console
from rich.table import Table
from system import BUILD, ENGRAM, HERE, Adapter, Stored, System, running
from variants import VARIANTS, WITHOUT_VECTORS

QUESTIONS = HERE / "questions.yaml"
K = 10


def read(path: Path = QUESTIONS) -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def fill(system: System, memories: Mapping[str, str]) -> None:
    for name, text in memories.items():
        system.store(Stored(id=name, text=text))


def ask_wordings(system: System, questions: Mapping[str, list[list[str]]]) -> dict[str, Any]:
    """For each kind its means, and what went wrong."""
    report: dict[str, Any] = {}
    for kind, pairs in questions.items():
        rows, missed, weak = [], [], 0
        for query, wanted in pairs:
            found = system.search(query, K)
            rows.append(marks(found, {wanted}))
            weak += _weak(system)
            if wanted not in found[:5]:
                missed.append(query)
        report[kind] = {"questions": len(rows), **means(rows), "said weak": weak / len(rows), "missed": missed}
    return report


def ask_unknown(system: System, queries: list[str]) -> dict[str, Any]:
    told: list[str] = []
    for query in queries:
        system.search(query, K)
        told += [query] if _weak(system) else []
    return {"questions": len(queries), "said weak": len(told) / len(queries), "not said": [query for query in queries if query not in told]}


def tell_story(system: System, timeline: Mapping[str, Any]) -> None:
    """Only for our own tools: the end of a validity is set with update_thought."""
    for entry in timeline["store"]:
        call = {"thought_id": entry["id"], "essence": entry["text"], "content": entry["text"]}
        more = {name: entry[name] for name in ("valid_from", "valid_until") if name in entry}
        system.host.call("store_thought", **call, **more)
    for name, moment in timeline["end"].items():
        system.host.call("update_thought", thought_id=name, valid_until=moment)


def ask_story(system: System, timeline: Mapping[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = {}
    for case in timeline["ask"]:
        more = {name: case[name] for name in ("valid_at", "include_ended") if name in case}
        found = system.search(case["query"], 5, **more)
        kind = report.setdefault(case["kind"], {"questions": 0, "right": 0, "wrong": []})
        kind["questions"] += 1
        if faults := wrong(case, found, system.last["results"]):
            kind["wrong"].append(f"{case['query']} ({', '.join(faults)})")
        else:
            kind["right"] += 1
    return report


def wrong(case: Mapping[str, Any], found: list[str], hits: list[Mapping[str, Any]]) -> list[str]:
    """What is not as it must be."""
    ended = {hit["thought_id"] for hit in hits if "valid_until" in hit}
    faults = [f"first is {found[:1]}"] if "first" in case and found[:1] != [case["first"]] else []
    faults += [f"{name} is missing" for name in (*case.get("present", ()), *case.get("marked", ())) if name not in found]
    faults += [f"{name} is there" for name in case.get("absent", ()) if name in found]
    return faults + [f"{name} is not marked" for name in case.get("marked", ()) if name not in ended]


def _weak(system: System) -> bool:
    return isinstance(system.last, Mapping) and bool(system.last.get("weak"))


def measure(adapter: Adapter, config: Mapping[str, Any] | None, folder: Path, *, vectors: bool, ours: bool) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    content = read()
    last = list(content["memories"].items())[-1]
    with running(adapter, folder, config) as system:
        fill(system, content["memories"])
        if vectors:
            system.settle(Stored(*last))
        report = {"wordings": ask_wordings(system, content["questions"]), "unanswerable": ask_unknown(system, content["unanswerable"])}
        if ours:
            tell_story(system, content["timeline"])
            if vectors:
                story = content["timeline"]["store"][-1]
                system.settle(Stored(story["id"], story["text"]))
            report["timeline"] = ask_story(system, content["timeline"])
    return report


def show(console: Console, reports: Mapping[str, Mapping[str, Any]]) -> None:
    kinds = list(next(iter(reports.values()))["wordings"])
    table = Table("hit@1 / hit@5", *kinds, "unknown: said", "known: said weak", title="Own questions")
    story = Table("right answers", "supersession", "as-of", "history", "contradiction")
    for name, report in reports.items():
        rows = report["wordings"]
        cells = [f"{rows[kind]['hit@1']:.2f} / {rows[kind]['hit@5']:.2f}" for kind in kinds]
        asked = sum(row["questions"] for row in rows.values())
        alarms = sum(row["said weak"] * row["questions"] for row in rows.values()) / asked
        table.add_row(name, *cells, f"{report['unanswerable']['said weak']:.2f}", f"{alarms:.2f}")
        told = report.get("timeline", {})
        story.add_row(name, *(f"{kind['right']} of {kind['questions']}" for kind in told.values()))
    console.print(table)
    console.print(story)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", type=Path, default=ENGRAM, help="JSON file that describes another MCP memory server")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    given = parser.parse_args()
    adapter, ours = Adapter.read(given.adapter), given.adapter == ENGRAM
    chosen = {name: VARIANTS[name] for name in given.variants.split(",")} if ours else {given.adapter.stem: None}
    reports = {
        name: measure(adapter, config, BUILD / "questions", vectors=name not in WITHOUT_VECTORS, ours=ours)
        for name, config in chosen.items()
    }
    target = BUILD / f"questions-{given.adapter.stem}.json"
    target.write_text(json.dumps(reports, indent=1, ensure_ascii=False), encoding="utf-8")
    show(Console(width=170), reports)
    Console().print(f"Written to {os.path.relpath(target)}.")


if __name__ == "__main__":
    main()

"""`engram query`: MindQL from the command line, as a table that fits the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_kernel.errors import InvalidInput
from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller, pass_caller

PREFERRED = {
    "thought_id": 36,
    "edge_id": 36,
    "action_id": 36,
    "essence": 24,
    "edge_type": 17,
    "action_type": 12,
    "priority": 8,
    "thought_type": 12,
    "lifecycle_status": 16,
    "from_thought_id": 36,
    "to_thought_id": 36,
    "weight": 6,
    "intent": 30,
    "status": 10,
    "updated_at": 10,
    "count": 8,
}
"""Columns worth showing, most telling first, with the width each needs."""
LONGEST_CELL, GAP = 300, 3


@click.command()
@click.argument("statement", metavar='"FIND ..."', nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(1, 5000), help="Most rows; replaces the LIMIT of the statement.")
@click.option("--columns", metavar="A,B,...", help="Columns to show; default: those that fit the screen.")
@pass_caller
def query(caller: Caller, statement: tuple[str, ...], limit: int | None, columns: str | None) -> None:
    """Ask in MindQL, for example: FIND thoughts WHERE priority = P1 ORDER BY created_cycle DESC."""
    arguments: dict[str, Any] = {"query": " ".join(statement)} | ({"limit": limit} if limit else {})
    found = caller.call("query_memory", arguments)
    chosen = _chosen(columns, found["columns"]) if columns else None
    caller.show(found, lambda data: _show(data, chosen))


def _chosen(text: str, known: Sequence[str]) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput(f"--columns: no column {', '.join(unknown)}.", next_step=f"The columns are {', '.join(known)}.")
    return names


def _show(data: Mapping[str, Any], chosen: Sequence[str] | None) -> None:
    rows, known = data["rows"], data["columns"]
    names = list(chosen or fitting(known, rows, output.width()))
    if rows:
        output.table(
            [(name, {"no_wrap": name.endswith("_id")}) for name in names], ([_cell(row.get(name)) for name in names] for row in rows)
        )
        click.echo()
    hidden = len(known) - len(names)
    remark = f"; {hidden} of {len(known)} columns not shown (--columns, --json)" if hidden and rows else ""
    total = data.get("total", len(rows))
    count = f"{len(rows)} of {total:,} rows" if total > len(rows) else output.counted(len(rows), "row")
    output.note(f"{count}{remark}")


def fitting(known: Sequence[str], rows: Sequence[Mapping[str, Any]], room: int) -> list[str]:
    """The most telling columns that fit into `room` cells; never none."""
    names = [name for name in PREFERRED if name in known] or list(known)
    kept: list[str] = []
    for name in names:
        longest = max((len(_cell(row.get(name))) for row in rows), default=0)
        room -= max(len(name), min(longest, PREFERRED.get(name, 20))) + GAP
        if kept and room < 0:
            break
        kept.append(name)
    return kept


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    return output.one_line(text, LONGEST_CELL)

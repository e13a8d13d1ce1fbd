"""The `engram import` command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from engram_kernel.services import Client

KINDS = ("thoughts", "edges", "actions", "embeddings")
COLUMNS = ("found", "imported", "present", "skipped", "verified")


@click.group("import", help="Bring memories of another store over.")
def import_command() -> None:
    """Sub-commands name the kind of store."""


@import_command.command("engrava", help="Import an SQLite store of engrava. Running it again imports nothing twice.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def engrava(client: Client, file: Path) -> None:
    with Console(stderr=True).status(f"Importing {file.name} ..."):
        report = client.call("import_engrava", {"file": str(file.resolve())}, operator=True)
    client.show(report, _render)
    if report["skipped_total"] or report["differences_total"]:
        raise SystemExit(1)


def _render(report: Mapping[str, Any]) -> None:
    console = Console()
    table = Table(title=f"Import of {report['file']}", title_justify="left")
    table.add_column("")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for kind in KINDS:
        table.add_row(kind, *(f"{report[kind][name]:,}" for name in COLUMNS))
    console.print(table)
    for name, count in report["not_imported"].items():
        console.print(f"Not imported: {count:,} rows of {name}.")
    _render_list(console, "Skipped", report["skipped"], report["skipped_total"])
    _render_list(console, "Different", report["differences"], report["differences_total"])


def _render_list(console: Console, title: str, items: list[Mapping[str, Any]], total: int) -> None:
    if not total:
        return
    console.print(f"\n{title}: {len(items):,} of {total:,} shown")
    for item in items:
        console.print(f"  {item['kind']} {item['id']}: {item['reason']}", markup=False)

"""`engram status`, `verify` and `backup`: looking after the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from engram_runtime.cli import output, progress
from engram_runtime.cli.caller import Caller, pass_caller
from engram_runtime.cli.failures import FAILURE

SAID = frozenset({"bytes", "sequence"})
"""Facts of the store that are shown in other words."""


@click.command()
@pass_caller
def status(caller: Caller) -> None:
    """Show the owner process, the store and what is in it."""
    owner = caller.request("status")
    caller.show({"owner": owner, "store": caller.call("status", {}, operator=True)}, _show_status)


def _show_status(data: Mapping[str, Any]) -> None:
    owner, store = data["owner"], data["store"]
    output.heading("Owner process")
    memory = owner.get("rss_mb")
    output.fields(
        [
            ("process", f"{owner['pid']}, version {owner['version']}"),
            ("running for", output.duration(owner["uptime_s"])),
            ("sessions", owner["sessions"]),
            ("memory", f"{memory:.0f} MB" if memory else None),
        ],
        indent=2,
    )
    click.echo()
    output.heading("Store")
    output.fields(_store_facts(owner, store), indent=2)
    for warning in store.get("warnings") or ():
        click.echo(f"\n  {output.mark('warning')}  {output.clean(warning)}")


def _store_facts(owner: Mapping[str, Any], store: Mapping[str, Any]) -> list[tuple[str, Any]]:
    collections = [f"{each['id']} {each['memories']:,}" for each in store["collections"] if each["memories"]]
    return [
        ("folder", owner["folder"]),
        ("memories", f"{store['memories']:,}"),
        ("links", f"{store['edges']:,}"),
        ("collections", output.joined(collections)),
        ("changes", f"{store['sequence']:,}"),
        ("on disk", output.size(store["bytes_on_disk"])),
        ("free space", output.size(store["bytes_free"])),
        ("last backup", output.minute(store["last_backup"]) or "never"),
        *((name.replace("_", " "), value) for name, value in store["health"].items() if name not in SAID),
    ]


@click.command()
@click.option("--deep", is_flag=True, help="Also replay the whole log and compare it with the state.")
@click.pass_context
def verify(context: click.Context, deep: bool) -> None:
    """Check the hash chain of the log and every record's content; exit 1 when a fault is found."""
    caller = context.ensure_object(Caller)
    with progress.shown(caller, "Checking") as update:
        result = caller.call("verify", {"deep": deep}, operator=True, progress=update)
    caller.show(result, _show_verification)
    if not result["sound"]:
        context.exit(FAILURE)


def _show_verification(data: Mapping[str, Any]) -> None:
    faults = data["faults"]
    found = f"{output.mark('error')}  {output.counted(len(faults), 'fault')} found."
    click.echo(f"{output.mark('ok')}  The store is sound." if data["sound"] else found)
    for line in faults:
        click.echo(f"  {output.clean(line)}")
    for line in data["notes"]:
        output.note(f"  {line}")
    entries = output.counted(data["events"], "log entry", "log entries")
    memories = output.counted(data["memories"], "memory", "memories")
    output.note(f"{entries}, {memories} and {output.counted(data['edges'], 'link')} checked.")
    if faults:
        click.echo("  Next: restore the last good backup with `engram restore`, or keep working: sound records are still served.")


@click.command()
@click.argument("target", required=False)
@pass_caller
def backup(caller: Caller, target: str | None) -> None:
    """Write a complete backup into the new folder TARGET; default: a dated folder under backup/ of the data folder."""
    arguments = {"target": str(Path(target).expanduser().absolute())} if target is not None else {}
    with progress.shown(caller, "Backing up") as update:
        result = caller.call("backup", arguments, operator=True, progress=update)
    caller.show(result, _show_backup)


def _show_backup(data: Mapping[str, Any]) -> None:
    click.echo(f"{output.mark('ok')}  Backup written to {output.clean(data['path'])}")
    output.note(f"  {output.size(data['bytes'])}; change {data['sequence']:,} is the last one in it.")

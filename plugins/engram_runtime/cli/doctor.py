"""`engram doctor`: is everything in order, and what to do where it is not."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from engram_kernel.errors import EngramError
from engram_runtime import places
from engram_runtime.cli import output, progress
from engram_runtime.cli.caller import Caller
from engram_runtime.cli.failures import FAILURE

Finding = Mapping[str, str]
LITTLE_SPACE, NO_SPACE = 500_000_000, 50_000_000
"""Bytes free on the data folder's disk: below the first a warning, below the second an error."""


@click.command()
@click.pass_context
def doctor(context: click.Context) -> None:
    """Check configuration, folders, disk space, owner, plugins and store; exit 1 when something is broken."""
    caller = context.ensure_object(Caller)
    findings = list(examine(caller))
    caller.show({"findings": findings, "healthy": not _broken(findings)}, lambda data: _show(data["findings"]))
    if _broken(findings):
        context.exit(FAILURE)


def _broken(findings: Sequence[Finding]) -> bool:
    return any(finding["level"] == "error" for finding in findings)


def examine(caller: Caller) -> Iterator[Finding]:
    """Every finding; a check that fails is itself a finding, and the next ones still run."""
    yield from configuration(caller)
    yield from data_folder(caller)
    yield from _from_owner(caller)


def finding(level: str, check: str, text: str, advice: str = "") -> Finding:
    return {"level": level, "check": check, "text": text, "advice": advice}


def configuration(caller: Caller) -> Iterator[Finding]:
    try:
        caller.check_configuration()
    except EngramError as error:
        yield finding("error", "configuration", error.what, error.next_step or "Correct it, then run `engram config check`.")
        return
    read = [str(path) for _, path in places.config_files(caller.env, caller.config) if path.exists()]
    yield finding("ok", "configuration", f"read from {', '.join(read)}" if read else "no file, all defaults")


def data_folder(caller: Caller) -> Iterator[Finding]:
    folder = caller.folder
    if not folder.exists():
        parent = next(path for path in folder.parents if path.exists())
        if os.access(parent, os.W_OK):
            yield finding("ok", "data folder", f"{folder} will be made on first use")
        else:
            yield finding("error", "data folder", f"{folder} cannot be made: no permission in {parent}", "Choose another with --data.")
        return
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield finding("error", "data folder", f"{folder} cannot be read and written", "Correct its owner and mode, or use --data.")
        return
    yield from _privacy(folder)


def _privacy(folder: Path) -> Iterator[Finding]:
    if not hasattr(os, "getuid"):
        yield finding("ok", "data folder", str(folder))
        return
    facts = folder.stat()
    if facts.st_uid != os.getuid():
        yield finding("error", "data folder", f"{folder} belongs to another user", "Use a folder of your own with --data.")
    elif facts.st_mode & 0o077:
        yield finding("warning", "data folder", f"others on this machine can enter {folder}", f"chmod 700 {folder}")
    else:
        yield finding("ok", "data folder", f"{folder}, private to you")


def free_space(caller: Caller) -> Iterator[Finding]:
    there = next(path for path in (caller.folder, *caller.folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    level = "error" if free < NO_SPACE else "warning" if free < LITTLE_SPACE else "ok"
    advice = "" if level == "ok" else "Free some space: writes are refused when the disk is full; nothing stored is lost."
    yield finding(level, "disk", f"{output.size(free)} free", advice)


def _from_owner(caller: Caller) -> Iterator[Finding]:
    try:
        owner = caller.request("status")
        yield finding("ok", "owner", f"process {owner['pid']} answers, version {owner['version']}")
        yield from _plugins(caller.request("plugins"))
        yield from _store(caller)
    except EngramError as error:
        yield finding("error", "owner", error.what, error.next_step or "See owner.log in the data folder.")
        yield from free_space(caller)


def _plugins(plugins: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    bad = [plugin for plugin in plugins if plugin["status"] in ("failed", "quarantined", "shadowed")]
    for plugin in bad:
        advice = f"Update it, or switch it off: engram plugins disable {plugin['name']}"
        level = "warning" if plugin["status"] == "shadowed" else "error"
        yield finding(level, "plugins", f"{plugin['name']} is {plugin['status']}: {plugin['error']}", advice)
    shaky = [plugin for plugin in plugins if plugin["status"] == "loaded" and plugin["failures"]]
    for plugin in shaky:
        yield finding("warning", "plugins", f"{plugin['name']} failed {plugin['failures']} times: {plugin['error']}", "See the log.")
    loaded = sum(plugin["status"] == "loaded" for plugin in plugins)
    if not bad and not shaky:
        yield finding("ok", "plugins", f"{loaded} loaded")


def _store(caller: Caller) -> Iterator[Finding]:
    with progress.shown(caller, "Checking") as update:
        yield from caller.call("doctor", {}, operator=True, progress=update)["findings"]


def _show(findings: Sequence[Finding]) -> None:
    column = max(len(each["check"]) for each in findings) + 2
    for each in findings:
        level = output.mark(each["level"]) + " " * (9 - len(each["level"]))
        lines = output.wrap(output.clean(each["text"]), output.width() - 9 - column)
        click.echo(f"{level}{each['check']:<{column}}{lines[0]}")
        for line in lines[1:]:
            click.echo(" " * (9 + column) + line)
        if each["advice"] and each["level"] != "ok":
            for line in output.wrap("Next: " + output.clean(each["advice"]), output.width() - 9 - column):
                output.note(" " * (9 + column) + line)
    click.echo()
    click.echo(_summary(findings))


def _summary(findings: Sequence[Finding]) -> str:
    errors = sum(each["level"] == "error" for each in findings)
    warnings = sum(each["level"] == "warning" for each in findings)
    if not errors and not warnings:
        return "All in order."
    return " and ".join(output.counted(count, word) for count, word in ((errors, "error"), (warnings, "warning")) if count) + " found."

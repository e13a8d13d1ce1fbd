"""Exit codes, and how a failure is told to a person: what happened, whether anything changed, the next step."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from engram_kernel.errors import EngramError

OK, FAILURE, USAGE, NOT_FOUND, UNUSABLE = 0, 1, 2, 3, 4

EXIT_CODES = {
    OK: "done",
    FAILURE: "failed, or a check found something",
    USAGE: "wrong usage, arguments or configuration",
    NOT_FOUND: "no such memory, plugin or tool",
    UNUSABLE: "the store cannot be used or is held by another process",
}

_BY_ERROR = {
    "invalid_input": USAGE,
    "config_error": USAGE,
    "not_found": NOT_FOUND,
    "unknown": NOT_FOUND,
    "store_unusable": UNUSABLE,
    "lease_held": UNUSABLE,
}


def exit_code(error: EngramError) -> int:
    return _BY_ERROR.get(error.code, FAILURE)


def report(error: EngramError, *, as_json: bool) -> int:
    """Print one block to stderr and return the exit code."""
    if as_json:
        _print_json(error.code, error.what, error.changed, error.next_step, error.data)
    else:
        print_block(error.what, error.changed, error.next_step)
    if os.environ.get("ENGRAM_LOG_LEVEL", "").lower() == "debug":
        _print_traceback(error)
    return exit_code(error)


def report_usage(error: click.ClickException, *, as_json: bool) -> int:
    """A wrong option, argument or command name."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "engram"
    step = f"See `{command} --help`."
    if as_json:
        _print_json("usage", error.format_message(), "Nothing was changed.", step, {})
    else:
        print_block(error.format_message(), "Nothing was changed.", step)
    return USAGE


def report_crash(error: Exception, *, as_json: bool) -> int:
    """A fault of ours: no traceback, unless the person asked for one."""
    text = " ".join(str(error).split())[:300]
    what = f"Unexpected {type(error).__name__}{': ' + text if text else '.'}"
    changed = "Whether anything was changed could not be confirmed."
    step = "Run it again with ENGRAM_LOG_LEVEL=debug to see where, and report it."
    if as_json:
        _print_json("crash", what, changed, step, {})
    else:
        print_block(what, changed, step)
    if os.environ.get("ENGRAM_LOG_LEVEL", "").lower() == "debug":
        _print_traceback(error)
    return FAILURE


def _print_traceback(error: Exception) -> None:
    import traceback

    click.echo("".join(traceback.format_exception(error)), err=True, nl=False)


def print_block(what: str, changed: str, next_step: str) -> None:
    plain = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{click.style('engram:', fg='red', bold=True)} {what}", err=True, color=plain)
    if changed:
        click.echo(f"  {changed}", err=True)
    if next_step:
        click.echo(f"  Next: {next_step}", err=True)


def _print_json(code: str, what: str, changed: str, next_step: str, data: dict[str, Any]) -> None:
    document = {"error": {"code": code, "what": what, "changed": changed, "next_step": next_step, "data": data}}
    click.echo(json.dumps(document, default=str), err=True)

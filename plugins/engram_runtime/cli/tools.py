"""`engram tools`: what an agent sees and what it costs it, and switching groups and tools on and off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_kernel.errors import NotFound
from engram_runtime.cli import output, settings
from engram_runtime.cli.caller import Caller, pass_caller

PROFILES = ("standard", "project", "graph", "thoughts", "all")
ENABLE, DISABLE = ("tools", "enable"), ("tools", "disable")


@click.group(invoke_without_command=True)
@click.option("--profile", type=click.Choice(PROFILES), help="Show another profile than the configured one.")
@click.option("--all", "everything", is_flag=True, help="Show hidden tools too.")
@click.pass_context
def tools(context: click.Context, profile: str | None, everything: bool) -> None:
    """List the tools an agent sees, with the tokens their definitions cost it."""
    if context.invoked_subcommand is None:
        caller = context.ensure_object(Caller)
        found = caller.request("tools", {"profile": profile} if profile else {})
        shown = [tool for tool in found if everything or tool["visible"]]
        caller.show(_summary(found, shown), _show)


def _summary(found: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    visible = [tool for tool in found if tool["visible"]]
    return {"tools": list(shown), "visible": len(visible), "tokens": sum(tool["tokens"] for tool in visible), "total": len(found)}


def _show(data: Mapping[str, Any]) -> None:
    output.table(
        [
            ("Tool", {"no_wrap": True}),
            ("Group", {"no_wrap": True}),
            ("Tokens", {"justify": "right"}),
            ("", {}),
            ("What it does", {"ratio": 1}),
        ],
        (_row(tool) for tool in data["tools"]),
    )
    click.echo()
    click.echo(f"{data['visible']} of {data['total']} tools visible, about {data['tokens']:,} tokens of definitions.")


def _row(tool: Mapping[str, Any]) -> list[Any]:
    from rich.text import Text

    style = "" if tool["visible"] else "dim"
    flags = ("writes" if tool["writes"] else "") if tool["visible"] else "hidden"
    title = output.one_line(tool.get("title") or tool["description"], 60)
    return [Text(str(cell), style=style) for cell in (tool["name"], tool["group"], tool["tokens"], flags, title)]


@tools.command()
@click.argument("name")
@pass_caller
def enable(caller: Caller, name: str) -> None:
    """Show a tool, or all of a group, besides the profile."""
    _check(caller, name)
    off = settings.change(caller, DISABLE, remove=[name])
    on = settings.change(caller, ENABLE, add=[name])
    settings.tell(caller, f"{name} is shown.", off or on, settings.reload_tools(caller), settings.overridden(caller, ENABLE, DISABLE))


@tools.command()
@click.argument("name")
@pass_caller
def disable(caller: Caller, name: str) -> None:
    """Never show a tool, or any of a group; wins over everything else."""
    _check(caller, name)
    off = settings.change(caller, ENABLE, remove=[name])
    on = settings.change(caller, DISABLE, add=[name])
    settings.tell(caller, f"{name} is hidden.", off or on, settings.reload_tools(caller), settings.overridden(caller, ENABLE, DISABLE))


def _check(caller: Caller, name: str) -> None:
    """A misspelt name must not silently do nothing. Raises NotFound."""
    from difflib import get_close_matches

    found = caller.request("tools")
    known = sorted({tool["name"] for tool in found} | {tool["group"] for tool in found})
    if name not in known:
        close = get_close_matches(name, known, 1)
        step = f"Did you mean {close[0]}?" if close else "See `engram tools --all`."
        raise NotFound(f"There is no tool or group {name!r}.", next_step=step)

"""Switching plugins, groups and tools on and off in `engram.yaml`, and telling what that means for what runs now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from engram_kernel.errors import EngramError
from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller

Key = tuple[str, str]
VARIABLES = {
    ("plugins", "disabled"): "ENGRAM_DISABLE_PLUGINS",
    ("tools", "enable"): "ENGRAM_TOOLS",
    ("tools", "disable"): "ENGRAM_DISABLE_TOOLS",
}
"""Environment variables that replace the list of the file."""


def change(caller: Caller, key: Key, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> bool:
    """Edit the list in the configuration file. False when nothing had to change. Raises ConfigError."""
    from engram_runtime.cli import yaml_edit

    return yaml_edit.edit_file(caller.config_file, key, add=add, remove=remove)


def overridden(caller: Caller, *keys: Key) -> list[str]:
    """Variables that are set here and win over the file."""
    return [VARIABLES[key] for key in keys if VARIABLES[key] in caller.env]


def tell(caller: Caller, done: str, changed: bool, effect: str, variables: Sequence[str]) -> None:
    """Report a switch."""
    data: dict[str, Any] = {"changed": changed, "file": str(caller.config_file), "effect": effect, "overridden_by": list(variables)}

    def render(_: Any) -> None:
        click.echo(f"{output.mark('ok')}  {done}" if changed else f"{output.mark('ok')}  {done} (it was already so)")
        output.note(f"  {caller.config_file}")
        for line in output.wrap(effect, output.width() - 2):
            click.echo(f"  {line}")
        for name in variables:
            click.echo(f"{output.mark('warning')}  {name} is set in this environment and wins over the file.")

    caller.show(data, render)


def running(caller: Caller) -> dict[str, Any] | None:
    """The status of an owner that runs now; none is started."""
    try:
        status: dict[str, Any] = caller.connected(start=False).request("status", {})
    except EngramError:
        return None
    return status


def reload_tools(caller: Caller) -> str:
    """Make a running owner read the tool choice again; what that did, in words."""
    if running(caller) is None:
        return "No owner process runs; it takes effect with the next one."
    try:
        caller.request("reload")
    except EngramError as error:
        return f"The running owner could not read it again ({error.what}); it takes effect with the next owner."
    return "It is in effect: the running owner has told every connected agent."


def next_start(caller: Caller) -> str:
    """When a change takes effect that needs a new owner process."""
    status = running(caller)
    if status is None:
        return "It takes effect with the next owner process; none runs now."
    others = status["sessions"] - 1
    who = f"{output.counted(others, 'other session')} connected" if others > 0 else "nobody else connected"
    return (
        f"It takes effect when the owner process ({status['pid']}; {who}) has left and a new one starts. "
        "It leaves by itself soon after its last session."
    )

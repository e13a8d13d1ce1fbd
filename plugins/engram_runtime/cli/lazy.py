"""The root group: commands come from the plugins' manifests and are imported only when they are run."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import click
from click.shell_completion import CompletionItem

from engram_kernel.errors import PluginFailed
from engram_runtime.cli.caller import Caller, caller_of
from engram_runtime.cli.table import OWN, SECTIONS

Table = Mapping[str, tuple[str, str]]


class PluginCommands(click.Group):
    """Our own commands come first and cannot be replaced; the others are looked for only when they are needed."""

    @cached_property
    def table(self) -> Table:
        """Command name to (summary, target), from every manifest; nothing is imported but the manifests' parser."""
        from engram_runtime.cli.foreign import commands

        found = commands()
        return {**found, **{name: (found[name][0] if name in found else "", target) for name, target in OWN.items()}}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = OWN.get(cmd_name) or self.table.get(cmd_name, ("", ""))[1]
        return with_global_options(load(cmd_name, target)) if target else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and not ctx.resilient_parsing and name not in OWN and name not in self.table:
            close = get_close_matches(name, self.table, 1)
            raise click.UsageError(f"No such command: {name}.{f' Did you mean {close[0]}?' if close else ''}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = {name: "" for name in sorted(self.table) if name not in OWN}
        for title, names in {**SECTIONS, "From plugins": others}.items():
            rows = [(name, self.table[name][0]) for name in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=self.table[name][0]) for name in sorted(self.table) if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def load(name: str, target: str) -> click.Command:
    """Import `module:attribute`. Raises PluginFailed naming the command."""
    module, _, attribute = target.partition(":")
    try:
        command = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        text = f"The command {name!r} cannot be loaded from {target}: {type(error).__name__}: {error}."
        raise PluginFailed(text, next_step="Update or remove the plugin that brings it.", data={"command": name}) from error
    if not isinstance(command, click.Command):
        raise PluginFailed(f"The command {name!r} ({target}) is not a click command.", next_step="Tell the plugin's author.")
    return command


def _settle(attribute: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def callback(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        caller: Caller = caller_of(context)
        if value:
            setattr(caller, attribute, value)

    return callback


def global_options() -> list[click.Option]:
    """Accepted before and after the command's name alike."""
    shared: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        click.Option(["--json", "as_json_"], is_flag=True, help="Print JSON for programs.", callback=_settle("json"), **shared),
        click.Option(
            ["--config", "config_"], metavar="FILE", help="Configuration file on top of yours.", callback=_settle("config"), **shared
        ),
        click.Option(["--data", "data_"], metavar="FOLDER", help="Data folder.", callback=_settle("data"), **shared),
    ]


def with_global_options(command: click.Command) -> click.Command:
    """Add the global options to a command and all below it, except those it defines itself."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params += [option for option in global_options() if not taken.intersection(option.opts)]
    for child in getattr(command, "commands", {}).values():
        with_global_options(child)
    return command

"""`engram config`: the settings in force, where each comes from, and what is wrong in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_runtime import places
from engram_runtime.cli import output
from engram_runtime.cli.caller import Caller, pass_caller

if TYPE_CHECKING:
    from engram_kernel.config import Loaded

Row = dict[str, Any]


@click.group()
def config() -> None:
    """Show and check the configuration."""


def load(caller: Caller) -> Loaded:
    """All layers as this command line sees them. Raises ConfigError."""
    from engram_kernel import config as kernel_config

    files = [(path, layer == "config") for layer, path in places.config_files(caller.env, caller.config)]
    return kernel_config.load(files, caller.env, {"data": str(Path(caller.data).absolute())} if caller.data else None)


@config.command()
@pass_caller
def show(caller: Caller) -> None:
    """Show every setting with its value and its origin."""
    loaded = load(caller)
    rows = list(_rows(loaded.config.model_dump(), loaded.origins, ""))
    for row in rows:
        if row["key"] == "data" and row["value"] is None:
            row["value"] = str(caller.folder)
    caller.show({"settings": rows}, lambda data: _show(data["settings"]))


def _rows(values: Mapping[str, Any], origins: Mapping[str, str], path: str) -> Iterator[Row]:
    for name, value in values.items():
        key = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value:
            yield from _rows(value, origins, key)
        else:
            yield {"key": key, "value": value, "origin": origins.get(key, "default")}


def _show(rows: Sequence[Row]) -> None:
    from rich.text import Text

    def styled(row: Row) -> list[Any]:
        style = "dim" if row["origin"] == "default" else ""
        return [row["key"], Text(_value(row["value"]), style=style), Text(row["origin"], style=style)]

    output.table([("Setting", {"no_wrap": True}), ("Value", {}), ("Origin", {})], (styled(row) for row in rows))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "(empty)"
    return "(not set)" if value in (None, {}) else output.clean(str(value))


@config.command()
@pass_caller
def check(caller: Caller) -> None:
    """Check every layer; errors name file, line and key; exit 2 when there is one."""
    loaded = load(caller)
    files = [str(path) for _, path in places.config_files(caller.env, caller.config) if path.exists()]
    unknown = _not_installed(loaded.config)

    def render(data: Any) -> None:
        click.echo(f"{output.mark('ok')}  The configuration is valid.")
        for file in data["files"]:
            output.note(f"  {file}")
        for name in data["not_installed"]:
            click.echo(f"{output.mark('warning')}  It names the plugin {name!r}, which is not installed.")

    caller.show({"valid": True, "files": files, "not_installed": unknown}, render)


def _not_installed(settings: Any) -> list[str]:
    from engram_kernel.discovery import discover

    installed = {found.name for found in discover()}
    return sorted((set(settings.plugins.disabled) | set(settings.plugins.settings)) - installed)


@config.command("path")
@pass_caller
def show_paths(caller: Caller) -> None:
    """Print where configuration, data and log are."""
    files = [{"layer": layer, "path": str(path), "exists": path.exists()} for layer, path in places.config_files(caller.env, caller.config)]
    data = {"config": files, "data": str(caller.folder), "log": str(caller.folder / "owner.log")}

    def render(_: Any) -> None:
        rows = [(f"{each['layer']} file", f"{each['path']}{'' if each['exists'] else '  (not there)'}") for each in files]
        output.fields([*rows, ("data folder", data["data"]), ("log", data["log"])])

    caller.show(data, render)

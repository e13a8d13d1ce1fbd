"""`engram plugins`: what is installed, what became of it, and switching it on and off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from engram_kernel.errors import EngramError, InvalidInput, NotFound
from engram_runtime.cli import output, settings
from engram_runtime.cli.caller import Caller, pass_caller

DISABLED = ("plugins", "disabled")
NEEDED = {"runtime": "the owner process and this command line"}
COLOURS = {"loaded": "green", "disabled": "bright_black", "installed": "cyan", "shadowed": "yellow"}


@click.group()
def plugins() -> None:
    """List, examine and switch plugins."""


@plugins.command("list")
@pass_caller
def list_plugins(caller: Caller) -> None:
    """List every installed plugin and its state."""
    found, trouble = _known(caller)
    caller.show({"plugins": found, "owner": trouble is None}, lambda data: _show_list(data["plugins"], trouble))


def _known(caller: Caller) -> tuple[list[dict[str, Any]], EngramError | None]:
    """What the owner says; when none can be had, what is installed, and why."""
    try:
        return list(caller.request("plugins")), None
    except EngramError as error:
        return _installed(), error


def _installed() -> list[dict[str, Any]]:
    from engram_kernel import discovery, manifest

    found = []
    for each in discovery.discover():
        entry: dict[str, Any] = {"name": each.name, "version": each.version, "distribution": each.distribution}
        entry |= {"status": "installed", "error": "", "failures": 0, "manifest": None, "settings": {}}
        try:
            entry["manifest"] = manifest.read_manifest(each).model_dump(mode="json")
        except EngramError as error:
            entry |= {"status": "failed", "error": error.what}
        found.append(entry)
    return found


def _show_list(found: Sequence[Mapping[str, Any]], trouble: EngramError | None) -> None:
    output.table(
        [("Plugin", {"no_wrap": True}), ("State", {"no_wrap": True}), ("Version", {"no_wrap": True}), ("What it adds", {"ratio": 1})],
        (_row(plugin) for plugin in found),
    )
    if trouble is not None:
        click.echo(f"\n{output.mark('warning')}  No owner process could be asked, so this is what is installed: {trouble.what}")


def _row(plugin: Mapping[str, Any]) -> list[Any]:
    from rich.text import Text

    status = plugin["status"]
    summary = plugin["error"] or (plugin["manifest"] or {}).get("summary", "")
    return [plugin["name"], Text(status, style=COLOURS.get(status, "red")), plugin["version"], summary]


@plugins.command()
@click.argument("name")
@pass_caller
def info(caller: Caller, name: str) -> None:
    """Show a plugin's manifest: hooks, settings, capabilities, commands."""
    found, _ = _known(caller)
    caller.show(_named(found, name), _show_info)


def _named(found: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for plugin in found:
        if plugin["name"] == name:
            return plugin
    names = ", ".join(str(plugin["name"]) for plugin in found)
    raise NotFound(f"There is no plugin {name!r}.", next_step=f"Installed are {names}.")


def _show_info(plugin: Mapping[str, Any]) -> None:
    manifest = plugin["manifest"] or {}
    output.heading(f"{plugin['name']}  {manifest.get('title', '')}")
    capabilities = manifest.get("capabilities") or {}
    output.fields(
        [
            ("adds", manifest.get("summary")),
            ("state", plugin["status"]),
            ("error", plugin["error"]),
            ("from", f"{plugin['distribution']} {plugin['version']}"),
            ("hooks", ", ".join(manifest.get("hooks") or ())),
            ("reads", ", ".join(capabilities.get("reads") or ())),
            ("may write", "yes" if capabilities.get("writes") else "no"),
            ("network", "yes" if capabilities.get("network") else "no"),
            ("commands", ", ".join(each["name"] for each in manifest.get("commands") or ())),
        ],
        indent=2,
    )
    if described := manifest.get("settings"):
        click.echo()
        output.heading("Settings")
        output.fields(((name, _setting(each, plugin["settings"].get(name))) for name, each in described.items()), indent=2)


def _setting(described: Mapping[str, Any], value: Any) -> str:
    default = described.get("default")
    current = f"{default if value is None else value}" + ("" if value in (None, default) else f", default {default}")
    return f"{described['description']} [{current}]"


@plugins.command()
@click.argument("name")
@pass_caller
def enable(caller: Caller, name: str) -> None:
    """Load a plugin again."""
    _named(_installed(), name)
    changed = settings.change(caller, DISABLED, remove=[name])
    settings.tell(caller, f"{name} is switched on.", changed, settings.next_start(caller), settings.overridden(caller, DISABLED))


@plugins.command()
@click.argument("name")
@pass_caller
def disable(caller: Caller, name: str) -> None:
    """Do not load a plugin any more."""
    _named(_installed(), name)
    if reason := NEEDED.get(name):
        raise InvalidInput(f"{name} cannot be switched off: it is {reason}.")
    changed = settings.change(caller, DISABLED, add=[name])
    settings.tell(caller, f"{name} is switched off.", changed, settings.next_start(caller), settings.overridden(caller, DISABLED))

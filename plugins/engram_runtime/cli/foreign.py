"""Commands that plugins bring, read from their manifests alone."""

from __future__ import annotations

import yaml

from engram_kernel.discovery import discover


def commands() -> dict[str, tuple[str, str]]:
    """Command name to (summary, `module:attribute`), from the manifests alone; broken manifests are passed over."""
    table: dict[str, tuple[str, str]] = {}
    for plugin in discover():
        try:
            for entry in plugin.raw_manifest.get("commands") or ():
                table.setdefault(str(entry["name"]), (str(entry.get("summary", "")), str(entry["run"])))
        except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError):
            continue
    return table

"""Finding plugins without importing them: entry points of the group `engram` and the manifest beside each package."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import yaml

GROUP = "engram"
MANIFEST = "engram-plugin.yaml"
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Found:
    """One advertised plugin; nothing of it has been imported."""

    name: str
    entry: EntryPoint
    distribution: str
    version: str

    @cached_property
    def folder(self) -> Path | None:
        """The folder of the plugin's top-level package."""
        spec = importlib.util.find_spec(self.entry.module.partition(".")[0])
        locations = spec.submodule_search_locations if spec else None
        return Path(locations[0]) if locations else None

    @cached_property
    def raw_manifest(self) -> dict[str, Any]:
        """The manifest as written. Raises OSError or yaml.YAMLError."""
        if self.folder is None:
            raise FileNotFoundError(f"the package of {self.entry.value} cannot be found")
        document = yaml.load((self.folder / MANIFEST).read_text(encoding="utf-8"), Loader)  # noqa: S506
        return document if isinstance(document, dict) else {}


def discover() -> list[Found]:
    """Every advertised plugin, ordered by name; a name that occurs twice keeps both, the kernel shadows the later."""
    found = [
        Found(entry.name, entry, entry.dist.name if entry.dist else "?", entry.dist.version if entry.dist else "?")
        for entry in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.distribution))

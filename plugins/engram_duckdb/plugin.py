"""Hook implementations of the duckdb store plugin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_kernel.hookspecs import hookimpl
from engram_kernel.store import Store, StoreProvider

if TYPE_CHECKING:
    from engram_kernel.plugins import PluginContext


class Provider:
    """Opens and restores stores. DuckDB and numpy are imported when the first one is opened."""

    def open(self, folder: Path, settings: Mapping[str, Any], *, read_only: bool = False) -> Store:
        from engram_duckdb.settings import Settings
        from engram_duckdb.store import DuckStore

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return DuckStore(folder, Settings.read(settings), read_only=read_only)

    def restore(self, folder: Path, backup: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        from engram_duckdb.restore import restore
        from engram_duckdb.settings import Settings

        return restore(folder, backup, Settings.read(settings))


@hookimpl
def engram_store_provider(context: PluginContext) -> StoreProvider | None:
    return Provider()

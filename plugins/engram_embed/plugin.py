"""Hook implementations of the embedding plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from engram_kernel.hookspecs import hookimpl
from engram_kernel.plugins import PluginContext
from engram_kernel.retrieval import Embedder
from engram_kernel.services import Check, Finding

if TYPE_CHECKING:
    from engram_embed.running import Running

_running: WeakValueDictionary[Path, Running] = WeakValueDictionary()
"""What runs for each data folder, for the health check of the same kernel."""


@hookimpl
def engram_embedder(context: PluginContext) -> Embedder | None:
    from engram_embed.running import Running  # numpy is imported only where something is embedded
    from engram_embed.settings import Settings

    settings = Settings.read(context.settings)
    if settings.provider == "none":
        return None
    running = Running(settings, context.store, context.index_folder)
    _running[context.folder] = running
    return cast(Embedder, running)  # whose name and dimension are known only when the provider has answered


@hookimpl
def engram_register_checks(register: Callable[[Check], None], context: PluginContext) -> None:
    folder, off = context.folder, context.settings.get("provider") == "none"
    register(Check("embedding", lambda: _findings(_running.get(folder), off)))


def _findings(running: Running | None, off: bool) -> list[Finding]:
    from engram_embed.health import NOT_RUNNING, OFF, findings

    if running is None:
        return [OFF if off else NOT_RUNNING]
    return findings(running.inner, running.worker.report())

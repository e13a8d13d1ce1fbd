"""Serves the fixtures over HTTP on a port: `python tests/conformance/serve.py PORT FOLDER`. No store: nothing is kept."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fixtures

from engram_kernel.config import Config
from engram_kernel.discovery import discover
from engram_kernel.kernel import Kernel
from engram_kernel.manifest import Manifest
from engram_kernel.plugins import Plugins, read_manifest
from engram_mcp import plugin as mcp_plugin


class NoStore:
    """A store that is never written to."""

    def cards(self, kind: type, collection: str | None = None) -> list[Any]:
        return []

    def subscribe(self, listener: Any) -> None:
        pass

    def close(self) -> None:
        pass


def start(folder: Path) -> Kernel:
    plugins = Plugins()
    engine = SimpleNamespace(
        engram_store_provider=lambda context: SimpleNamespace(open=lambda *_, **__: NoStore()),
        engram_retriever=lambda context, **_: SimpleNamespace(),
    )
    plugins.register(engine, Manifest(name="engine", title="No store", summary="", api=1))
    plugins.register(fixtures, Manifest(name="conformance", title="Fixtures", summary="", api=1))
    plugins.register(mcp_plugin, next(read_manifest(found) for found in discover() if found.name == "mcp"))
    return Kernel.start(Config(), folder, plugins)


async def serve(port: str, folder: Path) -> None:
    kernel = await asyncio.to_thread(start, folder)
    service = asyncio.create_task(kernel.services["http"].run(kernel, {"port": port, "require_token": "false"}))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, service.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await service
    await asyncio.to_thread(kernel.close)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))

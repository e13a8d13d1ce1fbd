"""Hook implementations of the MCP server plugin. The SDK is imported only when it is needed, never with this module."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_kernel.hookspecs import hookimpl
from engram_kernel.kernel import Kernel
from engram_kernel.plugins import PluginContext
from engram_kernel.services import Connection, Service, Transport

if TYPE_CHECKING:
    from engram_mcp.server import Hub


class McpTransport:
    """MCP on the owner's socket."""

    kind = "mcp"

    def __init__(self) -> None:
        self._hub: Hub | None = None

    def warm(self) -> None:
        """Import the SDK. It makes thousands of objects that never die, so they are kept out of the collector."""
        gc.disable()
        try:
            import engram_mcp.loop  # noqa: F401
        finally:
            gc.freeze()
            gc.enable()

    async def ready(self, kernel: Kernel) -> Hub:
        """What all connections share; the first one pays for the import, in a thread."""
        if self._hub is None:
            await asyncio.to_thread(self.warm)
            from engram_mcp.server import Hub

            # Two first connections may both have waited for the import.
            self._hub = self._hub or Hub(kernel)
        return self._hub

    async def serve(self, connection: Connection, kernel: Kernel) -> None:
        hub = await self.ready(kernel)
        from engram_mcp.loop import serve

        await serve(connection, hub)


class HttpService:
    """Streamable HTTP under `engram serve`."""

    name = "http"

    def __init__(self, transport: McpTransport, folder: Path, settings: Mapping[str, Any]) -> None:
        self._transport, self._folder, self._settings = transport, folder, settings

    async def run(self, kernel: Kernel, options: Mapping[str, str]) -> None:
        hub = await self._transport.ready(kernel)
        from engram_mcp.http import read_options, serve

        await serve(hub, read_options(self._settings, options), self._folder)


@hookimpl
def engram_register_transports(register: Callable[[Transport | Service], None], context: PluginContext) -> None:
    transport = McpTransport()
    register(transport)
    register(HttpService(transport, context.folder, context.settings))

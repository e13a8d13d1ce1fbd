"""Telling clients what changed: resources after a commit, the tool list after a change of the configuration."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from mcp.server.connection import Connection
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent, ToolsListChanged

from engram_kernel.changes import Applied
from engram_kernel.kernel import Kernel
from engram_kernel.session import Session
from engram_kernel.tools import Resource
from engram_mcp.callers import Caller
from engram_mcp.dialogs import Context

COALESCE = 0.05
"""Seconds during which several changes of one resource become one notification."""


class _Bus(InMemorySubscriptionBus):
    """Counts its listeners, so that commits nobody waits for cost nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners = 0

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self.listeners += 1
        leave = super().subscribe(listener)
        once = iter((1,))

        def unsubscribe() -> None:
            self.listeners -= next(once, 0)
            leave()

        return unsubscribe


class Updates:
    """Subscribers of both eras: connections of the handshake era, and listeners on the bus of the modern one."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self.bus = kernel, _Bus()
        self._loop = asyncio.get_running_loop()
        self._connections: set[Connection] = set()
        self._watched: dict[str, set[Connection]] = {}
        self._callers: weakref.WeakSet[Caller] = weakref.WeakSet()
        self._changed: set[str] = set()
        self._sending: set[asyncio.Task[None]] = set()
        kernel.store.subscribe(self._committed)
        kernel.on_tools_changed.append(self._tools_changed)

    def arrived(self, caller: Caller) -> None:
        self._callers.add(caller)

    def greeted(self, ctx: Context) -> None:
        """A client of the handshake era has introduced itself and can be told of changes."""
        connection = _connection(ctx)
        if connection not in self._connections:
            self._connections.add(connection)
            connection.exit_stack.callback(self._gone, connection)

    def watch(self, ctx: Context, uri: str) -> None:
        self.greeted(ctx)
        self._watched.setdefault(uri, set()).add(_connection(ctx))

    def unwatch(self, ctx: Context, uri: str) -> None:
        watching = self._watched.get(uri, set())
        watching.discard(_connection(ctx))
        if not watching:
            self._watched.pop(uri, None)

    def _gone(self, connection: Connection) -> None:
        self._connections.discard(connection)
        for uri in [uri for uri, watching in self._watched.items() if connection in watching]:
            self._watched[uri].discard(connection)
            if not self._watched[uri]:
                del self._watched[uri]

    def _committed(self, applied: Applied) -> None:
        """Called by the store, in the thread of the writer."""
        if not self._watched and not self.bus.listeners:
            return
        uris: set[str] = set()
        for resource in self._kernel.registry.resources(Session()):
            uris.update(self._touched(resource, applied))
        if uris:
            self._hop(lambda: self._note(uris))

    def _touched(self, resource: Resource, applied: Applied) -> set[str]:
        touched = resource.touched
        if touched is None:
            return set()
        return self._kernel.plugins.guard(resource, lambda: set(touched(applied))) or set()

    def _hop(self, work: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)

    def _note(self, uris: set[str]) -> None:
        if not self._changed:
            self._loop.call_later(COALESCE, self._send_changes)
        self._changed |= uris

    def _send_changes(self) -> None:
        uris, self._changed = sorted(self._changed), set()
        self._spawn(self._publish(uris))

    async def _publish(self, uris: list[str]) -> None:
        for uri in uris:
            await self.bus.publish(ResourceUpdated(uri=uri))
            for connection in list(self._watched.get(uri, ())):
                await connection.send_resource_updated(uri)

    async def _tools_changed(self) -> None:
        for caller in list(self._callers):
            caller.refresh()
        await self.bus.publish(ToolsListChanged())
        for connection in list(self._connections):
            await connection.send_tool_list_changed()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


def _connection(ctx: Context) -> Connection:
    """The connection behind a request; the SDK has no public way to it, and sessions are made anew for each request."""
    return ctx.session._connection

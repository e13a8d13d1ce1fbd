"""The SDK's server object: our handlers, middleware and cache hints, one for each kernel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as t
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity, authenticated_principal
from mcp.server.subscriptions import ListenHandler

from engram_kernel import __version__
from engram_kernel.kernel import Kernel
from engram_mcp import texts
from engram_mcp.callers import Caller
from engram_mcp.dialogs import Context
from engram_mcp.guard import guard
from engram_mcp.parking import Calls
from engram_mcp.surface import SurfaceHandlers
from engram_mcp.tools import ToolHandlers
from engram_mcp.updates import Updates

NAME = "engram-kernel"
STATE_SECONDS = 600.0
_STABLE = CacheHint(ttl_ms=3_600_000, scope="public")
_FRESH = CacheHint(ttl_ms=0, scope="private")


class _Server(Server[Caller]):
    """HTTP asks for the initialization options without arguments, so the flags must be their default."""

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *args: Any, **kwargs: Any
    ) -> InitializationOptions:
        flags = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(flags, *args, **kwargs)


class Hub:
    """What all connections of one kernel share. Make it inside the event loop."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.calls, self.updates = kernel, Calls(), Updates(kernel)
        self._tools, self._surface = ToolHandlers(kernel, self.calls), SurfaceHandlers(kernel)
        self.server = self._build()

    def _build(self) -> Server[Caller]:
        tools, surface = self._tools, self._surface
        server = _Server(
            NAME,
            version=__version__,
            title="Engram Kernel",
            instructions=texts.instructions(),
            lifespan=self._http_lifespan,
            cache_hints={
                "server/discover": _STABLE,
                "tools/list": _STABLE,
                "prompts/list": _STABLE,
                "resources/templates/list": _STABLE,
                "resources/list": _FRESH,
                "resources/read": _FRESH,
            },
            get_tool_input_schema=tools.input_schema,
            on_list_tools=tools.list,
            on_call_tool=tools.call,
            on_list_resources=surface.list_resources,
            on_list_resource_templates=surface.list_templates,
            on_read_resource=surface.read,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=ListenHandler(self.updates.bus),
            on_list_prompts=surface.list_prompts,
            on_get_prompt=surface.get_prompt,
            on_completion=surface.complete,
        )
        server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, _accept_level)
        server.add_notification_handler("notifications/initialized", t.NotificationParams, self._initialized)
        security = RequestStateSecurity.ephemeral(ttl=STATE_SECONDS)
        security.bind_principal = _principal
        server.middleware[:] = [guard, RequestStateBoundary(security, default_audience=NAME), self.calls.spoil]
        return server

    @asynccontextmanager
    async def _http_lifespan(self, _: Server[Caller]) -> AsyncIterator[Caller]:
        """The state of all HTTP requests; the owner's socket gives each connection its own."""
        caller = Caller(self.kernel, {})
        self.updates.arrived(caller)
        try:
            yield caller
        finally:
            self.calls.leave(caller)

    async def _initialized(self, ctx: Context, params: t.NotificationParams) -> None:
        self.updates.greeted(ctx)

    async def _subscribe(self, ctx: Context, params: t.SubscribeRequestParams) -> t.EmptyResult:
        self._surface.must_exist(ctx, str(params.uri))
        self.updates.watch(ctx, str(params.uri))
        return t.EmptyResult()

    async def _unsubscribe(self, ctx: Context, params: t.UnsubscribeRequestParams) -> t.EmptyResult:
        self.updates.unwatch(ctx, str(params.uri))
        return t.EmptyResult()


def _principal(ctx: Context) -> str:
    """What a sealed question belongs to besides tool and arguments: the workspace, and over HTTP the client."""
    return f"{authenticated_principal(ctx) or ''}|{ctx.lifespan_context.workspace}"


async def _accept_level(ctx: Context, params: t.SetLevelRequestParams) -> t.EmptyResult:
    """Accepted and without effect: no log lines are sent to clients."""
    return t.EmptyResult()

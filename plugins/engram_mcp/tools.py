"""`tools/list` and `tools/call`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

from engram_kernel.errors import EngramError, Unknown
from engram_kernel.kernel import Kernel, Reply
from engram_kernel.session import Session
from engram_kernel.tools import Tool
from engram_mcp import texts
from engram_mcp.callers import flag_on
from engram_mcp.dialogs import Context, McpChannel
from engram_mcp.ledger import Origin
from engram_mcp.parking import Calls, Outcome

OWN_META = "engram/"
"""Keys with this prefix speak to the transport and are not shown to clients."""
NATIVE = "engram/native"
"""A tool with this key speaks the protocol itself: state and answers of the client reach it through `channel.native`."""
ALWAYS_LOADABLE = "engram/alwaysLoadable"


class ToolHandlers:
    """Lists and calls the tools that a session may see."""

    def __init__(self, kernel: Kernel, calls: Calls) -> None:
        self._kernel, self._calls = kernel, calls
        self._wire: dict[tuple[str, bool], t.Tool] = {}

    async def list(self, ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListToolsResult:
        one_page(params)
        session = ctx.lifespan_context.session(ctx)
        eager = flag_on(session, "always_load")
        return t.ListToolsResult(tools=[self._shown(tool, eager) for tool in self._kernel.registry.tools(session)])

    def _shown(self, tool: Tool, eager: bool) -> t.Tool:
        key = tool.name, eager
        if key not in self._wire:
            self._wire[key] = wire(tool, eager)
        return self._wire[key]

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """For the header check of HTTP, which runs before a session is known."""
        return next((tool.input_schema for tool in self._kernel.registry.all_tools() if tool.name == name), None)

    async def call(self, ctx: Context, params: t.CallToolRequestParams) -> Any:
        session = ctx.lifespan_context.session(ctx)
        try:
            tool = self._kernel.registry.tool(params.name, session)
        except Unknown as error:
            raise MCPError(t.INVALID_PARAMS, str(error)) from None
        if not tool.meta.get(NATIVE):
            if params.request_state is not None:
                return await self._calls.resume(ctx, params)
            if params.input_responses:
                raise MCPError(t.INVALID_PARAMS, texts.NO_STATE)
        channel = McpChannel(ctx, params, dialogs=not flag_on(session, "no_elicitation"))
        work = partial(self._run, tool, params.arguments, session, channel, ctx.request)
        return await self._calls.start(channel, ctx.lifespan_context, work)

    async def _run(self, tool: Tool, arguments: Mapping[str, Any] | None, session: Session, channel: McpChannel, origin: object) -> Outcome:
        reference, resent = (origin.reference, origin.resent) if isinstance(origin, Origin) else (None, False)
        try:
            reply = await self._kernel.call(tool.name, arguments, session, channel=channel, reference=reference, resent=resent)
        except EngramError as error:
            if isinstance(error.__cause__, MCPError):
                raise error.__cause__ from None  # from a tool that speaks the protocol itself
            return failed(error)
        return result(reply)


def wire(tool: Tool, eager: bool) -> t.Tool:
    """The tool as clients see it; all four hints are always given, since a missing one counts as the worst case."""
    meta = {key: value for key, value in tool.meta.items() if not key.startswith(OWN_META)}
    if eager and tool.meta.get(ALWAYS_LOADABLE):
        meta["anthropic/alwaysLoad"] = True
    return t.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=t.ToolAnnotations(
            read_only_hint=not tool.writes, destructive_hint=tool.destructive, idempotent_hint=tool.idempotent, open_world_hint=False
        ),
        _meta=meta or None,
    )


def result(reply: Reply) -> Outcome:
    if reply.native is not None:
        return reply.native  # type: ignore[no-any-return]
    return t.CallToolResult(content=[text(reply.text)], structured_content=reply.data)


def failed(error: EngramError) -> t.CallToolResult:
    """The one place where a failure of a tool becomes a result."""
    return t.CallToolResult(content=[text(str(error))], is_error=True)


def text(words: str) -> t.TextContent:
    return t.TextContent(type="text", text=words)


def one_page(params: t.PaginatedRequestParams | None) -> None:
    """Lists are never cut, so no cursor can be ours. Raises MCPError."""
    if params is not None and params.cursor is not None:
        raise MCPError(t.INVALID_PARAMS, texts.BAD_PARAMETERS.format(faults=texts.NO_PAGES))

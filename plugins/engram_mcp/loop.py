"""One connection of the owner's socket: both protocol eras in one loop, the era decided by each request."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import structlog
from mcp.server.connection import Connection as Link
from mcp.server.runner import ServerRunner, aclose_shielded, modern_on_request
from mcp.shared.dispatcher import DispatchContext, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import INTERNAL_ERROR, METHOD_NOT_FOUND, PROTOCOL_VERSION_META_KEY
from pydantic import ValidationError

from engram_kernel.services import Connection
from engram_mcp import texts
from engram_mcp.callers import Caller
from engram_mcp.ledger import Ledger
from engram_mcp.server import Hub
from engram_mcp.streams import Reader, Writer

WITH_BATCHES = "2025-03-26"


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Numbers its own requests from a random start: an answer meant for an earlier owner must not fit a new question."""

    def __init__(self, reader: Reader, writer: Writer) -> None:
        super().__init__(reader, writer, inline_methods=frozenset({"initialize"}))
        self._next_id = secrets.randbelow(2**48)


async def serve(connection: Connection, hub: Hub) -> None:
    """Serve until the client's input ends. A request that is still open then is not answered."""
    caller = Caller(hub.kernel, connection.hello)
    hub.updates.arrived(caller)
    ledger = Ledger(connection)
    dispatcher = _Dispatcher(Reader(connection, ledger, lambda: _batches(link)), Writer(ledger))
    link = Link.for_loop(dispatcher)
    handshake = ServerRunner(hub.server, link, caller)
    modern = modern_on_request(hub.server, caller)

    async def on_request(context: DispatchContext[TransportContext], method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        chosen = _modern_only(modern, method, params) if is_modern(params) else handshake.on_request
        try:
            return await chosen(context, method, params)
        except (MCPError, ValidationError):
            raise
        except Exception as error:
            structlog.get_logger("mcp").exception("request failed", method=method)
            raise MCPError(INTERNAL_ERROR, texts.INTERNAL) from error

    try:
        await dispatcher.run(on_request, handshake.on_notify)
    finally:
        hub.calls.leave(caller)
        await aclose_shielded(link)


def _batches(link: Link) -> bool:
    return link.initialize_accepted and link.protocol_version == WITH_BATCHES


def is_modern(params: Mapping[str, Any] | None) -> bool:
    """Only requests of the modern era carry the version in their envelope."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta


def _modern_only(modern: OnRequest, method: str, params: Mapping[str, Any] | None) -> OnRequest:
    """The modern handler, or an MCPError for what that era refuses before it looks at the method's parameters."""
    if method == "initialize":
        raise MCPError(METHOD_NOT_FOUND, texts.NO_SUCH_METHOD.format(method=method))
    route = classify_inbound_request({"method": method, "params": params})
    if isinstance(route, InboundLadderRejection):
        raise MCPError(route.code, route.message, route.data)
    return modern

"""A `Connection` of the owner seen as the SDK's pair of message streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from engram_kernel.services import Connection
from engram_mcp import messages, texts
from engram_mcp.ledger import Ledger, Line, Origin


class _Stream:
    async def aclose(self) -> None:
        """The owner closes its own connections."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class Reader(_Stream):
    """Yields messages; answers by itself every line that is none. `batches` says whether arrays are served now."""

    def __init__(self, connection: Connection, ledger: Ledger, batches: Callable[[], bool]) -> None:
        self._connection, self._ledger, self._batches = connection, ledger, batches
        self._waiting: deque[SessionMessage] = deque()

    def __aiter__(self) -> Self:
        return self

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def __anext__(self) -> SessionMessage | Exception:
        while not self._waiting:
            try:
                received = await self._connection.receive()
            except ValueError:
                await self._ledger.fail(Line(0), INVALID_REQUEST, texts.NOT_A_MESSAGE.format(fault=texts.LINE_TOO_LONG))
                continue
            if received is None:
                raise StopAsyncIteration
            await self._take(*received)
        return self._waiting.popleft()

    async def _take(self, number: int, raw: bytes) -> None:
        line = Line(number)
        if not raw.strip():
            await self._ledger.settle(line)
            return
        value = messages.decode(raw)
        if isinstance(value, list):
            await self._take_batch(line, value)
        else:
            await self._take_one(line, value, self._connection.reference(number))

    async def _take_batch(self, line: Line, values: list[Any]) -> None:
        if not values or not self._batches():
            fault = messages.refused(texts.BATCH if values else texts.EMPTY_BATCH)
            await self._ledger.fail(line, fault.code, fault.text)
            return
        line.open, line.answers = len(values), []
        reference = self._connection.reference(line.number)
        for place, value in enumerate(values):
            await self._take_one(line, value, f"{reference}.{place}")

    async def _take_one(self, line: Line, value: Any, reference: str) -> None:
        message = value if isinstance(value, messages.Fault) else messages.read(value)
        if isinstance(message, JSONRPCRequest):
            message = self._admit(line, message, reference)
        if isinstance(message, messages.Fault):
            await self._ledger.fail(line, message.code, message.text, message.id)
        elif not isinstance(message, JSONRPCRequest):
            if message is not None:
                self._waiting.append(SessionMessage(message))
            await self._ledger.settle(line)

    def _admit(self, line: Line, request: JSONRPCRequest, reference: str) -> JSONRPCRequest | messages.Fault:
        if line.answers is not None and request.method == "initialize":
            return messages.refused(texts.INITIALIZE_IN_BATCH, request.id)
        if not self._ledger.enter(request.id, line):
            return messages.refused(texts.ID_IN_USE.format(id=request.id), request.id)
        origin = Origin(reference, self._connection.resent(line.number))
        unanswered = partial(self._ledger.drop, request.id)
        self._waiting.append(SessionMessage(request, ServerMessageMetadata(request_context=origin, on_request_unanswered=unanswered)))
        return request


class Writer(_Stream):
    """Sends the SDK's messages; an answer settles the line of its request."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def send(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
            # We are leaving: a request without an answer is sent again to the next owner, an error would end it.
            return
        body = message.model_dump(by_alias=True, exclude_unset=True)
        if isinstance(message, JSONRPCError) and message.error.data is None:
            body["error"].pop("data", None)
        try:
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                await self._ledger.answer(message.id, body)
            else:
                await self._ledger.say(body)
        except OSError:
            raise anyio.ClosedResourceError from None

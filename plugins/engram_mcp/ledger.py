"""Which received line each open request came in, and sending its answer so that the client knows what is settled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core
import structlog
from mcp_types import INTERNAL_ERROR, RequestId

from engram_kernel.services import Connection
from engram_mcp import texts


@dataclass(slots=True)
class Line:
    """One received line: `open` messages of it are not settled yet; `answers` gathers those of a batch."""

    number: int
    open: int = 1
    answers: list[bytes] | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """What a tool call must know of its line: a reference that is the same when the line is sent again."""

    reference: str
    resent: bool


class Ledger:
    """The open requests of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._open: dict[tuple[type, RequestId], Line] = {}
        self._log = structlog.get_logger("mcp")

    def enter(self, request_id: RequestId, line: Line) -> bool:
        """Note an open request; False when its id is in use."""
        key = (type(request_id), request_id)
        if key in self._open:
            return False
        self._open[key] = line
        return True

    async def answer(self, request_id: RequestId, message: Mapping[str, Any]) -> None:
        """Send the answer of an open request and settle it."""
        line = self._open.pop((type(request_id), request_id), None)
        payload = self._encode(message)
        if line is None:
            await self._connection.send(payload)
        else:
            await self.settle(line, payload)

    async def drop(self, request_id: RequestId) -> None:
        """Settle a request that gets no answer: the client cancelled it."""
        if line := self._open.pop((type(request_id), request_id), None):
            await self.settle(line)

    async def settle(self, line: Line, payload: bytes = b"") -> None:
        """One message of a line is done, with an answer or without; the last one settles the line."""
        line.open -= 1
        if line.answers is None:
            await self._connection.send(payload, answers=line.number)
            return
        if payload:
            line.answers.append(payload)
        if line.open == 0:
            whole = b"[" + b",".join(line.answers) + b"]" if line.answers else b""
            await self._connection.send(whole, answers=line.number)

    async def fail(self, line: Line, code: int, text: str, request_id: RequestId | None = None) -> None:
        """Answer a message that never became a request."""
        await self.settle(line, self._encode(error_message(request_id, code, text)))

    async def say(self, message: Mapping[str, Any]) -> None:
        """Send a message that answers nothing."""
        await self._connection.send(self._encode(message))

    def _encode(self, message: Mapping[str, Any]) -> bytes:
        """One line of JSON. Text that is no valid Unicode is escaped, so that even then an answer goes out."""
        try:
            return pydantic_core.to_json(message, by_alias=True)
        except (ValueError, TypeError):
            pass
        try:
            return json.dumps(message, allow_nan=False).encode()
        except (ValueError, TypeError, RecursionError):
            self._log.exception("an answer could not be written as JSON")
            return json.dumps(error_message(message.get("id"), INTERNAL_ERROR, texts.INTERNAL)).encode()


def error_message(request_id: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


__all__ = ["Ledger", "Line", "Origin", "error_message"]

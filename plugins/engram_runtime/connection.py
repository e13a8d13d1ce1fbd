"""One client on the owner's socket, as the kernel's `Connection`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from engram_runtime import wire


class StreamConnection:
    """Lines over an asyncio stream; sending is safe from several tasks because each line is one write."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: Mapping[str, Any]) -> None:
        self._reader, self._writer, self.hello = reader, writer, hello
        self._again: set[int] = set()

    async def receive(self) -> tuple[int, bytes] | None:
        """The next (number, line). Raises ValueError for a line over `wire.MAX_LINE` bytes."""
        try:
            line = await self._reader.readline()
        except ConnectionError:
            return None
        if not line.endswith(b"\n"):
            return None
        number, again, payload = wire.unframe(line[:-1])
        if again:
            self._again.add(number)
        return number, payload

    async def send(self, line: bytes, answers: int = 0) -> None:
        """A client that has gone away is no error: what it did not see is settled when it comes back."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._writer.write(wire.frame(answers, line) + b"\n")
            await self._writer.drain()

    def resent(self, number: int) -> bool:
        return number in self._again

    def reference(self, number: int) -> str:
        return f"{self.hello['session']}:{number}"

    async def close(self) -> None:
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._writer.close()
            await self._writer.wait_closed()

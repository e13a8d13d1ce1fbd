"""What travels between a client and the owner. Standard library only.

A connection opens with one JSON line each way, the hello and its answer. After that a client sends `NUMBER payload` or
`NUMBER! payload` (sent again after an owner was lost), and the owner sends `ANSWERS payload`, where ANSWERS is the number
of the client's line that this settles, or 0. An empty payload settles without saying anything.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engram_kernel import __version__

PROTOCOL = 1
MAX_LINE = 64 * 2**20


class WireError(Exception):
    """The other side broke the protocol or closed the connection."""


def hello(kind: str, *, session: str, key: str, env: Mapping[str, str], flags: Mapping[str, str]) -> dict[str, Any]:
    """What a client says of itself."""
    try:
        workspace = env.get("CLAUDE_PROJECT_DIR") or os.getcwd()  # noqa: PTH109 - pathlib costs the pipe its start
    except FileNotFoundError:
        workspace = ""
    said = {"engram": PROTOCOL, "version": __version__, "kind": kind, "session": session, "pid": os.getpid()}
    return {**said, "key": key, "workspace": workspace, "env": dict(env), "flags": dict(flags)}


def newer(version: str, than: str) -> bool:
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


class LineSocket:
    """Blocking whole-line reading and writing on a socket."""

    def __init__(self, raw: socket.socket) -> None:
        self.raw = raw
        self._file = raw.makefile("rb", buffering=1 << 16)

    def send(self, line: bytes) -> None:
        """Raises OSError when the connection is gone."""
        self.raw.sendall(line + b"\n")

    def receive(self) -> bytes | None:
        """The next line without its break, or None at the end of the connection."""
        line = self._file.readline()
        return line[:-1] if line.endswith(b"\n") else None

    def introduce(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Send the hello and return the answer. Raises WireError when the owner goes away instead."""
        self.send(json.dumps(said).encode())
        line = self.receive()
        if line is None:
            raise WireError("the owner closed the connection")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        self.raw.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.raw.close()


def connect(endpoint: str, timeout: float = 5) -> socket.socket:
    """Open the owner's endpoint. Raises OSError."""
    if is_path(endpoint):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        target: Any = endpoint
    else:
        host, _, port = endpoint.rpartition(":")
        connection, target = socket.socket(socket.AF_INET, socket.SOCK_STREAM), (host, int(port))
    connection.settimeout(timeout)
    try:
        connection.connect(target)
    except OSError:
        connection.close()
        raise
    connection.settimeout(None)
    return connection


def is_path(endpoint: str) -> bool:
    return Path(endpoint).is_absolute() and hasattr(socket, "AF_UNIX")


def frame(number: int, payload: bytes, *, again: bool = False) -> bytes:
    return b"%d%s %s" % (number, b"!" if again else b"", payload)


def unframe(line: bytes) -> tuple[int, bool, bytes]:
    """(number, sent again, payload). Raises WireError."""
    head, separator, payload = line.partition(b" ")
    again = head.endswith(b"!")
    try:
        return int(head.rstrip(b"!")), again, payload if separator else b""
    except ValueError:
        raise WireError("a line without a number") from None

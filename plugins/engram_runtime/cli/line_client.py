"""A small MCP client over stdio: one line out, one line in. Standard library only.

It sees exactly what is on the wire, so the demonstration, the benchmarks and the tests drive the real `engram-mcp` with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HANDSHAKE = "2025-11-25"
PATIENCE = 30.0


class ToolRefused(Exception):
    """The server answered a tool call with an error; the text is the server's."""


class HostLost(Exception):
    """The server's stream ended, or no answer came in time."""


def server_command() -> list[str]:
    """`engram-mcp` of this installation, started the way a host does."""
    script = Path(sys.executable).with_name("engram-mcp.exe" if sys.platform == "win32" else "engram-mcp")
    return [str(script)] if script.exists() else [sys.executable, "-m", "engram_runtime.pipe"]


def clean_environment(folder: Path, **more: str) -> dict[str, str]:
    """This process's environment without any setting of ours, pointing at `folder` and at no user configuration."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "ENGRAVA_"))}
    return {**kept, "ENGRAM_DATA": str(folder), "XDG_CONFIG_HOME": str(folder / "no-config"), **more}


class Host:
    """One host with its own server process. Requests may be open side by side; answers are kept until asked for."""

    def __init__(
        self, environment: Mapping[str, str], arguments: Sequence[str] = (), *, name: str = "host", command: Sequence[str] = ()
    ) -> None:
        """`command` starts another server than ours."""
        self.name = name
        self.began = time.perf_counter()
        self.lines: list[bytes] = []
        """Every line the server wrote to stdout."""
        self.notifications: list[dict[str, Any]] = []
        self.process = subprocess.Popen(  # noqa: S603 - our own server, or the one the caller names
            [*(command or server_command()), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
        )
        self._next = 0
        self._answers: dict[Any, dict[str, Any]] = {}
        self._inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._pumps = [threading.Thread(target=pump, daemon=True) for pump in (self._pump_out, self._pump_err)]
        for pump in self._pumps:
            pump.start()

    def _pump_out(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            with contextlib.suppress(ValueError):
                self._inbox.put(json.loads(line))
        self._inbox.put(None)

    def _pump_err(self) -> None:
        assert self.process.stderr
        self._errors.extend(self.process.stderr)

    @property
    def errors(self) -> str:
        """What the server wrote to stderr."""
        return b"".join(self._errors).decode("utf-8", "replace")

    def raw(self, line: bytes) -> None:
        """Write bytes as they are. Raises HostLost."""
        assert self.process.stdin
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except (OSError, ValueError) as error:
            raise HostLost(f"{self.name}: the server has gone") from error

    def send(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        """Send a request and return its id without waiting."""
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": dict(params or {})}
        self.raw(json.dumps(message).encode() + b"\n")
        return self._next

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": dict(params or {})}).encode() + b"\n")

    def wait(self, request: Any, patience: float = PATIENCE) -> dict[str, Any]:
        """The whole answer to a request. Raises HostLost."""
        end = time.monotonic() + patience
        while request not in self._answers:
            try:
                message = self._inbox.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise HostLost(f"{self.name}: no answer within {patience:g} s") from None
            if message is None:
                self._inbox.put(None)
                raise HostLost(f"{self.name}: the server ended. {self.errors[-500:]}")
            self._keep(message)
        return self._answers.pop(request)

    def _keep(self, message: dict[str, Any]) -> None:
        if "method" in message:
            self.notifications.append(message)
        else:
            self._answers[message.get("id")] = message

    def request(self, method: str, params: Mapping[str, Any] | None = None, patience: float = PATIENCE) -> dict[str, Any]:
        """Send and wait; the whole answer, an error included."""
        return self.wait(self.send(method, params), patience)

    def initialize(self, version: str = HANDSHAKE) -> dict[str, Any]:
        """The handshake; returns the server's side of it. Raises HostLost with the server's words."""
        said = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": self.name, "version": "1"}}
        answer = self.request("initialize", said)
        if "error" in answer:
            raise HostLost(f"{self.name}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        self.notify("notifications/initialized")
        return result

    def start_call(self, tool: str, **arguments: Any) -> int:
        """Send a tool call without waiting; finish it with `finish_call`."""
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def finish_call(self, request: int, patience: float = PATIENCE) -> Any:
        """The structured result. Raises ToolRefused with the server's words, or HostLost."""
        answer = self.wait(request, patience)
        if "error" in answer:
            raise ToolRefused(answer["error"]["message"])
        result = answer["result"]
        if result.get("isError"):
            raise ToolRefused("\n".join(item.get("text", "") for item in result["content"]))
        return result.get("structuredContent")

    def call(self, tool: str, **arguments: Any) -> Any:
        """One tool call, sent and waited for."""
        return self.finish_call(self.start_call(tool, **arguments))

    def close(self, patience: float = 10.0) -> int:
        """End the input as a host does and return the server's exit code; a server that stays is killed (-9)."""
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            code = self.process.wait(patience)
        except subprocess.TimeoutExpired:
            code = self.kill()
        for pump in self._pumps:
            pump.join(patience)
        return code

    def kill(self) -> int:
        """End the server without ceremony."""
        self.process.kill()
        return self.process.wait()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

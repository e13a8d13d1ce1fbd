"""The control protocol: what the command line asks the owner, as JSON objects `{id, method, params}` per line."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engram_kernel import __version__
from engram_kernel.errors import EngramError, InvalidInput
from engram_kernel.kernel import Kernel
from engram_kernel.services import Connection
from engram_kernel.session import Answer, Form, Session, ToolChoice

STARTED = time.monotonic()


class ControlTransport:
    """Serves connections of the kind `control`, one request after the other."""

    kind = "control"

    async def serve(self, connection: Connection, kernel: Kernel) -> None:
        while (received := await connection.receive()) is not None:
            number, line = received
            if not line:
                await connection.send(b"", number)
                continue
            reply = await self._answer(connection, kernel, number, line)
            await connection.send(json.dumps(reply).encode(), number)

    async def _answer(self, connection: Connection, kernel: Kernel, number: int, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            result = await METHODS[request["method"]](Request(kernel, connection, number, request.get("params") or {}))
        except EngramError as error:
            return {
                "error": {"code": error.code, "what": error.what, "changed": error.changed, "next": error.next_step, "data": error.data}
            }
        except (KeyError, ValueError, TypeError) as error:
            return {"error": {"code": "invalid_input", "what": f"Not a control request: {error}.", "changed": "", "next": "", "data": {}}}
        return {"result": result}


@dataclass(frozen=True)
class Request:
    """One control request with its way back."""

    kernel: Kernel
    connection: Connection
    number: int
    params: Mapping[str, Any]

    def session(self, *, operator: bool) -> Session:
        hello = self.connection.hello
        workspace = hello.get("workspace")
        return Session(
            actor="command line",
            workspace=Path(str(workspace)) if workspace else None,
            read_only=bool(hello.get("read_only")),
            audience="operator" if operator else "agent",
            tools=ToolChoice("all"),
        )


class ProgressChannel:
    """Tells the command line how far a long call is; it can be asked nothing."""

    native: Any = None

    def __init__(self, request: Request) -> None:
        self._request = request

    def can_ask(self) -> bool:
        return False

    async def ask(self, form: Form) -> Answer:
        return Answer("unavailable", keep=form.keep)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._request.connection.send(json.dumps({"progress": [done, total, message]}).encode())


async def _call(request: Request) -> Any:
    reply = await request.kernel.call(
        str(request.params["tool"]),
        request.params.get("arguments") or {},
        request.session(operator=bool(request.params.get("operator"))),
        channel=ProgressChannel(request),
        reference=request.connection.reference(request.number),
        resent=request.connection.resent(request.number),
    )
    return {"data": reply.data, "text": reply.text}


async def _status(request: Request) -> Any:
    owner: Any = request.connection.hello.get("owner")
    kernel = request.kernel
    return {
        "pid": os.getpid(),
        "version": __version__,
        "uptime_s": round(time.monotonic() - STARTED, 1),
        "sessions": owner.session_count() if owner else 1,
        "sequence": await kernel.in_thread(kernel.store.sequence),
        "rss_mb": resident_megabytes(),
        "folder": str(kernel.folder),
        "health": dict(await kernel.in_thread(kernel.store.health)),
    }


async def _tools(request: Request) -> Any:
    hello: Mapping[str, Any] = request.connection.hello
    profile = str(request.params.get("profile") or hello["profile"])
    choice = ToolChoice(profile, frozenset(hello["enable"]), frozenset(hello["disable"]))
    session = Session(tools=choice, read_only=bool(hello["read_only"]))
    shown = {tool.name for tool in request.kernel.registry.tools(session)}
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "group": tool.group,
            "profiles": sorted(tool.profiles),
            "writes": tool.writes,
            "visible": tool.name in shown,
            "tokens": token_cost(tool),
            "description": tool.description,
        }
        for tool in request.kernel.registry.all_tools()
        if tool.audience == "agent"
    ]


def token_cost(tool: Any) -> int:
    """About how many tokens a definition costs a model: four characters make one."""
    shown = {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
    return (len(json.dumps(shown, separators=(",", ":"))) + 3) // 4


async def _plugins(request: Request) -> Any:
    return [
        {
            "name": plugin.name,
            "status": plugin.status,
            "version": plugin.version,
            "distribution": plugin.distribution,
            "error": plugin.error,
            "failures": plugin.failures,
            "manifest": plugin.manifest.model_dump(mode="json") if plugin.manifest else None,
            "settings": dict(plugin.settings),
        }
        for plugin in request.kernel.plugins.all
    ]


async def _reload(request: Request) -> Any:
    owner: Any = request.connection.hello.get("owner")
    if owner is None:
        raise InvalidInput("This kernel has no owner process to reload.")
    await owner.reload()
    return {"profile": request.kernel.config.tools.profile}


async def _stop(request: Request) -> Any:
    owner: Any = request.connection.hello.get("owner")
    others = owner.session_count() - 1
    if others and not request.params.get("force"):
        raise InvalidInput(f"{others} other sessions are connected.", next_step="Close them first, or stop with force.")
    leave = partial(owner.hand_over, __version__, request.params.get("successor")) if "successor" in request.params else owner.stop
    # A moment later, so that the answer is on its way before the sessions end.
    asyncio.get_running_loop().call_later(0.05, leave)
    return {"stopping": True}


METHODS = {"call": _call, "status": _status, "tools": _tools, "plugins": _plugins, "reload": _reload, "stop": _stop}


def resident_megabytes() -> float | None:
    """Resident memory of this process, where the system tells it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)

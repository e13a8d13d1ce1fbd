"""Streamable HTTP on a loopback address: both protocol eras at `/mcp`, behind a bearer token."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from engram_kernel.errors import ConfigError
from engram_mcp.server import Hub

LOOPBACK = ("127.0.0.1", "localhost", "::1")
GRACE = 3
"""Seconds for open requests when the service ends."""
TOKEN_FILE = "http.token"  # noqa: S105 - a file's name
UNAUTHORIZED = "A bearer token is needed: send 'Authorization: Bearer TOKEN' with the content of http.token in the data folder.\n"


class HttpOptions(BaseModel):
    """Where to listen and whether a token is required."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    host: str = Field("127.0.0.1", pattern=f"^({'|'.join(LOOPBACK).replace('.', '[.]')})$")
    port: int = Field(8420, ge=0, le=65535)
    require_token: bool = True


def read_options(settings: Mapping[str, Any], given: Mapping[str, str]) -> HttpOptions:
    """The plugin's settings, overridden by what the command was given. Raises ConfigError."""
    try:
        return HttpOptions.model_validate({**settings, **given})
    except ValidationError as error:
        faults = "; ".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors(include_url=False))
        raise ConfigError(f"The HTTP service cannot start: {faults}.", next_step=f"host must be one of {', '.join(LOOPBACK)}.") from None


def access_token(folder: Path) -> str:
    """The token of this data folder, made at the first call; the file is readable by its owner alone."""
    path = folder / TOKEN_FILE
    with contextlib.suppress(FileNotFoundError):
        path.chmod(0o600)
        if kept := path.read_text(encoding="ascii").strip():
            return kept
    token = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


class BearerGate:
    """Lets through only requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._carries(scope):
            refusal = PlainTextResponse(UNAUTHORIZED, 401, {"WWW-Authenticate": 'Bearer realm="engram"'})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _carries(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and secrets.compare_digest(given[0], self._expected)


class _Uvicorn(uvicorn.Server):
    """The owner handles signals itself and ends the service by cancelling it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def build_app(hub: Hub, options: HttpOptions, folder: Path) -> ASGIApp:
    """The SDK's application; it checks Host and Origin because it is told a loopback address."""
    app = hub.server.streamable_http_app(host=options.host)
    return BearerGate(app, access_token(folder)) if options.require_token else app


def listen(options: HttpOptions) -> socket.socket:
    """The listening socket. Raises ConfigError when the port is taken."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, reuse_port=False)
    except OSError as error:
        what = f"The HTTP service cannot listen on {options.host} port {options.port}: {error.strerror}."
        raise ConfigError(what, next_step="Choose another port, or 0 for a free one.") from None


async def serve(hub: Hub, options: HttpOptions, folder: Path) -> None:
    """Serve until cancelled, then give open requests a moment to finish. Raises ConfigError."""
    listening = listen(options)
    config = uvicorn.Config(
        build_app(hub, options, folder),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
    )
    server = _Uvicorn(config)
    url = f"http://{options.host}:{listening.getsockname()[1]}/mcp"
    structlog.get_logger("http").info("listening", url=url, token_required=options.require_token)
    # A task of its own: cancelling us must not tear the server down in the middle.
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await asyncio.wait({serving}, timeout=2 * GRACE)
        listening.close()

"""Who is on the other side of a connection: the kernel session of each request."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
from mcp.server.context import ServerRequestContext

from engram_kernel.config import TRUE_WORDS
from engram_kernel.kernel import Kernel
from engram_kernel.session import Session, ToolChoice
from engram_kernel.tools import PROFILES

MODERN = "2026-07-28"


class Caller:
    """The state that the SDK hands to every handler of one connection."""

    def __init__(self, kernel: Kernel, hello: Mapping[str, object]) -> None:
        self._kernel = kernel
        self._seen = kernel.config.tool_choice()
        self._base = _session(kernel, hello)

    def refresh(self) -> None:
        """Take over what changed in the configuration's tool choice; what the client chose for itself stays."""
        before, now, mine = self._seen, self._kernel.config.tool_choice(), self._base.tools
        profile = now.profile if mine.profile == before.profile else mine.profile
        enable = (mine.enable - (before.enable - now.enable)) | now.enable
        disable = (mine.disable - (before.disable - now.disable)) | now.disable
        self._seen, self._base = now, replace(self._base, tools=ToolChoice(profile, enable, disable))

    def session(self, ctx: ServerRequestContext[Any, Any]) -> Session:
        """The session of a request. In the modern era each request says anew who sends it."""
        said = ctx.session.client_params
        actor = actor_name(said.client_info.name) if said else self._base.actor
        return replace(self._base, actor=actor, id=_http_session(ctx) or self._base.id)

    @property
    def workspace(self) -> str:
        return str(self._base.workspace or "")


def actor_name(client: str) -> str:
    """`mcp:` and the client's name in plain characters, at most 60 of them; `mcp` for a client without a name."""
    if client in ("", "mcp"):
        return "mcp"
    plain = re.sub(r"[^\w.@+/-]+", "-", client, flags=re.ASCII).strip("-")[:60]
    return f"mcp:{plain}" if plain else "mcp"


def flag_on(session: Session, name: str) -> bool:
    return session.flags.get(name, "").lower() in TRUE_WORDS


def _session(kernel: Kernel, hello: Mapping[str, object]) -> Session:
    workspace, given = hello.get("workspace"), hello.get("session")
    session = Session(
        actor=actor_name(str(hello.get("client") or "")),
        workspace=Path(str(workspace)) if workspace else None,
        read_only=kernel.config.read_only or _true(hello.get("read_only")),
        tools=_choice(kernel, hello),
        flags=_flags(hello.get("flags")),
    )
    return replace(session, id=given) if isinstance(given, str) and given else session


def _choice(kernel: Kernel, hello: Mapping[str, object]) -> ToolChoice:
    configured = kernel.config.tool_choice()
    profile = hello.get("profile") or configured.profile
    if profile not in PROFILES:
        structlog.get_logger("mcp").warning("unknown profile", profile=str(profile), used=configured.profile)
        profile = configured.profile
    enable = _names(hello["enable"]) if "enable" in hello else configured.enable
    return ToolChoice(str(profile), enable, configured.disable | _names(hello.get("disable")))


def _names(value: object) -> frozenset[str]:
    parts: Iterable[object] = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return frozenset(name for part in parts if (name := str(part).strip()))


def _flags(value: object) -> dict[str, str]:
    return {str(name): str(item) for name, item in value.items()} if isinstance(value, Mapping) else {}


def _true(value: object) -> bool:
    return value is True or str(value).lower() in TRUE_WORDS


def _http_session(ctx: ServerRequestContext[Any, Any]) -> str:
    """Over HTTP one service serves many clients; in the handshake era each has a session id of its own."""
    headers = getattr(ctx.request, "headers", None)
    given = headers.get("mcp-session-id") if headers is not None else None
    return hashlib.sha256(given.encode()).hexdigest()[:32] if given else ""

"""`Session`: who calls, from where, with which powers. `Channel`: how a running call talks back to its caller."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel

AnswerKind = Literal["accept", "decline", "cancel", "timeout", "invalid", "error", "unavailable"]


@dataclass(frozen=True, slots=True)
class Form:
    """A question to the person. `fields` is a flat model: strings, numbers, booleans and enums only.

    `keep` is a small document that comes back with the answer.
    """

    message: str
    fields: type[BaseModel]
    keep: Mapping[str, Any] = field(default_factory=dict)
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """How the person answered; `data` is set only for `accept`."""

    kind: AnswerKind
    data: BaseModel | None = None
    keep: Mapping[str, Any] = field(default_factory=dict)


class Channel(Protocol):
    """The way back to the caller while a tool runs. Transports implement it."""

    native: Any
    """The transport's own context, for an extension that belongs to one transport; None elsewhere."""

    def can_ask(self) -> bool: ...
    async def ask(self, form: Form) -> Answer: ...

    async def progress(self, done: float, total: float | None, message: str | None) -> None: ...


class SilentChannel:
    """The channel of a caller that can neither be asked nor told: scripts, tests, schedules."""

    native: Any = None

    def can_ask(self) -> bool:
        return False

    async def ask(self, form: Form) -> Answer:
        return Answer("unavailable", keep=form.keep)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        return None


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools a session shows: a profile, plus single groups or tools switched on and off (off wins)."""

    profile: str = "standard"
    enable: frozenset[str] = frozenset()
    disable: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One caller. Immutable; a transport replaces it when the caller introduces itself."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    actor: str = "local"
    workspace: Path | None = None
    read_only: bool = False
    audience: Literal["agent", "operator"] = "agent"
    tools: ToolChoice = ToolChoice()
    tool_sets: frozenset[str] = frozenset({"thoughts", "project", "graph"})
    consented: frozenset[str] = frozenset()
    flags: Mapping[str, str] = field(default_factory=dict)

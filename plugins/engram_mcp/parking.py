"""Running tool calls, and parking them while a question of the modern era is open.

A call runs in a task of its own. When it asks, the request that started it is answered with the question and a sealed
`requestState` that names the parked call; the request that brings the state back wakes it. So a handler runs once, as
in the handshake era, and what it did before asking is not done again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as t
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from engram_kernel.session import Answer
from engram_mcp import texts
from engram_mcp.dialogs import Context, McpChannel, Question, interpret

MARK = "engram"
ANSWER = "answer"
MAX_PARKED = 200
Outcome = t.CallToolResult | t.InputRequiredResult | dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Running:
    task: asyncio.Task[Outcome]
    channel: McpChannel
    caller: object


class Calls:
    """All running tool calls of a server."""

    def __init__(self) -> None:
        self._parked: dict[str, tuple[_Running, Question]] = {}
        self._tasks: set[asyncio.Task[Outcome]] = set()

    async def start(self, channel: McpChannel, caller: object, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Run a call until it ends or asks."""
        task: asyncio.Task[Outcome] = asyncio.ensure_future(_run(work))
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return await self._until_asked(_Running(task, channel, caller))

    def _ended(self, task: asyncio.Task[Outcome]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # a call whose client never came back fails unseen

    async def resume(self, ctx: Context, params: t.CallToolRequestParams) -> Outcome:
        """Hand an answer to the parked call. Raises MCPError when the state names none: forged, expired or used."""
        name = parked_name(params.request_state)
        running, question = self._parked.get(name or "", (None, None))
        if running is None or question is None:
            raise MCPError(t.INVALID_PARAMS, texts.BAD_STATE, {"reason": "invalid_request_state"})
        answer = (params.input_responses or {}).get(ANSWER)
        if answer is None:
            return _shown(question, str(params.request_state))
        self._parked.pop(str(name))
        running.channel.move(ctx, params)
        question.resolve(interpret(question.form, answer))
        return await self._until_asked(running)

    async def _until_asked(self, running: _Running) -> Outcome:
        asked = asyncio.ensure_future(running.channel.questions.get())
        try:
            await asyncio.wait({running.task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # Cancelled once only: a write that is under way must be able to finish, whoever has left.
            running.task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({running.task})
            raise
        finally:
            asked.cancel()
        return running.task.result() if running.task.done() else self._park(running, asked.result())

    def _park(self, running: _Running, question: Question) -> t.InputRequiredResult:
        while len(self._parked) >= MAX_PARKED:
            self._give_up(next(iter(self._parked)))
        name = secrets.token_urlsafe(16)
        self._parked[name] = running, question
        question.answer.add_done_callback(lambda _: self._parked.pop(name, None))
        return _shown(question, json.dumps({MARK: name}))

    def _give_up(self, name: str) -> None:
        _, question = self._parked.pop(name)
        question.resolve(Answer("cancel", keep=question.form.keep))

    def leave(self, caller: object) -> None:
        """The caller has gone: nobody will answer its questions."""
        for name in [name for name, (running, _) in self._parked.items() if running.caller is caller]:
            self._give_up(name)

    async def spoil(self, ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
        """Middleware inside the state's seal: an answer of no known shape is refused before any tool sees it, and is
        the person's answer all the same, so it must not leave the question open."""
        try:
            return await call_next(ctx)
        except ValidationError:
            state = (ctx.params or {}).get("requestState")
            running, question = self._parked.pop(parked_name(state) or "", (None, None))
            if running is not None and question is not None:
                question.resolve(Answer("invalid", keep=question.form.keep))
            raise


async def _run(work: Callable[[], Awaitable[Outcome]]) -> Outcome:
    return await work()


def parked_name(state: object) -> str | None:
    """The parked call that an opened state names; None for the state of a tool that keeps its own."""
    try:
        document = json.loads(state) if isinstance(state, str) else None
    except ValueError:
        return None
    name = document.get(MARK) if isinstance(document, Mapping) else None
    return name if isinstance(name, str) else None


def _shown(question: Question, state: str) -> t.InputRequiredResult:
    return t.InputRequiredResult(input_requests={ANSWER: question.request}, request_state=state)

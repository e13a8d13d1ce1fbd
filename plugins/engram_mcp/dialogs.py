"""`McpChannel`: how a running tool asks the person and reports progress, the same to it in both protocol eras.

In the handshake era the question is a request to the client. In the modern era the call is parked, its question is the
result of the request, and the client's next request brings the answer; see `parking`.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import mcp_types as t
from mcp.server.context import ServerRequestContext
from mcp.server.elicitation import render_elicitation_schema
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from engram_kernel.session import Answer, AnswerKind, Form
from engram_mcp.callers import MODERN

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that waits for the client's next request."""

    form: Form
    request: t.ElicitRequest
    answer: asyncio.Future[Answer]

    def resolve(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


class McpChannel:
    """The way back to the client of one tool call or prompt; `native` is (context, parameters) of the SDK."""

    def __init__(self, ctx: Context, params: Any, *, dialogs: bool) -> None:
        self._ctx, self._dialogs = ctx, dialogs
        self.native: Any = (ctx, params)
        self.questions: asyncio.Queue[Question] = asyncio.Queue()

    def move(self, ctx: Context, params: Any) -> None:
        """The client answered with a new request, which now carries progress and the result."""
        self._ctx, self.native = ctx, (ctx, params)

    def can_ask(self) -> bool:
        return self._dialogs and asks_by_form(self._ctx)

    async def ask(self, form: Form) -> Answer:
        """Put the question to the person and wait, at most `form.timeout` seconds."""
        if not self.can_ask():
            return Answer("unavailable", keep=form.keep)
        schema = render_elicitation_schema(form.fields)
        request = t.ElicitRequest(params=t.ElicitRequestFormParams(message=form.message, requested_schema=schema))
        if self._ctx.protocol_version == MODERN:
            return await self._ask_later(form, request)
        return await self._ask_now(form, request)

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        await self._ctx.session.report_progress(done, total, message)

    async def _ask_now(self, form: Form, request: t.ElicitRequest) -> Answer:
        try:
            result = await self._ctx.session.send_request(
                request,
                t.ElicitResult,
                request_read_timeout_seconds=form.timeout,
                metadata=ServerMessageMetadata(related_request_id=self._ctx.request_id),
            )
        except MCPError as error:
            kind: AnswerKind = "timeout" if error.error.code == t.REQUEST_TIMEOUT else "error"
            return Answer(kind, keep=form.keep)
        except ValidationError:
            return Answer("invalid", keep=form.keep)
        return interpret(form, result)

    async def _ask_later(self, form: Form, request: t.ElicitRequest) -> Answer:
        question = Question(form, request, asyncio.get_running_loop().create_future())
        self.questions.put_nowait(question)
        try:
            return await asyncio.wait_for(question.answer, form.timeout)
        except TimeoutError:
            return Answer("timeout", keep=form.keep)


def asks_by_form(ctx: Context) -> bool:
    """Whether the client can show a form: a bare `elicitation: {}` means so, one that names only `url` does not."""
    capabilities = ctx.session.client_capabilities
    declared = capabilities.elicitation if capabilities else None
    return declared is not None and (declared.form is not None or declared.url is None)


def interpret(form: Form, result: Any) -> Answer:
    """The client's answer, checked strictly: consent must not come from a value that was bent into shape."""
    if not isinstance(result, t.ElicitResult):
        return Answer("invalid", keep=form.keep)
    if result.action != "accept":
        return Answer(result.action, keep=form.keep)
    known = {field.alias or name for name, field in form.fields.model_fields.items()}
    content = result.content
    if content is None or not known.issuperset(content):
        return Answer("invalid", keep=form.keep)
    try:
        return Answer("accept", form.fields.model_validate_json(json.dumps(content), strict=True), form.keep)
    except ValidationError:
        return Answer("invalid", keep=form.keep)

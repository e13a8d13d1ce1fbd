"""Resources, prompts and completions."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as t
from mcp.shared.exceptions import MCPError

from engram_kernel.errors import EngramError, InvalidInput, NotFound, Unknown
from engram_kernel.kernel import Kernel
from engram_kernel.session import Session
from engram_kernel.tools import Prompt, Resource
from engram_mcp import texts
from engram_mcp.callers import MODERN, flag_on
from engram_mcp.dialogs import Context, McpChannel
from engram_mcp.tools import one_page, text

RESOURCE_NOT_FOUND = -32002
"""The handshake era's code; the modern one forbids it."""
MAX_VALUES = 100


class SurfaceHandlers:
    """Reads what the registry holds besides tools."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    async def list_resources(self, ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListResourcesResult:
        one_page(params)
        found = [item for item in self._kernel.registry.resources(_session(ctx)) if not item.is_template]
        return t.ListResourcesResult(
            resources=[t.Resource(uri=item.uri, name=item.name, description=item.description, mime_type=item.mime_type) for item in found]
        )

    async def list_templates(self, ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListResourceTemplatesResult:
        one_page(params)
        found = [item for item in self._kernel.registry.resources(_session(ctx)) if item.is_template]
        return t.ListResourceTemplatesResult(
            resource_templates=[
                t.ResourceTemplate(uri_template=item.uri, name=item.name, description=item.description, mime_type=item.mime_type)
                for item in found
            ]
        )

    async def read(self, ctx: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
        uri = str(params.uri)
        try:
            resource, body = await self._kernel.read(uri, _session(ctx))
        except EngramError as error:
            raise _resource_fault(ctx, uri, error) from None
        contents: t.TextResourceContents | t.BlobResourceContents
        if isinstance(body, bytes):
            contents = t.BlobResourceContents(uri=uri, mime_type=resource.mime_type, blob=base64.b64encode(body).decode())
        else:
            contents = t.TextResourceContents(uri=uri, mime_type=resource.mime_type, text=body)
        return t.ReadResourceResult(contents=[contents])

    def must_exist(self, ctx: Context, uri: str) -> None:
        """Raises MCPError when no resource of this session has the address."""
        try:
            self._kernel.registry.resource(uri, _session(ctx))
        except Unknown as error:
            raise _resource_fault(ctx, uri, error) from None

    async def list_prompts(self, ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListPromptsResult:
        one_page(params)
        return t.ListPromptsResult(prompts=[_shown(prompt) for prompt in self._kernel.registry.prompts(_session(ctx))])

    async def get_prompt(self, ctx: Context, params: t.GetPromptRequestParams) -> Any:
        session = _session(ctx)
        channel = McpChannel(ctx, params, dialogs=not flag_on(session, "no_elicitation"))
        try:
            prompt, body = await self._kernel.render(params.name, params.arguments, session, channel)
        except EngramError as error:
            raise MCPError(_code(error), str(error)) from None
        if isinstance(body, t.InputRequiredResult):
            return body
        messages = [t.PromptMessage(role="user", content=text(body))] if isinstance(body, str) else body
        return t.GetPromptResult(description=prompt.description, messages=messages)

    async def complete(self, ctx: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
        session = _session(ctx)
        item = self._completed(params.ref, session)
        try:
            values = list(await self._kernel.complete(item, params.argument.name, params.argument.value, session))
        except EngramError as error:
            raise MCPError(_code(error), str(error)) from None
        full = len(values) >= MAX_VALUES
        return t.CompleteResult(completion=t.Completion(values=values[:MAX_VALUES], total=None if full else len(values), has_more=full))

    def _completed(self, ref: t.ResourceTemplateReference | t.PromptReference, session: Session) -> Resource | Prompt:
        try:
            if isinstance(ref, t.PromptReference):
                return self._kernel.registry.prompt(ref.name, session)
            return self._kernel.registry.resource(ref.uri, session)[0]
        except Unknown:
            name = ref.name if isinstance(ref, t.PromptReference) else ref.uri
            raise MCPError(t.INVALID_PARAMS, texts.UNKNOWN_REFERENCE.format(name=name)) from None


def _session(ctx: Context) -> Session:
    return ctx.lifespan_context.session(ctx)  # type: ignore[no-any-return]


def _shown(prompt: Prompt) -> t.Prompt:
    arguments = [t.PromptArgument(name=item.name, description=item.description, required=item.required) for item in prompt.arguments]
    return t.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments or None)


def _code(error: EngramError) -> int:
    return t.INVALID_PARAMS if isinstance(error, InvalidInput | Unknown | NotFound) else t.INTERNAL_ERROR


def _resource_fault(ctx: Context, uri: str, error: EngramError) -> MCPError:
    missing = isinstance(error, Unknown | NotFound) and ctx.protocol_version != MODERN
    return MCPError(RESOURCE_NOT_FOUND if missing else _code(error), str(error), {"uri": uri})

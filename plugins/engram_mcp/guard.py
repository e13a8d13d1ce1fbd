"""The outermost middleware: what a request may carry, and what an error may say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import mcp_types as t
import structlog
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from engram_kernel.arguments import MAX_TEXT, text_fault
from engram_mcp import texts
from engram_mcp.callers import MODERN
from engram_mcp.dialogs import Context

MAX_DEPTH = 64
MAX_FAULTS = 5
_WALKED = (str, dict, list)


async def guard(ctx: Context, call_next: Callable[[Context], Awaitable[Any]]) -> Any:
    """Refuse unusable text by the name of its place; let no inner text of an exception out."""
    if ctx.request_id is None:
        return await call_next(ctx)
    if fault := unusable(ctx.params):
        raise _invalid(fault)
    try:
        return await call_next(ctx)
    except ValidationError as error:
        raise _invalid(_explained(error)) from None
    except MCPError as error:
        raise _clearer(ctx, error) from error
    except Exception as error:
        structlog.get_logger("mcp").exception("request failed", method=ctx.method)
        raise MCPError(t.INTERNAL_ERROR, texts.INTERNAL) from error


def _invalid(faults: str) -> MCPError:
    return MCPError(t.INVALID_PARAMS, texts.BAD_PARAMETERS.format(faults=faults))


def _explained(error: ValidationError) -> str:
    """The first faults with their places; never the input, which may be long or secret."""
    seen = dict.fromkeys(_line(item) for item in error.errors(include_url=False, include_input=False, include_context=False))
    return "; ".join(list(seen)[:MAX_FAULTS])


def _line(item: Any) -> str:
    place = [str(part) for part in item["loc"] if part != "params"]
    return f"{'.'.join(place) or 'params'}: {item['msg']}"


def _clearer(ctx: Context, error: MCPError) -> MCPError:
    """The SDK answers a request before the handshake with the text that it has for wrong parameters."""
    early = error.error.code == t.INVALID_PARAMS and error.error.data == "" and ctx.protocol_version != MODERN
    if early and ctx.session.client_params is None:
        return MCPError(t.INVALID_PARAMS, texts.NOT_INITIALIZED)
    if error.error.code == t.METHOD_NOT_FOUND and error.error.data == ctx.method:
        return MCPError(t.METHOD_NOT_FOUND, texts.NO_SUCH_METHOD.format(method=ctx.method[:100]))
    return error


def unusable(params: Any) -> str | None:
    """The place and the fault of the first text with a NUL or an unpaired surrogate, or of too deep a nesting."""
    for path, depth, text in _texts(params):
        if depth > MAX_DEPTH:
            return f"{path}: {texts.TOO_DEEP.format(limit=MAX_DEPTH)}"
        if len(text) <= MAX_TEXT and (fault := text_fault(text)):
            return f"{path or 'params'}: {fault}"
    return None


def _texts(root: Any) -> Iterator[tuple[str, int, str]]:
    """(path, depth, text) of every string and key; without recursion, since the input decides how deep it is."""
    stack: list[tuple[str, int, Any]] = [("", 0, root)]
    while stack:
        path, depth, value = stack.pop()
        if isinstance(value, str):
            yield path, depth, value
        elif depth > MAX_DEPTH:
            yield path[:200], depth, ""
        elif isinstance(value, dict):
            for key in value:
                yield path, depth, key
            stack += [(f"{path}.{key}" if path else key, depth + 1, item) for key, item in value.items() if isinstance(item, _WALKED)]
        elif isinstance(value, list):
            stack += [(f"{path}.{place}", depth + 1, item) for place, item in enumerate(value) if isinstance(item, _WALKED)]

"""From the bytes of a line to protocol messages, with a fault that can be answered for everything else."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import ValidationError

from engram_mcp import texts


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is no message; `id` is the request's where it could be read."""

    code: int
    text: str
    id: RequestId | None = None


def decode(line: bytes) -> Any:
    """The JSON value of a line, or a Fault."""
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        return _not_json("it is nested too deeply")
    except UnicodeDecodeError as error:
        return _not_json(f"byte {error.start + 1} is not UTF-8")
    except json.JSONDecodeError as error:
        return _not_json(f"{error.msg} at character {error.pos + 1}")
    except ValueError as error:
        return _not_json(str(error)[:100])


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _not_json(fault: str) -> Fault:
    return Fault(PARSE_ERROR, texts.NOT_JSON.format(fault=fault))


def refused(fault: str, request_id: RequestId | None = None) -> Fault:
    return Fault(INVALID_REQUEST, texts.NOT_A_MESSAGE.format(fault=fault), request_id)


def read(value: Any) -> JSONRPCMessage | Fault | None:
    """The message in a JSON value; None for what is not answered: a faulty notification or response.

    Models are built without validation: text that pydantic would refuse must reach the check that can name its place.
    """
    if not isinstance(value, dict):
        return refused(texts.NO_OBJECT)
    if "method" not in value and ("result" in value or "error" in value):
        return _response(value)
    faults = _faults(value)
    if "id" not in value and isinstance(value.get("method"), str):
        return None if faults else JSONRPCNotification.model_construct(**_members(value))
    request_id: Any = value.get("id")
    readable = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    if not readable and "id" in value:
        faults.append(texts.BAD_ID)
    if faults:
        return refused("; ".join(faults), request_id if readable else None)
    return JSONRPCRequest.model_construct(id=request_id, **_members(value))


def _faults(value: dict[str, Any]) -> list[str]:
    checks = (
        (isinstance(value.get("method"), str), texts.NO_METHOD),
        (value.get("jsonrpc") == "2.0", texts.NO_VERSION),
        (isinstance(value.get("params"), dict | None), texts.BAD_PARAMS),
    )
    return [text for good, text in checks if not good]


def _members(value: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": value["method"], "params": value.get("params")}


def _response(value: dict[str, Any]) -> JSONRPCResponse | JSONRPCError | None:
    kind: type[JSONRPCResponse | JSONRPCError] = JSONRPCResponse if "result" in value else JSONRPCError
    try:
        return kind.model_validate(value)
    except ValidationError:
        return None

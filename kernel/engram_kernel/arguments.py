"""Checking tool arguments: one path for every tool, so that no tool can forget a check."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from engram_kernel.errors import InvalidInput

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

MAX_DEPTH = 64
MAX_TEXT = 1_000_000
"""Characters of one text argument; models may set a lower limit, never a higher one."""


class Arguments(BaseModel):
    """Base of every tool's arguments: an argument we do not know is refused by name, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Result(BaseModel):
    """Base of every tool's structured result."""

    model_config = ConfigDict(frozen=True)


def _from_json(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


JsonTolerant = Annotated[T, BeforeValidator(_from_json)]
"""Marks a list or object argument that some hosts send as a JSON string."""


def validate(model: type[M], arguments: Mapping[str, Any] | None) -> M:
    """Build the model, or raise InvalidInput naming every offending argument and its limit."""
    values = dict(arguments or {})
    _check_text(values, "")
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = {_path(item["loc"]): item["msg"] for item in error.errors(include_url=False, include_input=False)}
        raise refused(faults) from None


def refused(faults: Mapping[str, str]) -> InvalidInput:
    """One InvalidInput for all faulty arguments."""
    text = "; ".join(f"{field}: {fault}" for field, fault in faults.items())
    return InvalidInput(f"Invalid arguments: {text}.", data={"fields": dict(faults)})


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "arguments"


def _check_text(value: Any, path: str, depth: int = 0) -> None:
    """NUL, unpaired surrogates and over-long text are refused anywhere, also in keys and nested values."""
    if depth > MAX_DEPTH:
        raise refused({path.partition(".")[0]: f"is nested more than {MAX_DEPTH} levels deep"})
    if isinstance(value, str):
        if fault := text_fault(value):
            raise refused({path or "arguments": fault})
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str) and (fault := text_fault(key)):
                raise refused({path or "arguments": f"a name in it: {fault}"})
            _check_text(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_text(item, f"{path}.{index}", depth + 1)


def text_fault(text: str) -> str | None:
    """Why a text cannot be stored, or None."""
    if len(text) > MAX_TEXT:
        return f"is {len(text):,} characters long; the limit is {MAX_TEXT:,}"
    if "\x00" in text:
        return "contains a NUL character"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            return f"contains an unpaired surrogate at character {error.start + 1}"
    return None

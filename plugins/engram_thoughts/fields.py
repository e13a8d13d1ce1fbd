"""Argument types shared by the tools: ids, moments, metadata. Each publishes its limits and names its own fault."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from engram_kernel.arguments import MAX_TEXT, JsonTolerant
from engram_kernel.errors import InvalidInput
from engram_kernel.times import parse_time
from engram_thoughts import messages
from engram_thoughts.vocabulary import (
    INT64_MAX,
    INT64_MIN,
    MAX_ESSENCE,
    MAX_ID,
    MAX_METADATA_BYTES,
    MAX_METADATA_DEPTH,
    MAX_PAGE,
    MAX_TOP_K,
)

SIMPLE_KEY = re.compile(r"[A-Za-z0-9_]+", re.ASCII)
_OBJECT = {"type": "object", "additionalProperties": True}


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(messages.BLANK)
    return text


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError(messages.NOT_TEXT_TIME)  # noqa: TRY004  pydantic turns only ValueError into a named fault
    try:
        return parse_time(value)
    except InvalidInput:
        raise ValueError(messages.NOT_TIME) from None


def _metadata(value: Mapping[str, Any], *, nested: bool) -> Mapping[str, Any]:
    _check_level(value, 1, nested=nested)
    size = metadata_size(value)
    if size > MAX_METADATA_BYTES:
        raise ValueError(messages.METADATA_TOO_LARGE.format(supplied=size, maximum=MAX_METADATA_BYTES))
    return value


def metadata_size(value: Mapping[str, Any]) -> int:
    """Bytes of the compact UTF-8 JSON form."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _check_level(value: Mapping[str, Any], level: int, *, nested: bool) -> None:
    if level > MAX_METADATA_DEPTH:
        raise ValueError(messages.METADATA_DEPTH.format(maximum=MAX_METADATA_DEPTH))
    for key, item in value.items():
        if nested and isinstance(item, Mapping):
            _check_level(item, level + 1, nested=True)
        elif not is_scalar(item):
            raise ValueError(messages.METADATA_VALUE.format(key=key[:80], nested=", object" if nested else ""))


def is_scalar(value: Any) -> bool:
    """A JSON scalar that can be stored: finite, and within 64 bits when an integer."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return INT64_MIN <= value <= INT64_MAX
    return value is None or isinstance(value, str)


def _simple_keys(value: Mapping[str, Any]) -> None:
    for key in value:
        if not SIMPLE_KEY.fullmatch(key):
            raise ValueError(messages.FILTER_KEY.format(key=key[:80]))


def _equals(value: Mapping[str, Any]) -> Mapping[str, Any]:
    _simple_keys(value)
    for key, item in value.items():
        if not is_scalar(item):
            raise ValueError(messages.METADATA_VALUE.format(key=key, nested=""))
    return value


def _members(value: Mapping[str, Any]) -> Mapping[str, Any]:
    _simple_keys(value)
    for key, items in value.items():
        if not isinstance(items, list) or not all(is_scalar(item) for item in items):
            raise ValueError(messages.METADATA_LIST.format(key=key))
    return value


NewId = Annotated[str, Field(min_length=1, max_length=MAX_ID), AfterValidator(_not_blank)]
Essence = Annotated[str, Field(min_length=1, max_length=MAX_ESSENCE)]
Content = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Moment = Annotated[datetime, BeforeValidator(_moment), WithJsonSchema({"type": "string"})]
Metadata = Annotated[JsonTolerant[dict[str, Any]], AfterValidator(lambda value: _metadata(value, nested=True)), WithJsonSchema(_OBJECT)]
FlatMetadata = Annotated[
    JsonTolerant[dict[str, Any]], AfterValidator(lambda value: _metadata(value, nested=False)), WithJsonSchema(_OBJECT)
]
Equals = Annotated[JsonTolerant[dict[str, Any]], AfterValidator(_equals), WithJsonSchema(_OBJECT)]
Members = Annotated[
    JsonTolerant[dict[str, Any]],
    AfterValidator(_members),
    WithJsonSchema(_OBJECT),
]
TopK = Annotated[int, Field(ge=1, le=MAX_TOP_K)]
PageSize = Annotated[int, Field(ge=1, le=MAX_PAGE)]
Offset = Annotated[int, Field(ge=0, le=INT64_MAX)]
Cycle = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]

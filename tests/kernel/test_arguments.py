"""Argument checks and the schemas that hosts see."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from engram_kernel.arguments import MAX_TEXT, Arguments, JsonTolerant, validate
from engram_kernel.errors import InvalidInput
from engram_kernel.schema import tool_schema


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    title: str = ""
    depth: int = Field(1, ge=1)


class Sample(Arguments):
    name: str = Field(min_length=1, max_length=5, description="A name")
    colour: Colour | None = Field(None, description="A colour")
    limit: int = Field(10, ge=1, le=50)
    tags: JsonTolerant[list[str]] = Field([])
    inner: Inner = Inner()
    title: str | None = None


def test_schemas_have_one_plain_type_and_no_reference() -> None:
    schema = tool_schema(Sample)
    assert schema["type"] == "object" and schema["additionalProperties"] is False and schema["required"] == ["name"]
    assert schema["properties"]["colour"] == {"type": "string", "enum": ["red", "blue"], "description": "A colour"}
    assert schema["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 50, "default": 10}
    assert schema["properties"]["title"] == {"type": "string"}
    assert schema["properties"]["inner"]["properties"]["title"]["type"] == "string"
    assert "$ref" not in str(schema) and "anyOf" not in str(schema)


def test_tolerated_forms() -> None:
    sample = validate(Sample, {"name": "x", "limit": "7", "tags": '["a", "b"]', "inner": {"depth": "2"}, "colour": None})
    assert (sample.limit, sample.tags, sample.inner.depth, sample.colour) == (7, ["a", "b"], 2, None)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "name"),
        ({"name": "toolong"}, "name"),
        ({"name": None}, "name"),
        ({"name": "x", "limit": 51}, "limit"),
        ({"name": "x", "limit": 2.5}, "limit"),
        ({"name": "x", "colour": "RED"}, "colour"),
        ({"name": "x", "colours": "red"}, "colours"),
        ({"name": "x", "tags": "[1, }"}, "tags"),
        ({"name": "x", "inner": {"depth": 0}}, "inner.depth"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "x", "inner": {"title": "\ud800"}}, "inner.title"),
        ({"name": "x", "tags": ["ok", "\udfff"]}, "tags.1"),
        ({"name": "x", "title": "y" * (MAX_TEXT + 1)}, "title"),
    ],
)
def test_the_offending_argument_is_named_and_not_quoted_at_length(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validate(Sample, arguments)
    assert field in caught.value.data["fields"] and field in str(caught.value) and len(str(caught.value)) < 300
    str(caught.value).encode()


def test_deep_nesting_is_refused_in_bounded_time() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="tags: is nested more than"):
        validate(Sample, {"name": "x", "tags": deep})


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        validate(Sample, {"limit": 0, "nme": "x"})
    assert set(caught.value.data["fields"]) == {"name", "limit", "nme"}

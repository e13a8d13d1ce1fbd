"""JSON Schemas that every host accepts: object root, one plain `type` per property, no unions, no references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_DROPPED = ("title", "$defs")


def tool_schema(model: type[BaseModel], *, output: bool = False) -> dict[str, Any]:
    """The flattened schema of a model; optional values are expressed by being absent from `required`.

    A result that may hold null keeps its union: clients check results against it.
    """
    raw = model.model_json_schema(mode="serialization" if output else "validation", by_alias=True)
    schema: dict[str, Any] = _flatten(raw, raw.get("$defs", {}), output)
    schema.setdefault("properties", {})
    return schema


def _flatten(node: Any, definitions: Mapping[str, Any], unions: bool) -> Any:
    if isinstance(node, list):
        return [_flatten(item, definitions, unions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _flatten({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions, unions)
    if "anyOf" in node and not unions:
        return _flatten(_without_null(node), definitions, unions)
    kept = {key: value for key, value in node.items() if key not in _DROPPED or isinstance(value, bool)}
    if kept.get("default", 0) is None:
        del kept["default"]
    return {key: (_members if key == "properties" else _flatten)(value, definitions, unions) for key, value in kept.items()}


def _members(properties: Mapping[str, Any], definitions: Mapping[str, Any], unions: bool) -> dict[str, Any]:
    return {name: _flatten(value, definitions, unions) for name, value in properties.items()}


def _without_null(node: Mapping[str, Any]) -> dict[str, Any]:
    """Collapse `anyOf: [X, null]` to X; a union of several real types loses its type and keeps its description."""
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    real = [option for option in node["anyOf"] if option.get("type") != "null"]
    return {**real[0], **rest} if len(real) == 1 else rest

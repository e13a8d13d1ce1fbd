"""What the tool set publishes: names, counts, annotations, schemas, size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

READS = {"get_thought", "search_memory", "search_keywords", "list_memory", "query_memory", "memory_stats", "get_edges", "list_edges"}
WRITES = {"store_thought", "update_thought", "link_thoughts", "delete_thought", "delete_edge"}
BOUNDS = {
    ("search_memory", "top_k"): (1, 1000, 10),
    ("search_keywords", "top_k"): (1, 1000, 10),
    ("list_memory", "limit"): (1, 5000, 50),
    ("list_edges", "limit"): (1, 5000, 100),
    ("get_edges", "limit"): (1, 5000, None),
    ("query_memory", "limit"): (1, 5000, None),
    ("list_memory", "offset"): (0, 2**63 - 1, 0),
    ("list_memory", "min_cycle"): (-(2**63), 2**63 - 1, None),
    ("list_memory", "max_cycle"): (-(2**63), 2**63 - 1, None),
    ("store_thought", "confidence"): (0, 1, None),
    ("update_thought", "confidence"): (0, 1, None),
    ("link_thoughts", "weight"): (0, 1, 1.0),
}
REQUIRED = {
    "get_thought": {"thought_id"},
    "search_memory": {"query_text"},
    "search_keywords": {"query"},
    "list_memory": set(),
    "query_memory": {"query"},
    "memory_stats": set(),
    "get_edges": {"thought_id"},
    "list_edges": set(),
    "store_thought": {"essence", "content"},
    "update_thought": {"thought_id"},
    "link_thoughts": {"from_thought_id", "to_thought_id", "edge_type"},
    "delete_thought": {"thought_id"},
    "delete_edge": {"edge_id"},
}
DEFAULTS = {
    ("store_thought", "thought_type"): "NOTE",
    ("store_thought", "priority"): "P3",
    ("store_thought", "source"): "agent",
    ("store_thought", "deduplicate"): False,
    ("search_memory", "include_reflections"): True,
    ("list_memory", "include_expired"): False,
    ("get_edges", "direction"): "BOTH",
}


@pytest.fixture
def tools(shared: Any) -> dict[str, Any]:
    return {tool.name: tool for tool in shared.kernel.registry.tools(shared.session)}


def test_thirteen_tools(tools: dict[str, Any]) -> None:
    assert set(tools) == READS | WRITES
    assert {tool.group for tool in tools.values()} == {"thoughts"}


def test_annotations(tools: dict[str, Any]) -> None:
    assert {name for name, tool in tools.items() if tool.writes} == WRITES
    assert {name for name, tool in tools.items() if tool.destructive} == {"delete_thought", "delete_edge"}
    assert {name for name in WRITES if tools[name].idempotent} == {"delete_thought", "delete_edge"}
    assert all(tools[name].idempotent for name in READS)


def test_required_arguments(tools: dict[str, Any]) -> None:
    assert {name: set(tool.input_schema.get("required", ())) for name, tool in tools.items()} == REQUIRED


def test_published_bounds_and_defaults(tools: dict[str, Any]) -> None:
    for (tool, argument), (low, high, default) in BOUNDS.items():
        schema = tools[tool].input_schema["properties"][argument]
        assert (schema["minimum"], schema["maximum"], schema.get("default")) == (low, high, default), (tool, argument)
    for (tool, argument), default in DEFAULTS.items():
        assert tools[tool].input_schema["properties"][argument]["default"] == default


def test_published_text_limits(tools: dict[str, Any]) -> None:
    fields = tools["store_thought"].input_schema["properties"]
    assert (fields["essence"]["minLength"], fields["essence"]["maxLength"]) == (1, 200)
    assert (fields["content"]["minLength"], fields["content"]["maxLength"]) == (1, 1_000_000)
    assert fields["thought_id"]["maxLength"] == 256
    assert fields["provenance"]["properties"]["retrieval_context_ids"]["maxItems"] == 128


def test_enums(tools: dict[str, Any]) -> None:
    fields = tools["store_thought"].input_schema["properties"]
    assert fields["thought_type"]["enum"] == ["TASK", "OBSERVATION", "BELIEF", "REFLECTION", "OUTPUT_DRAFT", "NOTE"]
    assert fields["priority"]["enum"] == ["P1", "P2", "P3", "P4"]
    assert tools["update_thought"].input_schema["properties"]["lifecycle_status"]["enum"] == ["CREATED", "ACTIVE", "DONE", "ARCHIVED"]
    edge = "ASSOCIATED DEPENDS_ON DERIVED_FROM MESSAGE_OF BRIDGE CONSOLIDATED_FROM CONTESTED_BY"
    assert " ".join(tools["link_thoughts"].input_schema["properties"]["edge_type"]["enum"]) == edge
    assert tools["list_edges"].input_schema["properties"]["source"]["enum"] == ["EXPERIENCE", "SEEDED_LLM", "DISTILLED_LLM", "DREAMING"]
    assert tools["get_edges"].input_schema["properties"]["direction"]["enum"] == ["IN", "OUT", "BOTH"]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def test_case_29_schemas_are_plain_for_strict_hosts(tools: dict[str, Any]) -> None:
    for name, tool in tools.items():
        schema = tool.input_schema
        assert schema["type"] == "object", name
        assert schema["additionalProperties"] is False
        for argument, field in schema["properties"].items():
            assert isinstance(field.get("type"), str), (name, argument)
        for node in nodes(schema):
            assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(node), name
            assert isinstance(node.get("type", ""), str | dict), name


def test_case_30_declared_defaults_are_accepted(memory: Any, tools: dict[str, Any]) -> None:
    memory.store("some words", thought_id="one")
    memory.store("some words", thought_id="two")
    required = {"thought_id": "one", "from_thought_id": "one", "to_thought_id": "two", "edge_type": "BRIDGE", "edge_id": "none"}
    required |= {"query": "FIND thoughts", "query_text": "words", "essence": "x", "content": "y"}
    for name in [*sorted(READS), *sorted(WRITES - {"delete_thought"})]:
        schema = tools[name].input_schema
        given = {argument: required[argument] for argument in schema.get("required", ())}
        defaults = {argument: field["default"] for argument, field in schema["properties"].items() if "default" in field}
        nulls = {argument: None for argument, field in schema["properties"].items() if argument not in {*given, *defaults}}
        if name in READS:
            plain = [memory.call(name, **given) for _ in range(2)][1]
            assert without_usage(memory.call(name, **given, **defaults)) == without_usage(plain), name
            assert without_usage(memory.call(name, **given, **defaults, **nulls)) == without_usage(plain), name
        else:
            memory.call(name, **given, **defaults, **nulls)


def without_usage(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_usage(item) for key, item in value.items() if key not in ("access_count", "last_accessed_at")}
    return [without_usage(item) for item in value] if isinstance(value, list) else value


def test_case_31_definitions_are_small(tools: dict[str, Any]) -> None:
    listed = [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
        }
        for tool in tools.values()
    ]
    assert len(json.dumps(listed)) / 4 < 4_600
    assert all(tool.description and len(tool.description) < 700 for tool in tools.values())


def test_read_only_sessions_see_eight_tools(shared: Any) -> None:
    from dataclasses import replace

    session = replace(shared.session, read_only=True)
    assert {tool.name for tool in shared.kernel.registry.tools(session)} == READS
    assert len(shared.kernel.registry.resources(session)) == len(shared.kernel.registry.prompts(session)) == 3


def test_the_import_is_not_for_agents(shared: Any, tools: dict[str, Any]) -> None:
    assert "import_engrava" not in tools
    assert shared.fails("import_engrava", file="x").code == "unknown"

"""What hosts see: clean lines, plain schemas, honest defaults, bounded answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NOISY = str(Path(__file__).with_name("noisy_site"))
VOLATILE = {
    "thought_id",
    "edge_id",
    "created_at",
    "updated_at",
    "access_count",
    "last_accessed_at",
    "revision",
    "storage_total_bytes",
    "created",
}


@pytest.fixture
def filled(host) -> Any:
    one = host()
    one.call("store_thought", thought_id="first", essence="The lantern", content="The lantern hangs by the door")
    one.call("store_thought", thought_id="second", essence="The door", content="The door faces west")
    return one


def definitions(one: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = one.request("tools/list")["result"]["tools"]
    return tools


def test_case_28_every_line_on_stdout_is_a_protocol_message(host, needed) -> None:
    one = host(PYTHONPATH=NOISY)
    names = {tool["name"] for tool in definitions(one)}
    assert "shout" in names
    one.call("store_thought", thought_id="first", essence="one", content="one")
    one.call("store_thought", thought_id="second", essence="two", content="two")
    for name in names:
        one.request("tools/call", {"name": name, "arguments": dict(needed.get(name, {}))})
    one.close()
    for line in one.lines:
        assert line.endswith(b"\n")
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert b"noise" not in b"".join(one.lines)


def test_case_28_a_standalone_host_keeps_its_stdout_clean_too(host) -> None:
    one = host("--standalone", PYTHONPATH=NOISY)
    assert one.request("tools/call", {"name": "shout", "arguments": {}})["result"]["content"][0]["text"] == "done"
    one.close()
    assert [line for line in one.lines if json.loads(line)["jsonrpc"] != "2.0"] == []


def nodes(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its place."""
    if isinstance(schema, dict):
        yield where, schema
        for name, item in schema.get("properties", {}).items():
            yield from nodes(item, f"{where}.{name}")
        for key in ("items", "additionalProperties"):
            yield from nodes(schema.get(key), f"{where}.{key}")


@pytest.mark.parametrize("profile", ["standard", "thoughts", "all"])
def test_case_29_schemas_are_plain(host, profile: str) -> None:
    one = host(ENGRAM_PROFILE=profile)
    for tool in definitions(one):
        schema = tool["inputSchema"]
        assert schema["type"] == "object", tool["name"]
        for where, node in nodes(schema):
            place = f"{tool['name']}{where}"
            assert isinstance(node.get("type", ""), str), place
            assert not {"anyOf", "oneOf", "allOf", "$ref", "not"} & set(node), place
        for name, item in schema["properties"].items():
            assert isinstance(item.get("type"), str), f"{tool['name']}.{name} has no type"


def steady(value: Any) -> Any:
    """An answer without what differs between two equal calls."""
    if isinstance(value, dict):
        return {name: steady(item) for name, item in value.items() if name not in VOLATILE}
    return [steady(item) for item in value] if isinstance(value, list) else value


def test_case_30_declared_defaults_are_accepted(filled, needed) -> None:
    for tool in definitions(filled):
        properties = tool["inputSchema"]["properties"]
        defaults = {name: item["default"] for name, item in properties.items() if "default" in item}
        least = dict(needed[tool["name"]])
        for arguments in (least, defaults | least):
            assert set(tool["inputSchema"].get("required", ())) <= set(arguments), tool["name"]
        if tool["name"] == "link_thoughts":
            bare = filled.call(tool["name"], **least)
            least["edge_type"] = "BRIDGE"
            full = filled.call(tool["name"], **(defaults | least))
            bare["edge"].pop("edge_type")
            full["edge"].pop("edge_type")
        else:
            bare = filled.call(tool["name"], **least)
            if tool["name"] == "store_thought":
                filled.call("delete_thought", thought_id=bare["thought"]["thought_id"])
            full = filled.call(tool["name"], **(defaults | least))
        assert steady(full) == steady(bare), tool["name"]


@pytest.mark.parametrize(("profile", "most_tools", "most_tokens"), [("standard", 20, 5000), ("thoughts", 13, 5000)])
def test_case_31_definitions_stay_small(host, profile: str, most_tools: int, most_tokens: int) -> None:
    tools = definitions(host(ENGRAM_PROFILE=profile))
    assert len(tools) <= most_tools
    assert len(json.dumps(tools, separators=(",", ":"))) / 4 <= most_tokens
    assert len({tool["description"] for tool in tools}) == len(tools)


def test_case_32_answers_are_bounded_and_say_how_to_go_on(host) -> None:
    one = host()
    body = "Ŵörd " * 1600
    for number in range(50):
        one.call("store_thought", thought_id=f"n{number:02d}", essence=f"note {number}", content=f"{number} {body}"[:8000])
    searched = one.request("tools/call", {"name": "search_memory", "arguments": {"query_text": "Ŵörd", "top_k": 50, "explain": True}})
    assert len(json.dumps(searched)) < 100_000
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = one.request("tools/call", {"name": "list_memory", "arguments": {"limit": 50, "offset": offset}})["result"]
        assert len(json.dumps(page, ensure_ascii=False)) < 300_000
        listing = page["structuredContent"]
        assert listing["total"] == 50
        assert all(len(item["content"]) == 8000 for item in listing["thoughts"])
        seen += [item["thought_id"] for item in listing["thoughts"]]
        offset = listing.get("next_offset")
    assert sorted(seen) == [f"n{number:02d}" for number in range(50)]

"""The tools of all installed plugins as a host sees them, and what importing this plugin costs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from engram_kernel.config import Config
from engram_kernel.kernel import Kernel

pytestmark = pytest.mark.anyio
UNIONS = ("anyOf", "oneOf", "allOf", "not", "$ref")
LONGEST_NAME = 50 - len("engram") - 1
"""Some hosts join server and tool name and shorten the result."""


@pytest.fixture
async def installed(tmp_path):
    """A kernel with everything that is installed, on a new store."""
    kernel = await asyncio.to_thread(Kernel.start, Config.model_validate({"tools": {"profile": "all"}}), tmp_path)
    yield kernel
    await asyncio.to_thread(kernel.close)


@pytest.fixture
async def tools(installed, connect_to):
    host, serving = connect_to(installed)
    await host.greet()
    yield (await host.call("tools/list"))["result"]["tools"]
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


def nodes(schema, path="$"):
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}.{key}")


async def test_case_29_input_schemas_are_plain(tools):
    assert tools
    for tool in tools:
        schema = tool["inputSchema"]
        assert schema["type"] == "object", tool["name"]
        for path, node in nodes(schema):
            where = f"{tool['name']} {path}"
            assert isinstance(node.get("type"), str), where
            assert not any(key in node for key in UNIONS), where


async def test_every_tool_carries_what_hosts_decide_by(tools):
    for tool in tools:
        hints = tool["annotations"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= hints.keys(), tool["name"]
        assert not (hints["readOnlyHint"] and hints["destructiveHint"]), tool["name"]
        assert tool["title"] and tool["description"], tool["name"]
        assert len(tool["name"]) <= LONGEST_NAME, tool["name"]
        assert tool.get("outputSchema", {"type": "object"})["type"] == "object", tool["name"]
        assert "engram/" not in json.dumps(tool.get("_meta", {})), tool["name"]


def test_importing_the_plugin_does_not_import_the_sdk():
    probe = "import sys, engram_mcp.plugin; print(sorted({'mcp', 'mcp_types', 'starlette', 'uvicorn', 'anyio'} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_warming_up_imports_it_and_leaves_the_collector_on():
    probe = "import gc, sys, engram_mcp.plugin as p; p.McpTransport().warm(); print('mcp' in sys.modules, gc.isenabled())"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "True True"

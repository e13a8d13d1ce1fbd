"""`engram schemas`: made from the models, drift is found."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engram_kernel.tools import Tool
from engram_runtime.cli import schemas


@pytest.fixture(autouse=True)
def _documents(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(call: Any, arguments: Any) -> str:
        return ""

    ours = Tool(name="ours", title="Ours", description="Ours.", group="g", handler=nothing)
    theirs = Tool(name="theirs", title="Theirs", description="Theirs.", group="g", handler=nothing)
    hidden = Tool(name="hidden", title="Hidden", description="Hidden.", group="g", handler=nothing, audience="operator")
    owners = {id(ours): "engram-kernel", id(theirs): "other", id(hidden): "engram-kernel"}
    kernel: Any = SimpleNamespace(
        registry=SimpleNamespace(all_tools=lambda: [ours, theirs, hidden]),
        plugins=SimpleNamespace(owner=lambda tool: SimpleNamespace(distribution=owners[id(tool)])),
    )
    monkeypatch.setattr(schemas, "documents", lambda: {**schemas.configuration(), **schemas.tools(kernel)})


def test_written_then_in_step_then_drifting(engram: Any, tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    assert engram("schemas", "--check", "--folder", str(folder)).code == 1
    assert not folder.exists()
    assert engram("schemas", "--folder", str(folder)).code == 0
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.json")) == [
        "config.schema.json",
        "plugin.schema.json",
        "tools/ours.input.json",
    ]
    assert engram("schemas", "--check", "--folder", str(folder)).code == 0
    (folder / "tools" / "gone.input.json").write_text("{}")
    (folder / "plugin.schema.json").write_text("{}")
    (folder / "memory.schema.json").write_text("{}")
    told = json.loads(engram("schemas", "--check", "--folder", str(folder), "--json").out)
    assert told["differing"] == ["plugin.schema.json", "tools/gone.input.json"]
    assert engram("schemas", "--folder", str(folder)).code == 0
    assert not (folder / "tools" / "gone.input.json").exists()
    assert (folder / "memory.schema.json").exists()


def test_the_configuration_schema_covers_every_plugin_setting() -> None:
    config = schemas.configuration()["config.schema.json"]
    settings = config["properties"]["plugins"]["properties"]["settings"]["properties"]
    assert settings["admin"]["properties"]["backup_after_days"]["maximum"] == 3650
    assert "$defs" not in json.dumps(config)
    assert config["additionalProperties"] is False

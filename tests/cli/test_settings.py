"""Switching plugins and tools, and showing and checking the configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def file(home: Path) -> Path:
    return home / "xdg_config_home" / "engram" / "engram.yaml"


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def test_disable_and_enable_a_plugin(engram: Any, owner: Any, file: Path) -> None:
    result = engram("plugins", "disable", "lexical")
    assert result.code == 0
    assert "lexical is switched off." in result.out
    assert "when the owner process (4242; 1 other session connected) has left" in " ".join(result.out.split())
    assert read(file) == {"plugins": {"disabled": ["lexical"]}}
    assert "(it was already so)" in engram("plugins", "disable", "lexical").out
    owner.runs = False
    assert "none runs now" in engram("plugins", "enable", "lexical").out
    assert read(file) == {"plugins": {"disabled": []}}


def test_only_installed_plugins_can_be_switched(engram: Any, file: Path) -> None:
    assert engram("plugins", "disable", "lexcal").code == 3
    assert engram("plugins", "disable", "runtime").code == 2
    assert not file.exists()


def test_the_given_file_is_the_one_that_is_edited(engram: Any, file: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("# mine\ndata: /a\n")
    assert engram("plugins", "disable", "lexical", "--config", str(mine)).code == 0
    assert mine.read_text() == "# mine\ndata: /a\nplugins:\n  disabled: [lexical]\n"
    assert not file.exists()


def test_a_variable_that_wins_over_the_file_is_named(engram: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_DISABLE_PLUGINS", "rank")
    assert "ENGRAM_DISABLE_PLUGINS is set" in engram("plugins", "disable", "lexical").out
    assert json.loads(engram("plugins", "enable", "lexical", "--json").out)["overridden_by"] == ["ENGRAM_DISABLE_PLUGINS"]


def test_tools_take_effect_at_once_while_an_owner_runs(engram: Any, owner: Any, file: Path) -> None:
    result = engram("tools", "disable", "delete_edge")
    assert read(file) == {"tools": {"disable": ["delete_edge"], "enable": []}} or read(file) == {"tools": {"disable": ["delete_edge"]}}
    assert "in effect" in result.out
    assert owner.requests[-1] == ("reload", {})
    engram("tools", "enable", "delete_edge")
    assert read(file)["tools"] == {"disable": [], "enable": ["delete_edge"]}


def test_a_misspelt_tool_is_refused_with_a_suggestion(engram: Any, file: Path) -> None:
    result = engram("tools", "disable", "delete_egde")
    assert result.code == 3
    assert "Did you mean delete_edge?" in result.err
    assert not file.exists()


def test_config_show_names_the_origin_of_each_value(engram: Any, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.parent.mkdir()
    file.write_text("owner: {workers: 4}\nplugins: {settings: {duckdb: {threads: 1}}}\n")
    monkeypatch.setenv("ENGRAM_PROFILE", "all")
    settings = {row["key"]: row for row in json.loads(engram("config", "show", "--json", "--data", "/srv/x").out)["settings"]}
    assert settings["owner.workers"] == {"key": "owner.workers", "value": 4, "origin": str(file)}
    assert settings["plugins.settings.duckdb.threads"]["value"] == 1
    assert settings["tools.profile"] == {"key": "tools.profile", "value": "all", "origin": "environment"}
    assert settings["data"] == {"key": "data", "value": "/srv/x", "origin": "flags"}
    assert settings["owner.idle_seconds"]["origin"] == "default"
    assert "environment" in engram("config", "show").out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("owner:\n  workres: 4\n", ["line 2", "owner.workres", "did you mean workers?"]),
        ("owner: {workers: 0}\n", ["line 1", "owner.workers", "greater than or equal to 1"]),
        ("tools: [\n", ["not valid YAML"]),
        ("data: ${NOT_SET_HERE}\n", ["NOT_SET_HERE"]),
        ("plugins:\n  settings:\n    duckdb:\n      thraeds: 1\n", ["line 4", "plugins.settings.duckdb.thraeds"]),
    ],
)
def test_config_check_prints_file_line_and_key(engram: Any, file: Path, text: str, told: list[str]) -> None:
    file.parent.mkdir()
    file.write_text(text)
    result = engram("config", "check")
    assert result.code == 2
    assert str(file) in result.err
    for part in told:
        assert part in result.err


def test_config_check_passes_and_remarks_on_unknown_plugins(engram: Any, file: Path) -> None:
    file.parent.mkdir()
    file.write_text("plugins: {disabled: [nowhere]}\n")
    result = engram("config", "check")
    assert result.code == 0
    assert "'nowhere', which is not installed" in result.out


def test_a_missing_given_file_is_an_error(engram: Any, tmp_path: Path) -> None:
    result = engram("config", "check", "--config", str(tmp_path / "no.yaml"))
    assert result.code == 2
    assert "does not exist" in result.err


def test_config_path_needs_nothing(engram: Any, file: Path, owner: Any) -> None:
    told = json.loads(engram("config", "path", "--json").out)
    assert told["config"] == [{"layer": "user", "path": str(file), "exists": False}]
    assert told["data"] == str(owner.folder)
    assert owner.calls == owner.requests == []

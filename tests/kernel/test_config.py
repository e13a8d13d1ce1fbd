"""`engram.yaml`: layers, and errors that name file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_kernel import config
from engram_kernel.errors import ConfigError


def write(path: Path, text: str) -> tuple[Path, bool]:
    path.write_text(text, encoding="utf-8")
    return path, True


def test_later_layers_win_and_the_origin_is_known(tmp_path: Path) -> None:
    user = write(tmp_path / "user.yaml", "owner:\n  idle_seconds: 10\n  workers: 4\nlog:\n  level: debug\n")
    given = write(tmp_path / "given.yaml", "owner:\n  idle_seconds: 20\n")
    env = {"ENGRAM_LOG_LEVEL": "error", "ENGRAM_DISABLE_PLUGINS": "rank, lexical"}
    loaded = config.load([user, given], env, {"read_only": True})
    assert (loaded.config.owner.idle_seconds, loaded.config.owner.workers) == (20, 4)
    assert loaded.config.log.level == "error" and loaded.config.read_only
    assert loaded.config.plugins.disabled == ["rank", "lexical"]
    assert loaded.origins["owner.idle_seconds"] == str(given[0])
    assert loaded.origins["owner.workers"] == str(user[0])
    assert loaded.origins["log.level"] == "environment" and loaded.origins["read_only"] == "flags"


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("owner:\n  idle_second: 5\n", 2, "owner.idle_second: unknown key; did you mean idle_seconds?"),
        ("log:\n  level: loud\n", 2, "log.level"),
        ("\n\nowner:\n  idle_seconds: -1\n", 4, "owner.idle_seconds"),
        ("tools:\n  enable: graph\n", 2, "tools.enable"),
        ("plugins:\n  settings:\n    duckdb:\n      memory_limitt: 1\n", 4, "plugins.settings.duckdb.memory_limitt"),
        ("a: [1\n", 2, "not valid YAML"),
        ("data: >\n  /x\n", 1, "data must be one plain line"),
    ],
)
def test_errors_name_the_line_and_the_key(tmp_path: Path, text: str, line: int, part: str) -> None:
    file = write(tmp_path / "e.yaml", text)
    with pytest.raises(ConfigError) as caught:
        config.load([file], {})
    assert f"line {line}" in str(caught.value) and part in str(caught.value)


def test_a_given_file_must_exist_and_the_users_need_not(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    assert config.load([(missing, False)], {}).config == config.Config()
    with pytest.raises(ConfigError, match="does not exist"):
        config.load([(missing, True)], {})


def test_references_to_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_PLACE", "/var/x.log")
    assert config.load([write(tmp_path / "a.yaml", "log:\n  file: ${LOG_PLACE}\n")], {}).config.log.file == "/var/x.log"
    with pytest.raises(ConfigError, match=r"line 2: log\.file: the environment variable NOT_THERE is not set"):
        config.load([write(tmp_path / "b.yaml", "log:\n  file: ${NOT_THERE}\n")], {})


def test_a_bad_environment_value_names_its_key() -> None:
    with pytest.raises(ConfigError, match=r"environment: owner\.idle_seconds"):
        config.load([], {"ENGRAM_OWNER_IDLE_SECONDS": "soon"})

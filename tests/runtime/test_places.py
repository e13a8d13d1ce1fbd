"""Where the data folder is, by every documented way of saying it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from engram_runtime import places


def test_order_flag_environment_file_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    config = tmp_path / "c.yaml"
    config.write_text("# note\ndata: /from/file # why\nlog:\n  level: info\n")
    env = {"ENGRAM_CONFIG": str(config)}
    assert places.data_folder({}) == tmp_path / ".local/share/engram"
    assert places.data_folder({"XDG_DATA_HOME": "/x"}) == Path("/x/engram")
    assert places.data_folder(env) == Path("/from/file")
    assert places.data_folder({**env, "ENGRAM_DATA": "/from/env"}) == Path("/from/env")
    assert places.data_folder({**env, "ENGRAM_DATA": "/from/env"}, None, "/from/flag") == Path("/from/flag")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("data: /a b/c", "/a b/c"),
        ('data: "/a # b"', "/a # b"),
        ("data: '~/x'", "~/x"),
        ("data:", None),
        ("  data: /nested", None),
        ("other: 1", None),
    ],
)
def test_the_data_line_is_read_without_yaml(tmp_path: Path, line: str, value: str | None) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(f"\ufeffowner: {{}}\n{line}\n", encoding="utf-8")
    assert places.peek_data(file) == value


def test_aliases_of_the_other_store_carry_over() -> None:
    env = places.environment(
        {"ENGRAVA_DB_PATH": "/x/agent.db", "ENGRAVA_MCP_READ_ONLY": "yes", "ENGRAVA_MCP_CONFIG": "/c.yaml", "PATH": "/bin"}
    )
    assert env == {"ENGRAM_DATA": "/x/agent.db.engram", "ENGRAM_READ_ONLY": "yes", "ENGRAM_CONFIG": "/c.yaml"}
    assert places.environment({"ENGRAVA_DB_PATH": "/x", "ENGRAM_DATA": "/y"}) == {"ENGRAM_DATA": "/y"}


def test_the_socket_is_the_same_for_every_spelling_of_a_folder(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    assert places.socket_path(link) == places.socket_path(real / ".." / "real")
    assert len(str(places.socket_path(tmp_path / ("deep" * 60)))) < 100


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    assert stat.S_IMODE(places.private_folder(folder).stat().st_mode) == 0o700

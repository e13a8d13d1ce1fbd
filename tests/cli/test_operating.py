"""status, verify, backup, doctor, tools: looking after the store through a stand-in for the owner."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.errors import LeaseHeld, StoreUnusable


def test_status_shows_owner_and_store(engram: Any, owner: Any) -> None:
    out = engram("status").out
    for part in ("4242, version 0.1.0", "1 h 6 min", "12,345", "45.6 MB", "never", "every commit"):
        assert part in out
    assert owner.calls == [("status", {}, True)]
    assert set(json.loads(engram("status", "--json").out)) == {"owner", "store"}


def test_verify_exits_1_on_a_fault(engram: Any, owner: Any) -> None:
    assert engram("verify").code == 0
    owner.tools["verify"] = {**owner.tools["verify"], "sound": False, "faults": ["event 7: wrong hash"]}
    result = engram("verify", "--deep")
    assert owner.calls[-1] == ("verify", {"deep": True}, True)
    assert result.code == 1
    assert "event 7: wrong hash" in result.out
    assert "engram restore" in result.out
    assert engram("verify", "--json").code == 1


def test_backup_makes_the_target_absolute(engram: Any, owner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engram("backup", "mine")
    engram("backup")
    assert [arguments for _, arguments, _ in owner.calls] == [{"target": str(tmp_path / "mine")}, {}]


def test_doctor_gives_advice_and_exits_1_on_an_error(engram: Any, owner: Any) -> None:
    result = engram("doctor")
    assert result.code == 1
    assert "stale is failed: ImportError" in result.out
    assert "switch it off: engram plugins disable stale" in " ".join(result.out.split())
    assert result.out.rstrip().endswith("1 error and 1 warning found.")
    owner.methods["plugins"] = owner.methods["plugins"][:1]
    assert engram("doctor").code == 0
    healthy = json.loads(engram("doctor", "--json").out)
    assert healthy["healthy"] is True
    assert {finding["check"] for finding in healthy["findings"]} >= {"configuration", "data folder", "owner", "plugins", "store", "backup"}


def test_doctor_goes_on_when_no_owner_can_be_had(engram: Any, owner: Any) -> None:
    owner.starts = StoreUnusable("The store is newer than this program.", next_step="Update Engram.")
    result = engram("doctor")
    assert result.code == 1
    assert "The store is newer than this program." in result.out
    assert "Next: Update Engram." in result.out
    assert "disk" in result.out


def test_doctor_names_the_faulty_setting(engram: Any, home: Path) -> None:
    file = home / "xdg_config_home" / "engram" / "engram.yaml"
    file.parent.mkdir()
    file.write_text("tools:\n  profil: all\n")
    out = " ".join(engram("doctor").out.split())
    assert "line 2: tools.profil: unknown key; did you mean profile?" in out


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are a Unix matter")
def test_doctor_sees_who_can_enter_the_data_folder(engram: Any, owner: Any) -> None:
    owner.folder.mkdir(mode=0o755)
    owner.folder.chmod(0o755)
    assert "others on this machine can enter" in " ".join(engram("doctor").out.split())
    owner.folder.chmod(0o700)
    assert "private to you" in " ".join(engram("doctor").out.split())


def test_tools_shows_what_they_cost(engram: Any, owner: Any) -> None:
    result = engram("tools", "--profile", "graph")
    assert owner.requests[0] == ("tools", {"profile": "graph"})
    assert "delete_edge" not in result.out
    assert "1 of 2 tools visible, about 420 tokens of definitions." in result.out
    assert "hidden" in engram("tools", "--all").out
    assert json.loads(engram("tools", "--json").out)["tokens"] == 420


def test_plugins_are_listed_without_an_owner_too(engram: Any, owner: Any) -> None:
    assert "ImportError" in engram("plugins", "list").out
    owner.starts = LeaseHeld("Held by process 7.")
    result = engram("plugins", "list")
    assert result.code == 0
    assert "thoughts" in result.out
    assert "Held by process 7." in result.out
    assert json.loads(engram("plugins", "list", "--json").out)["owner"] is False


def test_plugin_info_shows_the_manifest(engram: Any) -> None:
    out = engram("plugins", "info", "duckdb").out
    for part in ("engram_store_provider", "may write  yes", "Threads of the database [4, default 2]"):
        assert part in out
    assert engram("plugins", "info", "nope").code == 3


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(engram: Any, shell: str) -> None:
    result = engram("completion", shell)
    assert result.code == 0
    assert "_ENGRAM_COMPLETE" in result.out
    assert result.out.startswith("# ")
    assert engram("completion", "nosh").code == 2


def test_serve_passes_its_options_on(engram: Any, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("engram_runtime.foreground.run_foreground", lambda *arguments: seen.append(arguments))
    assert engram("serve", "--http", "--port", "7411", "--option", "token=off").code == 0
    assert seen == [(owner.folder, None, ["http"], {"token": "off", "port": "7411"})]
    assert engram("serve", "--port", "7411").code == 2
    assert engram("serve", "--option", "x").code == 2

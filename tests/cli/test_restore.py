"""`engram restore` with a stand-in for the storage plugin: nothing is lost on any way through."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.errors import InvalidInput
from engram_kernel.kernel import Kernel
from engram_runtime.lease import Lease


class Provider:
    """Copies the one file of a backup into an empty folder."""

    def restore(self, folder: Path, backup: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        assert list(folder.iterdir()) == []
        (folder / "memory.db").write_text("half")
        if not (backup / "memory.db").exists():
            raise InvalidInput(f"{backup} is not a backup.")
        (folder / "memory.db").write_text((backup / "memory.db").read_text())
        return {"format": 1}


@pytest.fixture(autouse=True)
def _provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "provider", staticmethod(lambda plugins, folder: (Provider(), {})))


@pytest.fixture
def data(owner: Any) -> Path:
    owner.runs = False
    folder: Path = owner.folder
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "memory.db").write_text("saved")
    return folder


def fill(data: Path) -> None:
    (data / "memory.db").write_text("old")
    (data / "memory.db.wal").write_text("old log")
    (data / "index").mkdir()
    (data / "index" / "words").write_text("derived")
    (data / "backup").mkdir()
    (data / "owner.log").write_text("log")


def test_an_empty_folder_is_filled(engram: Any, owner: Any, backup: Path) -> None:
    owner.runs = False
    result = engram("restore", str(backup))
    assert result.code == 0, result.err
    assert (owner.folder / "memory.db").read_text() == "saved"
    assert not (owner.folder / "replaced").exists()
    assert not (owner.folder / "restoring").exists()


def test_an_existing_store_is_refused_without_force(engram: Any, data: Path, backup: Path) -> None:
    fill(data)
    result = engram("restore", str(backup))
    assert result.code == 1
    assert "already holds a store" in result.err
    assert (data / "memory.db").read_text() == "old"


def test_force_moves_the_old_store_aside(engram: Any, data: Path, backup: Path) -> None:
    fill(data)
    result = engram("restore", str(backup), "--force", "--json")
    assert result.code == 0
    aside = Path(json.loads(result.out)["moved_aside"])
    assert (data / "memory.db").read_text() == "saved"
    assert {path.name for path in aside.iterdir()} == {"memory.db", "memory.db.wal", "index"}
    assert (aside / "memory.db").read_text() == "old"
    assert (data / "owner.log").exists()
    assert not (data / "memory.db.wal").exists()
    assert engram("restore", str(backup), "--force").code == 0
    assert len(list((data / "replaced").iterdir())) == 2


def test_a_bad_backup_changes_nothing(engram: Any, data: Path, tmp_path: Path) -> None:
    fill(data)
    (tmp_path / "bad").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in data.rglob("*")}
    assert engram("restore", str(tmp_path / "bad"), "--force").code == 2
    (data / "owner.lock").unlink()
    assert {path: path.is_file() and path.read_bytes() for path in data.rglob("*")} == before
    assert engram("restore", str(tmp_path / "missing"), "--force").code == 2


def test_a_move_that_fails_is_undone(engram: Any, data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(data)
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self.parent.name == "restoring":
            raise OSError("no space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    result = engram("restore", str(backup), "--force")
    assert result.code == 4
    assert "The old store is back in its place." in result.err
    assert (data / "memory.db").read_text() == "old"
    assert (data / "index" / "words").exists()


def test_a_held_lease_is_respected(engram: Any, data: Path, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram_runtime.cli.restore.PATIENCE", 0.1)
    other = Lease(data)
    assert other.acquire()
    try:
        assert engram("restore", str(backup)).code == 4
        assert not (data / "memory.db").exists()
    finally:
        other.release()


def test_an_owner_with_other_sessions_is_left_alone(engram: Any, owner: Any, backup: Path) -> None:
    result = engram("restore", str(backup))
    assert result.code == 4
    assert "1 other session connected" in result.err
    assert [method for method, _ in owner.requests] == ["status"]


def test_an_idle_owner_is_asked_to_leave(engram: Any, owner: Any, backup: Path) -> None:
    owner.methods["status"] = {**owner.methods["status"], "sessions": 1}
    assert engram("restore", str(backup)).code == 0
    assert [method for method, _ in owner.requests] == ["status", "stop"]

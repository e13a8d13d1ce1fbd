"""Field case 41 for the paths that operators name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engram_admin.paths import new_folder
from engram_kernel.errors import InvalidInput

REFUSED = [
    "",
    "  ",
    "../x",
    "..",
    ".",
    "/",
    "a/../../x",
    "..\\x",
    "%2e%2e/x",
    "C:\\x",
    "C:x",
    "~/.x",
    "~root/x",
    "nul",
    "CON",
    "con.txt",
    "a\x00b",
    "a\nb",
    "x" * 300,
    "missing/parent",
    "/nowhere-at-all/x",
    "taken",
    "dangling",
    "link/../../../x",
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "deep" / "work"
    work.mkdir(parents=True)
    (work / "taken").mkdir()
    (work / "dangling").symlink_to(work / "gone")
    (work / "link").symlink_to(tmp_path)
    return work


@pytest.mark.parametrize("text", REFUSED)
def test_case_41_a_name_is_not_a_way_out(work: Path, text: str) -> None:
    before = sorted(work.rglob("*"))
    with pytest.raises(InvalidInput) as caught:
        new_folder(text, "target", base=work)
    assert "target" in caught.value.data["fields"]
    assert sorted(work.rglob("*")) == before


@pytest.mark.parametrize("text", REFUSED)
def test_case_41_every_tool_that_takes_a_path_refuses_it(call: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "work" / "taken").mkdir()
    (tmp_path / "work" / "dangling").symlink_to(tmp_path / "gone")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidInput):
        call("backup", {"target": text})
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_that_leads_out_is_followed_before_the_check(work: Path) -> None:
    with pytest.raises(InvalidInput, match="leaves the folder"):
        new_folder("link/x", "target", base=work)


@pytest.mark.parametrize("text", ["x", "./x", "taken/x", "taken/../x", "Grüße", "a b", "..x"])
def test_good_relative_paths(work: Path, text: str) -> None:
    path = new_folder(text, "target", base=work)
    assert path.is_absolute()
    assert work in path.parents
    assert not path.exists()


def test_absolute_paths_need_no_workspace(work: Path) -> None:
    assert new_folder(str(work / "x"), "target", base=None) == work / "x"
    assert new_folder(str(work / "link" / "x"), "target", base=None) == work.parents[1] / "x"
    with pytest.raises(InvalidInput, match="give an absolute path"):
        new_folder("x", "target", base=None)


@pytest.mark.parametrize("inside", ["x", "index/x", "backup"])
def test_the_stores_own_folder_is_no_target(call: Any, tmp_path: Path, inside: str) -> None:
    (tmp_path / "data" / "index").mkdir()
    with pytest.raises(InvalidInput, match="among the store's own files"):
        call("backup", {"target": str(tmp_path / "data" / inside)})


def test_its_backup_folder_is(call: Any, tmp_path: Path) -> None:
    (tmp_path / "data" / "backup").mkdir()
    target = tmp_path / "data" / "backup" / "mine"
    assert call("backup", {"target": str(target)})["path"] == str(target)

"""Editing a person's YAML: only the list changes. The spirit of field case 35, for our own settings file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engram_kernel.errors import ConfigError
from engram_runtime.cli.yaml_edit import edit_file, edit_list

KEY = ("plugins", "disabled")

COMMENTED = """\
# my settings
data: /srv/engram   # on the big disk

plugins:
  # the slow ones
  disabled:
    - vector   # too slow here
    # and this:
    - stale
  settings: {duckdb: {threads: 4}}

tools: {profile: thoughts}
"""


def names(text: str) -> list[str]:
    return list((yaml.safe_load(text) or {})["plugins"]["disabled"] or ())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "plugins:\n  disabled: [x]\n"),
        ("# only a comment", "# only a comment\nplugins:\n  disabled: [x]\n"),
        ("data: /a\n", "data: /a\nplugins:\n  disabled: [x]\n"),
        ("plugins:\n", "plugins: {disabled: [x]}\n"),
        ("plugins:   # none yet\n", "plugins: {disabled: [x]}   # none yet\n"),
        ("plugins: {}\n", "plugins: {disabled: [x]}\n"),
        ("plugins: {settings: {}}\n", "plugins: {disabled: [x], settings: {}}\n"),
        ("plugins:\n    settings: {}\n", "plugins:\n    disabled: [x]\n    settings: {}\n"),
        ("plugins:\n  disabled:\n", "plugins:\n  disabled: [x]\n"),
        ("plugins:\n  disabled: ~ # c\n", "plugins:\n  disabled: [x] # c\n"),
        ("plugins:\n  disabled: []\n", "plugins:\n  disabled: [x]\n"),
        ("plugins:\n  disabled: [a]  # c\n", "plugins:\n  disabled: [a, x]  # c\n"),
        ("plugins:\n  disabled: [\n    a, # first\n    b\n  ]\n", "plugins:\n  disabled: [\n    a, # first\n    b, x\n  ]\n"),
        ("plugins:\n  disabled:\n  - a\n", "plugins:\n  disabled:\n  - a\n  - x\n"),
        ("plugins:\n  disabled:\n    - a", "plugins:\n  disabled:\n    - a\n    - x\n"),
        ("plugins:\r\n  disabled:\r\n    - a\r\n", "plugins:\r\n  disabled:\r\n    - a\r\n    - x\r\n"),
        ("\ufeffplugins:\n  disabled: []\n", "\ufeffplugins:\n  disabled: [x]\n"),
        (COMMENTED, COMMENTED.replace("    - stale\n", "    - stale\n    - x\n")),
    ],
)
def test_adding_changes_nothing_else(before: str, after: str) -> None:
    assert edit_list(before, KEY, add=["x"]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("plugins: {disabled: [x]}\n", "plugins: {disabled: []}\n"),
        ("plugins:\n  disabled: [a, x, b]  # c\n", "plugins:\n  disabled: [a, b]  # c\n"),
        ("plugins:\n  disabled: [\n    a, # first\n    x\n  ]\n", None),
        ("plugins:\n  disabled: [\n    x, # first\n    b\n  ]\n", None),
        ("plugins:\n  disabled:  # why\n    - x\n  settings: {}\n", "plugins:\n  disabled: []  # why\n  settings: {}\n"),
        (
            "plugins:\n  disabled:\n    - a\n    - x # gone\n    # stays\n    - b\n",
            "plugins:\n  disabled:\n    - a\n    # stays\n    - b\n",
        ),
        ("plugins:\n  disabled:\n  - 'x'\n  - a", "plugins:\n  disabled:\n  - a"),
    ],
)
def test_removing_changes_nothing_else(before: str, after: str | None) -> None:
    edited = edit_list(before, KEY, remove=["x"])
    assert names(edited) == [name for name in names(before) if name != "x"]
    if after is None:
        assert "# first" in edited
    else:
        assert edited == after


def test_a_name_that_yaml_would_misread_is_quoted() -> None:
    assert names(edit_list("", KEY, add=["yes", "1e3", "it's", "a: b"])) == ["yes", "1e3", "it's", "a: b"]


@pytest.mark.parametrize(
    "text", ["plugins: [a]\n", "plugins: word\n", "plugins: {disabled: word}\n", "- a\n", "a: [\n", "plugins: {disabled: {}}\n"]
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        edit_list(text, KEY, add=["x"])


def test_an_alias_is_left_to_the_person() -> None:
    text = "plugins: {disabled: &off [a]}\ntools: {disable: *off}\n"
    with pytest.raises(ConfigError, match="Write into it by hand"):
        edit_list(text, KEY, add=["x"])


NAMES = st.lists(st.sampled_from(["alpha", "beta", "gamma-1", "on", "7"]), unique=True)


@given(
    present=NAMES,
    add=NAMES,
    remove=NAMES,
    style=st.sampled_from(["flow", "block", "flat", "lines", "null", "absent"]),
    comment=st.sampled_from(["", "  # why"]),
    rest=st.sampled_from(["", "tools:\n  profile: all # mine\n", "\n\n# end"]),
    crlf=st.booleans(),
)
def test_any_layout_keeps_its_comments_and_other_keys(
    present: list[str], add: list[str], remove: list[str], style: str, comment: str, rest: str, crlf: bool
) -> None:
    quoted = [f"'{name}'" for name in present]
    layouts = {
        "flow": f"plugins:\n  disabled: [{', '.join(quoted)}]{comment}\n",
        "block": f"plugins:\n  disabled:{comment}\n" + "".join(f"    - {name}{comment}\n" for name in quoted),
        "flat": f"plugins:\n  disabled:{comment}\n" + "".join(f"  - {name}\n" for name in quoted),
        "lines": "plugins:\n  disabled: [\n" + "".join(f"    {name},{comment}\n" for name in quoted) + "  ]\n",
        "null": f"plugins:\n  disabled:{comment}\n",
        "absent": f"plugins:{comment}\n  settings: {{}}\n",
    }
    text = layouts[style] + rest
    text = text.replace("\n", "\r\n") if crlf else text
    before = yaml.safe_load(text)
    wanted = [name for name in (before["plugins"].get("disabled") or []) if name not in remove or name in add]
    wanted += [name for name in add if name not in wanted]
    edited = edit_list(text, KEY, add=add, remove=remove)
    after = yaml.safe_load(edited)
    assert sorted((after["plugins"] or {}).get("disabled") or []) == sorted(wanted)
    assert {key: value for key, value in after.items() if key != "plugins"} == {
        key: value for key, value in before.items() if key != "plugins"
    }
    assert edited.count("# mine") == text.count("# mine")
    assert edit_list(edited, KEY, add=add, remove=remove) == edited


def test_a_missing_file_and_its_folder_are_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "engram.yaml"
    assert edit_file(path, KEY, add=["x"]) is True
    assert edit_file(path, KEY, add=["x"]) is False
    assert names(path.read_text()) == ["x"]


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text("data: /a\n")
    real.chmod(0o640)
    link = tmp_path / "engram.yaml"
    link.symlink_to(real)
    edit_file(link, KEY, add=["x"])
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert names(real.read_text()) == ["x"]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"plugins: [\n", b"plugins: word\n"])
def test_case_35_an_unreadable_file_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "engram.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"engram\.yaml"):
        edit_file(path, KEY, add=["x"])
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["engram.yaml"]

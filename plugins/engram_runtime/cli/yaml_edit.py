"""Changing one list in a YAML file that belongs to a person: comments, order, spacing and line ends stay as they are.

The text is edited where the parser says the list stands. The result is parsed again and must be the old document with
only that list changed; otherwise nothing is written and the person is told what to write.
"""

from __future__ import annotations

import copy
import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from engram_kernel.errors import ConfigError

Key = tuple[str, str]


def edit_list(text: str, key: Key, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> str:
    """The text with `section.name` holding the wanted names; the same text when it already does. Raises ConfigError."""
    before = _parse(text)
    present = _names(before, key)
    wanted = [name for name in present if name not in remove or name in add]
    wanted += [name for name in add if name not in wanted]
    if wanted == present:
        return text
    edited = _edited(text, key, wanted)
    if not _same(edited, _expected(before, key, wanted)):
        raise _by_hand(key, wanted)
    return edited


def edit_file(path: Path, key: Key, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> bool:
    """Edit a file in place, atomically, following links; a missing file is made. False when nothing had to change.

    Raises ConfigError, also when the file cannot be read: it is never taken for empty.
    """
    try:
        real = path.resolve()
        text = real.read_bytes().decode("utf-8") if real.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", next_step="Correct the file; it was left alone.") from None
    try:
        edited = edit_list(text, key, add=add, remove=remove)
        if edited == text:
            return False
        write_atomically(real, edited.encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}.") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.what}", next_step=error.next_step) from None
    return True


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by way of a temporary one beside it; its mode stays. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(temporary).chmod(path.stat().st_mode & 0o777)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _parse(text: str) -> dict[str, Any]:
    try:
        document = yaml.safe_load(text.removeprefix("\ufeff"))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise ConfigError(f"{where}not valid YAML: {getattr(error, 'problem', error)}.", next_step="Correct it first.") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError("the file is not a mapping of keys to values.", next_step="Correct it first.")
    return document


def _names(document: dict[str, Any], key: Key) -> list[str]:
    section = document.get(key[0])
    value = (section or {}).get(key[1]) if isinstance(section, dict | None) else section
    if not isinstance(section, dict | None) or not isinstance(value, list | None):
        raise ConfigError(f"{'.'.join(key)} is not a list.", next_step="Run `engram config check`.")
    return [str(name) for name in value or ()]


def _expected(before: dict[str, Any], key: Key, wanted: list[str]) -> dict[str, Any]:
    after = copy.deepcopy(before)
    if not isinstance(after.get(key[0]), dict):
        after[key[0]] = {}
    after[key[0]][key[1]] = wanted
    return after


def _same(text: str, expected: dict[str, Any]) -> bool:
    try:
        return bool(yaml.safe_load(text.removeprefix("\ufeff")) == expected)
    except yaml.YAMLError:
        return False


def _by_hand(key: Key, wanted: list[str]) -> ConfigError:
    lines = f"{key[0]}: {{{key[1]}: {_flow(wanted)}}}"
    return ConfigError("this file is laid out in a way that cannot be edited safely.", next_step=f"Write into it by hand: {lines}")


def _edited(text: str, key: Key, wanted: list[str]) -> str:
    """The most careful edit for the way the document is laid out; the caller checks what it means."""
    body = text.removeprefix("\ufeff")
    mark, end = text[: len(text) - len(body)], "\r\n" if "\r\n" in body else "\n"
    _, section = _entry(yaml.compose(body, yaml.SafeLoader), key[0])
    name, value = _entry(section, key[1])
    if isinstance(value, yaml.SequenceNode):
        edited = _in_flow(body, value, wanted) if value.flow_style else _in_block(body, name, value, wanted, end)
    elif value is not None:
        edited = _fill(body, value, _flow(wanted))
    elif isinstance(section, yaml.MappingNode) and section.value:
        edited = _new_key(body, section, key[1], wanted, end)
    elif section is not None:
        edited = _fill(body, section, f"{{{key[1]}: {_flow(wanted)}}}")
    else:
        edited = _new_section(body, key, wanted, end)
    return mark + edited


def _entry(node: Any, name: str) -> tuple[Any, Any]:
    """The key and value nodes of one entry of a mapping."""
    entries = node.value if isinstance(node, yaml.MappingNode) else ()
    return next(((key, value) for key, value in entries if key.value == name), (None, None))


def _flow(names: Sequence[str]) -> str:
    return f"[{', '.join(_scalar(name) for name in names)}]"


def _scalar(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w-]*", name) and yaml.safe_load(name) == name
    return name if plain else "'" + name.replace("'", "''") + "'"


def _in_flow(text: str, node: Any, wanted: list[str]) -> str:
    """`[a, b]` on one line is written anew; in a list over several lines, which may hold comments, items come and go."""
    start, stop = node.start_mark.index, node.end_mark.index
    if "\n" not in text[start:stop] or not node.value:
        return text[:start] + _flow(wanted) + text[stop:]
    known = [item.value for item in node.value]
    last = node.value[-1].end_mark.index
    text = text[:last] + "".join(f", {_scalar(name)}" for name in wanted if name not in known) + text[last:]
    for item in reversed(node.value):
        if item.value not in wanted:
            text = _without_flow_item(text, item)
    return text


def _without_flow_item(text: str, item: Any) -> str:
    """Remove an item with the comma that follows it, else with the one before."""
    start, stop = item.start_mark.index, item.end_mark.index
    if after := re.match(r"\s*,[ \t]*", text[stop:]):
        return text[:start] + text[stop + after.end() :]
    before = re.search(r",\s*$", text[:start])
    return text[: before.start() if before else start] + text[stop:]


def _in_block(text: str, name: Any, node: Any, wanted: list[str], end: str) -> str:
    """`- a` lines: whole lines go and come; comments on other lines stay."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    known, last = [item.value for item in node.value], node.value[-1].end_mark.line
    new = [f"{' ' * node.start_mark.column}- {_scalar(each)}{end}" for each in wanted if each not in known]
    gone = {item.start_mark.line for item in node.value if item.value not in wanted}
    if not wanted:
        at = name.end_mark.line
        lines[at] = f"{lines[at][: name.end_mark.column]}: []{lines[at][name.end_mark.column + 1 :]}"
    if new and not lines[last].endswith("\n"):
        lines[last] += end
    lines.insert(last + 1, "".join(new))
    return "".join(line for at, line in enumerate(lines) if at not in gone)


def _fill(text: str, node: Any, value: str) -> str:
    """Give a value to a key that has none, or only `null`, `~`, `{}`."""
    start, stop = node.start_mark.index, node.end_mark.index
    space = "" if text[start - 1 : start].isspace() else " "
    return text[:start] + space + value + text[stop:]


def _new_key(text: str, section: Any, name: str, wanted: list[str], end: str) -> str:
    """Put the key before the first one of its section."""
    first = section.value[0][0].start_mark
    index, column = int(first.index), int(first.column)
    if section.flow_style:
        return text[:index] + f"{name}: {_flow(wanted)}, " + text[index:]
    line_start = index - column
    return text[:line_start] + " " * column + f"{name}: {_flow(wanted)}{end}" + text[line_start:]


def _new_section(text: str, key: Key, wanted: list[str], end: str) -> str:
    gap = "" if not text or text.endswith("\n") else end
    return f"{text}{gap}{key[0]}:{end}  {key[1]}: {_flow(wanted)}{end}"

"""The one check of a path that an operator names: resolved, sensible on every system, and never over something that exists."""

from __future__ import annotations

import os
import re
from pathlib import Path, PureWindowsPath

from engram_kernel.arguments import refused

LONGEST_NAME = 255
"""Bytes of one path component, the limit of common file systems."""
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def new_folder(text: str, field: str, *, base: Path | None) -> Path:
    """The absolute path of a folder to be made. Its parent must exist, the folder must not.

    A relative path is resolved against `base` and must stay inside it. Raises InvalidInput naming `field`.
    """
    if fault := _text_fault(text):
        raise refused({field: fault})
    path = _resolved(text, field, base)
    if not path.parent.is_dir():
        raise refused({field: f"the folder {path.parent} does not exist"})
    if path.exists() or path.is_symlink():
        raise refused({field: f"{path} already exists; nothing is ever overwritten"})
    return path


def _text_fault(text: str) -> str | None:
    """What is wrong with the words of the path, before the disk is looked at."""
    if not text.strip():
        return "is empty"
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        return "contains a control character"
    if text.startswith("~"):
        return "starts with ~; write the home folder out"
    if os.sep == "/" and ("\\" in text or PureWindowsPath(text).drive):
        return "is a path of another system"
    return next((fault for part in Path(text).parts if (fault := _name_fault(part))), None)


def _name_fault(name: str) -> str | None:
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"has a name longer than {LONGEST_NAME} bytes"
    if _RESERVED.fullmatch(name):
        return f"has the name {name!r}, which some systems reserve for a device"
    return None


def _resolved(text: str, field: str, base: Path | None) -> Path:
    """Absolute, and inside `base` when it was relative."""
    path = Path(text)
    if path.is_absolute():
        return _followed(path)
    if base is None:
        raise refused({field: "is relative, and this session has no folder; give an absolute path"})
    root = base.resolve()
    full = _followed(root / path)
    if root not in full.parents:
        raise refused({field: "leaves the folder it is relative to; give an absolute path"})
    return full


def _followed(path: Path) -> Path:
    """Links are followed in the parent, so that what is checked is what is written; a link as the last name is kept."""
    return path.resolve() if path.name in ("", "..") else path.parent.resolve() / path.name


def outside_store(path: Path, field: str, *, data: Path, backups: Path) -> Path:
    """The path, if it does not lie among the store's own files. Raises InvalidInput."""
    data, backups = data.resolve(), backups.resolve()
    if (path == data or data in path.parents) and backups not in path.parents:
        raise refused({field: f"lies among the store's own files; inside {data} only {backups} may be used"})
    return path

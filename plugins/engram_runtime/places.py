"""Where things are: configuration files, the data folder, the owner's endpoint. Standard library only (the pipe uses it)."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ALIASES = {
    "ENGRAVA_MCP_CONFIG": "ENGRAM_CONFIG",
    "ENGRAVA_DB_PATH": "ENGRAM_DATA",
    "ENGRAVA_MCP_READ_ONLY": "ENGRAM_READ_ONLY",
}
"""Variables of another thought store whose meaning carries over; our own name wins when both are set."""

PASSED_ON = re.compile(r"ENGRAM_[A-Z_]+|CLAUDE_PROJECT_DIR|TZ|LANG|LC_ALL|XDG_\w+_HOME")
"""The environment variables that a client tells the owner."""


def environment(raw: Mapping[str, str]) -> dict[str, str]:
    """The variables that matter, with aliases resolved."""
    chosen = {name: value for name, value in raw.items() if PASSED_ON.fullmatch(name) and value.strip()}
    for alias, name in ALIASES.items():
        if value := raw.get(alias, "").strip():
            chosen.setdefault(name, database_folder(value) if alias == "ENGRAVA_DB_PATH" else value)
    return chosen


def database_folder(path: str) -> str:
    """Our data folder for a bare database file of the other store: a folder beside it, the file stays as it is."""
    return path if Path(path).is_dir() else f"{path}.engram"


def config_files(env: Mapping[str, str], given: str | None = None) -> list[tuple[str, Path]]:
    """(layer, path) of the configuration files, lowest priority first; the user's file may be missing."""
    files = [("user", user_config(env))]
    if chosen := given or env.get("ENGRAM_CONFIG"):
        files.append(("config", Path(chosen).expanduser().absolute()))
    return files


def user_config(env: Mapping[str, str]) -> Path:
    return _base(env, "XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA") / "engram.yaml"


def _base(env: Mapping[str, str], xdg: str, unix: str, mac: str, windows: str) -> Path:
    home = Path.home()
    if env.get(xdg):
        return Path(env[xdg]) / "engram"
    if sys.platform == "win32":
        return Path(os.environ.get(windows, home)) / "engram"
    return home / (mac if sys.platform == "darwin" else unix) / "engram"


def data_folder(env: Mapping[str, str], config: str | None = None, given: str | None = None) -> Path:
    """The data folder by the documented order: flag, environment, configuration file, default.

    The configuration's top-level `data:` must be one plain line, because the pipe reads it without a YAML parser.
    """
    chosen = given or env.get("ENGRAM_DATA")
    if not chosen:
        for _, path in reversed(config_files(env, config)):
            if chosen := peek_data(path):
                break
    default = _base(env, "XDG_DATA_HOME", ".local/share", "Library/Application Support", "LOCALAPPDATA")
    return Path(chosen).expanduser().absolute() if chosen else default.absolute()


def peek_data(path: Path) -> str | None:
    """The value of a top-level `data:` line, or None."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    found = re.search(r"^data:[ \t]+(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^#\s][^#\n]*))", text, re.MULTILINE)
    return next((group.strip() for group in found.groups() if group), None) if found else None


def runtime_folder() -> Path:
    """A folder of this user's for sockets; short, because a socket path is limited to about 100 bytes."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and Path(base).is_dir() and os.access(base, os.W_OK) and len(base) < 60:
        return Path(base) / "engram"
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    short = "/tmp" if len(tempfile.gettempdir()) > 60 and Path("/tmp").is_dir() else tempfile.gettempdir()
    return Path(short) / f"engram-{user}"


def socket_path(folder: Path) -> Path:
    """The Unix socket of the owner of a data folder: the same for every spelling of the folder's path."""
    name = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return runtime_folder() / f"{name}.sock"


def private_folder(path: Path) -> Path:
    """Create a folder that only this user can enter; raises PermissionError when it belongs to someone else."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid"):
        facts = path.stat()
        if facts.st_uid != os.getuid():
            raise PermissionError(f"{path} belongs to another user")
        if facts.st_mode & 0o077:
            path.chmod(0o700)
    return path

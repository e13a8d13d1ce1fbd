"""Finding the owner of a data folder, or starting one. Standard library only."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from engram_kernel import __version__
from engram_runtime import lease, wire

DEADLINE = 20.0
HANDOVER_GRACE = 10.0
HELD = 75
"""Exit code of an owner that found the lease taken."""


_children: list[subprocess.Popen[bytes]] = []
"""Owners started from here: asked for their exit code now and then, so that none stays behind as a zombie."""


class Started(Protocol):
    """A started process: `poll` gives its exit code, or None while it runs."""

    def poll(self) -> int | None: ...


class JoinError(Exception):
    """No owner could be reached or started; the text is for the person, `reason` for programs."""

    def __init__(self, text: str, reason: str = "unreachable") -> None:
        super().__init__(text)
        self.reason = reason


def join(
    folder: Path, say: Callable[[str], Mapping[str, Any]], start: Callable[[], Started] | None, deadline: float = DEADLINE
) -> tuple[wire.LineSocket, dict[str, Any]]:
    """Connect to the owner, starting one with `start` when there is none. Returns the line socket and the hello's answer.

    `say` builds the hello for a key. Raises JoinError when the deadline passes, when there is no owner and `start` is
    None, or when the owner refuses.
    """
    end = time.monotonic() + deadline
    started, process = 0.0, None
    for child in _children:
        child.poll()
    while True:
        if found := _try(folder, say):
            return found
        if process is not None and process.poll() not in (None, 0, HELD):
            raise JoinError(f"The owner process could not start: {_last_words(folder)}", "failed")
        if not _is_held(folder):
            if start is None:
                raise JoinError("No owner is running for this data folder.", "none")
            # A starting owner needs a moment to take the lease; ask again only when it must have failed.
            if time.monotonic() - started > 5 and not _awaits_successor(folder):
                started, process = time.monotonic(), start()
        if time.monotonic() > end:
            raise JoinError(_stuck(folder))
        time.sleep(random.uniform(0.005, 0.02))  # noqa: S311 - jitter


def _try(folder: Path, say: Callable[[str], Mapping[str, Any]]) -> tuple[wire.LineSocket, dict[str, Any]] | None:
    record = lease.read_record(folder)
    if record is None:
        return None
    try:
        lines = wire.LineSocket(wire.connect(record.endpoint))
        answer = lines.introduce(say(record.key))
    except (OSError, ValueError, wire.WireError):
        return None
    if answer.get("ok"):
        return lines, answer
    lines.close()
    # A key that does not fit: the record is the one of an owner before, its successor is about to publish itself.
    if answer.get("reason") in ("handover", "key"):
        return None
    raise JoinError(str(answer.get("text", "The owner refused the connection.")), str(answer.get("reason", "refused")))


def _is_held(folder: Path) -> bool:
    if not (folder / lease.LOCK).exists():
        return False
    probe = lease.Lease(folder)
    free = probe.acquire()
    probe.release()
    return not free


def _awaits_successor(folder: Path) -> bool:
    """Whether the last owner has just left for a newer version or a named process: that one starts the next, not we."""
    try:
        wanted = json.loads((folder / lease.HANDOVER).read_text(encoding="utf-8"))
        recent = time.time() - wanted["time"] < HANDOVER_GRACE
        return recent and (wanted.get("pid") is not None or wire.newer(wanted["version"], __version__))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _stuck(folder: Path) -> str:
    if not _is_held(folder):
        return f"The owner of {folder} did not start in time. Nothing was changed. See {folder / 'owner.log'}."
    record = lease.read_record(folder)
    holder = f"process {record.pid} (version {record.version})" if record else "another process"
    return f"{folder} is held by {holder}, which does not answer. Nothing was changed. Wait for it, or end it and try again."


def launch(folder: Path, config: str | None) -> Started:
    """Start a detached owner. Raises OSError where that is forbidden."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    command = [sys.executable, "-m", "engram_runtime.owner", "--folder", str(folder)]
    if config:
        command += ["--config", config]
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS | subprocess.CREATE_NO_WINDOW
        options = {"creationflags": flags}
    with _open_log(folder) as log:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, close_fds=True, env=_environment(), **options
        )
    _children.append(child)
    return child


def _last_words(folder: Path) -> str:
    """The end of the owner's log, where a failed start says why."""
    with _open_log(folder) as log:
        log.seek(max(log.tell() - 2000, 0))
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("engram owner: ") if lines else "it left no message."


def _open_log(folder: Path) -> Any:
    return os.fdopen(os.open(folder / "owner.log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "ab+")


def _environment() -> dict[str, str]:
    """The owner serves many hosts: what is one session's own must not become everybody's default."""
    own = {"ENGRAM_READ_ONLY", "ENGRAM_PROFILE", "ENGRAM_TOOLS", "ENGRAM_DISABLE_TOOLS", "ENGRAVA_MCP_READ_ONLY"}
    return {name: value for name, value in os.environ.items() if name not in own}

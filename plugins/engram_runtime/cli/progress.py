"""A progress bar on stderr for work that takes longer than a second; on a terminal only, and never with --json."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any

from engram_runtime.cli.caller import Caller, Progress

PATIENCE = 1.0
"""Seconds without a bar."""


class _Bar:
    """Drawn by a timer, so that it also appears when the work reports nothing for a while."""

    def __init__(self, label: str) -> None:
        self._state: dict[str, Any] = {"description": label, "total": None, "completed": 0}
        self._progress: Any = None
        self._lock = Lock()
        self._timer = Timer(PATIENCE, self._draw)
        self._timer.daemon = True
        self._timer.start()

    def update(self, done: float, total: float | None, message: str | None) -> None:
        with self._lock:
            self._state |= {"completed": done, "total": total} | ({"description": message} if message else {})
            if self._progress is not None:
                self._progress.update(0, **self._state)

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
        with self._lock:
            if self._progress is None and not self._timer.finished.is_set():
                self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
                self._progress.add_task(**self._state)
                self._progress.start()

    def stop(self) -> None:
        self._timer.cancel()
        with self._lock:
            if self._progress is not None:
                self._progress.stop()


@contextmanager
def shown(caller: Caller, label: str) -> Iterator[Progress | None]:
    """The callback to hand to `Caller.call`; None where no bar may be drawn."""
    if caller.json or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(label)
    try:
        yield bar.update
    finally:
        bar.stop()

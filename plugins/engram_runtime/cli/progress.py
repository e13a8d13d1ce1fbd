"""A progress bar on stderr for work that takes longer than a second; on a terminal only, and never with --json."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from engram_runtime.cli.caller import Caller, Progress

PATIENCE = 1.0
"""Seconds without a bar."""


class _Bar:
    def __init__(self, label: str) -> None:
        self._label, self._began = label, monotonic()
        self._progress: Any = None
        self._task: Any = None

    def update(self, done: float, total: float | None, message: str | None) -> None:
        if self._progress is None:
            if monotonic() - self._began < PATIENCE:
                return
            self._start()
        self._progress.update(self._task, completed=done, total=total, description=message or self._label)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._progress.start()
        self._task = self._progress.add_task(self._label, total=None)

    def stop(self) -> None:
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

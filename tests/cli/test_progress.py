"""Progress: after a second, on a terminal, never with --json."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import pytest

from engram_runtime.cli import progress
from engram_runtime.cli.caller import Caller


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Stands in for the timer; `strike` is the moment the patience is over."""

    def __init__(self, seconds: float, then: Callable[[], None]) -> None:
        assert seconds == progress.PATIENCE
        self.strike, self.finished, self.daemon = then, threading.Event(), False
        made.append(self)

    def start(self) -> None:
        """Runs nothing by itself."""

    def cancel(self) -> None:
        self.finished.set()


made: list[Clock] = []


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Called in the test itself: between set-up and test the stream is replaced."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "Timer", Clock)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    return screen


def test_a_bar_appears_when_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with progress.shown(Caller(), "Checking") as update:
        assert update is not None
        update(1, 10, "first words")
        assert screen.getvalue() == ""
        made[-1].strike()
        update(5, 10, "second words")
    assert "second words" in screen.getvalue()
    assert "50 %" in screen.getvalue()


def test_a_bar_appears_without_any_report(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with progress.shown(Caller(), "Checking"):
        made[-1].strike()
    assert "Checking" in screen.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with progress.shown(Caller(), "Checking") as update:
        assert update is not None
        update(1, 2, None)
    made[-1].strike()
    assert screen.getvalue() == ""


@pytest.mark.parametrize("as_json", [True, False])
def test_no_bar_in_a_pipe_or_with_json(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    stream: Any = Terminal() if as_json else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    caller = Caller()
    caller.json = as_json
    with progress.shown(caller, "Checking") as update:
        assert update is None

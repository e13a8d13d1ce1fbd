"""Progress: after a second, on a terminal, never with --json."""

from __future__ import annotations

import io
from typing import Any

import pytest

from engram_runtime.cli import progress
from engram_runtime.cli.caller import Caller


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until it is set."""
    moment = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: moment[0])
    return moment


def run(caller: Caller, clock: list[float]) -> None:
    with progress.shown(caller, "Checking") as update:
        if update is None:
            return
        update(1, 10, "first words")
        clock[0] += 1.5
        update(5, 10, "second words")


def test_a_bar_appears_after_a_second_only(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    run(Caller(), clock)
    assert "first words" not in screen.getvalue()
    assert "second words" in screen.getvalue()
    assert "50 %" in screen.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with progress.shown(Caller(), "Checking") as update:
        assert update is not None
        update(1, 2, None)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("as_json", [True, False])
def test_no_bar_in_a_pipe_or_with_json(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    stream: Any = Terminal() if as_json else io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    caller = Caller()
    caller.json = as_json
    with progress.shown(caller, "Checking") as update:
        assert update is None

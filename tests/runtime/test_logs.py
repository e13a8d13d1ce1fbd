"""Logs never go to stdout, and never fail what they tell of."""

from __future__ import annotations

import io
import logging
import stat
import sys
from pathlib import Path

import pytest
import structlog

from engram_runtime import logs


def test_to_stderr_as_it_is_at_the_moment(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    logs.configure("info")
    log = structlog.get_logger("x")
    log.info("first", key="value")
    later = io.StringIO()
    monkeypatch.setattr(sys, "stderr", later)
    log.warning("second")
    log.debug("too low")
    out, err = capsys.readouterr()
    assert out == "" and "event=first key=value" in err and "level=info" in err
    assert "event=second" in later.getvalue() and "too low" not in later.getvalue()


def test_to_a_private_file(tmp_path: Path) -> None:
    file = tmp_path / "logs" / "engram.log"
    logs.configure("warning", file)
    structlog.get_logger("x").warning("kept", number=3)
    logging.getLogger("library").error("of a library")
    assert "event=kept number=3" in file.read_text() and "of a library" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_stream_that_is_gone_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    logs.configure("info")
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        structlog.get_logger("x").info("nobody hears")
        logging.getLogger("library").error("nor this")

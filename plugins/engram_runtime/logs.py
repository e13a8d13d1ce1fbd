"""structlog set-up: to stderr or a file, never to stdout; events and keys, no memory content."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
from pathlib import Path
from typing import Any

import structlog


class LogStream(io.TextIOBase):
    """Writes to a file, or to what stderr is at the moment. A log that cannot be written never fails what is logged."""

    def __init__(self, file: Path | None) -> None:
        self._file = file.open("a", encoding="utf-8", buffering=1) if file else None

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            (self._file or sys.stderr).write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            (self._file or sys.stderr).flush()


def configure(level: str = "info", file: Path | None = None) -> None:
    """Send all logs, the standard library's too, to `file` (appended, mode 0600) or stderr."""
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600, exist_ok=True)
    stream: Any = LogStream(file)
    threshold = logging.getLevelName(level.upper())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], bool_as_flag=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        level=max(threshold, logging.WARNING), stream=stream, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )

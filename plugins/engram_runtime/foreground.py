"""`engram serve`: an owner that is kept running in the foreground, with services such as HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from engram_kernel.errors import EngramError
from engram_runtime.client import OwnerClient
from engram_runtime.owner import serve


def run_foreground(folder: Path, config_file: str | None, services: Sequence[str], options: Mapping[str, str]) -> None:
    """Own the folder until interrupted, taking over from an owner that runs in the background.

    Its hosts join this one without noticing. Raises LeaseHeld, ConfigError, StoreUnusable.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _take_over(folder, config_file)
    asyncio.run(serve(folder, config_file, stay=True, services=services, options=options))


def _take_over(folder: Path, config_file: str | None) -> None:
    try:
        running = OwnerClient.connect(os.environ, config=config_file, data=str(folder), start=False)
    except EngramError:
        return
    running.request("stop", {"force": True, "successor": os.getpid()})
    running.close()

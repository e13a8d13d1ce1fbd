"""For all tests: nothing of the person's own configuration, data or running owner is seen."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

# A slow or busy machine is no reason to fail.
settings.register_profile("engram", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("engram")


@pytest.fixture(scope="session", autouse=True)
def _no_settings_of_ours() -> Iterator[None]:
    """Own configuration, data and runtime folders; the last one short, because a socket's path must be."""
    base = tempfile.mkdtemp(prefix="engram-")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("ENGRAM_", "ENGRAVA_")) and name != "ENGRAM_SLOW_TESTS"]:
            patch.delenv(name)
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
            folder = Path(base) / name[4:7].lower()
            folder.mkdir(0o700)
            patch.setenv(name, str(folder))
        yield
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """What one test sets up for logging, bound to its captured stderr, does not reach the next."""
    yield
    structlog.reset_defaults()

"""Shared by the tests of the DuckDB store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    return made


@pytest.fixture
def open_store(folder: Path) -> Iterator[Callable[..., DuckStore]]:
    """Opens the store of the test with settings or a fault, closing it first when it is open."""
    opened: list[DuckStore] = []

    def reopen(fault: Any = None, **settings: Any) -> DuckStore:
        while opened:
            opened.pop().close()
        options = {"fault": fault} if fault is not None else {}
        opened.append(DuckStore(folder, Settings(**settings), **options))
        return opened[-1]

    yield reopen
    while opened:
        opened.pop().close()


@pytest.fixture
def store(open_store: Callable[..., DuckStore]) -> DuckStore:
    return open_store()

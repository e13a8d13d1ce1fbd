"""The store contract, on the DuckDB store."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engram_duckdb.plugin import Provider

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.contracts.store import StoreContract


class TestDuckStore(StoreContract):
    @pytest.fixture
    def provider(self) -> Provider:
        return Provider()

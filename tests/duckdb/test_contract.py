"""The store contract, on the DuckDB store."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from engram_duckdb.plugin import Provider


def _contract() -> Any:
    path = Path(__file__).parents[1] / "contracts" / "store.py"
    spec = importlib.util.spec_from_file_location("contracts_store", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class TestDuckStore(_contract().StoreContract):  # type: ignore[misc]
    @pytest.fixture
    def provider(self) -> Provider:
        return Provider()

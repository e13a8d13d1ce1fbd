"""The ranker keeps the contract that every ranker must keep, with each way of scanning."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from engram_faiss import index as index_module
from engram_faiss.ranker import VectorRanker


def _contract() -> ModuleType:
    path = Path(__file__).parents[1] / "contracts" / "ranker.py"
    spec = importlib.util.spec_from_file_location("contracts_ranker_for_vectors", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class TestVector(_contract().RankerContract):  # type: ignore[misc]
    @pytest.fixture(params=["one by one", "exact", "signs"])
    def ranked(self, bench, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[int, str]], VectorRanker]:
        if request.param != "one by one":
            monkeypatch.setattr(index_module, "DIRECT", 0)
        bench.exact = 0 if request.param == "signs" else 20_000

        def build(texts: Mapping[int, str]) -> VectorRanker:
            bench.fill(texts)
            return bench.ranker()

        return build

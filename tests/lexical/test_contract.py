"""The ranker keeps the contract that every ranker must keep."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from engram_lexical.ranker import LexicalRanker


def _contract() -> ModuleType:
    path = Path(__file__).parents[1] / "contracts" / "ranker.py"
    spec = importlib.util.spec_from_file_location("contracts_ranker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    __import__("sys").modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class TestLexical(_contract().RankerContract):  # type: ignore[misc]
    @pytest.fixture
    def ranked(self, bench) -> Callable[[Mapping[int, str]], LexicalRanker]:
        def build(texts: Mapping[int, str]) -> LexicalRanker:
            bench.fill(texts)
            return bench.ranker()

        return build

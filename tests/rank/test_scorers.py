"""Recency, priority and links, and the plugin that registers them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml

from engram_kernel.manifest import Manifest
from engram_kernel.model import Edge, Memory, Ref
from engram_kernel.plugins import PluginContext, Plugins
from engram_kernel.query import Query
from engram_kernel.retrieval import SearchRequest
from engram_rank import plugin
from engram_rank.pipeline import WeightedSum
from engram_rank.scorers import Graph, Priority, Recency

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
WEEK = timedelta(days=7)


def request(now: datetime | None = NOW) -> SearchRequest:
    return SearchRequest(text="x", query=Query(collections=("c",)), weights={}, now=now)


def memory(number: int, **fields) -> Memory:
    return Memory(collection="c", id=f"m{number}", kind="NOTE", text="", number=number, **fields)


def recency(half_life: float = 604_800.0, **fields) -> float:
    return Recency(half_life).score(request(), [memory(1, **fields)], {})[1]


@pytest.mark.parametrize(
    ("updated", "expected"),
    [
        (NOW, 1.0),
        (NOW - WEEK, 0.5),
        (NOW - 2 * WEEK, 0.25),
        (NOW + WEEK, 1.0),
        ((NOW - WEEK).astimezone(timezone(timedelta(hours=-5))), 0.5),
        ((NOW - WEEK).replace(tzinfo=None), 0.5),
        (datetime(1, 1, 1, tzinfo=UTC), 0.0),
    ],
)
def test_recency_halves_with_every_half_life(updated: datetime, expected: float) -> None:
    assert recency(updated_at=updated) == pytest.approx(expected)


def test_recency_takes_the_creation_where_nothing_was_updated_and_0_without_a_date() -> None:
    assert recency(created_at=NOW - WEEK) == pytest.approx(0.5)
    assert recency(created_at=NOW - 2 * WEEK, updated_at=NOW - WEEK) == pytest.approx(0.5)
    assert recency() == 0.0


def test_the_half_life_is_a_setting() -> None:
    assert recency(3600.0, updated_at=NOW - timedelta(hours=3)) == pytest.approx(0.125)


def test_recency_needs_a_moment_to_count_from() -> None:
    assert Recency().active(request())
    assert not Recency().active(request(now=None))


@pytest.mark.parametrize(("priority", "expected"), [(1, 1.0), (2, 0.6), (3, 0.3), (4, 0.0), (None, 0.0), (9, 0.0)])
def test_priority(priority: int | None, expected: float) -> None:
    assert Priority().active(request(now=None))
    assert Priority().score(request(), [memory(1, priority=priority)], {}) == {1: expected}


class Links:
    """What the signals use of a store."""

    def sources(self) -> list[int]:
        return []

    def __init__(self, *edges: tuple[int, int, float]) -> None:
        self.edges = [
            Edge(id=f"e{at}", source=Ref("c", f"m{one}"), target=Ref("c", f"m{other}"), type="T", weight=weight)
            for at, (one, other, weight) in enumerate(edges)
        ]

    def edges_of(self, ref: Ref, direction: str = "BOTH", limit: int | None = None) -> list[Edge]:
        assert direction == "BOTH"
        return sorted((edge for edge in self.edges if ref in (edge.source, edge.target)), key=lambda edge: -edge.weight)[:limit]


def linked(base: Mapping[int, float], *edges: tuple[int, int, float], pool: int = 0) -> Mapping[int, float]:
    numbers = sorted({*base, *range(1, pool + 1)})
    return Graph(Links(*edges)).score(request(), [memory(number) for number in numbers], base)  # type: ignore[arg-type]


def test_a_link_passes_on_half_of_the_neighbours_score_by_weight() -> None:
    assert linked({1: 0.8, 2: 0.4}, (1, 2, 0.5)) == pytest.approx({1: 0.5 * 0.4 * 0.5, 2: 0.5 * 0.8 * 0.5})


def test_neighbours_outside_the_candidates_and_self_links_count_nothing() -> None:
    assert linked({1: 0.8}, (1, 7, 1.0), (1, 1, 1.0)) == {1: 0.0}


def test_a_candidate_from_the_pool_gains_by_its_links_but_passes_nothing_on() -> None:
    assert linked({1: 0.8}, (1, 2, 1.0), pool=2) == pytest.approx({1: 0.0, 2: 0.4})


def test_only_the_five_heaviest_links_count() -> None:
    edges = [(1, other, 0.1 * other) for other in range(2, 9)]
    base = dict.fromkeys(range(2, 9), 1.0)
    assert linked(base | {1: 0.0}, *edges)[1] == pytest.approx(min(1.0, 0.5 * (0.4 + 0.5 + 0.6 + 0.7 + 0.8)))


def test_the_sum_is_capped_at_1() -> None:
    assert linked({1: 0.1, 2: 1.0, 3: 1.0, 4: 1.0}, (1, 2, 1.0), (1, 3, 1.0), (4, 1, 1.0))[1] == 1.0


def test_the_plugin_registers_its_signals_and_provides_the_pipeline(tmp_path: Path) -> None:
    text = (Path(plugin.__file__).parent / "engram-plugin.yaml").read_text(encoding="utf-8")
    manifest = Manifest.model_validate(yaml.safe_load(text))
    plugins = Plugins()
    plugins.register(plugin, manifest, {"half_life_seconds": 3600})
    signals: list = []

    def context(loaded):
        return PluginContext(loaded, tmp_path, Links())  # type: ignore[arg-type]

    plugins.each("engram_register_rankers", context, register=signals.append)
    assert [signal.name for signal in signals] == ["recency", "priority", "graph"]
    assert signals[0].score(request(), [memory(1, updated_at=NOW - timedelta(hours=1))], {}) == {1: pytest.approx(0.5)}
    found = plugins.each("engram_retriever", context, rankers=[], scorers=signals, guard=plugins.guard)
    assert isinstance(found["rank"], WeightedSum)
    assert set(manifest.hooks) == {"engram_register_rankers", "engram_retriever"}

"""What is found among many vectors, compared with plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from engram_faiss.index import Index
from engram_faiss.matrix import Matrix
from engram_faiss.rows import Rows

DIMENSION = 64


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def clustered(count: int, seed: int = 1) -> np.ndarray:
    """Vectors around a few hundred topics, as texts have them."""
    chance = np.random.default_rng(seed)
    topics = chance.standard_normal((300, DIMENSION))
    return unit(topics[chance.integers(0, 300, count)] + 0.7 * chance.standard_normal((count, DIMENSION)))


def built(vectors: np.ndarray, exact: int) -> Index:
    """Memory n + 1 has vector n."""
    index = Index("m", Matrix(DIMENSION), Rows(), exact)
    index.apply([(n + 1, vector.astype("<f4").tobytes()) for n, vector in enumerate(vectors)])
    return index


def expected(vectors: np.ndarray, query: np.ndarray, allowed: np.ndarray, depth: int) -> list[int]:
    scores = np.where(allowed, vectors.astype(np.float16).astype(np.float32) @ query, -1)
    order = np.argsort(-scores, kind="stable")[:depth]
    return [int(n) + 1 for n in order if scores[n] > 0]


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return clustered(100_000)


@pytest.fixture(scope="module")
def large(vectors: np.ndarray) -> Index:
    return built(vectors, 20_000)


@pytest.fixture(scope="module")
def small(vectors: np.ndarray) -> Index:
    return built(vectors[:15_000], 20_000)


@pytest.mark.parametrize("matching", [3, 30, 100, 1_000, 5_000])
def test_case_27_every_match_is_found_at_any_selectivity(large: Index, vectors: np.ndarray, tools, matching: int) -> None:
    """Three of 100,000 are 0.003 %. The query lies near the others, so none of the matches is near the top."""
    chance = np.random.default_rng(matching)
    for _ in range(5):
        members = chance.choice(100_000, matching, replace=False)
        query = unit(vectors[chance.integers(100_000)] * 0.5 + vectors[members[:3]].sum(axis=0) * 0.5)
        found = large.search(query, tools.Chosen(members + 1), 5).numbers.tolist()
        assert found == expected(vectors, query, np.isin(np.arange(100_000), members), 5)
    assert len(large.search(unit(vectors[members[:3]].sum(axis=0)), tools.Chosen(members[:3] + 1), 5).numbers) == 3


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("depth", [1, 10, 200])
def test_the_small_index_is_exact(small: Index, vectors: np.ndarray, tools, share: float, depth: int) -> None:
    chance = np.random.default_rng(7)
    allowed = chance.random(15_000) < share
    for _ in range(5):
        query = unit(vectors[chance.integers(15_000)] + 0.1 * chance.standard_normal(DIMENSION))
        found = small.search(query, tools.Chosen(np.flatnonzero(allowed) + 1), depth)
        assert set(found.numbers.tolist()) == set(expected(vectors[:15_000], query, allowed, depth))
        assert np.all(np.diff(found.scores) <= 0)


def test_the_large_index_finds_nearly_all_of_the_best(large: Index, vectors: np.ndarray, tools) -> None:
    chance = np.random.default_rng(8)
    everything, hits = tools.Chosen(range(1, 100_001)), 0
    for _ in range(40):
        query = unit(vectors[chance.integers(100_000)] + 0.1 * chance.standard_normal(DIMENSION))
        found = large.search(query, everything, 200).numbers[:10].tolist()
        hits += len(set(found) & set(expected(vectors, query, np.ones(100_000, bool), 10)))
    assert hits / 400 > 0.9, "of the best ten"


def test_a_text_with_many_windows_takes_one_place(tools) -> None:
    """One long text whose windows are all nearer than anything else leaves the other places free."""
    chance = np.random.default_rng(3)
    query = unit(chance.standard_normal(DIMENSION))
    near = unit(query + 0.01 * chance.standard_normal((2_000, DIMENSION)))
    others = unit(query + 0.5 * chance.standard_normal((3_000, DIMENSION)))
    for exact in (0, 20_000):
        index = Index("m", Matrix(DIMENSION), Rows(), exact)
        index.apply([(1, near.tobytes()), *((n + 2, other.tobytes()) for n, other in enumerate(others))])
        found = index.search(query, tools.Chosen(range(1, 3_002)), 20)
        assert len(set(found.numbers.tolist())) == 20
        assert found.numbers[0] == 1
        assert found.scores[0] == pytest.approx(float((near @ query).max()), abs=1e-3)


def test_what_is_not_similar_is_no_candidate(tools) -> None:
    query = unit(np.ones(DIMENSION))
    index = built(np.array([query, -query, unit(np.tile([1.0, -1.0], DIMENSION // 2))]), 20_000)
    assert index.search(query, tools.Chosen([1, 2, 3]), 10).numbers.tolist() == [1]


@pytest.mark.parametrize("data", [b"", b"abc", b"\0" * 4 * (DIMENSION + 1), np.full(DIMENSION, np.nan, "<f4").tobytes()])
def test_faulty_vectors_are_left_out(tools, data: bytes) -> None:
    index = built(clustered(3), 20_000)
    assert index.apply([(1, data), (4, data)]) == 2
    assert index.search(clustered(3)[0], tools.Chosen([1, 4]), 10).numbers.tolist() == []


def test_equal_vectors_come_in_order_of_their_numbers(tools) -> None:
    vector = clustered(1)[0]
    index = built(np.array([vector] * 50), 20_000)
    assert index.search(vector, tools.Chosen(range(1, 51)), 5).numbers.tolist() == [1, 2, 3, 4, 5]

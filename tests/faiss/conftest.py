"""A store in memory with just the methods the index uses, an embedder whose vectors tests know, and the real kernel."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram_faiss.keeper import Pace
from engram_faiss.ranker import VectorRanker
from engram_kernel.changes import Applied, Outcome
from engram_kernel.errors import Busy
from engram_kernel.model import Collection, Event
from engram_kernel.query import Query

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from hashing_provider import Hashing

sys.path.pop(0)


@pytest.fixture(scope="session", autouse=True)
def _hashing_provider() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "support"))
        yield
    sys.modules.pop("hashing_provider", None)


class Chosen:
    """A Selection of given numbers."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self.numbers = np.unique(np.fromiter(numbers, np.int64))

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        return number in self.numbers

    def mask(self) -> Any:
        mask = np.zeros(int(self.numbers.max(initial=-1)) + 1, bool)
        mask[self.numbers] = True
        return mask


class HashEmbedder:
    """Words as directions; `ready` False stands for a model that loads. `parts` splits a text into windows at `|`."""

    def __init__(self, model: str = "test", dimension: int = 64) -> None:
        self.model, self.dimension, self.ready = model, dimension, True
        self._hashing = Hashing(f"{model}:{dimension}")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        if not self.ready:
            raise Busy("The model is loading.")
        return [self._one([text] if query else text.split("|")) for text in texts]

    def _one(self, windows: list[str]) -> bytes:
        vectors = np.asarray(self._hashing.encode(windows, query=False))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4").tobytes()


@dataclass
class FakeStore:
    """Vectors by model and number; every write is one commit with one event."""

    name: str = "a"
    kept: dict[tuple[str, int], bytes] = field(default_factory=dict)
    living: set[int] = field(default_factory=set)
    changes: list[tuple[int, int]] = field(default_factory=list)
    sequences: int = 0
    listeners: list[Callable[[Applied], None]] = field(default_factory=list)
    failing: bool = False
    reads: list[int] = field(default_factory=list)

    def embed(self, model: str, vectors: Mapping[int, bytes]) -> None:
        """New memories with their vectors, or new vectors of old ones."""
        fresh = [number for number in vectors if number not in self.living]
        self.living.update(vectors)
        if fresh:
            self.sequences += 1
            self.changes += [(self.sequences, number) for number in fresh]
            self._tell("put", fresh)
        self.kept.update({(model, number): data for number, data in vectors.items()})
        self.sequences += 1
        self._tell("embed", vectors)

    def retire(self, *numbers: int) -> None:
        self.living.difference_update(numbers)
        self.sequences += 1
        self.changes += [(self.sequences, number) for number in numbers]
        self._tell("retire", numbers)

    def revise(self, number: int) -> None:
        """New content: the old vectors count no longer."""
        self.kept = {key: data for key, data in self.kept.items() if key[1] != number}
        self.sequences += 1
        self.changes.append((self.sequences, number))
        self._tell("revise", [number])

    def _tell(self, operation: str, numbers: Iterable[int]) -> None:
        applied = Applied(self.sequences, tuple(Outcome(operation, "c", str(n), n, 1) for n in numbers))
        for listener in self.listeners:
            listener(applied)

    def vectors(self, model: str, numbers: Sequence[int]) -> dict[int, bytes]:
        if self.failing:
            raise OSError("the store is gone")
        self.reads += numbers
        return {n: self.kept[model, n] for n in numbers if n in self.living and (model, n) in self.kept}

    def changed_since(self, sequence: int, limit: int = 1000) -> list[tuple[int, int]]:
        return [change for change in self.changes if change[0] > sequence][:limit]

    def cards(self, kind: type) -> list[Collection]:
        return [Collection(id="c", title="C", tool_set="thoughts")]

    def select(self, query: Query) -> Chosen:
        assert query.collections == ("c",)
        return Chosen(self.living)

    def subscribe(self, listener: Callable[[Applied], None]) -> None:
        self.listeners.append(listener)

    def sequence(self) -> int:
        return self.sequences

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        numbers = range(after + 1, min(self.sequences, after + limit) + 1)
        return [
            Event(sequence=n, operation="put", recorded_at=moment, actor="t", payload="", previous="", hash=f"{self.name}{n}")
            for n in numbers
        ]


class Bench:
    """A fake store with a ranker on it that can be closed, crashed and opened again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store, self.embedder = folder, FakeStore(), HashEmbedder()
        self.pace = Pace(flush_vectors=1000, idle_seconds=3600, start_seconds=0, retry_seconds=0.05)
        self.exact = 20_000
        self._open: VectorRanker | None = None

    def fill(self, texts: Mapping[int, str]) -> None:
        if texts:
            self.store.embed(self.embedder.model, dict(zip(texts, self.embedder.embed(list(texts.values())), strict=True)))

    def ranker(self) -> VectorRanker:
        if self._open is None:
            self._open = VectorRanker(self.store, self.embedder, self.folder, self.exact, self.pace)  # type: ignore[arg-type]
            until(lambda: self._open.health()["state"] == "ready")
        return self._open

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
        self.store.listeners.clear()

    def reopen(self) -> VectorRanker:
        self.close()
        self.store.reads.clear()
        return self.ranker()

    def crash(self) -> None:
        """Leave the ranker as a killed process would: nothing is saved any more."""
        assert self._open is not None
        keeper = self._open._keeper
        keeper._stop.set()
        keeper._wake.set()
        keeper._thread.join()
        self._open = None
        self.store.listeners.clear()

    def scores(self, text: str, depth: int = 10, among: Iterable[int] | None = None) -> dict[int, float]:
        ranker = self.ranker()
        until(lambda: not ranker._keeper._noted)
        found = ranker.rank(text, Chosen(self.store.living if among is None else among), depth)
        assert found is not None
        return {candidate.number: candidate.score for candidate in found}

    def find(self, text: str, depth: int = 10, among: Iterable[int] | None = None) -> list[int]:
        return list(self.scores(text, depth, among))

    def facts(self) -> dict[str, str]:
        return self.ranker().health()


def until(true: Callable[[], Any], seconds: float = 20) -> None:
    """Wait for something that happens in the background."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


@pytest.fixture
def tools() -> Any:
    """until, Chosen, HashEmbedder: for tests, which cannot import this file."""

    class Tools:
        pass

    made = Tools()
    made.until, made.Chosen, made.HashEmbedder = until, Chosen, HashEmbedder  # type: ignore[attr-defined]
    return made

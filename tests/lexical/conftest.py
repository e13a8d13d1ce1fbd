"""A store in memory with just the methods the index uses, and short ways to fill and search it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram_kernel.changes import Applied, Outcome
from engram_kernel.model import Event, Memory
from engram_lexical.keeper import Pace
from engram_lexical.ranker import LexicalRanker


@dataclass(frozen=True)
class Chosen:
    """A Selection of given numbers."""

    numbers: frozenset[int]

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, number: int) -> bool:
        return number in self.numbers

    def mask(self) -> Any:
        mask = np.zeros(max(self.numbers, default=-1) + 1, bool)
        mask[list(self.numbers)] = True
        return mask


@dataclass
class FakeStore:
    """Keeps the latest version of each memory; every write is one commit with one event."""

    name: str = "a"
    memories: dict[int, Memory] = field(default_factory=dict)
    changes: list[tuple[int, int]] = field(default_factory=list)
    sequences: int = 0
    listeners: list[Callable[[Applied], None]] = field(default_factory=list)
    failing: bool = False

    def write(self, *memories: Memory | int) -> list[int]:
        """Put new memories (number 0) or new versions; a bare number is retired."""
        numbers = []
        self.sequences += 1
        for item in memories:
            number = item if isinstance(item, int) else item.number or len(self.memories) + 1
            if isinstance(item, int):
                self.memories[number] = None  # type: ignore[assignment]
            else:
                self.memories[number] = replace(item, number=number)
            numbers.append(number)
            self.changes.append((self.sequences, number))
        applied = Applied(self.sequences, tuple(Outcome("put", "c", str(n), n, 1) for n in numbers))
        for listener in self.listeners:
            listener(applied)
        return numbers

    def add(self, *texts: str) -> list[int]:
        return self.write(*(make_memory(text) for text in texts))

    def by_number(self, numbers: Sequence[int]) -> list[Memory | None]:
        if self.failing:
            raise OSError("the store is gone")
        return [self.memories.get(number) for number in numbers]

    def changed_since(self, sequence: int, limit: int = 1000) -> list[tuple[int, int]]:
        return [change for change in self.changes if change[0] > sequence][:limit]

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

    def all(self) -> Chosen:
        return Chosen(frozenset(number for number, item in self.memories.copy().items() if item is not None))


def make_memory(text: str, title: str = "", number: int = 0) -> Memory:
    return Memory(collection="c", id=f"m{number}", kind="NOTE", text=text, title=title, number=number)


class Bench:
    """A fake store with a ranker on it that can be closed, crashed and opened again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, FakeStore()
        self.pace = Pace(flush_documents=1000, idle_seconds=3600)
        self._open: list[LexicalRanker] = []

    def fill(self, texts: Mapping[int, str]) -> None:
        for number, text in texts.items():
            self.store.write(make_memory(text, number=number))

    def ranker(self) -> LexicalRanker:
        if not self._open:
            self._open.append(LexicalRanker(self.store, self.folder, self.pace))  # type: ignore[arg-type]
        return self._open[0]

    def close(self) -> None:
        while self._open:
            self._open.pop().close()

    def reopen(self) -> LexicalRanker:
        self.close()
        self.store.listeners.clear()
        return self.ranker()

    def crash(self) -> None:
        """Leave the ranker as a killed process would: nothing is saved any more."""
        self.store.listeners.clear()
        for ranker in self._open:
            ranker._keeper._stop.set()
            ranker._keeper._wake.set()
            ranker._keeper._thread.join()
        self._open.clear()

    def find(self, text: str, depth: int = 10, among: Iterable[int] | None = None) -> list[int]:
        chosen = self.store.all() if among is None else Chosen(frozenset(among))
        return [candidate.number for candidate in self.ranker().rank(text, chosen, depth)]

    def texts(self, text: str, depth: int = 10) -> list[str]:
        return [self.store.memories[number].text for number in self.find(text, depth)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


@pytest.fixture
def fresh_bench(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[Bench]]:
    """A new bench for each example of a property test."""

    @contextmanager
    def build() -> Iterator[Bench]:
        made = Bench(tmp_path_factory.mktemp("lexical"))
        try:
            yield made
        finally:
            made.close()

    return build


@pytest.fixture
def memory() -> Callable[..., Memory]:
    """memory(text, title="", number=0)"""
    return make_memory

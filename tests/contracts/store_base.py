"""What the parts of the store contract share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.changes import (
    Applied,
    Change,
    ChangeSet,
    Put,
)
from engram_kernel.errors import EngramError
from engram_kernel.model import Edge, Memory, Ref
from engram_kernel.query import Query
from engram_kernel.store import Store, StoreProvider


def memory(name: str, text: str = "", **fields: Any) -> Memory:
    return Memory(**{"collection": "a", "id": name, "kind": "NOTE", "text": text or f"text of {name}", **fields})


def edge(name: str, source: str, target: str, **fields: Any) -> Edge:
    return Edge(**{"id": name, "source": Ref("a", source), "target": Ref("a", target), "type": "ABOUT", **fields})


def ref(name: str) -> Ref:
    return Ref("a", name)


def day(number: int, month: int = 1) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def apply(store: Store, *changes: Change, **options: Any) -> Applied:
    return store.apply(ChangeSet(changes, **options))


def put(store: Store, *names: str, **fields: Any) -> None:
    apply(store, *(Put(memory(name, **fields)) for name in names))


def ask(**fields: Any) -> Query:
    return Query(**{"collections": ("a",), **fields})


def ids(store: Store, **fields: Any) -> list[str]:
    return [found.id for found in store.find(ask(**fields)).items]


def one(store: Store, name: str) -> Memory:
    found = store.get([ref(name)])[0]
    assert found is not None
    return found


def refused(store: Store, kind: type[EngramError], *changes: Change) -> EngramError:
    """The error of a ChangeSet that must fail and change nothing."""
    before = (store.sequence(), store.statistics(["a"]))
    with pytest.raises(kind) as caught:
        apply(store, *changes)
    assert (store.sequence(), store.statistics(["a"])) == before
    return caught.value


def before_and_after(store: Store, open_store: Callable[[], Store]) -> Iterator[Store]:
    """The store as it runs, then opened again from what is on disk."""
    yield store
    yield open_store()


class StoreFixtures:
    """A fresh store for each test, on whatever `provider` gives."""

    @pytest.fixture
    def provider(self) -> StoreProvider:
        raise NotImplementedError

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "data"

    @pytest.fixture
    def open_store(self, provider: StoreProvider, folder: Path) -> Iterator[Callable[[], Store]]:
        """Opens the store of the test, closing it first when it is open."""
        opened: list[Store] = []

        def reopen() -> Store:
            while opened:
                opened.pop().close()
            opened.append(provider.open(folder, {}))
            return opened[-1]

        yield reopen
        while opened:
            opened.pop().close()

    @pytest.fixture
    def store(self, open_store: Callable[[], Store]) -> Store:
        return open_store()

"""Vectors belong to one content of a memory."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Embed, Put, Revise
from engram_kernel.errors import InvalidInput
from engram_kernel.model import Memory, Ref

A = Ref("c", "a")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DuckStore]:
    opened = DuckStore(tmp_path, Settings())
    opened.apply(ChangeSet((Put(Memory(collection="c", id="a", kind="NOTE", text="old")),)))
    yield opened
    opened.close()


def test_a_memory_may_have_the_vectors_of_several_windows(store: DuckStore) -> None:
    three = struct.pack("<6f", *range(6))
    store.apply(ChangeSet((Embed(A, "m", 2, three),)))
    assert store.vectors("m", [1]) == {1: three}
    for wrong in (three[:-4], three[:-1], b""):
        with pytest.raises(InvalidInput):
            store.apply(ChangeSet((Embed(A, "m", 2, wrong),)))


def test_vectors_of_another_content_are_not_attached(store: DuckStore) -> None:
    (before,) = store.get([A])
    assert before is not None
    store.apply(ChangeSet((Revise(A, {"text": "new"}),)))
    applied = store.apply(ChangeSet((Embed(A, "m", 1, b"abcd", before.content_hash),)))
    assert [outcome.changed for outcome in applied.outcomes] == [False]
    assert store.vectors("m", [1]) == {}
    (after,) = store.get([A])
    assert after is not None
    store.apply(ChangeSet((Embed(A, "m", 1, b"abcd", after.content_hash),)))
    assert store.vectors("m", [1]) == {1: b"abcd"}

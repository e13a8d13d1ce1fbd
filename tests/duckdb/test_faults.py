"""What the database may refuse: nothing is half applied, the store goes on, the error says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Put
from engram_kernel.errors import Busy, EngramError, StoreUnusable
from engram_kernel.model import Memory
from engram_kernel.query import Query

Opener = Callable[..., DuckStore]
FULL = duckdb.TransactionException("Failed to commit: Could not write file: No space left on device")


def put(store: DuckStore, name: str, text: str = "text") -> None:
    store.apply(ChangeSet((Put(Memory(collection="a", id=name, kind="NOTE", text=text)),)))


def names(store: DuckStore) -> set[str]:
    return {memory.id for memory in store.find(Query(collections=("a",))).items}


class Faults:
    """Raises at chosen steps; each entry is used once."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Exception]] = {}

    def arm(self, step: str, *errors: Exception) -> None:
        self.waiting[step] = list(errors)

    def __call__(self, step: str) -> None:
        if self.waiting.get(step):
            raise self.waiting[step].pop(0)


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.mark.parametrize("step", ["write", "commit"])
def test_a_full_disk_is_reported_and_changes_nothing(open_store: Opener, faults: Faults, step: str) -> None:
    store = open_store(faults)
    put(store, "m1")
    faults.arm(step, FULL)
    with pytest.raises(StoreUnusable, match=r"disk is full.*Nothing was changed.*Free some space"):
        put(store, "m2")
    assert (names(store), store.sequence()) == ({"m1"}, 1)
    put(store, "m3")
    assert store.verify(deep=True).sound
    assert names(open_store()) == {"m1", "m3"}


def test_a_refused_group_is_tried_one_by_one(open_store: Opener, faults: Faults) -> None:
    store = open_store(faults)
    # The group fails once, and one of its members once more: all others must get through.
    faults.arm("commit", FULL, FULL)
    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(lambda number: _outcome(store, f"m{number}"), range(12)))
    assert 1 <= results.count("refused") <= 2
    assert names(store) == {f"m{number}" for number, result in enumerate(results) if result == "put"}
    assert store.verify(deep=True).sound


def _outcome(store: DuckStore, name: str) -> str:
    try:
        put(store, name)
        return "put"
    except StoreUnusable:
        return "refused"


@pytest.mark.parametrize(("step", "stays"), [("write", False), ("commit", False), ("committed", True)])
def test_a_fatal_error_opens_the_database_again(open_store: Opener, faults: Faults, step: str, stays: bool) -> None:
    """The answer tells what is really on disk, also when the failure came after the commit."""
    store = open_store(faults)
    heard: list[int] = []
    store.subscribe(lambda applied: heard.append(applied.sequence))
    put(store, "m1")
    faults.arm(step, duckdb.FatalException("database has been invalidated"))
    if stays:
        put(store, "m2")
    else:
        with pytest.raises((Busy, StoreUnusable)):
            put(store, "m2")
    assert names(store) == ({"m1", "m2"} if stays else {"m1"})
    put(store, "m3")
    assert heard == list(range(1, store.sequence() + 1))
    assert store.verify(deep=True).sound
    assert names(open_store()) == names(store)


def test_a_failed_checkpoint_loses_nothing(open_store: Opener, faults: Faults) -> None:
    store = open_store(faults, idle_seconds=0.05)
    faults.arm("checkpoint", duckdb.FatalException("No space left on device"))
    put(store, "m1")
    _wait(lambda: not faults.waiting["checkpoint"])
    put(store, "m2")
    assert names(store) == {"m1", "m2"}
    assert names(open_store()) == {"m1", "m2"}


def test_no_checkpoint_without_room(open_store: Opener) -> None:
    store = open_store(spare_mb=1 << 40)
    put(store, "m1")
    assert store.health()["checkpoint"].startswith("postponed")
    assert names(open_store()) == {"m1"}


def test_an_unexpected_failure_is_an_unknown_outcome(open_store: Opener, faults: Faults) -> None:
    store = open_store(faults)
    faults.arm("write", RuntimeError("bug"))
    with pytest.raises(EngramError) as caught:
        put(store, "m1")
    assert caught.value.code == "outcome_unknown"
    put(store, "m2")
    assert names(store) == {"m2"}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real disk of 24 MB; skipped where mounting is not allowed."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.name != "posix":
        pytest.skip("cannot mount")
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("cannot mount")
    yield place
    subprocess.run([shutil.which("umount") or "umount", str(place)], check=True)


def test_a_really_full_disk(small_disk: Path) -> None:
    """Everything that was confirmed before, while and after the disk was full is there."""
    folder, ballast = small_disk / "data", small_disk / "ballast"
    folder.mkdir()
    confirmed: set[str] = set()
    store = DuckStore(folder, Settings(spare_mb=0, idle_seconds=0.05))
    try:
        failures = _write_until_refused(store, confirmed, ballast)
        assert "Nothing was changed" in str(failures[0])
        ballast.unlink()
        put(store, "after")
        confirmed.add("after")
        assert names(store) >= confirmed
    finally:
        store.close()
    again = DuckStore(folder, Settings())
    try:
        assert names(again) == confirmed
        assert again.verify(deep=True).sound
    finally:
        again.close()


def _write_until_refused(store: DuckStore, confirmed: set[str], ballast: Path) -> list[EngramError]:
    failures: list[EngramError] = []
    put(store, "first")
    confirmed.add("first")
    ballast.write_bytes(b"x" * (12 << 20))
    for number in range(200):
        try:
            put(store, f"m{number}", os.urandom(200_000).hex())
            confirmed.add(f"m{number}")
        except EngramError as error:
            failures.append(error)
            if len(failures) == 3:
                return failures
    raise AssertionError("the disk never filled up")


def _wait(done: Callable[[], Any]) -> None:
    import time

    for _ in range(200):
        if done():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def test_a_vanished_folder_does_not_end_the_writer(open_store: Opener, folder: Path) -> None:
    store = open_store(idle_seconds=0.05)
    put(store, "before")
    moved = folder.rename(folder.with_name("moved"))
    time.sleep(0.3)
    moved.rename(folder)
    put(store, "after")
    assert names(store) == {"before", "after"}

"""A killed process loses nothing that was confirmed, and nothing is there twice."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Put
from engram_kernel.model import Memory, Ref, State
from engram_kernel.query import Query

KILLS = 15
WRITER = Path(__file__).with_name("crashing_writer.py")


def _run_and_kill(folder: Path, start: int, seconds: float) -> list[int]:
    """The numbers that a writer confirmed before it was killed."""
    process = subprocess.Popen([sys.executable, str(WRITER), str(folder), str(start)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(seconds)
    finally:
        process.kill()
        rest = process.stdout.read()
        process.wait()
        process.stdout.close()
    lines = rest.split("\n")[:-1]
    return [int(line) for line in lines if line.strip()]


def test_case_07_kill_at_random_moments(tmp_path: Path) -> None:
    chance, confirmed, start = random.Random(7), set[int](), 0
    for _ in range(KILLS):
        confirmed |= set(_run_and_kill(tmp_path, start, chance.uniform(0.0, 0.4)))
        start = max(confirmed, default=0) + 1000
    assert len(confirmed) > KILLS
    store = DuckStore(tmp_path, Settings())
    try:
        _check(store, confirmed)
    finally:
        store.close()


def _check(store: DuckStore, confirmed: set[int]) -> None:
    found = store.find(Query(collections=("a",), states=tuple(State))).items
    numbers = [int(memory.id[1:]) for memory in found]
    assert len(numbers) == len(set(numbers))
    assert confirmed <= set(numbers)
    for memory in found:
        # All or nothing: the text, the confirmation and, for each fifth, the retirement of the same set.
        number = int(memory.id[1:])
        assert (memory.text, memory.confirmations, memory.metadata) == (f"text {number}", 1, {"n": number})
        assert (memory.state is State.RETIRED) == (number % 5 == 0)
    assert all((done := store.recorded(f"r{number}")) is not None and done.repeated for number in confirmed)
    report = store.verify(deep=True)
    assert report.faults == ()
    assert report.events == store.sequence() == len(found)


def test_a_resent_write_after_a_kill_happens_once(tmp_path: Path) -> None:
    confirmed = _run_and_kill(tmp_path, 1, 0.4)
    store = DuckStore(tmp_path, Settings())
    try:
        number = confirmed[0]
        before = store.sequence()
        again = store.apply(ChangeSet((Put(Memory(collection="a", id=f"m{number}", kind="NOTE", text="again")),), reference=f"r{number}"))
        assert again.repeated and store.sequence() == before
        found = store.get([Ref("a", f"m{number}")])[0]
        assert found is None or found.text != "again"
    finally:
        store.close()

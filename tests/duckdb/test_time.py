"""Stored moments do not depend on where the machine stands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from engram_duckdb.plugin import Provider
from engram_kernel.changes import ChangeSet, Put
from engram_kernel.model import Memory
from engram_kernel.query import And, Compare, Like, Order, Query, ValidAt, ValidBetween, ValidWithin

store = Provider().open(Path(sys.argv[1]), {})
moments = [datetime(2026, 3, 8, hour, 30) for hour in (1, 2, 3, 6, 7)] + [datetime(2026, 11, 1, hour) for hour in (0, 1, 2, 5, 6)]
moments += [moment.replace(tzinfo=timezone(timedelta(hours=5, minutes=30))) for moment in moments]
for number, moment in enumerate(moments):
    end = moment + timedelta(hours=1)
    memory = Memory(collection="a", id=f"m{number}", kind="N", text="x", valid_from=moment, valid_until=end, created_at=moment)
    store.apply(ChangeSet((Put(memory),)))
store.close()
store = Provider().open(Path(sys.argv[1]), {})
slow = Like("text", "%")
for moment in moments:
    for where in (ValidAt(moment), ValidWithin(moment, moment + timedelta(hours=2)), ValidBetween(moment, moment + timedelta(hours=1)),
                  Compare("valid_from", "<", moment), Compare("created_at", ">=", moment)):
        for tree in (where, And((where, slow))):
            print([memory.id for memory in store.find(Query(collections=("a",), where=tree)).items])
for memory in store.find(Query(collections=("a",), order=(Order("valid_from"),))).items:
    print(memory.id, memory.valid_from.isoformat(), memory.valid_until.isoformat(), memory.created_at.isoformat())
    assert abs(memory.updated_at.timestamp() - __import__("time").time()) < 600
print(store.verify(deep=True).faults)
store.close()
"""


def _run(zone: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_case_18_every_zone_gives_the_same_answers(tmp_path: Path) -> None:
    wanted = _run("UTC", tmp_path / "utc")
    assert "m1 2026-03-08T02:30:00+00:00" in wanted and wanted.endswith("()\n")
    for zone in ("Asia/Kolkata", "America/New_York"):
        assert _run(zone, tmp_path / zone.replace("/", "-")) == wanted


@pytest.mark.parametrize("zone", ["America/New_York"])
def test_case_18_a_store_can_move_to_another_zone(tmp_path: Path, zone: str) -> None:
    _run("UTC", tmp_path)
    read = (
        "import sys\nfrom pathlib import Path\nfrom engram_duckdb.plugin import Provider\nfrom engram_kernel.query import Query\n"
        "store = Provider().open(Path(sys.argv[1]), {})\nfirst = store.find(Query(collections=('a',))).items[-1]\n"
        "print(first.valid_from.isoformat())\nstore.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", read, str(tmp_path)], env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "2026-03-08T01:30:00+00:00"

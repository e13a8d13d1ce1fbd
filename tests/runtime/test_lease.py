"""The lease and the owner's record."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

from engram_runtime import lease

HOLD = """
import pathlib, sys
from engram_runtime.lease import Lease
held = Lease(pathlib.Path(sys.argv[1]))
print(held.acquire(), flush=True)
sys.stdin.read()
"""


def test_one_process_holds_the_lease_and_its_death_frees_it(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline().strip() == b"True"
    ours = lease.Lease(tmp_path)
    assert not ours.acquire()
    holder.kill()
    holder.wait()
    assert ours.acquire()


def test_two_leases_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    first, second = lease.Lease(tmp_path), lease.Lease(tmp_path)
    assert first.acquire() and first.held
    assert not second.acquire()
    first.release()
    assert second.acquire()


def test_the_lock_file_outlives_its_owner(tmp_path: Path) -> None:
    held = lease.Lease(tmp_path)
    held.acquire()
    held.release()
    assert (tmp_path / lease.LOCK).exists()


def test_the_record_is_private_and_reads_back(tmp_path: Path) -> None:
    record = lease.OwnerRecord(12, "1.2.3", "/run/x.sock", "secret")
    lease.Lease(tmp_path).publish(record)
    assert lease.read_record(tmp_path) == record
    assert stat.S_IMODE((tmp_path / lease.RECORD).stat().st_mode) == 0o600


def test_an_unreadable_record_counts_as_none(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"pid": 1}', '{"pid": 1, "version": "1", "endpoint": "x", "key": "k", "more": 1}'):
        (tmp_path / lease.RECORD).write_text(text)
        assert lease.read_record(tmp_path) is None

"""Several hosts on one data folder: sharing, hand-over, leaving."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from engram_runtime.cli.line_client import Host, ToolRefused


def add(host: Host, text: str, **more: Any) -> str:
    thought: str = host.call("store_thought", essence=text[:200], content=text, **more)["thought"]["thought_id"]
    return thought


def found(host: Host, words: str) -> list[str]:
    return [hit["thought_id"] for hit in host.call("search_keywords", query=words)["results"]]


def test_case_01_two_hosts_work_on_one_folder(host) -> None:
    one, two = host(name="one"), host(name="two")
    first = add(one, "The heron waits by the river")
    second = add(two, "The otter sleeps under the bridge")
    assert found(two, "heron") == [first]
    assert found(one, "otter") == [second]


def test_case_02_the_first_server_lives_on_when_a_second_starts(host, owner) -> None:
    one = host(name="one")
    add(one, "kept")
    before = owner.pid
    two = host(name="two")
    add(two, "also kept")
    assert one.process.poll() is None
    assert owner.pid == before
    assert one.call("memory_stats")["thought_count"] == 2


def test_case_03_an_idle_host_does_not_keep_others_from_writing(host) -> None:
    one = host(name="one")
    add(one, "written first")
    two = host(name="two")
    time.sleep(2.0)
    assert add(two, "written while the first sits idle")
    assert one.call("memory_stats")["thought_count"] == 2


def test_case_04_twenty_parallel_stores_on_one_connection(host) -> None:
    one = host()
    requests = [one.start_call("store_thought", essence=f"note {number}", content=f"body {number}") for number in range(20)]
    ids = [one.finish_call(request)["thought"]["thought_id"] for request in requests]
    assert len(set(ids)) == 20
    listed = {item["thought_id"]: item["content"] for item in one.call("list_memory", limit=100)["thoughts"]}
    assert listed == {thought: f"body {number}" for number, thought in enumerate(ids)}


def test_the_owner_stays_for_a_silent_host_and_leaves_after_the_last_one(host, owner, until) -> None:
    one = host()
    add(one, "something")
    time.sleep(3.0)
    assert owner.running()
    assert one.call("memory_stats")["thought_count"] == 1
    one.close()
    assert until(lambda: not owner.running(), 15)
    assert until(lambda: not owner.processes(), 5)


def test_a_host_that_comes_back_finds_everything(host, owner, until) -> None:
    one = host()
    thought = add(one, "The kettle is on the second shelf")
    one.close()
    assert until(lambda: not owner.running(), 15)
    again = host()
    assert found(again, "kettle") == [thought]


def test_standalone_serves_others_too_and_they_go_on_when_it_leaves(host, owner) -> None:
    alone = host("--standalone", name="alone")
    assert owner.pid == alone.process.pid
    guest = host(name="guest")
    first = add(guest, "The ferry leaves at noon")
    assert found(alone, "ferry") == [first]
    assert alone.close() == 0
    assert found(guest, "ferry") == [first]
    second = add(guest, "The ferry also leaves at dusk")
    assert set(found(guest, "ferry")) == {first, second}


def test_a_second_standalone_host_joins_the_first(host, owner) -> None:
    one, two = host("--standalone", name="one"), host("--standalone", name="two")
    assert owner.pid == one.process.pid
    thought = add(two, "The gate code changed")
    assert found(one, "gate") == [thought]


@pytest.fixture
def newer_version(tmp_path: Path) -> str:
    """A folder for PYTHONPATH that makes this installation call itself version 99."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import engram_kernel\nengram_kernel.__version__ = '99.0.0'\n")
    return str(site)


def test_an_older_owner_steps_down_for_a_newer_host(host, owner, newer_version: str) -> None:
    old = host(name="old")
    first = add(old, "written under the older version")
    before = owner.pid
    new = host(name="new", PYTHONPATH=newer_version)
    assert owner.pid != before
    assert found(new, "written") == [first]
    second = add(old, "the older host still works")
    assert found(new, "older") and {first, second} == set(found(old, "older"))


class Worker:
    """One host of the load test: four of five calls read, the rest write; counts what must add up afterwards."""

    def __init__(self, host: Host, seed: int, seconds: float) -> None:
        self.host, self.errors = host, []
        self.stored: list[str] = []
        self.counted = self.calls = 0
        self._random = random.Random(seed)
        self._seconds = seconds
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        end = time.monotonic() + self._seconds
        try:
            while time.monotonic() < end:
                self._read() if self._random.random() < 0.8 else self._write()
                self.calls += 1
        except Exception as error:
            self.errors.append(repr(error))

    def _read(self) -> None:
        kind = self._random.randrange(3)
        if kind == 0 and self.stored:
            assert self.host.call("get_thought", thought_id=self._random.choice(self.stored))["found"]
        elif kind == 1:
            self.host.call("list_memory", limit=10)
        else:
            self.host.call("search_memory", query_text="load memory", top_k=5)

    def _write(self) -> None:
        if self._random.random() < 0.5:
            self.stored.append(add(self.host, f"load memory {self.host.name} {len(self.stored)}"))
        else:
            self._count()

    def _count(self) -> None:
        """Raise a shared number by one, the way a careful client does: with the revision that was read."""
        while True:
            seen = self.host.call("get_thought", thought_id="counter", include_history=True)
            try:
                self.host.call(
                    "update_thought",
                    thought_id="counter",
                    content=str(int(seen["thought"]["content"]) + 1),
                    expected_revision=seen["revision"],
                )
            except ToolRefused as refusal:
                assert "revision" in str(refusal) or "changed" in str(refusal)
                continue
            self.counted += 1
            return


def test_four_hosts_read_and_write_at_once(host, owner, slow: bool) -> None:
    hosts = [host(name=f"host{number}") for number in range(4)]
    add(hosts[0], "0", thought_id="counter")
    workers = [Worker(one, seed, 20.0 if slow else 5.0) for seed, one in enumerate(hosts)]
    for worker in workers:
        worker.thread.start()
    for worker in workers:
        worker.thread.join()
    assert [error for worker in workers for error in worker.errors] == []
    assert all(worker.calls for worker in workers)
    assert hosts[1].call("get_thought", thought_id="counter")["thought"]["content"] == str(sum(worker.counted for worker in workers))
    stored = [thought for worker in workers for thought in worker.stored]
    assert hosts[2].call("memory_stats")["thought_count"] == len(stored) + 1
    assert all(hosts[3].call("get_thought", thought_id=thought)["found"] for thought in stored)
    assert owner.verify()["faults"] == []

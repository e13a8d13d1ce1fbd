"""Real hosts on a fresh data folder: each starts the installed `engram-mcp` over stdio."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from engram_runtime import lease
from engram_runtime.cli.line_client import Host, clean_environment

IDLE = "1.5"
SLOW = bool(os.environ.get("ENGRAM_SLOW_TESTS"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A server that hangs must not hold up the suite for long."""
    for item in items:
        if "e2e" in item.path.parts and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600 if SLOW else 120))


def processes(folder: Path) -> list[int]:
    """Living processes that belong to a data folder: owners name it, pipes have it in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
            zombie = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if str(folder).encode() in words and not zombie and int(place.name) != os.getpid():
            found.append(int(place.name))
    return found


@pytest.fixture
def data_folder(tmp_path: Path) -> Iterator[Path]:
    """A data folder that does not exist yet; whatever still runs on it afterwards is ended."""
    folder = tmp_path / "data"
    yield folder
    for pid in processes(folder):
        os.kill(pid, signal.SIGKILL)


StartHost = Callable[..., Host]


@pytest.fixture
def host(data_folder: Path) -> Iterator[StartHost]:
    """Starts hosts: `host(*arguments, name=..., ready=True, VARIABLE=value)`; with `ready` the handshake is done."""
    started: list[Host] = []

    def start(*arguments: str, name: str = "host", ready: bool = True, folder: Path | None = None, **environment: str) -> Host:
        settings = {"ENGRAM_OWNER_IDLE_SECONDS": IDLE, "ENGRAM_PROFILE": "thoughts", **environment}
        one = Host(clean_environment(folder or data_folder, **settings), arguments, name=name)
        started.append(one)
        if ready:
            one.initialize()
        return one

    yield start
    for one in started:
        one.close()


class OwnerProcess:
    """The owner of a data folder, looked at from outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def pid(self) -> int:
        record = lease.read_record(self.folder)
        assert record is not None, "no owner has published itself"
        return record.pid

    def kill(self) -> int:
        """End it without ceremony; returns the process id it had."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        return pid

    def running(self) -> bool:
        """Whether any process holds the lease."""
        if not self.folder.exists():
            return False
        probe = lease.Lease(self.folder)
        free = probe.acquire()
        probe.release()
        return not free

    def processes(self) -> list[int]:
        return processes(self.folder)

    def verify(self) -> dict[str, Any]:
        """What `engram verify --deep` finds."""
        from engram_runtime.client import OwnerClient

        client = OwnerClient.connect(clean_environment(self.folder, ENGRAM_OWNER_IDLE_SECONDS=IDLE))
        try:
            found: dict[str, Any] = client.call("verify", {"deep": True}, operator=True)
        finally:
            client.close()
        return found


@pytest.fixture
def owner(data_folder: Path) -> OwnerProcess:
    return OwnerProcess(data_folder)


Until = Callable[..., bool]


@pytest.fixture
def until() -> Until:
    """`until(condition, seconds)` waits for a condition and says whether it came true."""

    def wait(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    return wait


ReadAll = Callable[[Host, str], list[dict[str, Any]]]


@pytest.fixture
def read_all() -> ReadAll:
    """`read_all(host, condition)`: every row of a FIND, page by page."""

    def read(one: Host, condition: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        while True:
            query = f"FIND thoughts WHERE {condition} ORDER BY thought_id LIMIT 50 OFFSET {len(rows)}"
            page = one.call("query_memory", query=query)["rows"]
            if not page:
                return rows
            rows += page

    return read


NEEDED: Mapping[str, Mapping[str, Any]] = {
    "store_thought": {"essence": "a new thought", "content": "its text"},
    "update_thought": {"thought_id": "first"},
    "delete_thought": {"thought_id": "nobody"},
    "link_thoughts": {"from_thought_id": "first", "to_thought_id": "second", "edge_type": "ASSOCIATED"},
    "delete_edge": {"edge_id": "nobody"},
    "get_thought": {"thought_id": "first"},
    "search_memory": {"query_text": "lantern"},
    "search_keywords": {"query": "lantern"},
    "query_memory": {"query": "FIND thoughts ORDER BY thought_id"},
    "get_edges": {"thought_id": "first"},
    "list_memory": {},
    "list_edges": {},
    "memory_stats": {},
}
"""Arguments that a call of each tool needs at least."""


@pytest.fixture
def needed() -> Mapping[str, Mapping[str, Any]]:
    return NEEDED


@pytest.fixture(scope="session")
def slow() -> bool:
    """Whether the long runs are wanted (`make slow-test`)."""
    return SLOW

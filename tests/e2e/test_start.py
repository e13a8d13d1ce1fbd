"""Starting without a network, and leaving nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

WATCH = """
import os, socket, sys

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        address = arguments[1] if event == "socket.connect" else arguments[0]
        if not isinstance(address, (str, bytes)) or event != "socket.connect":
            with open(os.environ["WATCH_FILE"], "a") as file:
                file.write(f"{event} {arguments!r}\\n")
            raise OSError("there is no network here")

sys.addaudithook(watch)
"""


@pytest.fixture
def no_network(tmp_path: Path) -> dict[str, str]:
    """Environment in which every look-up and every connection but that to a local socket fails and is written down."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(WATCH)
    home = tmp_path / "home"
    home.mkdir()
    return {"PYTHONPATH": str(site), "WATCH_FILE": str(tmp_path / "attempts"), "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def test_case_33_a_cold_start_needs_no_network(host, no_network: dict[str, str]) -> None:
    one = host(**no_network)
    one.call("store_thought", essence="The well is dry", content="The well is dry since August")
    assert one.call("search_memory", query_text="well")["results"]
    assert one.close() == 0
    assert not Path(no_network["WATCH_FILE"]).exists()


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_case_34_twenty_hosts_come_and_go_and_none_is_left(host, owner, until) -> None:
    keeper = host(name="keeper")
    pid, before = owner.pid, open_files(owner.pid)
    for number in range(20):
        one = host(name=f"visitor{number}")
        one.call("memory_stats")
        one.kill() if number % 4 == 0 else one.close()
    assert owner.pid == pid
    assert until(lambda: len(owner.processes()) == 2), owner.processes()
    assert until(lambda: open_files(pid) <= before + 2), (before, open_files(pid))
    keeper.close()
    assert until(lambda: not owner.processes(), 15), owner.processes()
    assert not owner.running()

"""The owner in this process: who is let in, over which endpoint, and what it tells those it refuses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from engram_kernel import __version__
from engram_kernel.errors import ConfigError, LeaseHeld
from engram_runtime import lease, wire
from engram_runtime.client import OwnerClient
from engram_runtime.owner import Owner, read_config

Body = Callable[[Owner, lease.OwnerRecord], Awaitable[Any]]


def own(folder: Path, body: Body, *, tcp: bool = False, disabled: str = "") -> Any:
    """Run `body` beside an owner of `folder` and return what it returns."""

    async def run() -> Any:
        loaded = read_config(None, {}, {"plugins.disabled": [disabled]} if disabled else None)
        owner = Owner(folder, loaded, stay=True)
        await owner.take_lease()
        await owner.listen(tcp=tcp)
        record = lease.read_record(folder)
        assert record is not None
        running = asyncio.create_task(owner.run())
        try:
            return await body(owner, record)
        finally:
            owner.stop()
            await asyncio.gather(running, return_exceptions=True)
            owner.release()

    return asyncio.run(run())


def greet(record: lease.OwnerRecord, **changes: Any) -> dict[str, Any]:
    said = {**wire.hello("control", session="s", key=record.key, env={}, flags={}), **changes}
    lines = wire.LineSocket(wire.connect(record.endpoint))
    try:
        return lines.introduce(said)
    finally:
        lines.close()


@pytest.mark.parametrize("tcp", [False, True])
def test_commands_are_answered_over_both_kinds_of_endpoint(tmp_path: Path, tcp: bool) -> None:
    def ask() -> Any:
        client = OwnerClient.connect({"ENGRAM_DATA": str(tmp_path)}, start=False)
        stored = client.call("store_thought", {"essence": "one", "content": "text"})
        status = client.request("status")
        client.close()
        return stored, status

    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        assert wire.is_path(record.endpoint) is not tcp
        return await asyncio.to_thread(ask)

    stored, status = own(tmp_path, body, tcp=tcp)
    assert stored["created"] and status["version"] == __version__ and status["sessions"] == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "wrong"}, "key"),
        ({"engram": 0}, "protocol"),
        ({"engram": "x"}, "protocol"),
        ({"kind": "telnet"}, "kind"),
        ({"env": {"ENGRAM_PROFILE": "everything"}}, "config_error"),
        ({"flags": {"config": "/does/not/exist.yaml"}}, "config_error"),
    ],
)
def test_an_unfit_hello_is_refused_with_the_reason(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        return await asyncio.to_thread(greet, record, **changes)

    answer = own(tmp_path, body)
    assert answer["ok"] is False and answer["reason"] == reason and answer["text"]


def test_garbage_instead_of_a_hello_harms_nobody(tmp_path: Path) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        reader, writer = await asyncio.open_unix_connection(record.endpoint)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        refused = json.loads(await reader.readline())
        return refused, await asyncio.to_thread(greet, record)

    refused, welcome = own(tmp_path, body)
    assert refused["reason"] == "protocol" and welcome["ok"]


def test_a_newer_client_makes_the_owner_leave_and_keeps_others_from_starting_one(tmp_path: Path) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        return await asyncio.to_thread(greet, record, version="99.0.0")

    assert own(tmp_path, body)["reason"] == "handover"
    assert json.loads((tmp_path / lease.HANDOVER).read_text())["version"] == "99.0.0"


def test_what_keeps_the_kernel_from_starting_is_told_to_those_who_wait(tmp_path: Path) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        return await asyncio.to_thread(greet, record)

    answer = own(tmp_path, body, disabled="duckdb")
    assert answer["reason"] == ConfigError.code and "No storage plugin" in answer["text"]


def test_a_second_owner_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        other = Owner(tmp_path, read_config(None, {}), stay=True)
        with pytest.raises(LeaseHeld, match=str(record.pid)):
            await other.take_lease(patience=0.1)

    own(tmp_path, body)


def test_nothing_of_an_owner_is_left_but_its_lock_and_data(tmp_path: Path) -> None:
    async def body(owner: Owner, record: lease.OwnerRecord) -> Any:
        await asyncio.to_thread(greet, record)
        return Path(record.endpoint)

    endpoint = own(tmp_path, body)
    assert not endpoint.exists() and lease.read_record(tmp_path) is None
    assert lease.Lease(tmp_path).acquire()

"""Whatever a client sends: each line is settled exactly once, and a request with a readable id gets one answer."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
METHODS = ["ping", "initialize", "tools/list", "tools/call", "prompts/get", "resources/read", "completion/complete", "server/discover", "x"]
META = st.fixed_dictionaries(
    {},
    optional={
        "io.modelcontextprotocol/protocolVersion": st.sampled_from(["2026-07-28", "2025-11-25"]) | VALUES,
        "io.modelcontextprotocol/clientCapabilities": st.just({}) | VALUES,
        "progressToken": VALUES,
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["echo", "about", "crash", "note"]) | VALUES,
        "arguments": st.just({"text": "x"}) | VALUES,
        "uri": st.just("demo://notes") | VALUES,
        "requestState": VALUES,
        "inputResponses": VALUES,
        "_meta": META | VALUES,
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | st.just("2.0") | VALUES,
        "id": st.text(max_size=3) | st.integers(0, 10**20) | VALUES,
        "method": st.sampled_from(METHODS) | st.sampled_from(METHODS) | VALUES,
        "params": PARAMS | PARAMS | VALUES,
        "result": VALUES,
    },
)
LINES = (
    MESSAGES.map(lambda value: json.dumps(value).encode()) | VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=20)
)


def readable_id(line: bytes) -> object:
    """The id of a line that is certainly a request, else None."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("method"), str):
        return None
    request_id = value.get("id")
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None


async def exchange(world, lines: list[bytes]) -> None:
    host = world.connect()
    await host.greet()
    before = len(host.settled)
    first = host.number + 1
    for line in lines:
        host.send(line.replace(b"\n", b""))
    while len(host.settled) < before + len(lines) + 1:
        answers, payload = await asyncio.wait_for(host.connection.outbox.get(), 10)
        host.settled += [answers] if answers else []
        if payload:
            host.backlog.append(json.loads(payload))
    assert sorted(host.settled)[-len(lines) :] == list(range(first, first + len(lines)))
    said = [json.dumps(message["id"]) for message in host.backlog if "method" not in message]
    for line in lines:
        if (request_id := readable_id(line.replace(b"\n", b""))) is not None:
            assert json.dumps(request_id) in said
    assert all(("result" in message) != ("error" in message) for message in host.backlog if "method" not in message)
    assert "Traceback" not in json.dumps(host.backlog)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, min_size=1, max_size=8))
def test_any_lines_are_settled_and_answered(make_world_in, lines):
    async def scenario() -> None:
        with tempfile.TemporaryDirectory() as folder:
            world = make_world_in(Path(folder))
            try:
                await exchange(world, lines)
            finally:
                await world.close()

    asyncio.run(scenario())

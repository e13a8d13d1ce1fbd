"""Raw lines: every identifiable request is answered, and every line is settled."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytestmark = pytest.mark.anyio
ENVELOPE = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


def ping(request_id: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": "ping"}


@pytest.mark.parametrize(
    "line", [b"{nope", b'"', b'{"a":NaN}', b"\xff\xfe{}", b"[" * 100_000, b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}']
)
async def test_a_line_that_is_no_json_is_answered_and_serving_goes_on(world, line):
    host = world.connect()
    answer = await host.say(line)
    assert answer["id"] is None
    assert answer["error"]["code"] == -32700
    assert "Nothing was done" in answer["error"]["message"]
    assert (await host.say(ping()))["result"] == {}
    assert host.settled == [1, 2]


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        (5, None),
        ("x", None),
        (None, None),
        ({}, None),
        ({"jsonrpc": "2.0", "id": 7}, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": 1}, 7),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a"),
        ({"id": 7, "method": "ping"}, 7),
        ({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, 7),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None),
    ],
)
async def test_json_that_is_no_message_is_refused_with_the_id_when_readable(world, message, request_id):
    host = world.connect()
    answer = await host.say(json.dumps(message).encode())
    assert answer["error"]["code"] == -32600
    assert answer["id"] == request_id
    assert host.settled == [1]


async def test_lines_without_an_answer_are_settled_all_the_same(world):
    host = world.connect()
    silent: list[Any] = [
        b"",
        b"  \t",
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "note", "arguments": {"text": "x"}}},
        {"jsonrpc": "2.0", "method": "no/such/thing", "params": [1]},
        {"jsonrpc": "2.0", "id": 99, "result": {}},
        {"jsonrpc": "2.0", "id": 99, "error": {"nonsense": 1}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}},
    ]
    for line in silent:
        host.send(line)
    assert (await host.say(ping("last")))["id"] == "last"
    assert host.settled == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert len(host.raw) == 1
    assert world.store.notes == []


async def test_an_over_long_line_is_answered(world):
    host = world.connect()
    host.connection.inbox.put_nowait(ValueError("Separator is not found, and chunk exceed the limit"))
    answer = await host.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "too long" in answer["error"]["message"]
    assert (await host.say(ping()))["result"] == {}


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(
    ("method", "params", "place"),
    [
        ("tools/call", '{"name":"echo","arguments":{"text":"a\\ud800b"}}', "arguments.text"),
        ("tools/call", '{"name":"echo","arguments":{"text":"a\\u0000b"}}', "arguments.text"),
        ("tools/call", '{"name":"echo","arguments":{"tags":["ok","\\udfff"]}}', "arguments.tags.1"),
        ("tools/call", '{"name":"echo","arguments":{"\\udfff":1}}', "arguments"),
        ("tools/call", '{"name":"\\ud800"}', "name"),
        ("resources/read", '{"uri":"demo://note/\\ud800"}', "uri"),
        ("prompts/get", '{"name":"about","arguments":{"topic":"\\ud800"}}', "arguments.topic"),
        ("no/such", '{"deep":[[{"x":"\\u0000"}]]}', "deep.0.0.x"),
    ],
)
async def test_unusable_text_is_refused_with_its_place_never_with_silence(world, modern, method, params, place):
    host = world.connect()
    await host.greet()
    meta = f',"_meta":{json.dumps(ENVELOPE)}' if modern else ""
    answer = await host.say(f'{{"jsonrpc":"2.0","id":"q","method":"{method}","params":{params[:-1]}{meta}}}}}'.encode())
    assert answer["id"] == "q"
    assert answer["error"]["code"] == -32602
    assert f" {place}: " in answer["error"]["message"]


async def test_a_request_whose_id_is_unusable_text_is_answered_with_that_id(world):
    host = world.connect()
    answer = await host.say(b'{"jsonrpc":"2.0","id":"\\ud800","method":"no\\udfff"}')
    assert answer["id"] == "\ud800"
    assert answer["error"]["code"] == -32601


async def test_deep_nesting_is_refused(host):
    deep = '{"a":' * 300 + "1" + "}" * 300
    answer = await host.say(f'{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"echo","arguments":{deep}}}}}'.encode())
    assert answer["error"]["code"] == -32602
    assert "64 levels" in answer["error"]["message"]


async def test_an_id_in_use_is_refused_and_the_first_request_is_answered(world, host):
    first = {"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "slow", "arguments": {}}}
    host.send(first)
    refused = await host.say(first)
    assert refused["error"]["code"] == -32600
    assert "still running" in refused["error"]["message"]
    world.demo.gate.set()
    assert (await host.receive())["result"]["content"][0]["text"] == "done"
    assert (await host.say(ping("same")))["result"] == {}
    assert sorted(host.settled) == [1, 2, 3, 4, 5]


async def test_a_number_and_its_text_are_two_ids(world, host):
    for request_id in (77, "77"):
        host.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": "slow", "arguments": {}}})
    world.demo.gate.set()
    answers = [await host.receive(), await host.receive()]
    assert {json.dumps(answer["id"]) for answer in answers} == {"77", '"77"'}
    assert all("result" in answer for answer in answers)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_batches_are_refused_by_versions_without_them(world, version):
    host = world.connect()
    await host.greet(version)
    answer = await host.say([ping(1), ping(2)])
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert (await host.say(ping()))["result"] == {}


async def test_a_batch_before_the_handshake_is_refused(world):
    host = world.connect()
    assert (await host.say([ping(1)]))["error"]["code"] == -32600


async def test_batches_of_2025_03_26_get_one_list_of_answers(world):
    host = world.connect()
    await host.greet("2025-03-26")
    number = host.send(
        [
            ping("a"),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            7,
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}},
            {"jsonrpc": "2.0", "id": "c", "method": "initialize", "params": {}},
            {"jsonrpc": "2.0", "id": "d", "method": "no/such"},
        ]
    )
    answers = await host.receive()
    found = {answer["id"]: answer for answer in answers}
    assert len(answers) == 5
    assert found["a"]["result"] == {}
    assert found["b"]["result"]["structuredContent"] == {"said": "hi", "tags": []}
    assert [found[key]["error"]["code"] for key in (None, "c", "d")] == [-32600, -32600, -32601]
    assert host.settled.count(number) == 1


async def test_a_batch_without_requests_is_settled_in_silence_and_an_empty_one_refused(world):
    host = world.connect()
    await host.greet("2025-03-26")
    number = host.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 1, "result": {}}])
    assert (await host.say([]))["error"]["code"] == -32600
    assert host.settled.count(number) == 1


@pytest.mark.parametrize("asked", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", "x"])
async def test_the_handshake_echoes_known_versions_only(world, asked):
    said = await world.connect().greet(asked)
    known = asked.startswith(("2024", "2025"))
    assert said["protocolVersion"] == (asked if known else "2025-11-25")
    assert said["serverInfo"]["name"] == "engram-kernel"


async def test_both_eras_interleave_and_share_their_instructions(world):
    host = world.connect()
    modern = (await host.call("server/discover", modern=True))["result"]
    said = await host.greet()
    assert modern["supportedVersions"] == ["2026-07-28"]
    assert modern["resultType"] == "complete"
    assert (modern["ttlMs"], modern["cacheScope"]) == (3_600_000, "public")
    assert modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "engram-kernel"
    assert modern["instructions"] == said["instructions"]
    assert 100 < len(said["instructions"]) <= 512
    assert "ecall" in said["instructions"] and "tore" in said["instructions"]
    old, new = host.ask("tools/list"), host.ask("tools/list", modern=True)
    assert "ttlMs" not in (await host.answer(old))["result"]
    assert (await host.answer(new))["result"]["ttlMs"] == 3_600_000
    assert (await host.call("ping"))["result"] == {}


@pytest.mark.parametrize("method", ["ping", "initialize", "echo", "logging/setLevel", "resources/subscribe"])
async def test_methods_of_the_old_era_do_not_exist_in_the_new_one(host, method):
    assert (await host.call(method, modern=True))["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["server/discover", "echo", "no/such"])
async def test_unknown_methods_of_the_old_era(host, method):
    assert (await host.call(method))["error"]["code"] == -32601


async def test_an_unsupported_modern_version_says_which_are_supported(host):
    meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}}
    error = (await host.call("tools/list", **meta))["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


async def test_a_modern_request_must_declare_the_clients_capabilities_each_time(host):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    assert (await host.call("tools/list", modern=True))["result"]
    assert (await host.call("tools/list", **meta))["error"]["code"] == -32602


async def test_a_request_before_the_handshake_is_told_what_is_missing(world):
    error = (await world.connect().call("tools/list"))["error"]
    assert error["code"] == -32602
    assert "initialize first" in error["message"]


async def test_faulty_parameters_are_named(host):
    error = (await host.call("prompts/get", {"name": "about", "arguments": {"topic": 5}}))["error"]
    assert error["code"] == -32602
    assert "arguments.topic" in error["message"]
    assert "5" not in error["message"]


async def test_an_own_request_never_carries_an_id_of_another_owners_life(world):
    seen = set()
    for _ in range(2):
        host = world.connect()
        await host.greet(caps={"elicitation": {}})
        host.ask("tools/call", {"name": "save", "arguments": {"text": "x"}})
        seen.add((await host.message("elicitation/create"))["id"])
    assert len(seen) == 2
    assert max(seen) > 1000


async def test_the_end_of_input_ends_serving_and_leaves_open_requests_unanswered(world, host):
    host.ask("tools/call", {"name": "save", "arguments": {"text": "x"}})
    await host.message("elicitation/create")
    host.connection.inbox.put_nowait(None)
    await asyncio.wait_for(world.serving[0], 5)
    assert 3 not in host.settled
    assert host.connection.outbox.empty() or b'"error"' not in host.connection.outbox.get_nowait()[1]
    assert world.store.notes == []

"""Listing and calling tools; cancellation, progress, exactly-once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from engram_kernel.config import Config

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])


async def listed(host, **more):
    return {tool["name"]: tool for tool in (await host.call("tools/list", **more))["result"]["tools"]}


@ERAS
async def test_a_tool_is_listed_with_everything_a_host_decides_by(host, modern):
    tools = await listed(host, modern=modern)
    assert list(tools)[:4] == ["echo", "note", "save", "twice"]
    assert "hidden" not in tools
    echo = tools["echo"]
    assert echo["title"] == "Echo"
    assert echo["annotations"] == {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
    assert tools["slow_write"]["annotations"]["destructiveHint"] is True
    assert tools["note"]["annotations"]["readOnlyHint"] is False
    assert echo["_meta"] == {"x/y": 1}
    assert echo["inputSchema"]["additionalProperties"] is False
    assert set(echo["outputSchema"]["properties"]) == {"said", "tags"}
    assert "outputSchema" not in tools["steps"]
    assert await listed(host, modern=modern) == tools


async def test_a_cursor_that_we_never_gave_out_is_refused(host):
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert (await host.call(method, {"cursor": "x"}))["error"]["code"] == -32602


async def test_always_load_marks_only_tools_that_allow_it(world):
    host = world.connect(flags={"always_load": "True"})
    await host.greet()
    tools = await listed(host)
    assert tools["echo"]["_meta"] == {"x/y": 1, "anthropic/alwaysLoad": True}
    assert "_meta" not in tools["note"]


@pytest.mark.parametrize(
    ("hello", "shown", "gone"),
    [
        ({"read_only": True}, "echo", "note"),
        ({"profile": "graph"}, None, "echo"),
        ({"profile": "all"}, "hidden", None),
        ({"profile": "bogus"}, "echo", "hidden"),
        ({"enable": ["hidden"]}, "hidden", None),
        ({"disable": ["note"]}, "echo", "note"),
        ({"profile": None, "enable": [], "disable": []}, "echo", "hidden"),
    ],
)
async def test_the_hello_decides_which_tools_are_shown_and_callable(world, hello, shown, gone):
    host = world.connect(**hello)
    await host.greet()
    tools = await listed(host)
    assert shown is None or shown in tools
    if gone:
        assert gone not in tools
        error = (await host.call("tools/call", {"name": gone, "arguments": {"text": "x"}}))["error"]
        assert error["code"] == -32602
    assert world.store.notes == []


async def test_the_session_says_who_calls_and_from_where(world):
    host = world.connect(workspace="/somewhere", client="mcp", session="s1", flags={"a": "b"})
    await host.greet(name="Claude Code (beta)\n")
    await host.tool("echo", {"text": "x"})
    await host.tool("echo", {"text": "x"}, modern=True)
    old, new = world.demo.sessions
    assert (old.actor, new.actor) == ("mcp:Claude-Code-beta", "mcp:raw")
    assert old.id == new.id == "s1"
    assert old.workspace == Path("/somewhere")
    assert old.flags == {"a": "b"}


@ERAS
async def test_a_result_has_text_and_data(host, modern):
    result = await host.tool("echo", {"text": "hi", "times": 2, "tags": '["a"]'}, modern=modern)
    assert result["content"] == [{"type": "text", "text": "hi hi"}]
    assert result["structuredContent"] == {"said": "hi hi", "tags": ["a"]}
    assert not result.get("isError")


@ERAS
@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({}, "text"),
        ({"text": "x", "times": 9}, "times"),
        ({"text": "x", "nonsense": 1}, "nonsense"),
        ({"text": 5}, "text"),
        ({"text": "x" * 1_000_001}, "text"),
        ({"text": "x", "tags": "[1"}, "tags"),
    ],
)
async def test_faulty_arguments_are_a_result_that_names_them(host, modern, arguments, place):
    result = await host.tool("echo", arguments, modern=modern)
    assert result["isError"] is True
    assert "structuredContent" not in result
    words = result["content"][0]["text"]
    assert f"{place}: " in words and "Nothing was changed" in words
    assert len(words) < 500


@ERAS
async def test_an_unknown_tool_is_a_protocol_error(host, modern):
    error = (await host.call("tools/call", {"name": "nope", "arguments": {}}, modern=modern))["error"]
    assert error["code"] == -32602
    assert "nope" in error["message"]


@ERAS
async def test_failures_speak_and_crashes_keep_their_secret(host, modern):
    refused = await host.tool("refuse", modern=modern)
    assert refused["isError"] is True
    assert refused["content"][0]["text"] == "No note n9. Nothing was changed. List the notes."
    crashed = await host.tool("crash", modern=modern)
    assert crashed["isError"] is True
    assert "secret" not in json.dumps(crashed) and "someone" not in json.dumps(crashed)


async def test_case_28_a_plugin_that_prints_does_not_spoil_the_stream(host, capsys):
    assert (await host.tool("chatty"))["content"][0]["text"] == "quiet answer"
    assert "a banner on stdout" in capsys.readouterr().out
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in host.raw)
    assert not any(b"banner" in line for line in host.raw)


@ERAS
async def test_progress_is_sent_only_to_those_who_asked(host, modern):
    await host.tool("steps", modern=modern)
    assert host.backlog == []
    await host.tool("steps", modern=modern, progressToken="p")
    assert [message["params"]["progress"] for message in host.backlog] == [1, 2, 3]
    assert host.backlog[0]["params"] == {"progressToken": "p", "progress": 1, "total": 3, "message": "step 1"}


@ERAS
async def test_a_cancelled_read_is_abandoned_and_never_answered(world, host, modern):
    request = host.ask("tools/call", {"name": "slow", "arguments": {}}, modern=modern)
    number = host.number
    await asyncio.to_thread(world.demo.entered.wait, 5)
    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    while number not in host.settled:
        host.settled.append((await asyncio.wait_for(host.connection.outbox.get(), 5))[0])
    assert not world.demo.finished.is_set()
    world.demo.gate.set()
    assert (await host.call("ping"))["result"] == {}
    assert all(message.get("id") != request for message in host.backlog)


async def test_a_cancelled_write_is_settled_only_when_it_is_done(world, host):
    request = host.ask("tools/call", {"name": "slow_write", "arguments": {}})
    number = host.number
    await asyncio.to_thread(world.demo.entered.wait, 5)
    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    assert (await host.call("ping"))["result"] == {}
    await asyncio.sleep(0.1)
    assert number not in host.settled
    world.demo.gate.set()
    while number not in host.settled:
        host.settled.append((await asyncio.wait_for(host.connection.outbox.get(), 5))[0])
    assert world.demo.finished.is_set()


async def test_a_slow_tool_blocks_nobody(world, host):
    for _ in range(5):
        host.ask("tools/call", {"name": "slow", "arguments": {}})
    assert (await asyncio.wait_for(host.call("ping"), 2))["result"] == {}


async def test_a_line_sent_again_after_a_lost_owner_writes_once(world):
    first = world.connect()
    await first.greet()
    line = {"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "note", "arguments": {"text": "once"}}}
    first.send(line, number=40)
    assert (await first.receive())["result"]["structuredContent"] == {"kept": True, "outcome": "2"}
    second = world.connect()
    await second.greet()
    second.send(line, number=40, again=True)
    assert (await second.receive())["result"]["structuredContent"] == {"kept": True, "outcome": "repeated"}
    second.send(line, number=41)
    assert (await second.receive())["result"]["structuredContent"]["outcome"] == "3"
    assert world.store.notes == ["once", "once"]


async def test_an_owner_that_leaves_does_not_answer_what_it_did_not_finish(world, host):
    host.ask("tools/call", {"name": "slow_write", "arguments": {}})
    number = host.number
    await asyncio.to_thread(world.demo.entered.wait, 5)
    world.serving[0].cancel()
    world.demo.gate.set()
    await asyncio.gather(world.serving[0], return_exceptions=True)
    assert world.demo.finished.is_set()
    sent = [host.connection.outbox.get_nowait() for _ in range(host.connection.outbox.qsize())]
    assert number not in [answers for answers, _ in sent]


async def test_a_changed_tool_choice_reaches_open_sessions_of_both_eras(world, host):
    listening = host.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, modern=True)
    await host.message("notifications/subscriptions/acknowledged")
    assert "hidden" not in await listed(host)
    world.kernel.config = Config.model_validate({"tools": {"enable": ["hidden"], "disable": ["note"]}})
    await world.kernel.tools_changed()
    heard = [await host.message("notifications/tools/list_changed") for _ in range(2)]
    stamps = [message.get("params", {}).get("_meta", {}).get("io.modelcontextprotocol/subscriptionId") for message in heard]
    assert sorted(map(str, stamps)) == sorted([str(listening), "None"])
    tools = await listed(host)
    assert "hidden" in tools and "note" not in tools

"""Resources, prompts, completions, subscriptions."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])


@ERAS
async def test_resources_and_templates_are_listed_apart(host, modern):
    listed = (await host.call("resources/list", modern=modern))["result"]
    assert [item["uri"] for item in listed["resources"]] == ["demo://notes", "demo://raw"]
    templates = (await host.call("resources/templates/list", modern=modern))["result"]
    assert [item["uriTemplate"] for item in templates["resourceTemplates"]] == ["demo://note/{id}"]
    if modern:
        assert (listed["ttlMs"], listed["cacheScope"]) == (0, "private")
        assert (templates["ttlMs"], templates["cacheScope"]) == (3_600_000, "public")


@ERAS
async def test_reading_text_bytes_and_a_template(host, modern):
    read = (await host.call("resources/read", {"uri": "demo://note/a%2Fb"}, modern=modern))["result"]
    assert read["contents"] == [{"uri": "demo://note/a%2Fb", "mimeType": "application/json", "text": '{"id": "a/b"}'}]
    raw = (await host.call("resources/read", {"uri": "demo://raw"}, modern=modern))["result"]["contents"][0]
    assert (base64.b64decode(raw["blob"]), raw["mimeType"]) == (b"\x00\xff", "x/y")


@ERAS
@pytest.mark.parametrize("uri", ["demo://nope", "demo://note/a/b", "demo://note/", "file:///etc/passwd", "demo://note/gone", "x"])
async def test_an_unknown_resource_is_named(host, modern, uri):
    error = (await host.call("resources/read", {"uri": uri}, modern=modern))["error"]
    assert error["code"] == (-32602 if modern else -32002)
    assert error["data"] == {"uri": uri}


@pytest.mark.parametrize("name", ["%00", "a%00b"])
async def test_case_41_an_unusable_name_in_an_address_is_refused(host, name):
    error = (await host.call("resources/read", {"uri": f"demo://note/{name}"}))["error"]
    assert error["code"] == -32602
    assert "NUL" in error["message"]


@ERAS
async def test_prompts(host, modern):
    listed = (await host.call("prompts/list", modern=modern))["result"]["prompts"]
    assert listed[0]["name"] == "about"
    assert listed[0]["arguments"][0] == {"name": "topic", "description": "What about", "required": True}
    got = (await host.call("prompts/get", {"name": "about", "arguments": {"topic": "tea"}}, modern=modern))["result"]
    assert got["messages"] == [{"role": "user", "content": {"type": "text", "text": "About tea"}}]


@ERAS
@pytest.mark.parametrize(
    ("name", "arguments", "named"),
    [
        ("nope", {}, "nope"),
        ("about", {}, "topic"),
        ("about", {"topic": "  "}, "topic"),
        ("about", {"topic": "x", "colour": "red"}, "colour"),
        ("about", {"topic": "x", "limit": "many"}, "limit"),
    ],
)
async def test_faults_of_prompt_arguments_are_named(host, modern, name, arguments, named):
    error = (await host.call("prompts/get", {"name": name, "arguments": arguments}, modern=modern))["error"]
    assert error["code"] == -32602
    assert named in error["message"]


@ERAS
async def test_completions_are_cut_at_a_hundred(host, modern):
    params = {"ref": {"type": "ref/resource", "uri": "demo://note/{id}"}, "argument": {"name": "id", "value": "n"}}
    found = (await host.call("completion/complete", params, modern=modern))["result"]["completion"]
    assert len(found["values"]) == 100
    assert found["values"][0] == "n0"
    assert found["hasMore"] is True


async def test_completions_of_a_prompt_without_any_and_of_an_unknown_one(host):
    argument = {"name": "topic", "value": ""}
    empty = await host.call("completion/complete", {"ref": {"type": "ref/prompt", "name": "about"}, "argument": argument})
    assert empty["result"]["completion"] == {"values": [], "total": 0, "hasMore": False}
    for ref in ({"type": "ref/prompt", "name": "nope"}, {"type": "ref/resource", "uri": "demo://nope"}):
        error = (await host.call("completion/complete", {"ref": ref, "argument": argument}))["error"]
        assert error["code"] == -32602


async def test_setting_a_log_level_is_accepted(host):
    assert (await host.call("logging/setLevel", {"level": "debug"}))["result"] == {}
    assert (await host.call("logging/setLevel", {"level": "loud"}))["error"]["code"] == -32602


async def test_a_subscriber_of_the_handshake_era_hears_of_commits_until_it_leaves_off(host):
    uri = {"uri": "demo://notes"}
    assert (await host.call("resources/subscribe", uri))["result"] == {}
    await host.tool("note", {"text": "one"})
    assert (await host.message("notifications/resources/updated"))["params"] == uri
    assert (await host.call("resources/unsubscribe", uri))["result"] == {}
    await host.tool("note", {"text": "two"})
    await asyncio.sleep(0.2)
    assert (await host.call("ping"))["result"] == {}
    assert host.backlog == []


async def test_an_unknown_resource_cannot_be_subscribed_to(host):
    assert (await host.call("resources/subscribe", {"uri": "demo://nope"}))["error"]["code"] == -32002


async def test_a_listener_of_the_modern_era_hears_of_what_it_named(host):
    wanted = {"notifications": {"resourceSubscriptions": ["demo://notes"]}}
    request = host.ask("subscriptions/listen", wanted, modern=True)
    await host.message("notifications/subscriptions/acknowledged")
    await host.tool("note", {"text": "one"})
    heard = (await host.message("notifications/resources/updated"))["params"]
    assert heard["uri"] == "demo://notes"
    assert heard["_meta"]["io.modelcontextprotocol/subscriptionId"] == request
    number = host.number
    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    assert (await host.call("ping"))["result"] == {}
    await host.tool("note", {"text": "two"})
    await asyncio.sleep(0.2)
    assert (await host.call("ping"))["result"] == {}
    assert host.backlog == []
    assert number - 1 in host.settled


async def test_a_burst_of_commits_is_one_notification(world, host):
    await host.call("resources/subscribe", {"uri": "demo://notes"})
    for answer in [host.ask("tools/call", {"name": "note", "arguments": {"text": str(n)}}) for n in range(20)]:
        await host.answer(answer)
    await host.message("notifications/resources/updated")
    await asyncio.sleep(0.2)
    await host.call("ping")
    assert len(host.backlog) <= 2
    assert len(world.store.notes) == 20


async def test_every_connection_hears_only_what_it_subscribed_to(world, host):
    other = world.connect()
    await other.greet()
    await host.call("resources/subscribe", {"uri": "demo://notes"})
    await other.tool("note", {"text": "x"})
    await host.message("notifications/resources/updated")
    await other.call("ping")
    assert other.backlog == []
    host.connection.inbox.put_nowait(None)
    await asyncio.wait_for(world.serving[0], 5)
    await other.tool("note", {"text": "y"})
    await asyncio.sleep(0.2)
    assert json.dumps(world.transport._hub.updates._watched, default=str) == "{}"

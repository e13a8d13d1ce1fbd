"""Asking the person, with every way to answer, in both eras."""

from __future__ import annotations

import asyncio

import pytest

pytestmark = pytest.mark.anyio
FORM = {"elicitation": {}}
SAVE = {"name": "save", "arguments": {"text": "x"}}
ANSWERS = pytest.mark.parametrize(
    ("answer", "outcome", "kept"),
    [
        ({"action": "accept", "content": {"agree": True, "scope": "user"}}, "accept:user:p1", True),
        ({"action": "accept", "content": {"agree": True}}, "accept:project:p1", True),
        ({"action": "accept", "content": {"agree": False}}, "accept:project:p1", False),
        ({"action": "decline"}, "decline:p1", False),
        ({"action": "cancel"}, "cancel:p1", False),
        ({"action": "accept"}, "invalid:p1", False),
        ({"action": "accept", "content": {}}, "invalid:p1", False),
        ({"action": "accept", "content": {"agree": "yes"}}, "invalid:p1", False),
        ({"action": "accept", "content": {"agree": 1}}, "invalid:p1", False),
        ({"action": "accept", "content": {"agree": True, "extra": 1}}, "invalid:p1", False),
    ],
)


async def question(host, **more):
    """The first round of the modern era: (input request, state)."""
    result = await host.tool("save", {"text": "x"}, modern=True, caps=FORM, **more)
    assert result["resultType"] == "input_required"
    return result["inputRequests"]["answer"], result["requestState"]


async def retry(host, state, responses, *, arguments=None, name="save"):
    params = {"name": name, "arguments": {"text": "x"} if arguments is None else arguments}
    if state is not None:
        params["requestState"] = state
    if responses is not None:
        params["inputResponses"] = responses
    return await host.call("tools/call", params, modern=True, caps=FORM)


@ANSWERS
async def test_the_answer_reaches_the_tool_in_the_handshake_era(world, host, answer, outcome, kept):
    request = host.ask("tools/call", SAVE)
    asked = await host.message("elicitation/create")
    assert asked["params"]["message"] == "Keep 1 note?"
    assert asked["params"]["requestedSchema"]["properties"]["agree"]["type"] == "boolean"
    host.send({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
    result = (await host.answer(request))["result"]
    assert result["structuredContent"] == {"kept": kept, "outcome": outcome}
    assert world.store.notes == (["x"] if kept else [])


@ANSWERS
async def test_the_answer_reaches_the_tool_in_the_modern_era(world, host, answer, outcome, kept):
    asked, state = await question(host)
    assert asked["method"] == "elicitation/create"
    assert asked["params"]["message"] == "Keep 1 note?"
    assert world.store.notes == []
    result = (await retry(host, state, {"answer": answer}))["result"]
    assert result["resultType"] == "complete"
    assert result["structuredContent"] == {"kept": kept, "outcome": outcome}
    assert world.store.notes == (["x"] if kept else [])
    assert world.demo.asked == 1


async def test_an_answer_of_no_known_shape_is_invalid_in_the_handshake_era(world, host):
    request = host.ask("tools/call", SAVE)
    asked = await host.message("elicitation/create")
    host.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "bogus"}})
    assert (await host.answer(request))["result"]["structuredContent"]["outcome"] == "invalid:p1"


async def test_an_answer_of_no_known_shape_uses_up_the_question_in_the_modern_era(world, host):
    _, state = await question(host)
    assert (await retry(host, state, {"answer": {"action": "bogus"}}))["error"]["code"] == -32602
    again = await retry(host, state, {"answer": {"action": "accept", "content": {"agree": True}}})
    assert again["error"]["code"] == -32602
    assert world.store.notes == []


async def test_a_clients_error_and_silence_are_told_apart(world, host):
    request = host.ask("tools/call", SAVE)
    asked = await host.message("elicitation/create")
    host.send({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})
    assert (await host.answer(request))["result"]["structuredContent"]["outcome"] == "error:p1"
    world.demo.timeout = 0.05
    request = host.ask("tools/call", SAVE)
    asked = await host.message("elicitation/create")
    assert (await host.answer(request))["result"]["structuredContent"]["outcome"] == "timeout:p1"
    host.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"agree": True}}})
    assert (await host.call("ping"))["result"] == {}
    assert world.store.notes == []


async def test_a_late_answer_of_the_modern_era_is_refused(world, host):
    world.demo.timeout = 0.05
    _, state = await question(host)
    await asyncio.sleep(0.2)
    error = (await retry(host, state, {"answer": {"action": "accept", "content": {"agree": True}}}))["error"]
    assert error["code"] == -32602
    assert world.store.notes == []


@pytest.mark.parametrize(
    "forge", [lambda state: state[:-4] + "AAAA", lambda state: "v1.e30", lambda state: '{"engram":"x"}', lambda state: ""]
)
async def test_a_forged_state_is_refused_and_the_true_one_still_works(world, host, forge):
    yes = {"answer": {"action": "accept", "content": {"agree": True}}}
    _, state = await question(host)
    assert (await retry(host, forge(state), yes))["error"]["code"] == -32602
    assert world.store.notes == []
    assert (await retry(host, state, yes))["result"]["structuredContent"]["kept"] is True


async def test_a_state_serves_only_its_own_tool_arguments_and_workspace(world, host):
    yes = {"answer": {"action": "accept", "content": {"agree": True}}}
    _, state = await question(host)
    other = world.connect(workspace="/elsewhere")
    refused = [
        await retry(host, state, yes, arguments={"text": "other"}),
        await retry(host, state, yes, name="note"),
        await retry(other, state, yes),
    ]
    assert [answer["error"]["code"] for answer in refused] == [-32602] * 3
    assert world.store.notes == []


async def test_a_state_serves_once(world, host):
    yes = {"answer": {"action": "accept", "content": {"agree": True}}}
    _, state = await question(host)
    assert (await retry(host, state, yes))["result"]["structuredContent"]["kept"] is True
    assert (await retry(host, state, yes))["error"]["code"] == -32602
    assert world.store.notes == ["x"]


async def test_a_retry_without_the_answer_is_asked_again(world, host):
    _, state = await question(host)
    for responses in (None, {}, {"wrong": {"action": "decline"}}):
        result = (await retry(host, state, responses))["result"]
        assert result["resultType"] == "input_required"
        assert "answer" in result["inputRequests"]
        state = result["requestState"]
    assert (await retry(host, state, {"answer": {"action": "decline"}}))["result"]["structuredContent"]["outcome"] == "decline:p1"


async def test_an_answer_without_a_state_is_refused(world, host):
    answer = await retry(host, None, {"answer": {"action": "accept", "content": {"agree": True}}})
    assert answer["error"]["code"] == -32602
    assert world.demo.asked == 0


async def test_two_questions_in_one_call(host):
    yes = {"answer": {"action": "accept", "content": {"agree": True}}}
    first = await host.tool("twice", modern=True, caps=FORM)
    second = (await retry(host, first["requestState"], yes, name="twice", arguments={}))["result"]
    assert second["inputRequests"]["answer"]["params"]["message"] == "Second?"
    last = (await retry(host, second["requestState"], {"answer": {"action": "decline"}}, name="twice", arguments={}))["result"]
    assert last["content"][0]["text"] == "accept decline"


@pytest.mark.parametrize("caps", [{}, {"elicitation": {"url": {}}}])
@pytest.mark.parametrize("modern", [False, True])
async def test_a_client_that_cannot_show_a_form_is_not_asked(world, caps, modern):
    host = world.connect()
    await host.greet(caps=caps)
    result = await host.tool("save", {"text": "x"}, modern=modern, caps=caps)
    assert result["structuredContent"]["outcome"] == "unavailable:p1"


@pytest.mark.parametrize("modern", [False, True])
async def test_the_person_can_switch_dialogs_off(world, modern):
    host = world.connect(flags={"no_elicitation": "True"})
    await host.greet(caps=FORM)
    result = await host.tool("save", {"text": "x"}, modern=modern, caps=FORM)
    assert result["structuredContent"]["outcome"] == "unavailable:p1"


async def test_form_and_url_together_are_asked_by_form(world):
    host = world.connect()
    result = await host.tool("save", {"text": "x"}, modern=True, caps={"elicitation": {"form": {}, "url": {}}})
    assert result["resultType"] == "input_required"


async def test_cancelling_a_call_that_waits_for_the_person_withdraws_the_question(world, host):
    request = host.ask("tools/call", SAVE)
    number = host.number
    asked = await host.message("elicitation/create")
    host.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    withdrawn = await host.message("notifications/cancelled")
    assert withdrawn["params"]["requestId"] == asked["id"]
    assert (await host.call("ping"))["result"] == {}
    assert number in host.settled
    assert world.store.notes == []


async def test_a_client_that_leaves_cancels_its_open_question(world):
    host = world.connect()
    await question(host)
    host.connection.inbox.put_nowait(None)
    await asyncio.wait_for(world.serving[0], 5)
    await asyncio.sleep(0)
    assert world.transport._hub.calls._parked == {}
    assert world.store.notes == []

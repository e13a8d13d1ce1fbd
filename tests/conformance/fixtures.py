"""The tools, resources and prompts that the conformance suite calls by name. A test plugin, never part of a product.

Most are data: a tool's content blocks, or the questions it asks in the modern era. The rest are small functions.
"""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as t
from mcp.server.subscriptions import PromptsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ConfigDict

from engram_kernel.call import Call
from engram_kernel.errors import NotAllowed
from engram_kernel.hookspecs import hookimpl
from engram_kernel.tools import Prompt, PromptArgument, Resource, Tool, ToolResult

GROUP = "conformance"


class Free(BaseModel):
    """Arguments that are not checked: some fixtures come with a schema of their own."""

    model_config = ConfigDict(extra="allow")


class WithPrompt(BaseModel):
    prompt: str


class WithMessage(BaseModel):
    message: str


# Content


def png() -> bytes:
    """A red pixel."""

    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = part(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + part(b"IEND", b"")


def wav() -> bytes:
    """Eight silent samples."""
    samples = bytes(16)
    form = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " + form + b"data" + struct.pack("<I", len(samples)) + samples


def words(text: str) -> t.TextContent:
    return t.TextContent(type="text", text=text)


IMAGE = t.ImageContent(type="image", data=base64.b64encode(png()).decode(), mime_type="image/png")
AUDIO = t.AudioContent(type="audio", data=base64.b64encode(wav()).decode(), mime_type="audio/wav")


def embedded(uri: str, mime_type: str, text: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri=uri, mime_type=mime_type, text=text))


CONTENT: Mapping[str, list[Any]] = {
    "test_simple_text": [words("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [AUDIO],
    "test_embedded_resource": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        words("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


def done(*blocks: Any) -> ToolResult:
    return ToolResult(native=t.CallToolResult(content=list(blocks)))


def fails(call: Call, given: Any) -> str:
    raise NotAllowed("This tool intentionally returns an error for testing")


def reports(call: Call, given: Any) -> str:
    for part in (0, 50, 100):
        call.progress(part, 100)
        time.sleep(0.05)
    return "done"


async def logs(call: Call, given: Any) -> str:
    ctx, _ = call.channel.native
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", line, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return "logged"


async def reconnects(call: Call, given: Any) -> str:
    ctx, _ = call.channel.native
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await asyncio.sleep(0.1)
    return "Reconnection test completed successfully"


# Asking the client in the middle of a call: the handshake era


def form(message: str, properties: Mapping[str, Any], required: list[str]) -> t.ElicitRequest:
    schema = {"type": "object", "properties": dict(properties), "required": required}
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, tokens: int = 100) -> t.CreateMessageRequest:
    message = t.SamplingMessage(role="user", content=words(prompt))
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[message], max_tokens=tokens))


async def from_client(call: Call, request: Any, kind: Any) -> Any:
    ctx, _ = call.channel.native
    return await ctx.session.send_request(request, kind, metadata=ServerMessageMetadata(related_request_id=ctx.request_id))


async def samples(call: Call, given: WithPrompt) -> str:
    answer = await from_client(call, sample(given.prompt), t.CreateMessageResult)
    return f"LLM response: {answer.content.text}"


async def elicits(call: Call, given: WithMessage) -> str:
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = await from_client(call, form(given.message, properties, ["username", "email"]), t.ElicitResult)
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


def elicits_with(properties: Mapping[str, Any]) -> Callable[..., Any]:
    async def run(call: Call, given: Any) -> str:
        answer = await from_client(call, form("Please fill in", properties, []), t.ElicitResult)
        return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"

    return run


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def titled(key: str, word: str) -> dict[str, Any]:
    return {key: [{"const": f"value{number}", "title": f"{word} {number}"} for number in (1, 2, 3)]}


PLAIN = {"type": "string", "enum": ["option1", "option2", "option3"]}
ENUMS = {
    "untitledSingle": PLAIN,
    "titledSingle": {"type": "string", **titled("oneOf", "Option")},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": PLAIN},
    "titledMulti": {"type": "array", "items": titled("anyOf", "Choice")},
}


# Asking the client between two calls: the modern era


def one(message: str, name: str, kind: str = "string") -> t.ElicitRequest:
    return form(message, {name: {"type": kind}}, [name])


class Round:
    """One round of a call that asks by `InputRequiredResult`."""

    def __init__(self, call: Call) -> None:
        self.ctx, params = call.channel.native
        self.answers: Mapping[str, Any] = params.input_responses or {}
        self.kept: Any = json.loads(params.request_state) if params.request_state else None

    def value(self, key: str, name: str) -> Any:
        """The value of an accepted form, or None."""
        answer = self.answers.get(key)
        accepted = isinstance(answer, t.ElicitResult) and answer.action == "accept"
        return (answer.content or {}).get(name) if accepted else None


def need(requests: dict[str, Any], keep: Any = None) -> ToolResult:
    state = None if keep is None else json.dumps(keep)
    return ToolResult(native=t.InputRequiredResult(input_requests=requests, request_state=state))


def wants_name(turn: Round) -> Any:
    name = turn.value("user_name", "name")
    return f"Hello, {name}!" if name else need({"user_name": one("What is your name?", "name")})


def wants_sample(turn: Round) -> Any:
    answer = turn.answers.get("capital_question")
    return f"Model said: {answer.content.text}" if answer else need({"capital_question": sample("What is the capital of France?")})


def wants_roots(turn: Round) -> Any:
    answer = turn.answers.get("client_roots")
    return f"Roots: {', '.join(str(root.uri) for root in answer.roots)}" if answer else need({"client_roots": t.ListRootsRequest()})


def wants_state(turn: Round) -> Any:
    if turn.kept == {"step": "confirm"} and "confirm" in turn.answers:
        return "state-ok"
    return need({"confirm": one("Please confirm", "ok", "boolean")}, {"step": "confirm"})


def wants_many(turn: Round) -> Any:
    wanted = {
        "user_name": one("What is your name?", "name"),
        "greeting": sample("Generate a greeting", 50),
        "client_roots": t.ListRootsRequest(),
    }
    return "all answered" if wanted.keys() <= turn.answers.keys() else need(wanted, {"step": "many"})


def wants_two_rounds(turn: Round) -> Any:
    kept = turn.kept or {"round": 0}
    if kept["round"] == 2 and "step2" in turn.answers:
        return f"{kept['name']} likes {turn.value('step2', 'color')}"
    if kept["round"] == 1 and "step1" in turn.answers:
        question = {"step2": one("Step 2: What is your favorite color?", "color")}
        return need(question, {"round": 2, "name": turn.value("step1", "name")})
    return need({"step1": one("Step 1: What is your name?", "name")}, {"round": 1})


def wants_untouched(turn: Round) -> Any:
    return "untampered" if turn.kept else need({"confirm": one("Please confirm", "ok", "boolean")}, {"secret": 1})


def wants_what_is_declared(turn: Round) -> Any:
    declared = turn.ctx.session.client_capabilities
    offers = {"elicitation": one("Name?", "name"), "sampling": sample("Generate a greeting"), "roots": t.ListRootsRequest()}
    wanted = {name: ask for name, ask in offers.items() if getattr(declared, name, None) is not None}
    return need(wanted) if wanted and not turn.answers else "nothing to ask"


def wants_sampling_declared(turn: Round) -> Any:
    declared = turn.ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(t.MISSING_REQUIRED_CLIENT_CAPABILITY, "The client did not declare sampling", data)
    return "ok"


ROUNDS: Mapping[str, Callable[[Round], Any]] = {
    "test_input_required_result_elicitation": wants_name,
    "test_input_required_result_sampling": wants_sample,
    "test_input_required_result_list_roots": wants_roots,
    "test_input_required_result_request_state": wants_state,
    "test_input_required_result_multiple_inputs": wants_many,
    "test_input_required_result_multi_round": wants_two_rounds,
    "test_input_required_result_tampered_state": wants_untouched,
    "test_input_required_result_capabilities": wants_what_is_declared,
    "test_missing_capability": wants_sampling_declared,
    "test_streaming_elicitation": wants_name,
}


async def changes_tools(call: Call, given: Any) -> str:
    await call.kernel.tools_changed()
    return "sent"


async def changes_prompts(call: Call, given: Any) -> str:
    transport: Any = call.kernel.transports["mcp"]
    await (await transport.ready(call.kernel)).updates.bus.publish(PromptsListChanged())
    return "sent"


SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
}
HEADER_SCHEMA = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]}


# Resources and prompts


def read(call: Call, values: Mapping[str, str]) -> str:
    return json.dumps({"id": values["id"], "templateTest": True, "data": f"Data for ID: {values['id']}"})


RESOURCES: Mapping[str, tuple[str, Callable[..., str | bytes]]] = {
    "test://static-text": ("text/plain", lambda *_: "This is the content of the static text resource."),
    "test://static-binary": ("image/png", lambda *_: png()),
    "test://watched-resource": ("text/plain", lambda *_: "watched"),
    "test://template/{id}/data": ("application/json", read),
}


def user(*blocks: Any) -> list[t.PromptMessage]:
    return [t.PromptMessage(role="user", content=block) for block in blocks]


def asks_first(call: Call, given: Mapping[str, str]) -> Any:
    context = Round(call).value("user_context", "context")
    if context is None:
        return need({"user_context": one("What context should the prompt use?", "context")}).native
    return user(words(f"Context: {context}"))


def with_resource(call: Call, given: Mapping[str, str]) -> Any:
    resource = embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
    return user(resource, words("Please process the embedded resource above."))


PROMPTS: Mapping[str, tuple[tuple[str, ...], Callable[[Call, Mapping[str, str]], Any]]] = {
    "test_simple_prompt": ((), lambda *_: user(words("This is a simple prompt for testing."))),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda call, given: user(words(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")),
    ),
    "test_prompt_with_embedded_resource": (("resourceUri",), with_resource),
    "test_prompt_with_image": ((), lambda *_: user(IMAGE, words("Please analyze the image above."))),
    "test_input_required_result_prompt": ((), asks_first),
}


def complete(call: Call, argument: str, value: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(value)]


# Registration


def tool(name: str, handler: Callable[..., Any], arguments: type[BaseModel] = Free, schema: Mapping[str, Any] | None = None) -> Tool:
    return Tool(
        name=name,
        title=name,
        description=f"Conformance fixture {name}.",
        group=GROUP,
        handler=handler,
        arguments=arguments,
        schema=schema,
        profiles=frozenset({"standard"}),
        meta={"engram/native": True},
    )


def content_tool(blocks: list[Any]) -> Callable[..., ToolResult]:
    return lambda call, given: done(*blocks)


def round_tool(turn: Callable[[Round], Any]) -> Callable[..., Any]:
    return lambda call, given: turn(Round(call))


def tools() -> list[Tool]:
    return [
        *(tool(name, content_tool(blocks)) for name, blocks in CONTENT.items()),
        *(tool(name, round_tool(turn)) for name, turn in ROUNDS.items()),
        tool("test_error_handling", fails),
        tool("test_tool_with_progress", reports),
        tool("test_tool_with_logging", logs),
        tool("test_logging_tool", logs),
        tool("test_sampling", samples, WithPrompt),
        tool("test_elicitation", elicits, WithMessage),
        tool("test_elicitation_sep1034_defaults", elicits_with(DEFAULTS)),
        tool("test_elicitation_sep1330_enums", elicits_with(ENUMS)),
        tool("test_reconnection", reconnects),
        tool("test_trigger_tool_change", changes_tools),
        tool("test_trigger_prompt_change", changes_prompts),
        tool("json_schema_2020_12_tool", content_tool([words("ok")]), schema=SCHEMA_2020),
        tool("test_custom_header", content_tool([words("ok")]), schema=HEADER_SCHEMA),
    ]


@hookimpl
def engram_register_tools(register: Callable[[Any], None], context: Any) -> None:
    for item in tools():
        register(item)
    for uri, (mime_type, reader) in RESOURCES.items():
        register(Resource(uri=uri, name=uri[7:], description=f"Fixture {uri}", read=reader, group=GROUP, mime_type=mime_type))
    for name, (arguments, render) in PROMPTS.items():
        given = [PromptArgument(argument, f"{argument} for the fixture", required=True) for argument in arguments]
        register(Prompt(name=name, title=name, description=name, group=GROUP, render=render, arguments=given, complete=complete))

"""A kernel on a store in memory, a plugin with one tool of each kind, and a host that speaks raw lines."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from engram_kernel.arguments import Arguments, JsonTolerant, Result
from engram_kernel.call import Call
from engram_kernel.changes import Applied, ChangeSet, Outcome, Put, PutCard
from engram_kernel.config import Config
from engram_kernel.errors import InvalidInput, NotFound
from engram_kernel.kernel import Kernel
from engram_kernel.manifest import Manifest
from engram_kernel.model import Collection, Memory
from engram_kernel.plugins import Plugins
from engram_kernel.services import Transport
from engram_kernel.session import Form
from engram_kernel.tools import Prompt, PromptArgument, Resource, Tool, ToolResult
from engram_mcp import plugin as mcp_plugin

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
WAIT = 10


class MemoryStore:
    """Just enough of a store: changes are counted, listeners told, references remembered."""

    def __init__(self) -> None:
        self.sets: list[ChangeSet] = []
        self.listeners: list[Callable[[Applied], None]] = []
        self.known: dict[str, Applied] = {}

    def cards(self, kind: type, collection: str | None = None) -> list[Any]:
        found = [change.card for changes in self.sets for change in changes.changes if isinstance(change, PutCard)]
        return [card for card in found if isinstance(card, kind)]

    def apply(self, changes: ChangeSet) -> Applied:
        self.sets.append(changes)
        outcomes = tuple(Outcome("put", item.memory.collection, item.memory.id, 1, 1) for item in changes.changes if isinstance(item, Put))
        applied = Applied(len(self.sets), outcomes)
        if changes.reference:
            self.known[changes.reference] = applied
        for listener in self.listeners:
            listener(applied)
        return applied

    def recorded(self, reference: str) -> Applied | None:
        earlier = self.known.get(reference)
        return replace(earlier, repeated=True) if earlier else None

    def subscribe(self, listener: Callable[[Applied], None]) -> None:
        self.listeners.append(listener)

    def close(self) -> None:
        pass

    @property
    def notes(self) -> list[str]:
        return [change.memory.text for changes in self.sets for change in changes.changes if isinstance(change, Put)]


class EchoArguments(Arguments):
    text: str = Field(description="What to say", min_length=1)
    times: int = Field(1, ge=1, le=5, description="How often")
    tags: JsonTolerant[list[str]] = Field([], description="Labels")


class Echoed(Result):
    said: str
    tags: list[str]


class NoteArguments(Arguments):
    text: str = Field(description="What to keep")


class Noted(Result):
    kept: bool
    outcome: str


class Choice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    agree: bool = Field(description="Whether to keep it")
    scope: str = Field("project", description="project or user")


class Demo:
    """The plugin; `gate` lets a test hold a tool while it runs."""

    def __init__(self) -> None:
        self.gate, self.entered, self.finished = threading.Event(), threading.Event(), threading.Event()
        self.asked = 0
        self.timeout = 60.0
        self.sessions: list[Any] = []

    def echo(self, call: Call, given: EchoArguments) -> ToolResult:
        self.sessions.append(call.session)
        said = " ".join([given.text] * given.times)
        return ToolResult(Echoed(said=said, tags=given.tags), text=said)

    def note(self, call: Call, given: NoteArguments) -> Noted:
        applied = call.write(lambda: ChangeSet((Put(Memory(collection="demo", id="n", kind="note", text=given.text)),)))
        return Noted(kept=True, outcome="repeated" if applied.repeated else str(applied.sequence))

    async def save(self, call: Call, given: NoteArguments) -> Noted:
        self.asked += 1
        answer = await call.ask(Form("Keep 1 note?", Choice, {"proposal": "p1"}, timeout=self.timeout))
        if answer.kind == "accept" and answer.data.agree:
            await call.run(lambda: self.note(call, given))
        scope = f":{answer.data.scope}" if answer.data else ""
        return Noted(kept=answer.kind == "accept" and answer.data.agree, outcome=f"{answer.kind}{scope}:{answer.keep['proposal']}")

    async def twice(self, call: Call, given: Arguments) -> str:
        first = await call.ask(Form("First?", Choice))
        second = await call.ask(Form("Second?", Choice))
        return f"{first.kind} {second.kind}"

    def slow(self, call: Call, given: Arguments) -> str:
        self.entered.set()
        self.gate.wait(WAIT)
        self.finished.set()
        return "done"

    def steps(self, call: Call, given: Arguments) -> str:
        for done in (1, 2, 3):
            call.progress(done, 3, f"step {done}")
        return "three steps"

    def crash(self, call: Call, given: Arguments) -> str:
        raise RuntimeError("secret /home/someone/token")

    def refuse(self, call: Call, given: Arguments) -> str:
        raise NotFound("No note n9.", next_step="List the notes.")

    def chatty(self, call: Call, given: Arguments) -> str:
        print("a banner on stdout")
        return "quiet answer"

    def read(self, call: Call, values: Mapping[str, str]) -> str | bytes:
        if values.get("id") == "gone":
            raise NotFound("No note gone.")
        return json.dumps(dict(values))

    def ids(self, call: Call, argument: str, value: str) -> Sequence[str]:
        return [f"{value}{number}" for number in range(250)]

    def render(self, call: Call, given: Mapping[str, str]) -> str:
        if not given.get("limit", "5").isdigit():
            raise InvalidInput("Invalid arguments: limit: must be a whole number.")
        return f"About {given['topic']}"

    def engram_register_tools(self, register: Callable[[Any], None], context: Any) -> None:
        register(Collection(id="demo", title="Demo", tool_set="thoughts"))
        for item in self._tools():
            register(item)
        register(
            Resource(
                uri="demo://notes",
                name="notes",
                description="All notes",
                read=self.read,
                group="demo",
                touched=lambda applied: ["demo://notes"] if applied.outcomes else [],
            )
        )
        register(Resource(uri="demo://note/{id}", name="note", description="One note", read=self.read, group="demo", complete=self.ids))
        register(Resource(uri="demo://raw", name="raw", description="Bytes", read=lambda *_: b"\x00\xff", group="demo", mime_type="x/y"))
        arguments = (PromptArgument("topic", "What about", required=True), PromptArgument("limit", "How many"))
        register(Prompt(name="about", title="About", description="Asks", group="demo", render=self.render, arguments=arguments))

    def _tools(self) -> Iterator[Tool]:
        def tool(name: str, handler: Any, **more: Any) -> Tool:
            facts = {"profiles": frozenset({"standard"}), "title": name.title(), "description": f"Does {name}."}
            return Tool(name=name, group="demo", handler=handler, **{**facts, **more})

        yield tool("echo", self.echo, arguments=EchoArguments, result=Echoed, meta={"engram/alwaysLoadable": True, "x/y": 1})
        yield tool("note", self.note, arguments=NoteArguments, result=Noted, writes=True, idempotent=False)
        yield tool("save", self.save, arguments=NoteArguments, result=Noted, writes=True, idempotent=False)
        yield tool("twice", self.twice)
        yield tool("slow", self.slow)
        yield tool("slow_write", self.slow, writes=True, destructive=True)
        for name in ("steps", "crash", "refuse", "chatty"):
            yield tool(name, getattr(self, name))
        yield tool("hidden", self.echo, profiles=frozenset())


class MemoryConnection:
    """The kernel's `Connection` without a socket."""

    def __init__(self, hello: Mapping[str, object]) -> None:
        self.hello = hello
        self.inbox: asyncio.Queue[tuple[int, bytes] | ValueError | None] = asyncio.Queue()
        self.outbox: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self.again: set[int] = set()

    async def receive(self) -> tuple[int, bytes] | None:
        item = await self.inbox.get()
        if isinstance(item, ValueError):
            raise item
        return item

    async def send(self, line: bytes, answers: int = 0) -> None:
        assert b"\n" not in line
        self.outbox.put_nowait((answers, line))

    def resent(self, number: int) -> bool:
        return number in self.again

    def reference(self, number: int) -> str:
        return f"host:{number}"


class Host:
    """A client that sends and sees raw lines."""

    def __init__(self, connection: MemoryConnection) -> None:
        self.connection = connection
        self.settled: list[int] = []
        self.raw: list[bytes] = []
        self.backlog: list[Any] = []
        self.number = self.ids = 0

    def send(self, line: bytes | dict[str, Any] | list[Any], *, number: int | None = None, again: bool = False) -> int:
        self.number = number or self.number + 1
        if again:
            self.connection.again.add(self.number)
        self.connection.inbox.put_nowait((self.number, line if isinstance(line, bytes) else json.dumps(line).encode()))
        return self.number

    async def receive(self) -> Any:
        """The next message; settlements without a message are only noted."""
        while True:
            answers, payload = await asyncio.wait_for(self.connection.outbox.get(), WAIT)
            if answers:
                self.settled.append(answers)
            if payload:
                self.raw.append(payload)
                return json.loads(payload)

    async def say(self, line: bytes | dict[str, Any] | list[Any]) -> Any:
        self.send(line)
        return await self.receive()

    def ask(self, method: str, params: dict[str, Any] | None = None, *, modern: bool = False, caps: Any = None, **meta: Any) -> int:
        """Send a request and return its id."""
        self.ids += 1
        body: dict[str, Any] = dict(params or {})
        if modern:
            meta |= {f"{META}protocolVersion": MODERN, f"{META}clientInfo": {"name": "raw", "version": "0"}}
            meta[f"{META}clientCapabilities"] = {} if caps is None else caps
        if meta:
            body["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": body})
        return self.ids

    async def answer(self, request_id: int) -> Any:
        """The answer to a request; whatever else arrives before goes to the backlog."""
        for message in self.backlog:
            if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                self.backlog.remove(message)
                return message
        while True:
            message = await self.receive()
            if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                return message
            self.backlog.append(message)

    async def call(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Any:
        return await self.answer(self.ask(method, params, **more))

    async def tool(self, name: str, arguments: Any = None, **more: Any) -> Any:
        return (await self.call("tools/call", {"name": name, "arguments": arguments or {}}, **more))["result"]

    async def message(self, method: str) -> Any:
        """The next request or notification of the server with this method."""
        for message in self.backlog:
            if message.get("method") == method:
                self.backlog.remove(message)
                return message
        while (message := await self.receive()).get("method") != method:
            self.backlog.append(message)
        return message

    async def greet(self, version: str = "2025-11-25", caps: Any = None, name: str = "raw") -> Any:
        said = {"protocolVersion": version, "capabilities": caps or {}, "clientInfo": {"name": name, "version": "0"}}
        answer = await self.call("initialize", said)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]


class World:
    """One kernel and the hosts connected to it."""

    def __init__(self, folder: Path, config: Config | None = None) -> None:
        self.store, self.demo = MemoryStore(), Demo()
        self.kernel = Kernel.start(config or Config(), folder, self._plugins())
        self.transport: Transport = self.kernel.transports["mcp"]
        self.serving: list[asyncio.Task[None]] = []

    def _plugins(self) -> Plugins:
        plugins = Plugins()
        engine = SimpleNamespace(
            engram_store_provider=lambda context: SimpleNamespace(open=lambda folder, settings, read_only: self.store),
            engram_retriever=lambda context, **_: SimpleNamespace(),
        )
        plugins.register(engine, Manifest(name="engine", title="", summary="", api=1))
        plugins.register(
            self.demo, Manifest.model_validate({"name": "demo", "title": "", "summary": "", "api": 1, "capabilities": {"writes": True}})
        )
        settings = {
            "port": {"type": "integer", "description": "", "default": 0},
            "host": {"type": "string", "description": "", "default": "127.0.0.1"},
        }
        plugins.register(mcp_plugin, Manifest.model_validate({"name": "mcp", "title": "", "summary": "", "api": 1, "settings": settings}))
        return plugins

    def connect(self, **hello: object) -> Host:
        connection = MemoryConnection(hello)
        self.serving.append(asyncio.ensure_future(self.transport.serve(connection, self.kernel)))
        return Host(connection)

    async def close(self) -> None:
        self.demo.gate.set()
        for task in self.serving:
            task.cancel()
        await asyncio.gather(*self.serving, return_exceptions=True)
        await asyncio.to_thread(self.kernel.close)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


@pytest.fixture
def make_world_in() -> Callable[[Path], World]:
    """For tests that need a new kernel for each example."""
    return World


@pytest.fixture
def connect_to() -> Callable[..., tuple[Host, asyncio.Task[None]]]:
    """Connects a host to a kernel of the test's own."""

    def connect(kernel: Kernel, **hello: object) -> tuple[Host, asyncio.Task[None]]:
        connection = MemoryConnection(hello)
        return Host(connection), asyncio.ensure_future(kernel.transports["mcp"].serve(connection, kernel))

    return connect


@pytest.fixture
async def host(world: World) -> Host:
    """A client of the handshake era that can answer forms."""
    made = world.connect()
    await made.greet(caps={"elicitation": {}})
    return made

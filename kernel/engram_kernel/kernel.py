"""The composition root: `Kernel.start(config)` puts the parts together, `kernel.call` is the application interface."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel

from engram_kernel import approval
from engram_kernel.arguments import refused, text_fault, validate
from engram_kernel.call import Call
from engram_kernel.changes import ChangeSet, PutCard
from engram_kernel.config import Config
from engram_kernel.errors import ConfigError, EngramError, PluginFailed
from engram_kernel.model import Collection
from engram_kernel.plugins import Plugin, PluginContext, Plugins
from engram_kernel.retrieval import Embedder, Retriever
from engram_kernel.services import Check, Service, Transport
from engram_kernel.session import Channel, Session, SilentChannel
from engram_kernel.store import Store, StoreProvider
from engram_kernel.tools import Prompt, Registry, Resource, Tool, ToolResult

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call returns: words for a model, data for a program; `native` is for the transport alone."""

    text: str
    data: dict[str, Any] | None = None
    native: Any = None


class Kernel:
    """A running kernel on one open store. All methods may be called from the event loop; none blocks it for long."""

    def __init__(self, config: Config, folder: Path, plugins: Plugins, store: Store) -> None:
        self.config, self.folder, self.plugins, self.store = config, folder, plugins, store
        self.registry = Registry()
        self.transports: dict[str, Transport] = {}
        self.services: dict[str, Service] = {}
        self.checks: list[Check] = []
        self.approvers: list[approval.Approver] = []
        self.retriever: Retriever
        self.on_tools_changed: list[Callable[[], Awaitable[None]]] = []
        self._declared: dict[str, Collection] = {}
        self._signals: list[Any] = []
        self._embedder: Embedder | None = None
        self._threads = ThreadPoolExecutor(config.owner.workers, "tool")
        self._log = structlog.get_logger("kernel")

    @classmethod
    def start(
        cls, config: Config, folder: Path, plugins: Plugins | None = None, early: Callable[[Sequence[Any]], None] | None = None
    ) -> Kernel:
        """Load plugins, open the store, register everything. Blocking; raises ConfigError, StoreUnusable, PluginFailed.

        `plugins` may be loaded already; `early` is told the transports and services before the store is opened."""
        if plugins is None:
            plugins = Plugins()
            plugins.load(config.plugins.disabled, config.plugins.settings)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        provider, settings = cls.provider(plugins, folder)
        ways: list[Any] = []
        plugins.each("engram_register_transports", lambda plugin: PluginContext(plugin, folder, None), register=ways.append)
        if early:
            early(ways)
        kernel = cls(config, folder, plugins, provider.open(folder, settings, read_only=False))
        kernel.transports = {way.kind: way for way in ways if isinstance(way, Transport)}
        kernel.services = {way.name: way for way in ways if not isinstance(way, Transport)}
        kernel._register()
        return kernel

    @staticmethod
    def provider(plugins: Plugins, folder: Path) -> tuple[StoreProvider, Mapping[str, Any]]:
        """The first storage plugin and its settings. Raises ConfigError when none is enabled."""
        found = plugins.first("engram_store_provider", lambda plugin: PluginContext(plugin, folder, None))
        if found is None:
            raise ConfigError("No storage plugin is enabled.", next_step="Remove duckdb from plugins.disabled.")
        plugin, provider = found
        return provider, plugin.settings

    def _register(self) -> None:
        each = partial(self.plugins.each, context=self._context)
        embedder = self.plugins.first("engram_embedder", self._context, stop=False)
        self._embedder = embedder[1] if embedder else None
        each("engram_register_rankers", register=self._signals.append)
        self.retriever = self._find_retriever(self._signals)
        each("engram_register_approvers", register=self.approvers.append, stop=True)
        each("engram_register_tools", register=self._add_surface)
        each("engram_register_checks", register=self.checks.append)
        self._declare_collections()

    def _find_retriever(self, signals: Sequence[Any]) -> Retriever:
        rankers = [signal for signal in signals if hasattr(signal, "rank")]
        scorers = [signal for signal in signals if hasattr(signal, "score")]
        found = self.plugins.first("engram_retriever", self._context, rankers=rankers, scorers=scorers, guard=self.plugins.guard)
        if found is None:
            raise ConfigError("No ranking plugin is enabled.", next_step="Remove rank from plugins.disabled.")
        return found[1]  # type: ignore[no-any-return]

    def _context(self, plugin: Plugin) -> PluginContext:
        return PluginContext(plugin, self.folder, self.store, self._embedder)

    def _add_surface(self, item: Tool | Resource | Prompt | Collection) -> None:
        if isinstance(item, Collection):
            self._declared[item.id] = item
        else:
            self.registry.add(item)

    def _declare_collections(self) -> None:
        known = {collection.id for collection in self.store.cards(Collection)}
        missing = [PutCard(card) for name, card in self._declared.items() if name not in known]
        if missing:
            self.store.apply(ChangeSet(tuple(missing)))

    def collections(self) -> Sequence[Collection]:
        return self.store.cards(Collection)

    async def tools_changed(self) -> None:
        """Tell the transports that sessions may now see other tools."""
        for tell in self.on_tools_changed:
            await tell()

    def may_write(self, plugin_name: str) -> bool:
        plugin = self.plugins.named(plugin_name)
        return bool(plugin and plugin.manifest and plugin.manifest.capabilities.writes)

    async def in_thread(self, work: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None,
        session: Session,
        *,
        channel: Channel | None = None,
        reference: str | None = None,
        resent: bool = False,
    ) -> Reply:
        """Run one tool. Raises EngramError: Unknown, InvalidInput and whatever the tool raises.

        `reference` identifies the client's request; a call with `resent` set finds its earlier writes by it.
        """
        tool = self.registry.tool(name, session)
        checked = validate(tool.arguments, arguments)
        call = self._new_call(tool, session, channel, reference, resent)
        try:
            if inspect.iscoroutinefunction(tool.handler):
                outcome = await tool.handler(call, checked)
            else:
                outcome = await self._run(tool, partial(tool.handler, call, checked))
        except EngramError:
            raise
        except Exception as error:
            self._log.exception("tool crashed", tool=name)
            raise _crash(tool) from error
        return _reply(outcome)

    async def _run(self, tool: Tool, work: Callable[[], R]) -> R:
        """A cancelled read is abandoned; a write is always waited for, so that none is half known at the end."""
        running = asyncio.ensure_future(self.in_thread(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if tool.writes:
                await asyncio.wait([running])
            raise

    async def read(self, uri: str, session: Session) -> tuple[Resource, str | bytes]:
        """Read one resource. Raises Unknown, or InvalidInput for an unusable address."""
        if fault := text_fault(uri):
            raise refused({"uri": fault})
        resource, values = self.registry.resource(uri, session)
        if any(fault := text_fault(value) for value in values.values()):
            raise refused({"uri": str(fault)})
        call = self._new_call(resource, session, None, None, False)
        return resource, await self.in_thread(partial(resource.read, call, values))

    async def render(
        self, name: str, arguments: Mapping[str, str] | None, session: Session, channel: Channel | None = None
    ) -> tuple[Prompt, Any]:
        """Render one prompt. Raises Unknown, or InvalidInput naming a missing, extra or unusable argument."""
        prompt = self.registry.prompt(name, session)
        given = dict(arguments or {})
        known = {argument.name for argument in prompt.arguments}
        faults = {key: "is not an argument of this prompt" for key in given if key not in known}
        faults |= {item.name: "is required" for item in prompt.arguments if item.required and not given.get(item.name, "").strip()}
        faults |= {key: fault for key, value in given.items() if (fault := text_fault(value))}
        if faults:
            raise refused(faults)
        call = self._new_call(prompt, session, channel, None, False)
        return prompt, await self.in_thread(partial(prompt.render, call, given))

    async def complete(self, item: Resource | Prompt, argument: str, value: str, session: Session) -> Sequence[str]:
        """Values for one argument that start with `value`, at most 100."""
        if item.complete is None:
            return []
        call = self._new_call(item, session, None, None, False)
        return list(await self.in_thread(partial(item.complete, call, argument, value)))[:100]

    def _new_call(self, item: object, session: Session, channel: Channel | None, reference: str | None, resent: bool) -> Call:
        owner = self.plugins.owner(item)
        return Call(self, session, channel or SilentChannel(), plugin=owner.name if owner else "", reference=reference, resent=resent)

    def close(self) -> None:
        """Wait for running calls, then close the retrieval signals that can be closed, then the store."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        for signal in (*self._signals, self._embedder):
            if hasattr(signal, "close"):
                self.plugins.guard(signal, signal.close)
        self.store.close()


def _reply(outcome: str | BaseModel | ToolResult) -> Reply:
    if isinstance(outcome, str):
        return Reply(outcome)
    result = outcome if isinstance(outcome, ToolResult) else ToolResult(outcome)
    if result.data is None:
        return Reply(result.text or "", native=result.native)
    text = result.data.model_dump_json(by_alias=True) if result.text is None else result.text
    return Reply(text, result.data.model_dump(mode="json", by_alias=True), result.native)


def _crash(tool: Tool) -> PluginFailed:
    changed = "Whether anything was changed could not be confirmed." if tool.writes else "Nothing was changed."
    step = "Read back before you repeat it; details are in the server log." if tool.writes else "Details are in the server log."
    return PluginFailed(f"{tool.name} failed unexpectedly.", changed=changed, next_step=step)

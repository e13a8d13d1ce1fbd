"""Loading plugins, each in its own try; calling them under guard; quarantine; the report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import pluggy
import structlog

from engram_kernel.changes import Applied, ChangeSet
from engram_kernel.discovery import GROUP, Found, discover
from engram_kernel.errors import NotAllowed, PluginFailed
from engram_kernel.hookspecs import Hooks
from engram_kernel.manifest import Manifest, describe, read_manifest
from engram_kernel.retrieval import Embedder
from engram_kernel.store import Store

R = TypeVar("R")
Status = Literal["loaded", "disabled", "failed", "shadowed", "quarantined"]
FAILURES_BEFORE_QUARANTINE = 5


@dataclass
class Plugin:
    """One plugin and what became of it."""

    name: str
    distribution: str
    version: str
    status: Status
    manifest: Manifest | None = None
    error: str = ""
    failures: int = 0
    module: Any = None
    settings: Mapping[str, Any] = field(default_factory=dict)


class PluginContext:
    """What a plugin gets at registration: its settings, a folder of its own, and the store its manifest allows."""

    def __init__(self, plugin: Plugin, folder: Path, store: Store | None, embedder: Embedder | None = None) -> None:
        self.name, self.settings = plugin.name, plugin.settings
        self.folder = folder
        """The data folder."""
        self.embedder = embedder
        self._store, self._writes = store, bool(plugin.manifest and plugin.manifest.capabilities.writes)

    @property
    def index_folder(self) -> Path:
        """A folder for this plugin's derived files; may be deleted at any time while no owner runs."""
        path = self.folder / "index" / self.name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def store(self) -> Store:
        """The open store; without the capability `writes`, one that refuses to write."""
        if self._store is None:
            raise RuntimeError("the store is not open while storage plugins register")
        return self._store if self._writes else cast(Store, _ReadOnlyStore(self._store, self.name))


class _ReadOnlyStore:
    def __init__(self, store: Store, plugin: str) -> None:
        self._store, self._plugin = store, plugin

    def apply(self, changes: ChangeSet) -> Applied:
        raise NotAllowed(f"The plugin {self._plugin!r} has not declared that it writes.")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Plugins:
    """All plugins of this process."""

    def __init__(self, *, trace: bool = False) -> None:
        if not structlog.is_configured():  # its own default would print to stdout, where a protocol may run
            structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(Hooks)
        self.all: list[Plugin] = []
        self._owners: dict[int, Plugin] = {}
        self._log = structlog.get_logger("plugins")
        self._trace = trace

    def load(self, disabled: Iterable[str], settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Load every advertised plugin; one that fails is reported and the others go on."""
        switched_off, seen = set(disabled), set()
        for found in discover():
            plugin = Plugin(found.name, found.distribution, found.version, "loaded")
            self.all.append(plugin)
            if found.name in seen:
                plugin.status, plugin.error = "shadowed", "another distribution has a plugin of this name"
            else:
                seen.add(found.name)
                self._load_one(plugin, found, found.name in switched_off, settings.get(found.name, {}))

    def _load_one(self, plugin: Plugin, found: Found, off: bool, settings: Mapping[str, Any]) -> None:
        try:
            plugin.manifest = read_manifest(found)
            if off:
                plugin.status = "disabled"
                return
            plugin.settings = plugin.manifest.read_settings(settings)
            plugin.module = found.entry.load()
            self.manager.register(plugin.module, name=plugin.name)
        except Exception as error:
            plugin.status, plugin.error = "failed", describe(error)
            self._log.warning("plugin failed to load", plugin=plugin.name, error=plugin.error)

    def register(self, module: Any, manifest: Manifest, settings: Mapping[str, Any] | None = None) -> Plugin:
        """Add a plugin object directly; for tests and embedding."""
        plugin = Plugin(manifest.name, "local", "0", "loaded", manifest, module=module)
        plugin.settings = manifest.read_settings(settings or {})
        self.manager.register(module, name=plugin.name)
        self.all.append(plugin)
        return plugin

    def each(self, hook: str, context: Callable[[Plugin], PluginContext], *, stop: bool = False, **arguments: Any) -> dict[str, Any]:
        """Call one hook of every loaded plugin with its own context; plugin name to result.

        `register` is wrapped so that what is registered is known by its plugin. With `stop` a failure raises
        PluginFailed, otherwise it is recorded and that plugin is left out.
        """
        results: dict[str, Any] = {}
        for plugin in self.loaded():
            implementation = getattr(plugin.module, hook, None)
            if implementation is None:
                continue
            try:
                results[plugin.name] = self._call(plugin, implementation, context(plugin), arguments)
            except Exception as error:
                self._record(plugin, hook, error)
                if stop:
                    raise PluginFailed(
                        f"The plugin {plugin.name!r} failed in {hook}: {describe(error)}.", data={"plugin": plugin.name}
                    ) from error
        return results

    def first(
        self, hook: str, context: Callable[[Plugin], PluginContext], *, stop: bool = True, **arguments: Any
    ) -> tuple[Plugin, Any] | None:
        """The first plugin that answers the hook with something, and its answer."""
        found = self.each(hook, context, stop=stop, **arguments)
        for plugin in self.loaded():
            if (answer := found.get(plugin.name)) is not None:
                self._owners[id(answer)] = plugin
                return plugin, answer
        return None

    def _call(self, plugin: Plugin, implementation: Any, context: PluginContext, arguments: Mapping[str, Any]) -> Any:
        if self._trace:
            self._log.info("hook", plugin=plugin.name, hook=implementation.__name__)
        if "register" not in arguments:
            return implementation(context=context, **arguments)
        collected: list[Any] = []
        implementation(register=collected.append, context=context)
        for item in collected:
            self._owners[id(item)] = plugin
            arguments["register"](item)
        return len(collected)

    def owner(self, item: object) -> Plugin | None:
        """The plugin that registered an object."""
        return self._owners.get(id(item))

    def guard(self, item: object, call: Callable[[], R], /) -> R | None:
        """A read-side call: a failure is recorded and None returned; a quarantined plugin is not called."""
        plugin = self._owners.get(id(item))
        if plugin is not None and plugin.status == "quarantined":
            return None
        try:
            return call()
        except Exception as error:
            if plugin is None:
                raise
            self._record(plugin, type(item).__name__, error)
            return None

    def loaded(self) -> list[Plugin]:
        return [plugin for plugin in self.all if plugin.status == "loaded"]

    def named(self, name: str) -> Plugin | None:
        return next((plugin for plugin in self.all if plugin.name == name), None)

    def _record(self, plugin: Plugin, where: str, error: Exception) -> None:
        plugin.failures += 1
        plugin.error = f"{where}: {describe(error)}"
        self._log.warning("plugin failed", plugin=plugin.name, where=where, error=describe(error), failures=plugin.failures)
        if plugin.failures >= FAILURES_BEFORE_QUARANTINE:
            plugin.status = "quarantined"

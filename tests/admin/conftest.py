"""A kernel with the operator tools and a stand-in for the store that remembers what was asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from engram_kernel.config import Config
from engram_kernel.hookspecs import hookimpl
from engram_kernel.kernel import Kernel
from engram_kernel.manifest import Manifest
from engram_kernel.model import Collection, Event
from engram_kernel.plugins import Plugins
from engram_kernel.session import Session
from engram_kernel.store import Statistics, Verification

OLD = datetime(2020, 1, 1, tzinfo=UTC)


class FakeStore:
    """Three events, one collection; every answer can be replaced."""

    def __init__(self) -> None:
        self.collections = [Collection(id="thoughts", title="Thoughts", tool_set="thoughts")]
        self.verification = Verification(3, 2, 1)
        self.facts: Mapping[str, str] = {"schema": "1"}
        self.memories, self.first, self.verified_deep = 2, datetime.now(UTC), False
        self.fails: Exception | None = None
        self.closed = False

    def cards(self, kind: type[Any], collection: str | None = None) -> list[Any]:
        return list(self.collections)

    def statistics(self, collections: list[str]) -> Statistics:
        return Statistics(self.memories, 1, bytes_on_disk=1000, last_sequence=3)

    def sequence(self) -> int:
        return 3

    def health(self) -> Mapping[str, str]:
        if self.fails:
            raise self.fails
        return self.facts

    def verify(self, deep: bool = False, progress: Any = None) -> Verification:
        self.verified_deep = deep
        for done in range(1000):
            progress(done, 1000, "hash chain")
        progress(1000, 1000, "done")
        return self.verification

    def backup(self, target: Path, progress: Any = None) -> Mapping[str, Any]:
        target.mkdir()
        (target / "manifest.json").write_text("{}")
        return {"sequence": 3, "format": 1}

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        known = [
            Event(sequence=n, operation="put", recorded_at=self.first, actor="local", payload="{}", previous=str(n - 1), hash=str(n))
            for n in (1, 2, 3)
        ]
        return [event for event in known if event.sequence > after][:limit]

    def apply(self, changes: Any) -> None:
        raise AssertionError("an operator tool must not write memories")

    def close(self) -> None:
        self.closed = True


def manifest(name: str) -> Manifest:
    import engram_admin

    if name == "admin":
        file = Path(engram_admin.__file__).with_name("engram-plugin.yaml")
        return Manifest.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    return Manifest(name=name, title=name, summary=name, api=1)


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def settings() -> dict[str, Any]:
    return {}


@pytest.fixture
def kernel(tmp_path: Path, store: FakeStore, settings: dict[str, Any]) -> Iterator[Kernel]:
    import engram_admin.plugin

    class Parts:
        @staticmethod
        @hookimpl
        def engram_store_provider(context: Any) -> Any:
            return SimpleNamespace(open=lambda folder, values, *, read_only=False: store)

        @staticmethod
        @hookimpl
        def engram_retriever(context: Any, rankers: Any, scorers: Any, guard: Any) -> Any:
            return SimpleNamespace(search=None)

    plugins = Plugins()
    plugins.register(Parts, manifest("parts"))
    plugins.register(engram_admin.plugin, manifest("admin"), settings)
    kernel = Kernel.start(Config(), tmp_path / "data", plugins)
    yield kernel
    kernel.close()


class Listener:
    """A channel that keeps the progress it is told."""

    native: Any = None

    def __init__(self) -> None:
        self.told: list[tuple[float, float | None, str | None]] = []

    def can_ask(self) -> bool:
        return False

    async def ask(self, form: Any) -> Any:
        raise AssertionError

    async def progress(self, done: float, total: float | None, message: str | None) -> None:
        self.told.append((done, total, message))


@pytest.fixture
def call(kernel: Kernel, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Call an operator tool as the command line does; the session works in `work`."""
    (tmp_path / "work").mkdir()

    def run(tool: str, arguments: Mapping[str, Any] | None = None, *, workspace: bool = True, channel: Any = None) -> dict[str, Any]:
        session = Session(audience="operator", workspace=tmp_path / "work" if workspace else None)
        reply = asyncio.run(kernel.call(tool, arguments, session, channel=channel))
        assert reply.data is not None
        return reply.data

    return run


@pytest.fixture
def listener() -> Listener:
    return Listener()

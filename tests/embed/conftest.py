"""A real store with the embedding plugin's parts on it, a provider whose answers a test controls, and a fake server."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from engram_duckdb.settings import Settings as StoreSettings
from engram_duckdb.store import DuckStore
from engram_embed.running import Running
from engram_embed.settings import Settings
from engram_embed.worker import Pace
from engram_kernel.changes import Change, ChangeSet, Put
from engram_kernel.model import Memory, Ref

QUICK = Pace(start=0.05, quiet=0.005, patience=0.05, save=0.05, retry=0.1, batch=32)
HASHING = "hashing_provider:make"


@pytest.fixture(scope="session", autouse=True)
def _hashing_provider() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "support"))
        yield
    sys.modules.pop("hashing_provider", None)


def until(true: Callable[[], Any], seconds: float = 20) -> None:
    """Wait for something that happens in the background."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def memory(name: str, text: str, **fields: Any) -> Memory:
    return Memory(collection="c", id=name, kind="NOTE", text=text, **fields)


class Bench:
    """A store that can be closed and opened again, and the embedder on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = DuckStore(folder, StoreSettings())
        self.running: Running | None = None
        (folder / "index").mkdir(exist_ok=True)

    def embed_with(self, provider: str = HASHING, model: str = "one", **settings: Any) -> Running:
        self.running = Running(Settings(provider=provider, model=model, **settings), self.store, self.folder / "index", QUICK)
        return self.running

    def write(self, *changes: Change) -> None:
        self.store.apply(ChangeSet(changes))

    def add(self, **texts: str) -> None:
        self.write(*(Put(memory(name, text)) for name, text in texts.items()))

    def number(self, name: str) -> int:
        (found,) = self.store.get([Ref("c", name)])
        assert found is not None
        return found.number

    def vector(self, name: str) -> np.ndarray | None:
        """The windows of a memory, shape (windows, dimension)."""
        assert self.running is not None
        number = self.number(name)
        data = self.store.vectors(self.running.model, [number]).get(number)
        return None if data is None else np.frombuffer(data, "<f4").reshape(-1, self.running.dimension)

    def has(self, *names: str) -> bool:
        return all(self.vector(name) is not None for name in names)

    def stop(self) -> None:
        if self.running is not None:
            self.running.close()
            self.running = None

    def reopen(self) -> None:
        self.close()
        self.store = DuckStore(self.folder, StoreSettings())

    def close(self) -> None:
        self.stop()
        self.store.close()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


@dataclass
class FakeServer:
    """An embedding server on loopback. `answer` decides what it says; `bodies` is what it was asked."""

    port: int = 0
    answer: Callable[[str, dict[str, Any]], tuple[int, Any]] = lambda path, body: (500, "no answer set")
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    delay: float = 0
    _server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def up(self) -> None:
        fake = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                fake.bodies.append(body)
                fake.headers.append(dict(self.headers))
                time.sleep(fake.delay)
                status, value = fake.answer(self.path, body)
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def down(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    fake.up()
    yield fake
    fake.down()


@contextmanager
def closing(thing: Any) -> Iterator[Any]:
    try:
        yield thing
    finally:
        thing.close()


@pytest.fixture
def tools() -> Any:
    """until, memory, closing: for tests, which cannot import this file."""

    class Tools:
        pass

    made = Tools()
    made.until, made.memory, made.closing = until, memory, closing  # type: ignore[attr-defined]
    return made

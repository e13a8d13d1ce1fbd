"""A kernel with the real plugins on a fresh folder, and a small client for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.config import Config
from engram_kernel.errors import EngramError
from engram_kernel.kernel import Kernel
from engram_kernel.session import Session, ToolChoice


class Client:
    """Calls tools as an agent does; `fails` expects a refusal and returns it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.session = Session(tools=ToolChoice("thoughts"))
        self.operator = Session(audience="operator")

    def call(self, name: str, /, *, operator: bool = False, reference: str | None = None, resent: bool = False, **arguments: Any) -> Any:
        session = self.operator if operator else self.session
        return asyncio.run(self.kernel.call(name, arguments, session, reference=reference, resent=resent)).data

    def fails(self, name: str, /, *, operator: bool = False, **arguments: Any) -> EngramError:
        with pytest.raises(EngramError) as caught:
            self.call(name, operator=operator, **arguments)
        return caught.value

    def store(self, content: str, essence: str = "note", **arguments: Any) -> str:
        return str(self.call("store_thought", essence=essence, content=content, **arguments)["thought"]["thought_id"])

    def get(self, thought_id: str) -> Any:
        return self.call("get_thought", thought_id=thought_id)["thought"]

    def find(self, query: str, **arguments: Any) -> list[str]:
        """The ids of a FIND query, in its order."""
        answer = self.call("query_memory", query=query, **arguments)
        return [row[answer["columns"][0]] for row in answer["rows"]]

    def hits(self, text: str, **arguments: Any) -> list[str]:
        return [hit["thought_id"] for hit in self.call("search_memory", query_text=text, **arguments)["results"]]

    def state(self) -> tuple[int, int]:
        """Something that changes with every write."""
        return self.kernel.store.sequence(), self.call("memory_stats")["metrics"]["thoughts"]["total"]

    def read(self, uri: str) -> str:
        content = asyncio.run(self.kernel.read(uri, self.session))[1]
        return content if isinstance(content, str) else content.decode()

    def render(self, name: str, **arguments: str) -> str:
        return str(asyncio.run(self.kernel.render(name, arguments, self.session))[1])


Start = Callable[..., Client]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts further kernels with their own settings of the plugin; all are closed at the end."""
    running: list[Kernel] = []

    def run(folder: str = "data", **settings: Any) -> Client:
        config = Config.model_validate({"plugins": {"disabled": ["embed"], "settings": {"thoughts": settings}}})
        running.append(Kernel.start(config, tmp_path / folder))
        return Client(running[-1])

    yield run
    for kernel in running:
        kernel.close()


@pytest.fixture
def memory(start: Start) -> Client:
    """An empty store with the default settings."""
    return start()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One store for all tests of a module that only read, or that do not mind each other."""
    config = Config.model_validate({"plugins": {"disabled": ["embed"]}})
    kernel = Kernel.start(config, tmp_path_factory.mktemp("shared"))
    yield Client(kernel)
    kernel.close()

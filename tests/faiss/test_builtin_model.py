"""Field cases with the model that comes with the installation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_kernel.changes import ChangeSet, Put, PutCard
from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Memory
from engram_kernel.query import Query
from engram_kernel.retrieval import SearchRequest

PARAGRAPH = (
    "The meeting about the garden went on for a while. We spoke about the weather, the plans for the next summer, the neighbours, "
    "and who takes care of the dog while everybody is away. Nothing was decided, and it will be spoken about again. "
)
KEY = "The spare key hangs behind the boiler."
LONG = "\n\n".join([PARAGRAPH + str(n) for n in range(70)] + [KEY])
TEXTS = {
    "note": LONG,
    "one_line": ("x" * 50_000) + " The lawnmower is in the shed.",
    "huge": (PARAGRAPH * 800)[:199_000] + "\n\nThe passport lies in the blue drawer of the desk.",
    "tea": "She prefers tea in the morning.",
    "database": "We chose DuckDB as the storage engine.",
    "cat": "The cat is afraid of thunderstorms.",
}


class Running:
    def __init__(self, folder: Path) -> None:
        self.kernel = Kernel.start(Config(plugins=PluginsConfig(disabled=["admin", "mcp", "runtime", "thoughts"])), folder)
        self.kernel.store.apply(ChangeSet((PutCard(Collection(id="c", title="C", tool_set="thoughts")),)))
        puts = (Put(Memory(collection="c", id=name, kind="NOTE", text=text)) for name, text in TEXTS.items())
        self.kernel.store.apply(ChangeSet(tuple(puts)))

    def found(self, text: str, signal: str = "vector") -> list[str]:
        request = SearchRequest(text=text, query=Query(collections=("c",)), weights={signal: 1.0}, limit=3)
        return [hit.memory.id for hit in self.kernel.retriever.search(self.kernel.store, request).hits]

    def embedded(self) -> bool:
        vectors = self.kernel.store.vectors(self.kernel._embedder.model, range(1, len(TEXTS) + 1))
        return len(vectors) == len(TEXTS)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(tmp_path_factory.mktemp("real"))
    yield made
    made.kernel.close()


def test_case_26_the_end_of_a_long_note_is_found_by_its_meaning(running: Running, tools) -> None:
    assert len(LONG.split()) > 3000
    tools.until(running.embedded, 120)
    tools.until(lambda: running.found("where is the spare key"), 10)
    for question in ("where is the spare key", "what can I use to open the house when I have lost mine?", "Wo ist der Ersatzschlüssel?"):
        assert running.found(question)[0] == "note", question
    assert running.found("where did I put my travel documents")[0] == "huge"
    assert running.found("where is the lawnmower")[0] == "one_line"


def test_case_33_a_search_before_the_model_is_loaded_says_so(tmp_path: Path) -> None:
    running = Running(tmp_path)
    try:
        running.kernel._embedder.inner.state = "loading"  # as it is for a second or two after the first need
        request = SearchRequest(text="tea in the morning", query=Query(collections=("c",)), weights={"lexical": 0.7, "vector": 0.3})
        ranking = running.kernel.retriever.search(running.kernel.store, request)
        assert (ranking.signals, ranking.failed) == (["lexical"], [])
        assert ranking.hits[0].memory.id == "tea"
    finally:
        running.kernel._embedder.inner.state = "not loaded"
        running.kernel.close()

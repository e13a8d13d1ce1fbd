"""The whole path with the built-in store, ranking included: kernel, store, index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from engram_kernel.changes import Change, ChangeSet, Confirm, Link, Put, PutCard, Restore, Retire, Revise, Supersede
from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Edge, Memory, Ref, State
from engram_kernel.query import Compare, Query
from engram_kernel.retrieval import Ranking, SearchRequest

OTHERS = ["admin", "mcp", "runtime", "thoughts"]


class Running:
    """A kernel with the store, the lexical index and the ranking, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._config = Config(plugins=PluginsConfig(disabled=OTHERS))
        self._folder = folder
        self.kernel = Kernel.start(self._config, folder)
        if not self.kernel.collections():
            self.write(PutCard(Collection(id="c", title="C", tool_set="thoughts")))

    def write(self, *changes: Change) -> None:
        self.kernel.store.apply(ChangeSet(changes))

    def add(self, **texts: str) -> None:
        self.write(*(Put(memory(name, text)) for name, text in texts.items()))

    def reopen(self) -> None:
        self.kernel.close()
        self.kernel = Kernel.start(self._config, self._folder)

    def reopen_without_index(self, change: Callable[[], None]) -> None:
        """Change the store while the index does not follow, as after a crash between the commit and the save."""
        self.kernel.close()
        config = Config(plugins=PluginsConfig(disabled=[*OTHERS, "lexical"]))
        self.kernel = Kernel.start(config, self._folder)
        change()
        self.reopen()

    def search(self, text: str, *, limit: int = 10, where: Compare | None = None, states: Sequence[State] = (State.LIVE,)) -> Ranking:
        query = Query(collections=("c",), where=where, states=tuple(states))
        return self.kernel.retriever.search(self.kernel.store, SearchRequest(text=text, query=query, weights={"lexical": 1.0}, limit=limit))

    def found(self, text: str, **options) -> list[str]:
        return [hit.memory.id for hit in self.search(text, **options).hits]

    def facts(self) -> str:
        (check,) = [check for check in self.kernel.checks if check.name == "lexical index"]
        (finding,) = check.run()
        assert finding.level == "ok"
        return finding.text


def memory(name: str, text: str, **fields) -> Memory:
    return Memory(collection="c", id=name, kind="NOTE", text=text, **fields)


def ref(name: str) -> Ref:
    return Ref("c", name)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    yield made
    made.kernel.close()


def twice(running: Running, check: Callable[[], None]) -> None:
    """In the same process, and after reopening."""
    check()
    running.reopen()
    check()


def test_a_memory_is_found_right_after_the_write(running: Running) -> None:
    running.add(a="The archive is in the cellar", b="The kitchen is upstairs")

    def check() -> None:
        (hit,) = running.search("archive").hits
        assert hit.memory.id == "a"
        assert hit.details == {"lexical": "matched: archive"}
        assert 0 < hit.score <= 1

    twice(running, check)


def test_a_revision_replaces_what_is_found(running: Running) -> None:
    running.add(a="The archive is in the cellar")
    assert running.found("cellar") == ["a"]
    running.write(Revise(ref("a"), {"text": "The archive is in the attic"}))

    def check() -> None:
        assert running.found("cellar") == []
        assert running.found("attic") == ["a"]

    twice(running, check)


def test_a_superseded_memory_is_found_only_when_asked_for(running: Running) -> None:
    running.add(old="She prefers coffee in the morning")
    running.write(Supersede(ref("old"), memory("new", "She prefers tea in the morning")))

    def check() -> None:
        assert running.found("prefers coffee") == ["new"]
        assert running.found("prefers coffee", states=(State.LIVE, State.SUPERSEDED)) == ["new", "old"]

    twice(running, check)


def test_case_09_a_retired_memory_gives_its_place_to_the_survivor(running: Running) -> None:
    running.add(a="Use jose for signed tokens", b="Signed tokens expire after 30 minutes")
    (winner,) = running.found("signed tokens", limit=1)
    running.write(Retire(ref(winner)))
    (survivor,) = {"a", "b"} - {winner}
    twice(running, lambda: assert_equal(running.found("signed tokens", limit=1), [survivor]))
    running.write(Restore(ref(winner)))
    twice(running, lambda: assert_equal(running.found("signed tokens", limit=1), [winner]))


def test_case_10_what_the_index_missed_is_repaired_at_start(running: Running) -> None:
    running.add(a="first about lanterns", b="second about lanterns", c="third about lanterns")
    assert len(running.found("lanterns")) == 3

    def change() -> None:
        running.add(d="the last item before the crash, about lanterns")
        running.write(Retire(ref("a")))
        running.write(Revise(ref("b"), {"text": "second about candles"}))

    running.reopen_without_index(change)
    assert set(running.found("lanterns")) == {"c", "d"}
    assert running.found("last item", limit=1) == ["d"]
    assert "3 memories of the last run were added" in running.facts()
    assert "documents: 3" in running.facts()


def test_a_deleted_index_is_built_again(running: Running, tmp_path: Path) -> None:
    running.add(old="about lanterns")
    running.write(Supersede(ref("old"), memory("new", "about bright lanterns")))
    before = [(hit.memory.id, hit.score) for hit in running.search("lanterns", states=(State.LIVE, State.SUPERSEDED)).hits]

    def change() -> None:
        for path in (tmp_path / "index" / "lexical").iterdir():
            path.unlink()

    running.reopen_without_index(change)
    assert [(hit.memory.id, hit.score) for hit in running.search("lanterns", states=(State.LIVE, State.SUPERSEDED)).hits] == before
    assert "rebuilt, because there was none" in running.facts()


def test_links_and_confirmations_do_not_disturb_the_index(running: Running) -> None:
    running.add(a="about lanterns", b="about candles")
    running.write(Link(Edge(id="e", source=ref("a"), target=ref("b"), type="ASSOCIATED")), Confirm(ref("a")))
    twice(running, lambda: assert_equal(running.found("lanterns"), ["a"]))


def test_case_27_a_filter_of_one_percent_finds_all_of_it(running: Running) -> None:
    noise = [Put(memory(f"n{n:04}", "deploy the service, deploy it", status="noise")) for n in range(2000)]
    text = "a longer and weaker text in which somebody deploys it at some time"
    rare = [Put(memory(f"r{n}", text, status="rare")) for n in range(20)]
    for start in range(0, 2000, 500):
        running.write(*noise[start : start + 500])
    running.write(*rare)
    found = running.search("deploy the service", limit=20, where=Compare("status", "=", "rare"))
    assert sorted(hit.memory.id for hit in found.hits) == sorted(f"r{n}" for n in range(20))
    assert found.allowed == 20


def assert_equal(found: object, expected: object) -> None:
    assert found == expected

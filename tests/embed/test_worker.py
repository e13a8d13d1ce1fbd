"""The worker on a real store: everything living gets its vector, whatever happens in between."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from engram_embed import model as model_module
from engram_embed.health import findings
from engram_kernel.changes import Confirm, Embed, Put, Restore, Retire, Revise, Supersede
from engram_kernel.model import Ref
from engram_kernel.retrieval import rendering


def ref(name: str) -> Ref:
    return Ref("c", name)


def embedded(bench) -> int:
    return bench.running.worker.report().embedded


def idle(bench) -> bool:
    report = bench.running.worker.report()
    return not report.busy and report.reached == bench.store.sequence()


def test_what_is_written_is_embedded(bench, tools) -> None:
    bench.embed_with()
    bench.add(a="the spare key", b="tea in the morning")
    tools.until(lambda: bench.has("a", "b"))
    (memory,) = bench.store.get([ref("a")])
    (expected,) = bench.running.embed([rendering(memory)])
    assert bench.vector("a").tobytes() == expected


def test_a_new_text_gets_a_new_vector_and_other_changes_none(bench, tools) -> None:
    bench.embed_with()
    bench.add(a="the spare key")
    tools.until(lambda: bench.has("a"))
    before = bench.vector("a")
    bench.write(Confirm(ref("a")), Revise(ref("a"), {"status": "done"}))
    tools.until(lambda: idle(bench))
    assert embedded(bench) == 1
    bench.write(Revise(ref("a"), {"text": "the other key"}))
    tools.until(lambda: bench.has("a") and embedded(bench) == 2)
    assert not np.allclose(bench.vector("a"), before)


def test_the_superseded_and_retired_need_none(bench, tools) -> None:
    bench.add(a="first", b="second", c="third")
    bench.write(Supersede(ref("a"), tools.memory("a2", "first again")), Retire(ref("b")))
    bench.embed_with()
    tools.until(lambda: bench.has("a2", "c"))
    tools.until(lambda: idle(bench))
    assert embedded(bench) == 2
    assert bench.vector("a") is None
    bench.write(Restore(ref("b")))
    tools.until(lambda: bench.has("b"))


def test_many_waiting_memories_share_commits(bench, tools) -> None:
    bench.write(*(Put(tools.memory(f"m{n}", f"memory number {n}")) for n in range(200)))
    before = bench.store.sequence()
    bench.embed_with()
    tools.until(lambda: bench.has(*(f"m{n}" for n in range(200))))
    assert bench.store.sequence() - before == 7


def test_a_restart_goes_on_where_it_was(bench, tools) -> None:
    bench.embed_with()
    bench.add(a="first")
    tools.until(lambda: bench.has("a") and idle(bench))
    bench.reopen()
    bench.add(b="while nobody listened")
    bench.write(Revise(ref("a"), {"text": "first, changed"}))
    bench.embed_with()
    tools.until(lambda: bench.has("a", "b") and idle(bench))
    assert embedded(bench) == 2
    bench.reopen()
    bench.embed_with()
    tools.until(lambda: idle(bench))
    assert (embedded(bench), bench.running.inner.state) == (0, "not loaded")


@pytest.mark.parametrize("content", [None, "", "{", '{"model": 1}', '{"model": "x", "sequence": 10000, "anchor": "y"}'])
def test_progress_that_cannot_be_trusted_is_made_again(bench, tools, content: str | None) -> None:
    bench.embed_with()
    bench.add(a="first")
    tools.until(lambda: bench.has("a") and idle(bench))
    bench.stop()
    path = bench.folder / "index" / "progress.json"
    assert json.loads(path.read_text())["sequence"] == bench.store.sequence()
    path.unlink() if content is None else path.write_text(content)
    bench.add(b="second")
    bench.embed_with()
    tools.until(lambda: bench.has("b") and idle(bench))
    assert embedded(bench) == 1


def test_progress_of_another_history_is_not_believed(bench, tools, tmp_path: Path) -> None:
    path = bench.folder / "index" / "progress.json"
    bench.add(a="first", b="second")
    bench.embed_with()
    tools.until(lambda: bench.has("a", "b") and idle(bench))
    name = bench.running.model
    bench.stop()
    path.write_text(json.dumps({"model": name, "sequence": 1, "anchor": "of another store"}))
    bench.embed_with()
    tools.until(lambda: idle(bench))
    tools.until(lambda: json.loads(path.read_text())["anchor"] not in ("", "of another store"))


def test_another_model_embeds_everything_again(bench, tools) -> None:
    bench.write(*(Put(tools.memory(f"m{n}", f"memory number {n}")) for n in range(70)))
    bench.embed_with(model="one")
    tools.until(lambda: bench.has("m0", "m69") and idle(bench))
    first, name = bench.vector("m0"), bench.running.model
    bench.stop()
    bench.embed_with(model="two:48")
    assert not bench.has("m0")
    tools.until(lambda: bench.has(*(f"m{n}" for n in range(70))) and idle(bench))
    assert bench.vector("m0").shape == (1, 48)
    number = bench.number("m0")
    assert bench.store.vectors(name, [number])[number] == first.tobytes(), "the old model's vectors stay"
    bench.stop()
    bench.embed_with(model="one")
    tools.until(lambda: idle(bench))
    assert embedded(bench) == 0, "going back costs nothing"


def test_vectors_of_an_import_are_no_vectors_of_ours(bench, tools) -> None:
    bench.add(a="first")
    bench.write(Embed(ref("a"), "all-MiniLM-L12-v2", 2, np.array([1, 0], "<f4").tobytes()))
    bench.embed_with()
    tools.until(lambda: bench.has("a"))
    assert bench.vector("a").shape == (1, 32)


def answer(path, body):
    vectors = [[float(1 + sum(map(ord, text)) % 7), float(len(text)), 1.0] for text in body["input"]]
    return 200, {"embeddings": vectors}


def test_a_provider_that_is_down_is_waited_for(bench, tools, server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(model_module, "WARM_PAUSE", 0.1)
    server.answer = answer
    bench.embed_with("ollama", "m", base_url=server.url)
    bench.add(a="before")
    tools.until(lambda: bench.has("a"))
    server.down()
    started = time.monotonic()
    bench.add(b="during", c="during, too")
    assert time.monotonic() - started < 5, "the write waited for the provider"
    tools.until(lambda: bench.running.inner.state == "unreachable")
    levels = [finding.level for finding in findings(bench.running.inner, bench.running.worker.report())]
    assert levels == ["warning", "warning"]
    assert not bench.has("b")
    bench.reopen()
    bench.embed_with("ollama", "m", base_url=server.url)
    bench.add(d="after a restart")
    tools.until(lambda: bench.running.inner.state == "unreachable")
    server.up()
    tools.until(lambda: bench.has("a", "b", "c", "d") and idle(bench))
    assert embedded(bench) == 3
    assert [finding.level for finding in findings(bench.running.inner, bench.running.worker.report())] == ["ok", "ok"]


def test_a_text_the_provider_refuses_stops_nothing(bench, tools, server) -> None:
    server.answer = lambda path, body: (400, "no") if any("poison" in text for text in body["input"]) else answer(path, body)
    bench.add(a="good", b="poison", c="good, too")
    bench.embed_with("ollama", "m", base_url=server.url)
    tools.until(lambda: bench.has("a", "c") and idle(bench))
    assert not bench.has("b")
    (_, finding) = findings(bench.running.inner, bench.running.worker.report())
    assert (finding.level, "refused 1" in finding.text) == ("warning", True)


def test_a_memory_retired_between_reading_and_writing(bench, tools, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.add(a="first", b="second")
    running = bench.embed_with()
    embed = running.embed

    def slow(texts, *, query=False):
        vectors = embed(texts, query=query)
        if len(texts) == 2:
            bench.write(Retire(ref("a")), Revise(ref("b"), {"text": "changed meanwhile"}))
        return vectors

    monkeypatch.setattr(running, "embed", slow)
    tools.until(lambda: bench.has("b") and idle(bench))
    (expected,) = embed(["changed meanwhile"])
    assert bench.vector("b").tobytes() == expected


def test_the_store_failing_is_told_and_tried_again(bench, tools, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = True

    def changed_since(sequence, limit=1000):
        if broken:
            raise OSError("disk gone")
        return original(sequence, limit)

    original = bench.store.changed_since
    monkeypatch.setattr(bench.store, "changed_since", changed_since)
    bench.add(a="first")
    bench.embed_with()
    tools.until(lambda: "disk gone" in bench.running.worker.report().trouble)
    broken = False
    tools.until(lambda: bench.has("a") and not bench.running.worker.report().trouble)

"""The index follows the store, survives restarts, and repairs itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_faiss import snapshot as snapshot_module

TEXTS = {1: "green lantern", 2: "red lantern", 3: "bread and butter", 4: "weather report"}


@pytest.fixture(params=["exact", "signs"], autouse=True)
def way(bench, request: pytest.FixtureRequest) -> None:
    bench.exact = 20_000 if request.param == "exact" else 2


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_vectors_are_found_when_they_are_committed(bench, tools) -> None:
    ranker = bench.ranker()
    assert bench.find("lantern") == []
    bench.fill(TEXTS)
    assert set(bench.find("lantern", 2)) == {1, 2}
    (best,) = ranker.rank("green lantern", tools.Chosen(TEXTS), 1)
    assert (best.number, best.detail) == (1, "similarity 1.00")


def test_case_09_retired_and_changed_texts_are_gone(bench) -> None:
    bench.fill(TEXTS)
    assert bench.find("green lantern", 1) == [1]
    bench.store.retire(1)
    assert bench.find("green lantern", 1, among=TEXTS) == [2]
    bench.store.revise(2)
    assert not {1, 2} & set(bench.find("lantern", among=TEXTS))
    bench.fill({2: "fresh bread"})
    for _ in range(2):
        assert set(bench.find("bread", 2)) == {2, 3}
        assert not {1, 2} & set(bench.find("lantern", 1, among=(1,)))
        bench.reopen()


def test_scores_are_the_same_after_a_restart(bench) -> None:
    bench.fill(TEXTS)
    before = bench.scores("a green lantern in the weather")
    bench.reopen()
    assert bench.scores("a green lantern in the weather") == before
    assert not bench.store.reads, "everything came from the files"
    assert "repaired" not in bench.facts()


def test_case_10_what_was_not_saved_is_read_again(bench) -> None:
    bench.fill(TEXTS)
    bench.ranker()
    bench.reopen()
    bench.fill({5: "a blue lantern", 6: "soup"})
    bench.store.retire(2)
    bench.store.revise(3)
    bench.store.revise(4)
    bench.fill({4: "changed to a lantern"})
    assert set(bench.find("lantern", 3)) == {1, 4, 5}
    bench.crash()
    assert set(bench.find("lantern", 3)) == {1, 4, 5}
    assert not {2, 3} & set(bench.find("red lantern bread", 10, among=range(1, 7)))
    assert "looked at again" in bench.facts()["repaired"]


def test_a_vector_embedded_after_the_last_save_is_found(bench) -> None:
    """The memory is old, only its vector is new: the log of content changes does not name it."""
    bench.store.living.update({7})
    bench.store.sequences += 1
    bench.store.changes.append((bench.store.sequences, 7))
    bench.fill(TEXTS)
    bench.ranker()
    bench.reopen()
    bench.fill({7: "a late lantern"})
    bench.crash()
    assert bench.find("late lantern", 1) == [7]


def damage_nothing_left(path: Path) -> None:
    path.unlink()


def damage_cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def damage_flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x55
    path.write_bytes(data)


def damage_zero(path: Path) -> None:
    path.write_bytes(b"\0" * len(path.read_bytes()))


@pytest.mark.parametrize("damage", [damage_nothing_left, damage_cut, damage_flip, damage_zero])
@pytest.mark.parametrize("kind", ["catalog", "vectors", "owners"])
def test_damaged_files_are_made_again(bench, kind: str, damage) -> None:
    bench.fill(TEXTS)
    before = bench.scores("lantern")
    bench.close()
    (path,) = [path for path in bench.folder.iterdir() if path.name.startswith(kind)]
    damage(path)
    assert bench.scores("lantern") == before
    assert "rebuilt" in bench.facts()["repaired"]
    bench.reopen()
    assert bench.scores("lantern") == before
    assert "repaired" not in bench.facts()
    assert len(files(bench.folder)) == 3


def test_an_index_of_another_history_is_made_again(bench) -> None:
    bench.fill(TEXTS)
    bench.ranker()
    bench.close()
    bench.store.name = "b"
    assert set(bench.find("lantern", 2)) == {1, 2}
    assert "another store" in bench.facts()["repaired"]


@pytest.mark.parametrize("field", ["format", "sequence"])
def test_an_index_from_the_future(bench, field: str) -> None:
    bench.fill(TEXTS)
    bench.ranker()
    bench.close()
    path = bench.folder / "catalog.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: 10_000}))
    assert set(bench.find("lantern", 2)) == {1, 2}


def test_vectors_of_other_models_are_never_searched(bench, tools) -> None:
    bench.fill({1: "green lantern", 2: "bread"})
    bench.store.embed("all-MiniLM-L12-v2", {3: tools.HashEmbedder("test").embed(["green lantern"])[0]})
    assert 3 not in bench.find("green lantern")
    bench.reopen()
    assert 3 not in bench.find("green lantern")


def test_another_model_gets_another_index(bench, tools) -> None:
    bench.fill(TEXTS)
    bench.ranker()
    bench.close()
    bench.embedder = tools.HashEmbedder("other", 48)
    assert bench.find("lantern") == []
    assert "of the model test" in bench.facts()["repaired"]
    bench.fill({1: TEXTS[1]})
    assert bench.find("lantern") == [1]


def test_a_model_that_changes_while_running(bench, tools) -> None:
    bench.fill(TEXTS)
    ranker = bench.ranker()
    other = tools.HashEmbedder("other", 48)
    bench.embedder.__dict__.update(other.__dict__)
    bench.fill({2: TEXTS[2]})
    tools.until(lambda: ranker.rank("lantern", tools.Chosen([1, 2]), 5))
    assert bench.find("lantern") == [2]


def test_without_the_model_the_signal_is_not_available(bench, tools) -> None:
    bench.fill(TEXTS)
    ranker = bench.ranker()
    bench.embedder.ready = False
    assert ranker.rank("lantern", tools.Chosen(TEXTS), 5) is None
    assert ranker.rank(" ", tools.Chosen(TEXTS), 5) == []
    bench.embedder.ready = True
    assert ranker.rank("lantern", tools.Chosen(TEXTS), 5)


def test_rows_without_owner_are_removed_in_time(bench, tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram_faiss.keeper.DEAD_ROWS", 3)
    bench.fill(TEXTS)
    for n in range(10):
        bench.fill({4: f"the weather of day {n}"})
        bench.find("weather")
    bench.reopen()
    sizes = {path.name.partition("-")[0]: path.stat().st_size for path in bench.folder.iterdir()}
    assert sizes["vectors"] == 4 * 2 * bench.embedder.dimension
    assert set(bench.find("lantern", 2)) == {1, 2}
    bench.fill({5: "a lantern again"})
    bench.reopen()
    assert set(bench.find("lantern", 3)) == {1, 2, 5}


def test_fresh_vectors_are_saved_in_the_background(bench, tools) -> None:
    bench.pace = snapshot_pace(bench)
    bench.fill(TEXTS)
    bench.ranker()
    tools.until(lambda: (bench.folder / "catalog.json").exists())
    bench.fill({n: f"note {n}" for n in range(10, 40)})
    tools.until(lambda: json.loads((bench.folder / "catalog.json").read_text())["rows"] == 34)
    bench.crash()
    bench.store.reads.clear()
    assert len(bench.find("note", 40)) >= 30


def snapshot_pace(bench):
    return type(bench.pace)(flush_vectors=3, idle_seconds=0.05, start_seconds=0, retry_seconds=0.05)


def test_an_interrupted_save_leaves_the_old_one(bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors are on disk, the catalog is not: what lies behind its end is ignored and written over."""
    bench.fill(TEXTS)
    bench.ranker()
    bench.reopen()
    bench.fill({5: "a blue lantern"})
    bench.find("lantern")

    def stop(self, catalog):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(snapshot_module.Snapshot, "_write_catalog", stop)
        bench.close()
    assert set(bench.find("lantern", 3)) == {1, 2, 5}
    bench.fill({6: "soup"})
    bench.reopen()
    assert set(bench.find("lantern", 3)) == {1, 2, 5}
    assert bench.find("soup", 1) == [6]
    assert not bench.store.reads


def test_a_store_that_fails_for_a_while(bench, tools) -> None:
    bench.fill(TEXTS)
    ranker = bench.ranker()
    bench.store.failing = True
    bench.fill({5: "a blue lantern"})
    tools.until(lambda: "the store is gone" in ranker.health().get("trouble", ""))
    assert ranker.rank("lantern", tools.Chosen(TEXTS), 2)
    bench.store.failing = False
    tools.until(lambda: "trouble" not in ranker.health())
    assert 5 in bench.find("blue lantern")

"""The index stays in step with the store: through writes, restarts, crashes and damage."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_lexical import merging
from engram_lexical.index import Index
from engram_lexical.segment import DamagedError, Segment
from engram_lexical.strings import StringTable, pack
from engram_lexical.tokens import analyse


def wait_for(condition, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


def test_a_write_is_found_at_once_and_so_is_its_replacement(bench, memory) -> None:
    bench.ranker()
    (number,) = bench.store.add("a note about sailing")
    assert bench.find("sailing") == [number]
    bench.store.write(memory("a note about rowing", number=number))
    assert bench.find("sailing") == []
    assert bench.find("rowing") == [number]


def test_what_was_saved_is_found_after_reopening_without_reading_the_store_again(bench) -> None:
    bench.store.add("one about sailing", "one about rowing")
    assert bench.find("sailing") == [1]
    bench.close()
    bench.store.changes.clear()
    assert bench.find("sailing") == [1]
    assert "repaired" not in bench.ranker().health()


def test_a_replaced_or_removed_memory_stays_so_after_reopening(bench, memory) -> None:
    bench.store.add("alpha one", "alpha two", "alpha three")
    assert len(bench.find("alpha")) == 3
    bench.reopen()
    bench.store.write(memory("beta now", number=2))
    bench.store.write(3)
    assert bench.find("alpha") == [1]
    bench.reopen()
    assert (bench.find("alpha"), bench.find("beta")) == ([1], [2])


def test_scores_do_not_depend_on_how_the_index_came_about(bench, memory) -> None:
    bench.store.add(*(f"note {word} about boats {word}" for word in ("one", "two", "three", "four")))
    bench.find("boats")
    bench.reopen()
    bench.store.write(memory("note five about boats and more boats", number=2))
    bench.store.write(3)
    bench.store.add("boats six")
    before = [(c.number, c.score) for c in bench.ranker().rank("note boats", bench.store.all(), 9)]
    bench.close()
    for path in bench.folder.iterdir():
        path.unlink()
    assert [(c.number, c.score) for c in bench.ranker().rank("note boats", bench.store.all(), 9)] == before


def test_case_10_a_crash_between_commit_and_save_is_repaired_and_reported(bench) -> None:
    bench.store.add("saved before")
    assert bench.find("saved") == [1]
    bench.reopen()
    bench.store.add("written just before the crash")
    bench.crash()
    assert bench.find("crash") == [2]
    health = bench.ranker().health()
    assert health["documents"] == "2"
    assert "1 memories of the last run were added" in health["repaired"]


def test_case_10_nothing_was_ever_saved(bench) -> None:
    bench.ranker()
    bench.store.add("never saved")
    bench.crash()
    assert bench.find("saved") == [1]
    assert "there was none" in bench.ranker().health()["repaired"]


@pytest.mark.parametrize("harm", ["cut", "flip", "missing", "empty", "catalog", "version", "leftover"])
def test_a_damaged_index_is_rebuilt(bench, harm: str) -> None:
    bench.store.add("alpha", "beta")
    bench.find("alpha")
    bench.close()
    (segment,) = bench.folder.glob("*.segment")
    catalog = bench.folder / "catalog.json"
    data = segment.read_bytes()
    match harm:
        case "cut":
            segment.write_bytes(data[:-5])
        case "flip":
            segment.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
        case "missing":
            segment.unlink()
        case "empty":
            segment.write_bytes(b"")
        case "catalog":
            catalog.write_text("{")
        case "version":
            catalog.write_text(json.dumps(json.loads(catalog.read_text()) | {"token_rules": 0}))
        case "leftover":
            (bench.folder / "99999999.segment").write_bytes(b"half written")
    assert bench.find("beta") == [2]
    assert ("repaired" in bench.ranker().health()) == (harm != "leftover")
    assert not (bench.folder / "99999999.segment").exists()


def test_the_index_of_another_store_is_not_used(bench) -> None:
    bench.store.add("alpha")
    bench.find("alpha")
    bench.close()
    bench.store.name = "b"
    bench.store.memories.clear()
    bench.store.changes.clear()
    bench.store.sequences = 0
    bench.store.add("gamma")
    assert bench.find("alpha") == []
    assert bench.find("gamma") == [1]


def test_a_store_that_went_back_in_time_gets_a_new_index(bench) -> None:
    bench.store.add("alpha")
    bench.store.add("beta")
    bench.find("beta")
    bench.close()
    del bench.store.memories[2], bench.store.changes[1]
    bench.store.sequences = 1
    assert bench.find("beta") == []
    assert bench.find("alpha") == [1]


def test_a_commit_larger_than_a_page_is_caught_up_completely(bench, memory) -> None:
    bench.store.write(*(memory(f"bulk item{n}", number=n) for n in range(1, 2501)))
    bench.store.add("after it")
    wait_for(lambda: bench.ranker().health()["state"] == "ready")
    assert bench.find("item2499", depth=1) == [2499]
    assert bench.find("after") == [2501]
    assert bench.ranker().health()["documents"] == "2,501"


def test_fresh_documents_go_to_disk_by_count_and_when_idle(bench) -> None:
    bench.pace = bench.pace.__class__(flush_documents=5, idle_seconds=0.1)
    bench.ranker()
    bench.store.add(*(f"item {n}" for n in range(12)))
    wait_for(lambda: bench.ranker().health()["not yet on disk"] == "0")
    bench.store.add("one more")
    wait_for(lambda: bench.ranker().health()["not yet on disk"] == "0")
    bench.crash()
    bench.store.changes.clear()
    assert len(bench.find("item", depth=50)) == 12
    assert bench.find("one more") == [13]


def test_a_full_disk_loses_nothing(bench, monkeypatch) -> None:
    bench.store.add("alpha")
    bench.find("alpha")

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("engram_lexical.index.write", full)
    bench.store.add("beta")
    assert bench.find("beta") == [2]
    bench.close()
    monkeypatch.undo()
    assert bench.find("alpha") == [1]
    assert bench.find("beta") == [2]


def test_a_store_that_fails_during_catching_up_is_reported_and_tried_again(bench) -> None:
    bench.pace = bench.pace.__class__(idle_seconds=0.05, retry_seconds=0.1)
    bench.store.add("alpha")
    bench.store.failing = True
    ranker = bench.ranker()
    assert list(ranker.rank("alpha", bench.store.all(), 5)) == []
    wait_for(lambda: "the store is gone" in ranker.health().get("trouble", ""))
    bench.store.failing = False
    wait_for(lambda: ranker.health()["state"] == "ready")
    assert bench.find("alpha") == [1]
    wait_for(lambda: "trouble" not in ranker.health())


def test_a_full_disk_during_a_rebuild_does_not_stop_it(bench, monkeypatch) -> None:
    bench.pace = bench.pace.__class__(flush_documents=100, idle_seconds=0.05, retry_seconds=0.2)

    def full(*_args: object) -> int:
        raise OSError(28, "No space left on device")

    for n in range(5):
        bench.store.add(*(f"alpha {n} {m}" for m in range(500)))
    with monkeypatch.context() as patch:
        patch.setattr("engram_lexical.index.write", full)
        ranker = bench.ranker()
        wait_for(lambda: ranker.health()["state"] == "ready")
        assert len(bench.find("alpha", depth=5000)) == 2500
        assert "No space left" in ranker.health()["trouble"]
    wait_for(lambda: ranker.health()["not yet on disk"] == "0")
    wait_for(lambda: "trouble" not in ranker.health())


def test_writers_and_searchers_at_once(bench) -> None:
    bench.pace = bench.pace.__class__(flush_documents=20, idle_seconds=0.1)
    bench.ranker()
    stop, missed = threading.Event(), []

    def search() -> None:
        while not stop.is_set():
            known = bench.store.all()
            if len(bench.find("common", depth=10_000, among=known.numbers)) != len(known):
                missed.append(known)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(300):
        bench.store.add(f"common word{n}")
        if n % 10 == 0:
            time.sleep(0.002)
    stop.set()
    for thread in threads:
        thread.join()
    assert not missed
    assert len(bench.find("common", depth=1000)) == 300


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "put", "drop", "flush", "merge", "reopen"]), st.integers(1, 12), st.integers(0, 5)),
    max_size=60,
)


@given(STEPS)
@settings(max_examples=60, deadline=None)
def test_any_history_gives_the_same_index(tmp_path_factory, steps) -> None:
    """Whatever is written, flushed, merged and reopened: postings and statistics are those of the latest texts."""
    folder: Path = tmp_path_factory.mktemp("index")
    index, truth = Index(folder), {}
    for step, number, word in steps:
        if step == "put":
            truth[number] = f"common word{word} " + "again " * word
            index.apply([(number, analyse(truth[number]))])
        elif step == "drop":
            truth.pop(number, None)
            index.apply([(number, None)])
        else:
            index.flush(1, "")
            while step == "merge" and index.merge():
                pass
            if step == "reopen":
                index = Index(folder)
                index.load()
    documents = {number: analyse(text) for number, text in truth.items()}
    assert index.documents.count == len(documents)
    assert index.documents.total == sum(document.length for document in documents.values())
    for term in ("common", "again", *(f"word{n}" for n in range(6))):
        expected = {number: document.terms[term] for number, document in documents.items() if term in document.terms}
        found = {int(n): int(f) for numbers, frequencies in index.postings(term) for n, f in zip(numbers, frequencies, strict=True)}
        assert found == expected
    (wide,) = index.prefixed("word") or [(np.array([]), np.array([]))]
    assert set(wide[0].tolist()) == set(documents)


def test_merging_keeps_the_number_of_segments_small(tmp_path: Path) -> None:
    index = Index(tmp_path)
    for n in range(1, 101):
        index.apply([(n, analyse(f"common word{n}")), (1000, analyse(f"changing common word{n}"))])
        index.flush(n, "")
        while index.merge():
            pass
    segments = [part for part in index.parts if isinstance(part, Segment)]
    assert len(segments) < 2 * merging.FAN_OUT
    assert sum(len(numbers) for numbers, _ in index.postings("common")) == 101
    assert len(list(tmp_path.glob("*.segment"))) == len(segments)


@pytest.mark.parametrize(
    ("sizes", "outdated", "expected"),
    [
        ([], [], None),
        ([100] * 7, [0] * 7, None),
        ([100] * 8, [0] * 8, slice(0, 8)),
        ([1_000_000, *[100] * 7], [0] * 8, None),
        ([1_000_000, *[100] * 8], [0] * 9, slice(1, 9)),
        ([100, 5_000, *[100] * 7], [0] * 9, None),
        ([3_000, 9, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000, 3_000], [0] * 9, slice(0, 9)),
        ([100, 100], [0, 51], slice(1, 2)),
        ([100, 100], [50, 0], None),
        ([0, 0], [0, 0], None),
    ],
)
def test_which_segments_are_merged(sizes: list[int], outdated: list[int], expected: slice | None) -> None:
    assert merging.plan(sizes, outdated) == expected


def test_many_occurrences_of_one_word_survive_the_disk(tmp_path: Path) -> None:
    index = Index(tmp_path)
    index.apply([(1, analyse("boat " * 300)), (2, analyse("boat " * 70_000))])
    index.flush(1, "")
    ((_, frequencies),) = index.postings("boat")
    assert frequencies.tolist() == [300, 65_535]


def test_a_file_that_is_no_segment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.segment"
    path.write_bytes(b"something else entirely, long enough to be read")
    with pytest.raises(DamagedError):
        Segment(1, path)


@given(st.sets(st.text(max_size=8).filter(lambda text: text.isprintable()), max_size=40), st.text(max_size=3).filter(str.isprintable))
def test_string_tables_find_what_is_in_them(texts: set[str], wanted: str) -> None:
    ordered = sorted(texts)
    table = StringTable(*pack(text.encode() for text in ordered))
    assert [item.decode() for item in table] == ordered
    assert table.find(wanted) == (ordered.index(wanted) if wanted in texts else -1)
    assert [table[at].decode() for at in table.prefixed(wanted)] == [text for text in ordered if text.startswith(wanted)]

"""Damaged and foreign files: what can be read is served, what cannot is named, and nothing is written over it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from engram_duckdb import schema
from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Link, Put, PutCard, Revise
from engram_kernel.errors import AlreadyExists, EngramError, StoreUnusable
from engram_kernel.model import Collection, Edge, Memory, Ref
from engram_kernel.query import IsNull, Like, Query

Opener = Callable[..., DuckStore]


def put(store: DuckStore, *names: str) -> None:
    store.apply(
        ChangeSet(tuple(Put(Memory(collection="a", id=name, kind="NOTE", text=f"text of {name}", metadata={"n": 1})) for name in names))
    )


def names(store: DuckStore) -> list[str]:
    return sorted(memory.id for memory in store.find(Query(collections=("a",))).items)


def tamper(folder: Path, *statements: str) -> None:
    """Change the closed database behind the store's back."""
    with duckdb.connect(str(folder / "memory.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def three(open_store: Opener, folder: Path) -> Path:
    store = open_store()
    put(store, "m1")
    put(store, "m2", "m3")
    store.apply(ChangeSet((Link(Edge(id="e1", source=Ref("a", "m1"), target=Ref("a", "m2"), type="X", metadata={"k": 1})),)))
    store.apply(ChangeSet((PutCard(Collection(id="a", title="A", tool_set="t")),)))
    store.close()
    return folder


def test_case_05_a_damaged_text_is_named_and_the_rest_served(three: Path, open_store: Opener) -> None:
    tamper(three, "update content set text = 'changed' where mid = 2")
    store = open_store()
    assert names(store) == ["m1", "m3"]
    assert store.get([Ref("a", "m2")]) == [None]
    assert "memory a/m2" in store.health()["damaged"]
    report = store.verify()
    assert len(report.faults) == 1 and "a/m2" in report.faults[0]
    with pytest.raises(StoreUnusable, match="damaged"):
        store.apply(ChangeSet((Revise(Ref("a", "m2"), {"text": "new"}),)))
    with pytest.raises(AlreadyExists):
        put(store, "m2")
    put(store, "m4")
    assert [batch.id for batch in next(iter(store.scan()))] == ["m1", "m3", "m4"]
    store.close()
    with duckdb.connect(str(three / "memory.duckdb"), read_only=True) as connection:
        assert connection.execute("select text from content where mid = 2").fetchall() == [("changed",)]


@pytest.mark.parametrize("body", ["[1]", '"x"', "7"])
def test_damaged_documents(three: Path, open_store: Opener, body: str) -> None:
    tamper(three, f"update revision set metadata = '{body}' where mid = 3", f"update edge set metadata = '{body}'")
    store = open_store()
    assert names(store) == ["m1", "m2"]
    assert store.edges_of(Ref("a", "m1")) == []
    assert store.find(Query(collections=("a",), where=IsNull("metadata.zzz"))).total == 3
    report = store.verify()
    assert any("a/m3" in fault for fault in report.faults) and any("Edge e1" in fault for fault in report.faults)


def test_a_damaged_card(three: Path, open_store: Opener) -> None:
    tamper(three, "update card set body = '{\"id\": 1}'")
    store = open_store()
    assert store.cards(Collection) == []
    assert any("collection a" in fault for fault in store.verify().faults)
    assert names(store) == ["m1", "m2", "m3"]


@pytest.mark.parametrize(("statement", "fault"), [
    ("update oplog set payload = payload || ' ' where seq = 2", "Event 2"),
    ("update oplog set actor = 'someone else' where seq = 1", "Event 1"),
    ("update oplog set at_utc = at_utc + interval 1 second where seq = 3", "Event 3"),
    ("delete from oplog where seq = 2", "Event 3"),
    ("delete from oplog where seq = 1", "Event 2"),
    ("delete from oplog where seq = 4", "ends before event 4"),
    ("update oplog set hash = repeat('a', 64) where seq = 4", "Event 4"),
])  # fmt: skip
def test_a_changed_log_is_found(three: Path, open_store: Opener, statement: str, fault: str) -> None:
    tamper(three, statement)
    assert any(fault in line for line in open_store().verify().faults)


@pytest.mark.parametrize(("statement", "fault"), [
    ("update revision set priority = 4 where mid = 1", "Memory 1 differs"),
    ("update revision set state = 'retired' where mid = 1", "Memory 1 differs"),
    ("update edge set weight = 0.5", "Edge 1 differs"),
    ("delete from edge", "Edge 1 is in the log but not stored"),
    ("update card set rev = 5", "Card collection/a/a differs"),
    ("insert into card select 'source', 'a', 'x', 0, 1, '{}', known_from, null from card", "Card source/a/x is stored but not in the log"),
])  # fmt: skip
def test_a_changed_table_is_found_by_the_replay(three: Path, open_store: Opener, statement: str, fault: str) -> None:
    tamper(three, statement)
    store = open_store()
    assert any(fault in line for line in store.verify(deep=True).faults)


@pytest.mark.parametrize("statement", ["delete from content where mid = 2", "delete from revision where mid = 2"])
def test_missing_rows_are_found(three: Path, open_store: Opener, statement: str) -> None:
    tamper(three, statement)
    store = open_store()
    assert names(store) == ["m1", "m3"]
    assert any("a/m2" in fault for fault in store.verify().faults)


# The write-ahead log


@pytest.fixture
def with_wal(tmp_path: Path, folder: Path) -> Path:
    """A copy of a store as a killed process leaves it: one checkpoint, then commits that are only in the WAL."""
    store = DuckStore(folder, Settings(spare_mb=1 << 40))
    for number in range(30):
        put(store, f"m{number:02}")
        if number == 9:
            store._database.writer.execute("checkpoint")
    copy = tmp_path / "copy"
    # A plain copy is what a killed machine leaves; the original is not used afterwards.
    shutil.copytree(folder, copy)
    store.close()
    assert (copy / "memory.duckdb.wal").stat().st_size > 1000
    return copy


def test_case_06_a_cut_log_keeps_whole_commits(with_wal: Path, tmp_path: Path) -> None:
    wal, chance = "memory.duckdb.wal", random.Random(5)
    whole = (with_wal / wal).read_bytes()
    for place in [0, 1, len(whole) - 1, *chance.sample(range(len(whole)), 5)]:
        folder = tmp_path / f"cut{place}"
        shutil.copytree(with_wal, folder)
        (folder / wal).write_bytes(whole[:place])
        store = DuckStore(folder, Settings())
        try:
            found = names(store)
            assert found == [f"m{number:02}" for number in range(len(found))] and len(found) >= 10
            put(store, "new")
            faults = store.verify(deep=True).faults
            assert all("ends before event" in fault or "is not the one" in fault for fault in faults)
        finally:
            store.close()


def _flip(path: Path, place: int) -> bytes:
    body = bytearray(path.read_bytes())
    body[place] ^= 0x04
    path.write_bytes(body)
    return bytes(body)


def test_case_07_a_garbled_log_never_goes_unnoticed(with_wal: Path, tmp_path: Path) -> None:
    size, chance, set_aside = (with_wal / "memory.duckdb.wal").stat().st_size, random.Random(3), 0
    for place in chance.sample(range(size // 3, size - 100), 6):
        folder = tmp_path / f"flip{place}"
        shutil.copytree(with_wal, folder)
        body = _flip(folder / "memory.duckdb.wal", place)
        store = DuckStore(folder, Settings())
        try:
            found = names(store)
            kept = list(folder.glob("*.damaged-*"))
            set_aside += len(kept)
            assert [path.read_bytes() for path in kept] in ([], [body])
            assert 10 <= len(found) <= 30
            if len(found) < 30:
                assert f"At least {30 - len(found)} events" in store.health()["warnings"]
                assert all(any(path.name in note for note in store.verify().notes) for path in kept)
            put(store, "new")
        finally:
            store.close()
        again = DuckStore(folder, Settings())
        try:
            assert names(again) == sorted([*found, "new"])
            assert all(path.name in again.health()["warnings"] for path in kept)
        finally:
            again.close()
    assert set_aside


# Foreign files, versions


def test_a_newer_schema_is_refused_and_left_alone(three: Path, open_store: Opener) -> None:
    tamper(three, "update meta set v = '999' where k = 'schema_version'")
    with pytest.raises(StoreUnusable, match=r"newer version.*999.*Upgrade"):
        open_store()
    with duckdb.connect(str(three / "memory.duckdb")) as connection:
        assert connection.execute("select count(*) from memory").fetchall() == [(3,)]


def test_a_foreign_database_is_refused(folder: Path, open_store: Opener) -> None:
    tamper(folder, "create table mine (x integer)")
    with pytest.raises(StoreUnusable, match="something else"):
        open_store()


def test_a_file_that_is_no_database_is_refused_and_kept(folder: Path, open_store: Opener) -> None:
    (folder / "memory.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreUnusable, match="cannot be opened"):
        open_store()
    assert (folder / "memory.duckdb").read_bytes() == b"not a database" * 1000


def test_a_second_process_is_told_who_holds_the_file(store: DuckStore, folder: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys, pathlib\nfrom engram_duckdb.plugin import Provider\n"
        "try:\n    Provider().open(pathlib.Path(sys.argv[1]), {})\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("StoreUnusable Another program has the database open")
    put(store, "m1")


def test_a_migration_makes_a_backup_first(three: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = schema.migrations()
    monkeypatch.setattr(
        schema, "migrations", lambda: {**old, 2: "alter table memory add column extra varchar;", 3: "create table more (x bigint);"}
    )
    store = open_store()
    assert names(store) == ["m1", "m2", "m3"]
    backups = list((three / "backup").iterdir())
    assert [path.name.startswith("before-schema-1-") for path in backups] == [True]
    assert schema.version(store._database.writer) == 3
    from engram_duckdb.plugin import Provider

    Provider().restore(tmp_path / "old", backups[0], {})
    restored = DuckStore(tmp_path / "old", Settings())
    try:
        assert names(restored) == ["m1", "m2", "m3"]
        assert schema.version(restored._database.writer) == 3
    finally:
        restored.close()


def test_a_failing_migration_changes_nothing(three: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    old = schema.migrations()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: {**old, 2: "create table more (x bigint); alter table nonsense add column y bigint;"})
        with pytest.raises(StoreUnusable, match="schema 2"):
            open_store()
    store = open_store()
    assert schema.version(store._database.writer) == 1
    assert store._database.rows("select count(*) from information_schema.tables where table_name = 'more'") == [(0,)]


# Care of the files


def test_the_database_cannot_reach_other_files(store: DuckStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    connection = store._database.writer
    for statement in (
        f"select * from read_csv('{secret}')",
        f"attach '{tmp_path / 'other.duckdb'}'",
        "set enable_external_access = true",
        "install httpfs",
    ):
        with pytest.raises(duckdb.Error):
            connection.execute(statement)


def test_folders_are_private(store: DuckStore, folder: Path) -> None:
    assert [(folder / name).stat().st_mode & 0o777 for name in ("tmp", "backup")] == [0o700, 0o700]


def test_a_failed_backup_leaves_nothing(store: DuckStore, folder: Path, tmp_path: Path) -> None:
    put(store, "m1")
    blocked = tmp_path / "file"
    blocked.write_text("x")
    with pytest.raises(EngramError):
        store.backup(blocked / "target")
    assert list((folder / "backup").iterdir()) == []
    assert blocked.read_text() == "x"


def test_a_backup_while_writing_is_one_moment(store: DuckStore, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(lambda: [put(store, f"m{number}") for number in range(60)])
        manifests: list[Any] = [store.backup(tmp_path / f"b{number}") for number in range(3)]
        writing.result()
    for manifest in manifests:
        assert manifest["memories"] == manifest["last_sequence"] == manifest["rows"]["oplog"]


def test_text_search_in_sql_is_not_confused_by_quotes(store: DuckStore) -> None:
    put(store, "it's", 'say "x"', "a\\b", "%")
    for pattern, expected in (("%it's%", 1), ('%"x"%', 1), ("%\\\\%", 1), ("%\\%", 1), ("%';%", 0), ("\\", 0)):
        assert store.find(Query(collections=("a",), where=Like("text", pattern))).total == expected, pattern

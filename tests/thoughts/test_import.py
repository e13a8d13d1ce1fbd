"""Import of an SQLite store of engrava; the sample is made here with our own SQL."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engram_kernel.model import Ref

SCHEMA = """
create table thought (
    thought_id text primary key, thought_type text, essence text, content text, content_hash text, priority text, lifecycle_status text,
    created_cycle integer, updated_cycle integer, source text, confidence real, embedding_ref text, source_type text,
    confirmation_count integer, consolidated_from text, visibility text, access_count integer, last_accessed_at text, created_at text,
    updated_at text, expires_at text, metadata_json text, valid_from text, valid_until text, action_outcome_score real, provenance text,
    pinned integer, archived_at_cycle integer, archived_at text, revision integer);
create table edge (
    edge_id text primary key, from_thought_id text, to_thought_id text, edge_type text, weight real, created_cycle integer, source text,
    decay_multiplier real, valid_from text, valid_until text, metadata_json text, revision integer);
create table action (
    action_id text primary key, source_thought_id text, action_type text, intent text, status text, verification_status text,
    raw_metrics_json text, revision integer);
create table embedding (
    embedding_id text primary key, owner_type text, owner_id text, model_name text, dimension integer, vector_blob blob, created_at text);
create table journal_entry (entry_id text primary key, delta text);
"""
VECTOR = struct.pack("<3f", 0.25, -1.0, 3.5)


def insert(connection: sqlite3.Connection, table: str, **values: Any) -> None:
    marks = ", ".join("?" * len(values))
    connection.execute(f"insert into {table} ({', '.join(values)}) values ({marks})", list(values.values()))


def add_thought(connection: sqlite3.Connection, name: str, **more: Any) -> None:
    values: dict[str, Any] = {
        "thought_id": name,
        "thought_type": "NOTE",
        "essence": f"essence {name}",
        "content": f"content {name}",
        "priority": "P3",
        "lifecycle_status": "ACTIVE",
        "source": "agent",
        "created_at": "2025-05-05T05:05:05.000005+00:00",
        "updated_at": "2025-06-06T06:06:06+00:00",
        "metadata_json": "{}",
    }
    insert(connection, "thought", **{**values, **more})


FULL: dict[str, Any] = {
    "thought_type": "BELIEF",
    "content": "it's süß\n\U0001f331",
    "content_hash": hashlib.sha256("it's süß\n\U0001f331".encode()).hexdigest(),
    "priority": "P1",
    "lifecycle_status": "ARCHIVED",
    "created_cycle": 3,
    "updated_cycle": 7,
    "source": "dreaming:abc",
    "confidence": 0.125,
    "source_type": "DISTILLED_LLM",
    "confirmation_count": 4,
    "consolidated_from": '["plain"]',
    "visibility": "private",
    "access_count": 9,
    "last_accessed_at": "2025-07-07T07:07:07+00:00",
    "expires_at": "2999-01-01T00:00:00+00:00",
    "metadata_json": '{"topic": "x", "deep": {"n": 1.5}, "none": null}',
    "valid_from": "2025-01-01T00:00:00+00:00",
    "valid_until": "2026-01-01T00:00:00+00:00",
    "action_outcome_score": 0.5,
    "provenance": '{"session_id": "s"}',
    "pinned": 1,
    "archived_at_cycle": 6,
    "archived_at": "2025-08-08T08:08:08+00:00",
    "revision": 12,
}


@pytest.fixture
def sample(tmp_path: Path) -> tuple[Path, sqlite3.Connection]:
    path = tmp_path / "old store#1?.db"
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    add_thought(connection, "full", **FULL)
    add_thought(connection, "plain")
    edge = {"edge_id": "e", "from_thought_id": "full", "to_thought_id": "plain", "edge_type": "CONSOLIDATED_FROM"}
    more = {"weight": 0.75, "created_cycle": 2, "source": "DREAMING", "decay_multiplier": 1.5, "valid_from": "2025-02-02T00:00:00+00:00"}
    insert(connection, "edge", **edge, **more, metadata_json='{"run": 1}')
    action = {"action_id": "act", "source_thought_id": "plain", "action_type": "TOOL_CALL", "intent": "build it", "status": "CONFIRMED"}
    insert(connection, "action", **action, verification_status="PARTIAL", raw_metrics_json='{"ms": 5}', revision=2)
    vector = {"embedding_id": "v", "owner_type": "thought", "owner_id": "full", "model_name": "mini", "dimension": 3, "vector_blob": VECTOR}
    insert(connection, "embedding", **vector, created_at="2025-05-05T00:00:00+00:00")
    insert(connection, "journal_entry", entry_id="j", delta="{}")
    connection.commit()
    return path, connection


def run(memory: Any, path: Path) -> Any:
    return memory.call("import_engrava", operator=True, file=str(path))


def tally(found: int, imported: int = 0, present: int = 0, skipped: int = 0) -> dict[str, int]:
    return {"found": found, "imported": imported, "present": present, "skipped": skipped, "verified": found - skipped}


def test_everything_is_brought_over(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    report = run(memory, sample[0])
    assert (report["thoughts"], report["edges"]) == (tally(2, 2), tally(1, 1))
    assert (report["actions"], report["embeddings"]) == (tally(1, 1), tally(1, 1))
    assert (report["skipped"], report["differences"], report["not_imported"]) == ([], [], {"journal_entry": 1})
    thought = memory.get("full")
    same = set(FULL) - {
        "content_hash",
        "consolidated_from",
        "metadata_json",
        "provenance",
        "pinned",
        "revision",
        "access_count",
        "last_accessed_at",
    }
    assert {name: thought[name] for name in same} == {name: FULL[name] for name in same}
    assert (thought["consolidated_from"], thought["provenance"], thought["pinned"]) == (["plain"], {"session_id": "s"}, True)
    assert thought["metadata"] == json.loads(FULL["metadata_json"])
    assert thought["created_at"] == "2025-05-05T05:05:05.000005+00:00"
    assert (thought["access_count"], thought["last_accessed_at"]) == (9, FULL["last_accessed_at"])
    (row,) = memory.call("query_memory", query="FIND thoughts WHERE thought_id = 'full'")["rows"]
    assert row["content_hash"] == FULL["content_hash"]
    (edge,) = memory.call("list_edges")["edges"]
    assert (edge["edge_id"], edge["weight"], edge["source"], edge["decay_multiplier"]) == ("e", 0.75, "DREAMING", 1.5)
    assert (edge["created_cycle"], edge["metadata"], edge["valid_from"]) == (2, {"run": 1}, "2025-02-02T00:00:00+00:00")
    (action,) = memory.call("query_memory", query="FIND actions")["rows"]
    assert (action["action_id"], action["source_thought_id"], action["intent"]) == ("act", "plain", "build it")
    assert (action["status"], action["verification_status"], action["raw_metrics_json"]) == ("CONFIRMED", "PARTIAL", '{"ms": 5}')
    (found,) = memory.kernel.store.get([Ref("thoughts", "full")])
    assert dict(memory.kernel.store.vectors("mini", [found.number])) == {found.number: VECTOR}
    kept = found.attributes["imported"]
    assert (kept["updated_at"], kept["revision"], kept["last_accessed_at"]) == ("2025-06-06T06:06:06+00:00", 12, FULL["last_accessed_at"])


def test_a_second_run_imports_nothing(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    run(memory, sample[0])
    before = memory.kernel.store.sequence()
    report = run(memory, sample[0])
    assert (report["thoughts"], report["edges"]) == (tally(2, present=2), tally(1, present=1))
    assert (report["actions"], report["embeddings"]) == (tally(1, present=1), tally(1, present=1))
    assert memory.kernel.store.sequence() == before


def test_a_later_run_brings_what_is_new_and_leaves_what_changed_here(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    run(memory, path)
    memory.call("update_thought", thought_id="plain", content="edited here")
    add_thought(connection, "later")
    connection.commit()
    report = run(memory, path)
    assert (report["thoughts"]["imported"], report["thoughts"]["present"], report["thoughts"]["verified"]) == (1, 2, 2)
    assert report["differences"] == [{"kind": "thought", "id": "plain", "reason": "is already here with another text; left as it is"}]
    assert memory.get("plain")["content"] == "edited here"


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "kind": ({"thought_type": "POEM"}, "thought_type 'POEM' is not one of TASK"),
    "case": ({"priority": "p1"}, "priority 'p1'"),
    "status": ({"lifecycle_status": "LOST"}, "lifecycle_status 'LOST'"),
    "inverted": ({"valid_from": "2026-01-01", "valid_until": "2025-01-01"}, "valid_until is before valid_from"),
    "time": ({"created_at": "yesterday"}, "created_at: 'yesterday'"),
    "metadata": ({"metadata_json": "{broken"}, "metadata_json is not JSON"),
    "list": ({"metadata_json": "[1]"}, "metadata_json is not a JSON object"),
    "sources": ({"consolidated_from": '{"a": 1}'}, "consolidated_from is not a JSON list of ids"),
    "confidence": ({"confidence": 1.5}, "confidence '1.5'"),
    "cycle": ({"created_cycle": -1}, "created_cycle '-1'"),
    "empty": ({"content": ""}, "content is empty"),
    "missing": ({"essence": None}, "essence is not a text"),
    "nul": ({"content": "a\x00b"}, "content contains a NUL character"),
    "bytes": ({"content": b"\xff\xfe"}, "content is not a text"),
    "long": ({"content": "x" * 1_000_001}, "content is 1,000,001 characters long"),
}


def test_damaged_rows_are_named_and_the_rest_is_imported(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    for name, (values, _) in BAD.items():
        add_thought(connection, name, **values)
    add_thought(connection, " ")
    connection.execute("update thought set content = cast(x'ff41' as text) where thought_id = 'bytes'")
    connection.commit()
    report = run(memory, path)
    assert report["thoughts"] == tally(len(BAD) + 3, 2, skipped=len(BAD) + 1)
    reasons = {item["id"]: item["reason"] for item in report["skipped"]}
    for name, (_, words) in BAD.items():
        assert words in reasons[name], name
    assert "blank" in reasons[" "]
    assert report["skipped_total"] == len(BAD) + 1
    assert sorted(memory.find("FIND thoughts")) == ["full", "plain"]


def test_orphans_are_skipped(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    insert(connection, "edge", edge_id="lost", from_thought_id="full", to_thought_id="gone", edge_type="BRIDGE")
    insert(connection, "action", action_id="lost", source_thought_id="gone", action_type="MESSAGE", intent="x")
    insert(
        connection,
        "embedding",
        embedding_id="lost",
        owner_type="thought",
        owner_id="gone",
        model_name="m",
        dimension=1,
        vector_blob=b"1234",
    )
    insert(
        connection,
        "embedding",
        embedding_id="short",
        owner_type="thought",
        owner_id="full",
        model_name="m",
        dimension=2,
        vector_blob=b"1234",
    )
    insert(connection, "embedding", embedding_id="edge", owner_type="edge", owner_id="e", model_name="m", dimension=1, vector_blob=b"1234")
    connection.commit()
    report = run(memory, path)
    reasons = [(item["kind"], item["reason"]) for item in report["skipped"]]
    assert ("edge", "the thought 'gone' is not here") in reasons
    assert ("action", "the thought 'gone' is not here") in reasons
    assert ("embedding", "the thought 'gone' is not here") in reasons
    assert ("embedding", "the vector does not hold 2 32-bit numbers") in reasons
    assert ("embedding", "it belongs to the record type 'edge', not to a thought") in reasons
    assert report["skipped_total"] == 5


def test_a_damaged_file_gives_what_can_be_read(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    for number in range(3000):
        add_thought(connection, f"n{number}", content="x" * 400)
    connection.commit()
    connection.close()
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 40 * 4096] = b"\xff" * (40 * 4096)
    path.write_bytes(bytes(data))
    report = run(memory, path)
    assert 500 <= report["thoughts"]["imported"] < 3000
    assert any("damaged" in item["reason"] for item in report["skipped"])


def test_an_older_schema_is_understood(memory: Any, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.executescript(
        """create table thought (thought_id text primary key, thought_type text, essence text, content text, priority text);
        insert into thought values ('a', 'TASK', 'e', 'c', 'P2');"""
    )
    connection.commit()
    report = run(memory, path)
    assert (report["thoughts"], report["edges"]["found"]) == (tally(1, 1), 0)
    thought = memory.get("a")
    assert (thought["lifecycle_status"], thought["visibility"], thought["source_type"]) == ("CREATED", "selective", "EXPERIENCE")


def test_many_rows_in_batches(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    for number in range(1203):
        add_thought(connection, f"n{number}")
        insert(connection, "edge", edge_id=f"e{number}", from_thought_id=f"n{number}", to_thought_id="plain", edge_type="BRIDGE")
    connection.commit()
    report = run(memory, path)
    assert (report["thoughts"], report["edges"]) == (tally(1205, 1205), tally(1204, 1204))
    assert memory.call("memory_stats")["metrics"]["edges"]["total"] == 1204


def test_the_source_is_only_read(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    path, connection = sample
    connection.close()
    before = path.read_bytes()
    path.chmod(0o444)
    run(memory, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir() if file.name.startswith("old store")] == [path.name]


def test_unusable_files(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database")
    (tmp_path / "empty.db").write_bytes(b"")
    (tmp_path / "cut.db").write_bytes(b"SQLite format 3\x00" + b"\x00" * 50)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("create table cake (name text)")
    with sqlite3.connect(tmp_path / "part.db") as part:
        part.execute("create table thought (thought_id text, essence text)")
    words = {
        "missing.db": "there is no file",
        "text.db": "is not an SQLite database",
        "empty.db": "is not an SQLite database",
        "cut.db": "cannot be read",
        "other.db": "holds no table of thoughts",
        "part.db": "lacks the columns content, priority, thought_type",
        ".": "there is no file",
    }
    before = memory.state()
    for name, text in words.items():
        error = memory.fails("import_engrava", operator=True, file=str(tmp_path / name))
        assert (error.code, text in str(error)) == ("invalid_input", True), str(error)
    assert memory.state() == before


class FakeClient:
    """Hands the command's call to the kernel, as the command line does."""

    def __init__(self, memory: Any, *, json_output: bool = False) -> None:
        self.memory, self.json, self.folder = memory, json_output, memory.kernel.folder

    def call(self, tool: str, arguments: Any = None, *, operator: bool = False) -> Any:
        return self.memory.call(tool, operator=operator, **(arguments or {}))

    def show(self, data: Any, render: Any) -> None:
        if self.json:
            print(json.dumps(data))
        else:
            render(data)


def test_the_command(memory: Any, sample: tuple[Path, sqlite3.Connection]) -> None:
    from engram_thoughts.commands import import_command

    path, connection = sample
    runner = CliRunner()
    first = runner.invoke(import_command, ["engrava", str(path)], obj=FakeClient(memory))
    assert first.exit_code == 0, first.output
    assert all(word in first.output for word in ("thoughts", "edges", "actions", "embeddings", "Not imported: 1 rows of journal_entry"))
    add_thought(connection, "bad", thought_type="POEM")
    connection.commit()
    second = runner.invoke(import_command, ["engrava", str(path)], obj=FakeClient(memory, json_output=True))
    assert second.exit_code == 1
    assert json.loads(second.stdout)["thoughts"]["skipped"] == 1
    assert runner.invoke(import_command, ["engrava", str(path) + "x"], obj=FakeClient(memory)).exit_code == 2

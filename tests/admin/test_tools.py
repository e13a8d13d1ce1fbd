"""The operator tools over a stand-in store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.errors import InvalidInput, StoreUnusable, Unknown
from engram_kernel.services import Check, Finding
from engram_kernel.session import Session, ToolChoice
from engram_kernel.store import Verification


def test_no_agent_sees_an_operator_tool(kernel: Any) -> None:
    assert kernel.registry.tools(Session(tools=ToolChoice("all", frozenset({"admin", "verify"})))) == []
    with pytest.raises(Unknown):
        asyncio.run(kernel.call("verify", {}, Session(tools=ToolChoice("all"))))


def test_status_counts(call: Any, store: Any, tmp_path: Path) -> None:
    store.facts = {"schema": "1", "damaged_records": "2", "warnings": "none"}
    facts = call("status")
    assert facts["folder"] == str(tmp_path / "data")
    assert (facts["memories"], facts["edges"], facts["sequence"], facts["bytes_on_disk"]) == (2, 1, 3, 1000)
    assert facts["collections"] == [{"id": "thoughts", "title": "Thoughts", "tool_set": "thoughts", "tier": "personal", "memories": 2}]
    assert facts["last_backup"] is None
    assert facts["bytes_free"] > 0
    assert facts["warnings"] == ["damaged records: 2"]


def test_verify_passes_depth_and_faults_on(call: Any, store: Any, listener: Any) -> None:
    assert call("verify")["sound"] is True
    assert store.verified_deep is False
    store.verification = Verification(3, 2, 1, ("event 2: wrong hash",), ("a note",))
    found = call("verify", {"deep": True}, channel=listener)
    assert store.verified_deep is True
    assert found == {"sound": False, "events": 3, "memories": 2, "edges": 1, "faults": ["event 2: wrong hash"], "notes": ["a note"]}


def test_progress_is_told_sparingly_and_to_the_end(call: Any, listener: Any) -> None:
    call("verify", channel=listener)
    assert listener.told[0] == (0, 1000, "hash chain")
    assert listener.told[-1] == (1000, 1000, "done")
    assert len(listener.told) < 500


def test_backup_goes_to_a_dated_folder_of_its_own(call: Any, tmp_path: Path) -> None:
    first, second = call("backup"), call("backup")
    assert first["path"] != second["path"]
    assert Path(first["path"]).parent == tmp_path / "data" / "backup"
    assert (first["bytes"], first["sequence"], first["manifest"]) == (2, 3, {"sequence": 3, "format": 1})
    assert call("status")["last_backup"] is not None


def test_a_backup_elsewhere_is_remembered(call: Any, tmp_path: Path) -> None:
    made = call("backup", {"target": "mine"})
    assert made["path"] == str(tmp_path / "work" / "mine")
    assert call("status")["last_backup"] is not None


def test_a_failed_backup_is_not_remembered(call: Any, store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(target: Path, progress: Any = None) -> Any:
        raise StoreUnusable("The disk is full.")

    monkeypatch.setattr(store, "backup", full)
    with pytest.raises(StoreUnusable):
        call("backup")
    assert call("status")["last_backup"] is None


def test_events_are_paged(call: Any) -> None:
    page = call("events", {"limit": 2})
    assert [event["sequence"] for event in page["events"]] == [1, 2]
    assert (page["next_after"], page["last_sequence"]) == (2, 3)
    assert page["events"][0]["payload"] is None
    rest = call("events", {"after": 2, "payload": True})
    assert rest["next_after"] is None
    assert rest["events"][0]["payload"] == "{}"
    assert call("events", {"after": 99})["events"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("events", {"limit": 0}, "limit"),
        ("events", {"after": -1}, "after"),
        ("events", {"limit": "many"}, "limit"),
        ("verify", {"depp": True}, "depp"),
        ("status", {"x": 1}, "x"),
        ("backup", {"target": 7}, "target"),
        ("backup", {"target": "x" * 5000}, "target"),
    ],
)
def test_bad_arguments_are_named(call: Any, tool: str, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(tool, arguments)
    assert field in caught.value.data["fields"]


def test_doctor_runs_every_check_and_survives_a_broken_one(call: Any, kernel: Any, listener: Any) -> None:
    def broken() -> list[Finding]:
        raise KeyError("x")

    kernel.checks.append(Check("broken", broken))
    kernel.checks.append(Check("last", lambda: [Finding("warning", "nearly", "Look at it.")]))
    told = call("doctor", channel=listener)
    assert told["healthy"] is False
    by_name = {finding["check"]: finding for finding in told["findings"]}
    assert by_name["store"]["level"] == "ok"
    assert by_name["broken"]["level"] == "error"
    assert "KeyError" in by_name["broken"]["text"]
    assert by_name["last"] == {"level": "warning", "check": "last", "text": "nearly", "advice": "Look at it."}
    assert [message for _, _, message in listener.told][-1] == "Checking: last"

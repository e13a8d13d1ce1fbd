"""The health checks: store, disk, backup."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from engram_kernel.errors import StoreUnusable

OLD = datetime(2020, 1, 1, tzinfo=UTC)


def findings(call: Any, check: str) -> list[tuple[str, str]]:
    return [(each["level"], each["text"]) for each in call("doctor")["findings"] if each["check"] == check]


def test_case_05_a_damaged_record_is_named_by_the_health_check(call: Any, store: Any) -> None:
    assert findings(call, "store") == [("ok", "answers; 3 changes so far")]
    store.facts = {"schema": "1", "damaged": "memory thoughts/a: content hash differs"}
    assert findings(call, "store") == [("warning", "damaged: memory thoughts/a: content hash differs")]


def test_a_store_that_does_not_answer_is_an_error(call: Any, store: Any) -> None:
    store.fails = StoreUnusable("The disk is full.", next_step="Free some space.")
    found = next(each for each in call("doctor")["findings"] if each["check"] == "store")
    assert (found["level"], found["text"], found["advice"]) == ("error", "The disk is full.", "Free some space.")


@pytest.mark.parametrize(("free", "level"), [(10**12, "ok"), (400_000_000, "warning"), (1_000_000, "error")])
def test_free_space(call: Any, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    assert [found for found, _ in findings(call, "disk")] == [level]


def test_a_young_store_is_not_nagged(call: Any) -> None:
    assert findings(call, "backup") == [("ok", "there is none yet")]


def test_an_old_store_without_a_backup_is(call: Any, store: Any) -> None:
    store.first = OLD
    assert findings(call, "backup") == [("warning", "there is none yet")]
    store.memories = 0
    assert findings(call, "backup") == [("ok", "there is none yet")]


def test_a_fresh_backup_satisfies(call: Any, store: Any) -> None:
    store.first = OLD
    call("backup", {"target": "elsewhere"})
    assert [level for level, _ in findings(call, "backup")] == ["ok"]


class TestSwitchedOff:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {"backup_after_days": 0}

    def test_never_asks(self, call: Any, store: Any) -> None:
        store.first = OLD
        assert findings(call, "backup") == [("ok", "there is none yet")]

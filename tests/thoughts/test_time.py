"""Valid time, transaction time, time zones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

ZONES = ["UTC", "Asia/Kolkata", "America/New_York"]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


MOMENTS = {
    "date": ("2026-03-01", "2026-03-01T00:00:00+00:00"),
    "naive": ("2026-03-01T10:00:00", "2026-03-01T10:00:00+00:00"),
    "zulu": ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00+00:00"),
    "offset": ("2026-03-01T10:00:00+05:30", "2026-03-01T04:30:00+00:00"),
    "blank": ("2026-03-01 10:00:00.25", "2026-03-01T10:00:00.250000+00:00"),
    "basic": ("20260301T100000", "2026-03-01T10:00:00+00:00"),
    "week": ("2026-W09-7", "2026-03-01T00:00:00+00:00"),
}


def test_case_17_aware_and_naive_times_live_together(memory: Any, zone: str) -> None:
    for name, (text, _) in MOMENTS.items():
        memory.store("the fact", thought_id=name, valid_from=text, valid_until="2026-04-01T00:00:00+02:00", expires_at="2999-01-01")
    for name, (_, stored) in MOMENTS.items():
        assert memory.get(name)["valid_from"] == stored
    early = ["date", "offset", "week"]
    assert sorted(memory.find("FIND thoughts WHERE valid_at '2026-03-01T04:30:00'")) == early
    assert sorted(memory.find("FIND thoughts WHERE valid_at '2026-03-01T11:00:00+01:00'")) == sorted(set(MOMENTS) - {"blank"})
    assert sorted(memory.find("FIND thoughts WHERE valid_from < 2026-03-01T10:00:00+00:00")) == early
    assert len(memory.find("FIND thoughts WHERE valid_within '2026-03-31T21:00:00Z' '2026-05-01'")) == len(MOMENTS)
    assert memory.find("FIND thoughts WHERE valid_within '2026-03-31T22:00:00Z' '2026-05-01'") == []
    ordered = memory.find("FIND thoughts ORDER BY valid_from, thought_id")
    assert ordered == ["date", "week", "offset", "basic", "naive", "zulu", "blank"]
    assert sorted(memory.hits("fact", include_ended=True, top_k=20)) == sorted(MOMENTS)
    assert sorted(memory.hits("fact", valid_at="2026-03-01T04:30:00Z")) == early


@pytest.mark.parametrize("day", ["2026-03-08", "2026-11-01"])
def test_case_18_no_local_time_anywhere(memory: Any, zone: str, day: str) -> None:
    memory.store("the fact", thought_id="a", valid_from=f"{day}T06:00:00", valid_until=f"{day}T07:30:00")
    answers = [memory.find(f"FIND thoughts WHERE valid_at '{day}T{clock}'") for clock in ("05:59:59", "06:00:00", "07:29:59", "07:30:00")]
    assert answers == [[], ["a"], ["a"], []]
    assert memory.get("a")["valid_until"] == f"{day}T07:30:00+00:00"
    stamp = datetime.fromisoformat(memory.get("a")["created_at"])
    assert abs((datetime.now(UTC) - stamp).total_seconds()) < 60


def test_case_19_as_of_uses_the_state_of_that_day(memory: Any) -> None:
    memory.store("the fact: head office in Lyon", thought_id="A", valid_from="2026-01-01", valid_until="2026-10-01")
    memory.store("the fact: head office in Nice", thought_id="B", valid_from="2026-10-01")
    memory.store("the fact: guest key 17", thought_id="C", valid_from="2026-01-01", expires_at="2026-12-01")
    memory.call("update_thought", thought_id="A", lifecycle_status="ACTIVE")
    for _ in range(2):
        assert sorted(memory.find("FIND thoughts WHERE valid_at '2026-06-15'")) == ["A", "C"]
        assert sorted(memory.hits("fact", valid_at="2026-06-15")) == ["A", "C"]
        assert sorted(memory.hits("fact", valid_at="2027-01-15")) == ["B"]
        memory.call("update_thought", thought_id="A")


def test_ended_thoughts_are_hidden_from_searches_and_marked_when_asked_for(memory: Any) -> None:
    memory.store("the fact", thought_id="ended", valid_until="2020-01-01")
    memory.store("the fact", thought_id="now", valid_from="2020-01-01")
    memory.store("the fact", thought_id="later", valid_from="2999-01-01")
    assert sorted(memory.hits("fact")) == ["later", "now"]
    keywords = memory.call("search_keywords", query="fact")["results"]
    assert sorted(hit["thought_id"] for hit in keywords) == ["later", "now"]
    answer = memory.call("search_memory", query_text="fact", include_ended=True)
    marked = {hit["thought_id"]: hit.get("valid_until") for hit in answer["results"]}
    assert marked == {"ended": "2020-01-01T00:00:00+00:00", "now": None, "later": None}


def test_as_of_asks_what_the_store_knew(memory: Any) -> None:
    memory.store("first", thought_id="a", priority="P1")
    memory.store("other", thought_id="b")
    memory.call("link_thoughts", from_thought_id="a", to_thought_id="b", edge_type="BRIDGE", edge_id="e")
    known = datetime.now(UTC).isoformat()
    memory.call("update_thought", thought_id="a", content="second", priority="P4")
    memory.call("delete_thought", thought_id="b")
    assert memory.find(f"FIND thoughts AS OF '{known}' WHERE content = 'first'") == ["a"]
    assert sorted(memory.find(f"find thoughts as of {known}")) == ["a", "b"]
    assert memory.find(f"FIND edges AS OF '{known}'") == ["e"]
    assert memory.find("FIND edges") == []
    assert memory.find("FIND thoughts AS OF '2020-01-01'") == []
    answer = memory.call("query_memory", query=f"FIND thoughts AS OF '{known}' WHERE priority = 'P1' COUNT")
    assert answer["rows"] == [{"count": 1}]


def test_an_empty_interval_is_found_by_containment_only(memory: Any) -> None:
    memory.store("x", thought_id="a", valid_from="2026-03-01", valid_until="2026-03-01")
    assert memory.find("FIND thoughts WHERE valid_at '2026-03-01'") == []
    assert memory.find("FIND thoughts WHERE valid_between '2026-03-01' '2026-03-01'") == ["a"]


def test_expiry_is_exact(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.store("the fact", thought_id="a", expires_at="2026-06-01T12:00:00Z")

    def clock(text: str) -> None:
        moment = datetime.fromisoformat(text)
        for module in ("reading", "searching"):
            monkeypatch.setattr(f"engram_thoughts.{module}.now", lambda: moment)

    clock("2026-06-01T11:59:59.999999+00:00")
    assert memory.hits("fact") == ["a"]
    assert memory.call("list_memory")["count"] == 1
    clock("2026-06-01T12:00:00+00:00")
    assert memory.hits("fact") == []
    assert memory.call("list_memory")["count"] == 0
    assert memory.call("memory_stats")["thought_count"] == 0
    assert memory.call("memory_stats")["metrics"]["thoughts"]["total"] == 1
    assert memory.call("get_thought", thought_id="a")["found"] is True
    assert memory.find("FIND thoughts") == ["a"]

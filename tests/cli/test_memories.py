"""add, link, search, list, show, history, query: what is asked of the owner, what is printed, which exit code."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_kernel.errors import InvalidInput, NotFound, OutcomeUnknown, StoreUnusable
from engram_runtime.cli.writing import first_sentence, pair

ALICE = "3f2a7c1e-5b0d-4c7a-9a52-1d2f3b4c5d6e"


def test_add_stores_the_text_under_its_first_sentence(engram: Any, owner: Any) -> None:
    result = engram("add", "Redis holds sessions. It was memcached before.", "--type", "belief", "--priority", "p1", "--meta", "n=3")
    assert result.code == 0
    assert result.out.startswith(f"Stored {ALICE}\n")
    tool, arguments, operator = owner.calls[0]
    assert (tool, operator) == ("store_thought", False)
    assert arguments == {
        "essence": "Redis holds sessions.",
        "content": "Redis holds sessions. It was memcached before.",
        "thought_type": "BELIEF",
        "priority": "P1",
        "source": "person",
        "deduplicate": False,
        "metadata": {"n": 3},
    }


def test_add_reads_standard_input(engram: Any, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Grüße aus Köln\n".encode()), encoding="ascii"))
    assert engram("add", "-").code == 0
    assert owner.calls[0][1]["content"] == "Grüße aus Köln\n"


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\xff\xfe broken"])
def test_add_refuses_unusable_input(engram: Any, owner: Any, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    result = engram("add", "-")
    assert result.code == 2
    assert "Nothing was changed." in result.err
    assert owner.calls == []


def test_add_tells_a_known_memory_from_a_new_one(engram: Any, owner: Any) -> None:
    owner.tools["store_thought"] = {**owner.tools["store_thought"], "created": False, "ignored": ["priority"]}
    result = engram("add", "The same again", "--dedup")
    assert result.out.startswith("Already known, confirmed")
    assert "It kept its own priority." in result.out


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("One line", "One line"),
        ("\n\n# A heading\nText", "A heading"),
        ("- a point\n- another", "a point"),
        ("Version 1.2.3 is out. Update now.", "Version 1.2.3 is out."),
        ("Dr. Who was here today", "Dr. Who was here today"),
        ("word " * 100, ("word " * 40).strip() + "…"),
        ("x" * 500, "x" * 199 + "…"),
        ("###", "###"),
    ],
)
def test_the_title_is_the_first_sentence(text: str, title: str) -> None:
    assert first_sentence(text) == title


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_a_title_is_never_empty_nor_too_long(text: str) -> None:
    title = first_sentence(text)
    assert 1 <= len(title) <= 200
    assert title.strip()
    assert "\n" not in title


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a=b", ("a", "b")),
        ("a=3", ("a", 3)),
        ("a=1.5", ("a", 1.5)),
        ('a="3"', ("a", "3")),
        ("a=true", ("a", True)),
        ("a=null", ("a", None)),
        ("a=NaN", ("a", "NaN")),
        ("a=", ("a", "")),
        ("a=b=c", ("a", "b=c")),
        ("a=[1]", ("a", "[1]")),
    ],
)
def test_metadata_values(text: str, read: tuple[str, Any]) -> None:
    assert pair(text) == read


@pytest.mark.parametrize("text", ["a", "=b", " =b"])
def test_metadata_must_be_a_pair(text: str) -> None:
    with pytest.raises(InvalidInput, match="KEY=VALUE"):
        pair(text)


def test_link_names_both_ends(engram: Any, owner: Any) -> None:
    result = engram("link", "a", "b", "--type", "depends_on", "--weight", "0.5")
    assert result.code == 0
    assert owner.calls[0][1] == {"from_thought_id": "a", "to_thought_id": "b", "edge_type": "DEPENDS_ON", "weight": 0.5}


def test_search_shows_score_reason_id_and_date(engram: Any, owner: Any) -> None:
    result = engram("search", "redis", "cache", "--limit", "2", "--priority", "P2")
    assert owner.calls[0][1] == {"query_text": "redis cache", "top_k": 2, "priority": "P2", "explain": True}
    first = result.out.splitlines()[0]
    assert first.startswith(" 1  ████████░░ 0.83  The session cache moved")
    assert f"{ALICE} · 2026-03-04 · ACTIVE" in result.out
    assert "lexical: redis, cache" in result.out
    assert "valid until 2026-06-01" in result.out
    assert "2 of 12 hits · 12 of 40 passed the filter" in result.out


def test_search_explains_every_signal(engram: Any) -> None:
    assert "lexical 0.71 (redis, cache) · recency 0.12" in engram("search", "x", "--explain").out


def test_search_says_when_nothing_is_found_and_what_failed(engram: Any, owner: Any) -> None:
    owner.tools["search_memory"] = {"results": [], "backends_used": ["lexical"], "failed_backends": ["vector"]}
    result = engram("search", "x")
    assert result.code == 0
    assert result.out.startswith("Nothing found")
    assert "Without vector, which failed" in result.out


@pytest.mark.parametrize("columns", [80, 120])
def test_nothing_is_wider_than_the_screen(engram: Any, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in (["search", "x"], ["list"], ["show", ALICE], ["history", ALICE], ["query", "FIND thoughts"], ["tools"], ["status"]):
        lines = engram(*words).out.splitlines()
        assert max(map(len, lines)) <= columns, words
        assert not any(line.endswith(" ") for line in lines), words


def test_list_pages(engram: Any, owner: Any) -> None:
    result = engram("list", "--type", "task", "--status", "active", "--limit", "2", "--offset", "0")
    assert owner.calls[0][1] == {"thought_type": "TASK", "lifecycle_status": "ACTIVE", "limit": 2, "offset": 0}
    assert ALICE in result.out
    assert "1 to 2 of 1,500; more with --offset 2" in result.out


def test_show_prints_everything_with_links_in_both_directions(engram: Any) -> None:
    out = engram("show", ALICE).out
    for part in (
        "keep the old cluster until May",
        "project=checkout",
        "from 2026-03-01 00:00 UTC",
        "Links to",
        "Linked from",
        "DEPENDS_ON 0.75",
    ):
        assert part in out


def test_show_of_an_unknown_id_exits_3(engram: Any) -> None:
    result = engram("show", "nope")
    assert (result.code, result.out) == (3, "")
    assert result.err.splitlines() == [
        "engram: There is no memory with the id 'nope'.",
        "  Nothing was changed.",
        "  Next: Find ids with `engram search` or `engram list`.",
    ]


def test_history_shows_what_changed_oldest_first(engram: Any) -> None:
    out = engram("history", ALICE).out
    assert out.index("revision 1") < out.index("revision 2")
    assert "text" not in out.split("revision 2")[1]
    assert engram("history", "nope").code == 3


def test_query_shows_what_fits_and_names_the_rest(engram: Any, owner: Any) -> None:
    result = engram("query", "FIND thoughts WHERE priority = P2", "--limit", "5")
    assert owner.calls[0][1] == {"query": "FIND thoughts WHERE priority = P2", "limit": 5}
    assert "2 rows; 18 of 21 columns not shown" in result.out
    chosen = engram("query", "FIND thoughts", "--columns", "source,priority")
    assert chosen.out.splitlines()[0].split() == ["source", "priority"]
    assert engram("query", "FIND thoughts", "--columns", "nope").code == 2


def test_stored_text_cannot_drive_the_terminal(engram: Any, owner: Any) -> None:
    def evil(arguments: Any) -> Any:
        from copy import deepcopy

        found = deepcopy(owner.tools["list_memory"]["thoughts"][0])
        found |= {"essence": "red \x1b[31m alert \x9b1m", "content": "beep \x07 and \x1b]0;title\x07", "metadata": {"k": "\x1b[2J"}}
        return {"found": True, "thought": found}

    owner.tools["get_thought"] = evil
    out = engram("show", ALICE).out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\x9b" not in out
    assert "^[[31m" in out


@pytest.mark.parametrize("words", [["--json", "search", "x"], ["search", "x", "--json"], ["search", "--json", "x"]])
def test_json_is_accepted_in_every_position(engram: Any, owner: Any, words: list[str]) -> None:
    result = engram(*words)
    assert json.loads(result.out) == owner.tools["search_memory"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("Wrong."), 2),
        (NotFound("Gone."), 3),
        (StoreUnusable("The disk is full.", next_step="Free some space."), 4),
        (OutcomeUnknown("Lost."), 1),
    ],
)
def test_errors_become_exit_codes_and_one_block(engram: Any, owner: Any, error: Exception, code: int) -> None:
    owner.tools["list_memory"] = error
    result = engram("list")
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith("engram: ")
    assert "Traceback" not in result.err
    told = json.loads(engram("list", "--json").err)["error"]
    assert told["code"] == error.code  # type: ignore[attr-defined]
    assert told["what"] in result.err


def test_a_crash_of_ours_is_told_without_a_traceback(engram: Any, owner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    owner.tools["list_memory"] = ZeroDivisionError("division")
    result = engram("list")
    assert result.code == 1
    assert "Unexpected ZeroDivisionError: division" in result.err
    assert "Traceback" not in result.err
    monkeypatch.setenv("ENGRAM_LOG_LEVEL", "debug")
    assert "Traceback" in engram("list").err


def test_the_connection_is_closed_whatever_happens(engram: Any, owner: Any) -> None:
    engram("list")
    owner.tools["list_memory"] = NotFound("Gone.")
    engram("list")
    assert owner.closed == 2

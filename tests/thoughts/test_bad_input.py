"""Bad input for every tool of the set, enumerated from the registry so that a new tool cannot forget it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engram_kernel.arguments import MAX_TEXT
from engram_kernel.errors import EngramError
from engram_thoughts.catalogue import tools
from engram_thoughts.settings import Settings

TOOLS = {tool.name: tool for tool in tools(Settings())}
GOOD = {
    "thought_id": "one",
    "from_thought_id": "one",
    "to_thought_id": "two",
    "edge_type": "BRIDGE",
    "edge_id": "edge",
    "query": "FIND thoughts",
    "query_text": "words",
    "essence": "essence",
    "content": "content",
}
PATHS = ["../x", "..\\x", "%2e%2e/x", "/etc/passwd", "C:\\x", "~/.x", "a/../../x", "CON", "x" * 300]


def required(name: str) -> dict[str, Any]:
    return {argument: GOOD[argument] for argument in TOOLS[name].input_schema.get("required", ())}


def properties(name: str) -> dict[str, Any]:
    return dict(TOOLS[name].input_schema["properties"])


def cases(*types: str) -> list[Any]:
    """Every (tool, argument) whose published type is one of these."""
    found = [(name, argument) for name in TOOLS for argument, field in properties(name).items() if field["type"] in types]
    return [pytest.param(name, argument, id=f"{name}-{argument}") for name, argument in found]


@pytest.fixture(scope="module")
def filled(shared: Any) -> Any:
    shared.store("some words", thought_id="one")
    shared.store("other words", thought_id="two")
    shared.call("link_thoughts", from_thought_id="two", to_thought_id="one", edge_type="BRIDGE", edge_id="edge")
    return shared


def refused(memory: Any, name: str, arguments: dict[str, Any], field: str) -> EngramError:
    """The call is refused naming the field, and nothing has changed."""
    before = memory.state()
    error = memory.fails(name, **arguments)
    assert error.code == "invalid_input", error
    assert any(found.partition(".")[0] == field for found in error.data["fields"]), error.data
    assert field in str(error)
    assert memory.state() == before
    assert "Traceback" not in str(error)
    return error


@pytest.mark.parametrize("name", TOOLS)
def test_unknown_argument(filled: Any, name: str) -> None:
    error = refused(filled, name, {**required(name), "thougth_id": "x"}, "thougth_id")
    assert "not permitted" in str(error)


@pytest.mark.parametrize("name", [name for name in TOOLS if required(name)])
def test_missing_argument(filled: Any, name: str) -> None:
    for argument in required(name):
        rest = {key: value for key, value in required(name).items() if key != argument}
        refused(filled, name, rest, argument)
        refused(filled, name, {**rest, argument: None}, argument)


@pytest.mark.parametrize(("name", "argument"), cases("string", "integer", "number", "boolean", "object", "array"))
def test_wrong_type(filled: Any, name: str, argument: str) -> None:
    wrong: dict[str, list[Any]] = {
        "string": [5, True, ["x"], {"x": 1}],
        "integer": ["many", 2.5, [1], {}, float("nan"), float("inf")],
        "number": ["high", [1], {}, float("nan"), float("inf")],
        "boolean": ["perhaps", 2, [True], {}],
        "object": ["text", 5, [1], "{broken", "[1]"],
        "array": ["text", 5, {"x": 1}, "[broken", '{"x": 1}'],
    }
    for value in wrong[properties(name)[argument]["type"]]:
        refused(filled, name, {**required(name), argument: value}, argument)


@pytest.mark.parametrize(("name", "argument"), cases("integer", "number"))
def test_out_of_range(filled: Any, name: str, argument: str) -> None:
    field = properties(name)[argument]
    low, high = field.get("minimum"), field.get("maximum")
    assert low is not None
    for value in [low - 1, -(10**30), *([high + 1, 10**30] if high is not None else [])]:
        refused(filled, name, {**required(name), argument: value}, argument)


@pytest.mark.parametrize(("name", "argument"), [case for case in cases("string") if "enum" in properties(case.values[0])[case.values[1]]])
def test_not_in_the_enum(filled: Any, name: str, argument: str) -> None:
    allowed = properties(name)[argument]["enum"]
    for value in ["", "OTHER", allowed[0].swapcase(), f" {allowed[0]}"]:
        error = refused(filled, name, {**required(name), argument: value}, argument)
        assert allowed[-1] in str(error)


@pytest.mark.parametrize(("name", "argument"), cases("string"))
@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "x" * (MAX_TEXT + 1)], ids=["NUL", "surrogate", "too long"])
def test_unusable_text(filled: Any, name: str, argument: str, text: str) -> None:
    refused(filled, name, {**required(name), argument: text}, argument)


@pytest.mark.parametrize(("name", "argument"), cases("object"))
def test_unusable_text_in_objects(filled: Any, name: str, argument: str) -> None:
    for value in ({"k": "a\x00b"}, {"a\x00b": "v"}, {"k": "\udfff"}, {"k": {"deep": "x" * (MAX_TEXT + 1)}}):
        refused(filled, name, {**required(name), argument: value}, argument)


def test_ten_megabytes(filled: Any) -> None:
    error = refused(filled, "store_thought", {"essence": "e", "content": "x" * 10_000_000}, "content")
    assert "10,000,000 characters long; the limit is 1,000,000" in str(error)
    assert len(str(error)) < 500


def test_the_longest_content_is_kept(filled: Any) -> None:
    text = "é" * MAX_TEXT
    thought_id = filled.store(text)
    assert filled.get(thought_id)["content"] == text
    filled.call("delete_thought", thought_id=thought_id)


@pytest.mark.parametrize(("name", "argument"), cases("string"))
def test_case_41_a_name_is_never_a_path(filled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, argument: str) -> None:
    """Ids and texts are opaque here: path-like ones are either refused or stored as they are, and no file is touched."""
    monkeypatch.chdir(tmp_path)
    folder = filled.kernel.folder
    files = {path.name for path in folder.parent.iterdir()}
    for text in PATHS:
        before = filled.state()
        try:
            filled.call(name, **{**required(name), argument: text})
        except EngramError as error:
            assert error.code in ("invalid_input", "not_found", "already_exists")
            assert filled.state() == before
    assert list(tmp_path.iterdir()) == []
    assert {path.name for path in folder.parent.iterdir()} == files
    for thought_id in PATHS:
        filled.call("delete_thought", thought_id=thought_id)
        filled.call("delete_edge", edge_id=thought_id)
    filled.call("delete_thought", thought_id="one")
    filled.call("delete_thought", thought_id="two")
    filled.store("some words", thought_id="one")
    filled.store("other words", thought_id="two")
    filled.call("link_thoughts", from_thought_id="two", to_thought_id="one", edge_type="BRIDGE", edge_id="edge")


NEW_IDS = [("store_thought", "thought_id"), ("link_thoughts", "edge_id")]


@pytest.mark.parametrize(("name", "argument"), NEW_IDS)
@pytest.mark.parametrize("text", ["", " ", "\t\n", "x" * 257])
def test_new_ids(filled: Any, name: str, argument: str, text: str) -> None:
    refused(filled, name, {**required(name), argument: text}, argument)


@pytest.mark.parametrize("field", ["essence", "content", "source"])
def test_empty_texts(filled: Any, field: str) -> None:
    refused(filled, "store_thought", {"essence": "e", "content": "c", field: ""}, field)


@pytest.mark.parametrize("field", ["essence", "content"])
def test_empty_texts_in_updates(filled: Any, field: str) -> None:
    refused(filled, "update_thought", {"thought_id": "one", field: ""}, field)
    refused(filled, "update_thought", {"thought_id": "one", "priority": "P1", "essence": "x" * 201}, "essence")
    assert filled.get("one")["priority"] == "P3"


MOMENTS = [
    ("store_thought", "valid_from"),
    ("store_thought", "valid_until"),
    ("store_thought", "expires_at"),
    ("update_thought", "valid_until"),
    ("link_thoughts", "valid_from"),
    ("search_memory", "recency_now"),
    ("search_memory", "valid_at"),
    ("get_thought", "as_of"),
]


@pytest.mark.parametrize(("name", "argument"), MOMENTS)
@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-02-30", "0001-01-01T00:00:00+05:00", "9999-12-31T23:00:00-05:00", "1767225600"]
)
def test_times(filled: Any, name: str, argument: str, text: str) -> None:
    error = refused(filled, name, {**required(name), argument: text}, argument)
    assert "2026-01-31T12:00:00+00:00" in str(error)


def test_inverted_valid_time(filled: Any) -> None:
    given = {"essence": "e", "content": "c", "valid_from": "2026-02-01", "valid_until": "2026-01-31T23:59:59Z"}
    refused(filled, "store_thought", given, "valid_until")
    same = {**given, "valid_until": "2026-02-01"}
    filled.call("delete_thought", thought_id=filled.call("store_thought", **same)["thought"]["thought_id"])


def test_provenance_limits(filled: Any) -> None:
    for provenance in (
        {"session_id": "x" * 257},
        {"retrieval_query": "x" * 4097},
        {"retrieval_context_ids": ["a"] * 129},
        {"retrieval_context_ids": ["x" * 257]},
        {"unknown": 1},
    ):
        refused(filled, "store_thought", {"essence": "e", "content": "c", "provenance": provenance}, "provenance")


def test_every_fault_of_a_call_is_named(filled: Any) -> None:
    error = refused(filled, "store_thought", {"essence": "", "content": "", "priority": "P9", "confidence": 2}, "essence")
    assert error.data["fields"].keys() == {"essence", "content", "priority", "confidence"}


def test_messages_do_not_disclose_the_storage(filled: Any) -> None:
    for query in ("FIND thoughts WHERE bogus = 1", "FIND sqlite_master", "FIND thoughts ORDER BY attributes.visibility"):
        text = str(filled.fails("query_memory", query=query)).lower()
        assert not any(word in text for word in ("duckdb", "sql ", "revision r", "/", "traceback")), text

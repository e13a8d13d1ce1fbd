"""Reported faults of other memory servers, tried on this one; the numbers are those of the collection of field cases."""

from __future__ import annotations

from typing import Any


def test_case_11_there_is_no_delete_by_scope(shared: Any) -> None:
    """Both deletes take exactly one id; an empty or unknown one deletes nothing."""
    for number in range(3):
        shared.store("text", thought_id=f"case11-{number}", metadata={"project": "A"})
    before = shared.call("memory_stats")["thought_count"]
    for thought_id in ("", " ", "*", "%", "case11-", "case11-%"):
        assert shared.call("delete_thought", thought_id=thought_id) == {"deleted": False}
        assert shared.call("delete_edge", edge_id=thought_id) == {"deleted": False}
    assert shared.fails("delete_thought", thought_id=None).code == "invalid_input"
    assert shared.fails("delete_thought").code == "invalid_input"
    assert shared.call("memory_stats")["thought_count"] == before
    shared.call("delete_thought", thought_id="case11-1")
    assert shared.call("memory_stats")["thought_count"] == before - 1


def test_case_12_saving_twice_keeps_the_first(memory: Any) -> None:
    first = memory.call("store_thought", essence="one", content="the sentence", deduplicate=True)
    second = memory.call("store_thought", essence="one", content="the sentence", deduplicate=True)
    assert (second["created"], second["thought"]) == (False, first["thought"])
    third = memory.call("store_thought", essence="one", content="the sentence", deduplicate=True, metadata={"tag": "other"})
    assert third["ignored"] == ["metadata"]
    (thought,) = memory.call("list_memory")["thoughts"]
    assert (thought["thought_id"], thought["metadata"]) == (first["thought"]["thought_id"], {})


def test_case_13_a_create_never_replaces(memory: Any) -> None:
    memory.store("the words of a person", thought_id="decisions/cache")
    error = memory.fails("store_thought", essence="cache", content="other words", thought_id="decisions/cache")
    assert error.code == "already_exists"
    assert "update_thought" in str(error)
    assert memory.get("decisions/cache")["content"] == "the words of a person"
    memory.call("update_thought", thought_id="decisions/cache", content="replaced", expected_revision=0)
    assert memory.get("decisions/cache")["content"] == "replaced"


def test_case_15_the_current_preference_comes_first(memory: Any) -> None:
    memory.store("she prefers to drink coffee", thought_id="old", valid_from="2026-01-01")
    memory.call("update_thought", thought_id="old", valid_until="2026-06-01")
    memory.store("she prefers to drink tea", thought_id="new", valid_from="2026-06-01")
    assert memory.hits("what does she drink") == ["new"]
    answer = memory.call("search_memory", query_text="what does she drink", include_ended=True)
    marks = {hit["thought_id"]: hit.get("valid_until") for hit in answer["results"]}
    assert marks == {"new": None, "old": "2026-06-01T00:00:00+00:00"}


def test_case_16_a_retired_fact_does_not_outrank_the_current_one(memory: Any) -> None:
    memory.store("the SSH port of the build server is 22", thought_id="old", valid_until="2026-06-01")
    memory.store("since the move, build host listens on 49222 for shell access", thought_id="new", valid_from="2026-06-01")
    assert memory.hits("SSH port of the build server") == ["new"]


LITERALS = ["Downloads/notes", "don't", "pre-edit", "current.md", "GB/s"]
OPERATORS = ['"', "(", "*", "a AND", "NEAR(", "col:value", "'; DROP TABLE x; --", "[", "^", "a OR", "-", "content:", "\\"]


def test_case_20_punctuation_is_never_an_error(memory: Any) -> None:
    for number, literal in enumerate(LITERALS):
        memory.store(f"this is about {literal} and more", thought_id=f"t{number}")
    for number, literal in enumerate(LITERALS):
        assert memory.hits(literal)[0] == f"t{number}"
        assert memory.call("search_keywords", query=literal)["results"][0]["thought_id"] == f"t{number}"
        assert memory.find(f"FIND thoughts WHERE content CONTAINS '{literal.replace(chr(39), chr(39) * 2)}'") == [f"t{number}"]
    for operators in OPERATORS:
        memory.hits(operators)
        memory.call("search_keywords", query=operators)


def test_case_25_different_sentences_are_never_merged(memory: Any) -> None:
    sentences = [
        "I work at Fabrikam",
        "I just joined Contoso",
        "We chose SQLite over Postgres for simplicity",
        "We chose local embeddings over an API for privacy",
    ]
    for sentence in sentences:
        assert memory.call("store_thought", essence="note", content=sentence, deduplicate=True)["created"] is True
    assert {thought["content"] for thought in memory.call("list_memory")["thoughts"]} == set(sentences)


def test_case_26_the_end_of_a_long_memory_is_searchable(memory: Any) -> None:
    filler = " ".join(f"word{number}" for number in range(3000))
    memory.store(f"{filler}\n\nThe spare key hangs behind the boiler.", thought_id="long")
    memory.store("x" * 50_000, thought_id="unbroken")
    memory.store("lorem " * 33_333, thought_id="longer")
    assert memory.hits("where is the spare key")[0] == "long"
    assert len(memory.get("unbroken")["content"]) == 50_000
    error = memory.fails("store_thought", essence="e", content="x" * 1_000_001)
    assert "the limit is 1,000,000" in str(error)


def test_case_44_every_read_uses_the_same_visibility(memory: Any) -> None:
    """Nothing of the set answers a session that may not see it: search, lists, queries, edges, counts, resources, prompts."""
    from dataclasses import replace

    memory.store("the secret plan", thought_id="secret", essence="secret plan")
    memory.store("another secret", thought_id="other")
    memory.call("link_thoughts", from_thought_id="secret", to_thought_id="other", edge_type="BRIDGE", edge_id="secret-edge")
    memory.session = replace(memory.session, tool_sets=frozenset({"project"}))
    given = {"thought_id": "secret", "query_text": "secret", "query": "secret"}
    for tool in memory.kernel.registry.tools(memory.session):
        if tool.writes:
            continue
        arguments = {name: given[name] for name in tool.input_schema.get("required", ())}
        texts = [arguments] if tool.name != "query_memory" else [{"query": f"FIND {table}"} for table in ("thoughts", "edges", "actions")]
        for given_now in texts:
            answer = str(memory.call(tool.name, **given_now))
            assert "secret" not in answer, tool.name
            assert "'total': 1" not in answer
            assert "'total': 2" not in answer
    assert memory.call("memory_stats")["thought_count"] == 0
    assert memory.call("get_thought", thought_id="secret", include_history=True, as_of="2999-01-01")["history"] == []
    for uri in ("engram://stats", "engram://recent", "engram://thought/secret"):
        assert "plan" not in memory.read(uri)
    assert "plan" not in memory.render("summarize_recent_memory")
    assert memory.fails("update_thought", thought_id="secret", essence="x").code == "not_found"
    assert memory.call("delete_edge", edge_id="secret-edge") == {"deleted": False}


def test_case_44_a_hidden_thought_cannot_be_written(memory: Any) -> None:
    from dataclasses import replace

    memory.store("the secret plan", thought_id="secret")
    open_session = memory.session
    memory.session = replace(open_session, tool_sets=frozenset())
    assert memory.fails("delete_thought", thought_id="secret").code == "not_allowed"
    assert memory.fails("store_thought", essence="e", content="c").code == "not_allowed"
    memory.session = open_session
    assert memory.get("secret")["content"] == "the secret plan"

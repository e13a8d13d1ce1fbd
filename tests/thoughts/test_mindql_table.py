"""Every example of the language's reference, against the data it names."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest

from engram_kernel.changes import ChangeSet, Link, Put
from engram_kernel.model import Edge, Memory, Ref

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def thought(name: str, kind: str, priority: int, status: str, cycles: tuple[int, int], **more: Any) -> Put:
    defaults: dict[str, Any] = {"title": name, "text": f"content {name}", "origin": "agent"}
    attributes = {"source_type": "EXPERIENCE", "visibility": "selective"}
    fields = {**defaults, **more}
    return Put(
        Memory(
            collection="thoughts",
            id=name,
            kind=kind,
            priority=priority,
            status=status,
            created_cycle=cycles[0],
            updated_cycle=cycles[1],
            attributes=attributes,
            **fields,
        )
    )


def action(name: str, status: str, verified: str) -> Put:
    extra = {"source_thought_id": "a3", "verification_status": verified, "raw_metrics_json": None}
    return Put(Memory(collection="actions", id=name, kind="TOOL_CALL", text=f"intent {name}", status=status, attributes=extra))


def edge(name: str, source: str, target: str, kind: str, weight: float, **more: Any) -> Link:
    ends = {"source": Ref("thoughts", source), "target": Ref("thoughts", target)}
    return Link(Edge(id=name, type=kind, weight=weight, origin="EXPERIENCE", attributes={"decay_multiplier": 1.0}, **ends, **more))


CHANGES = (
    thought(
        "a1",
        "OBSERVATION",
        1,
        "CREATED",
        (1, 5),
        confidence=0.9,
        title="it's alpha",
        valid_from=at("2026-01-01"),
        valid_until=at("2026-07-01"),
        metadata={"topic": "x", "count": 3, "done": True},
    ),
    thought("a2", "BELIEF", 2, "CREATED", (2, 2), confidence=0.5, valid_from=at("2026-01-01"), metadata={"topic": "y", "count": 7.5}),
    thought("a3", "TASK", 2, "ACTIVE", (3, 9), valid_until=at("2026-07-01"), pinned=True, metadata={"topic": None}),
    thought("a4", "NOTE", 4, "DONE", (10, 10), confidence=0.0, origin="two  blanks", text="50%_off"),
    thought("a5", "NOTE", 3, "ARCHIVED", (0, 0), title="a AND b", valid_from=at("2026-03-01"), valid_until=at("2026-03-01")),
    thought("a6", "REFLECTION", 3, "ACTIVE", (0, 0), title="007", text="7", expires_at=at("2020-01-01")),
    edge("e1", "a1", "a2", "ASSOCIATED", 0.25, valid_from=at("2026-02-01"), valid_until=at("2026-03-01"), metadata={"run": 1}),
    edge("e2", "a2", "a3", "CONTESTED_BY", 1.0),
    action("act1", "PLANNED", "PENDING"),
    action("act2", "CONFIRMED", "CONFIRMED"),
)


@pytest.fixture(scope="module")
def table(shared: Any) -> Any:
    shared.kernel.store.apply(ChangeSet(CHANGES))
    return shared


@pytest.fixture(autouse=True)
def fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram_thoughts.querying.now", lambda: NOW)


ANSWERS = {
    "thoughts": "a1 a2 a3 a4 a5 a6",
    "THOUGHTS where priority = 'P2'": "a2 a3",
    "thoughts WHERE priority != 'P3'": "a1 a2 a3 a4",
    "thoughts WHERE priority < 'P3'": "a1 a2 a3",
    "thoughts WHERE updated_cycle >= '5'": "a1 a3 a4",
    "thoughts WHERE confidence != 0.9": "a2 a4",
    "thoughts WHERE confidence = NULL": "",
    "thoughts WHERE essence = 'it''s alpha'": "a1",
    "thoughts WHERE essence = 'a AND b'": "a5",
    "thoughts WHERE essence = '007'": "a6",
    "thoughts WHERE essence = 007": "",
    "thoughts WHERE content = 7": "a6",
    "thoughts WHERE source = 'two  blanks'": "a4",
    "thoughts WHERE thought_type = OBSERVATION": "a1",
    "thoughts WHERE priority = 'P1' OR priority = 'P2' AND lifecycle_status = 'ACTIVE'": "a1 a3",
    "thoughts WHERE (priority = 'P1' OR priority = 'P2') AND lifecycle_status = 'ACTIVE'": "a3",
    "thoughts WHERE updated_cycle IN (2, 9)": "a2 a3",
    "thoughts WHERE valid_now": "a2 a4 a6",
    "thoughts WHERE valid_at '2026-01-01T00:00:00Z'": "a1 a2 a3 a4 a6",
    "thoughts WHERE valid_at '2026-07-01T00:00:00Z'": "a2 a4 a6",
    "thoughts WHERE valid_at '2025-12-31T23:59:59Z'": "a3 a4 a6",
    "thoughts WHERE valid_within '2026-06-01' '2026-12-01'": "a1 a2 a3 a4 a6",
    "thoughts WHERE valid_within '2026-07-01' '2026-12-01'": "a2 a4 a6",
    "thoughts WHERE valid_within '2025-01-01' '2026-01-01'": "a3 a4 a6",
    "thoughts WHERE valid_between '2026-01-01' '2026-07-01'": "a1 a5",
    "thoughts WHERE valid_at '2026-03-01' AND priority = 'P1'": "a1",
    "edges WHERE valid_at '2026-02-15'": "e1 e2",
    "edges WHERE valid_now": "e2",
    "actions WHERE status = 'PLANNED'": "act1",
    # Beyond the published language.
    "thoughts WHERE NOT priority = 'P1'": "a2 a3 a4 a5 a6",
    "thoughts WHERE NOT confidence = 0.9": "a2 a4",
    "thoughts WHERE NOT (priority = 'P1' OR confidence IS NULL)": "a2 a4",
    "thoughts WHERE priority NOT IN ('P1', 'P3')": "a2 a3 a4",
    "thoughts WHERE essence LIKE 'A%'": "a2 a3 a4 a5",
    "thoughts WHERE essence NOT LIKE 'a%'": "a1 a6",
    "thoughts WHERE priority LIKE 'p_' AND priority CONTAINS '1'": "a1",
    "thoughts WHERE content CONTAINS '%_'": "a4",
    r"thoughts WHERE content LIKE '50\%%'": "a4",
    r"thoughts WHERE content LIKE '50%\'": "",
    r"thoughts WHERE source_type LIKE 'EXP\_%' OR visibility LIKE '%\'": "",
    "thoughts WHERE content CONTAINS 'TENT A'": "a1 a2 a3 a5",
    "thoughts WHERE confidence IS NULL": "a3 a5 a6",
    "thoughts WHERE confidence IS NOT NULL": "a1 a2 a4",
    "thoughts WHERE updated_cycle BETWEEN 2 AND 9": "a1 a2 a3",
    "thoughts WHERE updated_cycle NOT BETWEEN 2 AND 9 AND priority = P4": "a4",
    "thoughts WHERE valid_from = '2026-01-01'": "a1 a2",
    "thoughts WHERE valid_until <= 2026-06-30T20:00-04:00": "a1 a3 a5",
    "thoughts WHERE expires_at IS NOT NULL": "a6",
    "thoughts WHERE created_at > '2020-01-01' AND valid_from BETWEEN 20260201 AND '2026-04-01'": "a5",
    "thoughts WHERE valid_from IN ('2026-03-01T00:00:00Z')": "a5",
    "thoughts WHERE pinned = 1": "a3",
    "thoughts WHERE metadata.topic = 'x'": "a1",
    "thoughts WHERE metadata.topic IS NULL": "a3 a4 a5 a6",
    "thoughts WHERE metadata.topic CONTAINS 'Y'": "a2",
    "thoughts WHERE metadata.count > 3": "a2",
    "thoughts WHERE metadata.count = 3.0": "a1",
    "thoughts WHERE metadata.count = '3'": "",
    "thoughts WHERE metadata.done = true": "a1",
    "thoughts WHERE metadata.done = 'true'": "",
    "thoughts WHERE metadata.topic IN ('x', 'y', 'z') ORDER BY metadata.topic": "a1 a2",
    "thoughts WHERE confidence = 'high' OR updated_cycle = many": "",
    "thoughts WHERE confidence < text": "a1 a2 a4",
    "thoughts WHERE confidence IN (0.9, 'x', 0.5)": "a1 a2",
    "edges WHERE metadata.run = 1 AND weight < .5": "e1",
    "edge WHERE from_thought_id = 'a2' AND decay_multiplier = 1": "e2",
    "edges WHERE valid_from IS NULL": "e2",
    "action WHERE source_thought_id = 'a3' AND verification_status != 'PENDING'": "act2",
    "thoughts WHERE(priority='P1'OR(priority='P4'))AND\tthought_type\n!=\r\nNOTE": "a1",
}

ORDERED = {
    "thoughts ORDER BY updated_cycle DESC LIMIT 2 OFFSET 1": "a3 a1",
    "thoughts ORDER BY priority, thought_id DESC": "a1 a3 a2 a6 a5 a4",
    "thoughts WHERE valid_from IS NOT NULL order by valid_from desc, thought_id asc": "a5 a1 a2",
    "edges ORDER BY weight DESC": "e2 e1",
    "actions ORDER BY action_id DESC": "act2 act1",
}


@pytest.mark.parametrize("query", ANSWERS)
def test_answer(table: Any, query: str) -> None:
    assert sorted(table.find(f"FIND {query}")) == ANSWERS[query].split()


@pytest.mark.parametrize("query", ORDERED)
def test_ordered_answer(table: Any, query: str) -> None:
    assert table.find(f"find {query}") == ORDERED[query].split()


REFUSED = {
    "thoughts LIMIT 0": "LIMIT must be between 1 and 5,000; the query says 0",
    "thoughts LIMIT 5001": "5001",
    "thoughts LIMIT -1": "'-1'",
    "thoughts LIMIT 1.5": "'.5'",
    "thoughts OFFSET 2 LIMIT 2": "'LIMIT'",
    "thoughts LIMIT 2 ORDER BY thought_id": "'ORDER'",
    "thoughts OFFSET 9223372036854775808": "OFFSET must be between 0 and 9223372036854775807; the query says 9223372036854775808",
    "thoughts LIMIT " + "9" * 5000: "more than 30 digits",
    "thoughts WHERE priority <> 'P3'": "unexpected '>'",
    "thoughts WHERE metadata_json = '{}'": "metadata.<key>",
    "thoughts WHERE content_hash = 'x'": "appears in rows",
    "thoughts WHERE Priority = 'P1'": "unknown column 'Priority'",
    "thoughts WHERE bogus = 1": "unknown column 'bogus'",
    "thoughts ORDER BY bogus": "unknown column 'bogus'",
    "thoughts WHERE metadata.a.b = 1": "'metadata.a.b' is not a metadata field",
    "thoughts WHERE metadata[0] = 1": "not a metadata field",
    "thoughts WHERE metadata = 1": "not a metadata field",
    "actions WHERE metadata.x = 1": "unknown column 'metadata.x'",
    "thoughts WHERE priority IN ()": "expected a value",
    "thoughts WHERE priority IN ('P1',)": "expected a value",
    "thoughts WHERE priority = 'P1' AND": "ends too early",
    "thoughts WHERE AND priority = 'P1'": "unexpected 'AND'",
    "thoughts WHERE": "ends too early",
    "thoughts WHERE essence = 'open": "not closed",
    "thoughts WHERE (priority = 'P1'": "ends too early",
    "thoughts WHERE priority = 'P1')": "unexpected ')'",
    "thoughts WHERE priority = 'P1'; DROP TABLE thought": "unexpected ';'",
    "thoughts WHERE priority = P1; DROP TABLE thought": "unexpected ';'",
    "thoughts WHERE priority = 'P1' -- c": "unexpected '--'",
    "thoughts WHERE valid_at": "malformed temporal predicate: valid_at takes one",
    "thoughts WHERE valid_at 'March'": "'March' is not an ISO 8601 time",
    "thoughts WHERE valid_now '2026-01-01'": "valid_now takes no moment",
    "thoughts WHERE valid_within '2026-06-01'": "valid_within takes two",
    "thoughts WHERE valid_within '2026-06-01' '2026-01-01'": "inverted",
    "thoughts WHERE valid_between '2026-06-01' '2026-01-01'": "inverted",
    "actions WHERE valid_now": "no valid time",
    "thoughts WHERE created_at > 'yesterday'": "'yesterday' is not an ISO 8601 time",
    "thoughts WHERE confidence LIKE '1%'": "LIKE works on text columns",
    "thoughts WHERE valid_from CONTAINS '2'": "CONTAINS works on text columns",
    'thoughts WHERE thought_type = "OBSERVATION"': "single quotes",
    'thoughts WHERE thought_type IN ("NOTE")': "single quotes",
    "thoughts WHERE updated_cycle = 9223372036854775808": "outside the range",
    "thoughts WHERE essence = -9223372036854775809": "outside the range",
    "embeddings": "vector has no JSON form",
    "journal_entry": "unknown table 'journal_entry'",
    "sqlite_master": "unknown table 'sqlite_master'",
    "thoughts COUNT LIMIT 5": "unexpected 'LIMIT'",
    "thoughts AS OF 'soon'": "'soon' is not an ISO 8601 time",
    "thoughts WHERE " + "(" * 257 + "priority = 'P1'" + ")" * 257: "more than 256 levels",
}


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: query[:60])
def test_refused_with_the_offending_part(table: Any, query: str) -> None:
    error = table.fails("query_memory", query=f"FIND {query}")
    assert (error.code, REFUSED[query] in str(error)) == ("invalid_input", True), str(error)
    assert "fields" in error.data


@pytest.mark.parametrize("query", ["COUNT thoughts", "SELECT 1", "DROP TABLE thought", "", "EXPLAIN SELECT 1", "FINDthoughts"])
def test_only_find_is_accepted(table: Any, query: str) -> None:
    error = table.fails("query_memory", query=query)
    assert "Only FIND queries are accepted" in str(error)
    assert "FIND thoughts WHERE" in str(error)
    assert not any(word in str(error) for word in ("SELECT", "COUNT", "EXPLAIN"))


def test_the_place_of_a_fault_is_given(table: Any) -> None:
    error = table.fails("query_memory", query="FIND thoughts\n  WHERE bogus = 1")
    assert (error.data["line"], error.data["column"], error.data["position"]) == (2, 9, 22)
    assert "line 2, column 9" in str(error)


def test_limits(table: Any) -> None:
    assert len(table.find("FIND thoughts LIMIT 9999", limit=2)) == 2
    assert len(table.find("FIND thoughts LIMIT 2", limit=4)) == 4
    assert table.fails("query_memory", query="FIND thoughts", limit=0).code == "invalid_input"
    assert table.fails("query_memory", query="FIND thoughts", limit=5001).code == "invalid_input"


@pytest.mark.parametrize(
    "query",
    [
        "FIND thoughts WHERE " + "(" * 256 + "thought_id = 'a1'" + ")" * 256,
        "FIND thoughts WHERE thought_id IN (" + ", ".join(f"'none{number}'" for number in range(39_999)) + ", 'a1')",
        "FIND thoughts WHERE content IN (" + ", ".join(f"'none{number}'" for number in range(39_999)) + ", 'content a1')",
        "FIND thoughts WHERE thought_id = 'a1' OR " + " OR ".join(["essence = 'none'"] * 1001),
        "FIND thoughts WHERE thought_id = 'a1' AND " + " AND ".join(["essence != 'none'"] * 3000),
        "FIND thoughts WHERE " + "NOT " * 20_000 + "thought_id = 'a1'",
        "FIND thoughts WHERE " + "(NOT " * 256 + "thought_id = 'a1'" + ")" * 256,
    ],
    ids=["256 parentheses", "40,000 ids", "40,000 texts", "1,001 ORs", "3,001 ANDs", "20,000 NOTs", "256 negated parentheses"],
)
def test_large_queries_work(table: Any, query: str) -> None:
    assert table.find(query) == ["a1"]


@pytest.mark.parametrize(
    "condition",
    [
        " OR ".join(f"essence = 'none{number}'" for number in range(20_000)) + " OR essence = '007'",
        " AND ".join(f"content != 'content a{number}'" for number in range(20_000)) + " AND thought_id = 'a6'",
        " OR ".join(f"metadata.topic = 'none{number}'" for number in range(5000)) + " OR thought_id = 'a6'",
        "source LIKE '" + "%a" * 100 + "%zz' OR source LIKE '" + "%" * 5000 + "t' AND thought_id = 'a6'",
    ],
    ids=["ORs on text", "ANDs on text", "ORs on metadata", "many wildcards"],
)
@pytest.mark.timeout(60)
def test_long_chains_end(table: Any, condition: str) -> None:
    """A plan or a pattern that needs quadratic time would take minutes here."""
    assert table.find(f"FIND thoughts WHERE {condition}") == ["a6"]


def test_deep_alternation_works(table: Any) -> None:
    query = "thought_id = 'a1'"
    for depth in range(256):
        query = f"({query} {'OR' if depth % 2 else 'AND'} essence {'=' if depth % 2 else '!='} 'none')"
    assert table.find(f"FIND thoughts WHERE {query}") == ["a1"]


def words(text: str) -> set[str]:
    return set(text.split())


THOUGHT_ROW = words(
    """thought_id thought_type essence content content_hash priority lifecycle_status created_cycle updated_cycle source
    confidence embedding_ref source_type confirmation_count consolidated_from visibility access_count last_accessed_at
    created_at updated_at expires_at metadata_json valid_from valid_until action_outcome_score provenance pinned
    archived_at_cycle archived_at revision"""
)
EDGE_ROW = words(
    """edge_id from_thought_id to_thought_id edge_type weight created_cycle source decay_multiplier valid_from valid_until
    metadata_json revision"""
)
ACTION_ROW = words("action_id source_thought_id action_type intent status verification_status raw_metrics_json revision")


@pytest.mark.parametrize(("name", "keys", "size"), [("thoughts", THOUGHT_ROW, 30), ("edges", EDGE_ROW, 12), ("actions", ACTION_ROW, 8)])
def test_rows_have_the_published_columns(table: Any, name: str, keys: set[str], size: int) -> None:
    answer = table.call("query_memory", query=f"FIND {name}")
    assert set(answer["columns"]) == keys
    assert len(keys) == len(answer["columns"]) == size
    assert all(set(row) == keys for row in answer["rows"])


def test_row_forms(table: Any) -> None:
    (row,) = table.call("query_memory", query="FIND thoughts WHERE thought_id = 'a3'")["rows"]
    assert (row["pinned"], row["metadata_json"], row["provenance"], row["revision"]) == (1, '{"topic": null}', None, 0)
    assert row["valid_until"] == "2026-07-01T00:00:00+00:00"
    assert row["content_hash"] == hashlib.sha256(b"content a3").hexdigest()


def test_explain_speaks_the_language(table: Any) -> None:
    query = "EXPLAIN FIND thoughts WHERE (priority = 'P1' or valid_now) and essence like '%x' ORDER BY updated_cycle desc LIMIT 3 OFFSET 1"
    answer = table.call("query_memory", query=query)
    assert answer["rows"] == [
        {
            "table": "thoughts",
            "as_of": None,
            "where": "(priority = 'P1' OR valid_now) AND essence LIKE '%x'",
            "order_by": "updated_cycle DESC",
            "limit": 3,
            "offset": 1,
            "count": False,
        }
    ]
    assert answer["columns"] == list(answer["rows"][0])


def test_count(table: Any) -> None:
    answer = table.call("query_memory", query="FIND thoughts WHERE priority IN ('P2', 'P3') COUNT")
    assert (answer["columns"], answer["rows"]) == (["count"], [{"count": 4}])
    assert table.call("query_memory", query="find edges count")["rows"] == [{"count": 2}]

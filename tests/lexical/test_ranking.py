"""Scores, order, phrases, prefixes and the expert syntax, through the ranker."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram_lexical.tokens import analyse

CORPUS = (
    "The trip to Berlin was booked in March.",
    "Berlin, Berlin, we are going to Berlin!",
    "A trip along the coast, with a long list of stops: Genoa, Pisa, Rome, Naples and back again by train.",
    "Nothing of interest.",
    "parseUserConfig reads src/config/loader.ts before the trip",
    "运行 数据库 迁移",
)


def reference_score(query: str, text: str, corpus: tuple[str, ...]) -> float:
    """The formula of the documentation, written down once more with plain Python."""
    documents = [analyse(item) for item in corpus]
    mean = sum(document.length for document in documents) / len(documents)
    document = analyse(text)
    above = below = 0.0
    for term in {term for term in analyse(query).terms if term[0] != "\x01"}:
        df = sum(term in other.terms for other in documents)
        idf = math.log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
        tf = document.terms.get(term, 0)
        above += idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * document.length / mean))
        below += idf * 1.9
    return above / below


@pytest.mark.parametrize(
    "query", ["berlin", "trip berlin", "trip to the moon", "parseUserConfig", "loader config.ts", "数据库", "unheard of"]
)
def test_the_score_is_the_documented_one(bench, query: str) -> None:
    bench.store.add(*CORPUS)
    found = {candidate.number: candidate.score for candidate in bench.ranker().rank(query, bench.store.all(), 10)}
    for number, text in enumerate(CORPUS, 1):
        assert found.get(number, 0.0) == pytest.approx(reference_score(query, text, CORPUS), abs=1e-6)


def test_words_that_nobody_holds_lower_the_score(bench) -> None:
    bench.store.add(*CORPUS)
    one = bench.ranker().rank("berlin", bench.store.all(), 1)[0].score
    two = bench.ranker().rank("berlin zebra", bench.store.all(), 1)[0].score
    assert two < one


def test_the_statistics_cover_everything_whatever_is_selected(bench) -> None:
    bench.store.add(*CORPUS)
    (alone,) = bench.ranker().rank("trip", bench.store.all().__class__(frozenset({1})), 10)
    assert alone.score == pytest.approx(reference_score("trip", CORPUS[0], CORPUS), abs=1e-6)


def test_equal_scores_are_ordered_by_number_also_at_the_cut(bench) -> None:
    bench.store.add(*["same words here"] * 50)
    assert bench.find("words", depth=7) == [1, 2, 3, 4, 5, 6, 7]


def test_the_detail_names_the_words_that_matched_in_the_order_of_the_query(bench) -> None:
    bench.store.add(*CORPUS)
    details = {c.number: c.detail for c in bench.ranker().rank("berlin trips zebra", bench.store.all(), 10)}
    assert details[1] == "matched: berlin, trips"
    assert details[2] == "matched: berlin"
    assert details[3] == "matched: trips"


def test_the_detail_of_an_identifier_names_it_once(bench) -> None:
    bench.store.add("see REQ-FUNC-12 for this")
    assert bench.ranker().rank("REQ-FUNC-12", bench.store.all(), 1)[0].detail == "matched: req-func-12, req, func, 12"


def test_the_title_is_indexed_too_but_not_twice(bench, memory) -> None:
    first, second = bench.store.write(memory("walls of stone", title="Castle"), memory("Castle walls", title="Castle"))
    assert set(bench.find("castle")) == {first, second}
    assert [c.score for c in bench.ranker().rank("castle", bench.store.all(), 5) if c.number == second] == [
        pytest.approx(reference_score("castle", "Castle walls", ("Castle walls", "Castle\nwalls of stone")), abs=1e-6)
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"new york"', {1, 4}),
        ('"york new"', set()),
        ('"NEW  York"', {1, 4}),
        ('"in new york" trip', {1}),
        ('"new york', {1, 2, 3, 4}),
        ('"to be or not"', {5}),
        ('"be to"', set()),
        ('"数据库"', {6}),
        ('"据数"', set()),
        ('"C++ code"', {7}),
        ('"C code"', set()),
    ],
)
def test_phrases(bench, query: str, expected: set[int]) -> None:
    bench.store.add(
        "A trip in New York",
        "York has a new bridge",
        "new and old; York",
        "NEW YORK!",
        "to be or not to be",
        "运行数据库迁移",
        "more C++ code",
    )
    assert set(bench.find(query)) == expected


def test_a_phrase_is_found_behind_many_better_matches(bench) -> None:
    bench.store.add(*["york new york new york new, york; new" + " york" * 3] * 0, *["york york new"] * 400)
    (number,) = bench.store.add("a long text about many other things in which at last somebody goes to new york by train and returns")
    bench.store.add(*["york then new"] * 400)
    assert bench.find('"to new york by"') == [number]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("databas*", {1, 2}),
        ("database*", {1, 2}),
        ("databases*", {2}),
        ("runn*", {3}),
        ("REQ*", {4, 5}),
        ("REQ-FUNC*", {4}),
        ("happine*", {6}),
        ("z*", set()),
        ("xyz* happ*", {6}),
    ],
)
def test_prefixes_follow_the_words_as_they_are_written(bench, query: str, expected: set[int]) -> None:
    bench.store.add("one database", "two databases", "running late", "REQ-FUNC-12", "REQ 7", "happiness")
    for _ in range(2):  # from memory, then from disk
        assert set(bench.find(query)) >= expected
        assert set(bench.find(query)) <= expected | ({1} if query == "databases*" else set())
        bench.reopen()


def test_a_prefix_counts_as_one_word(bench) -> None:
    bench.store.add("boat boats boating", "boat", "tree")
    scores = [c.score for c in bench.ranker().rank("boat*", bench.store.all(), 5)]
    assert len(scores) == 2
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("berlin AND trip", {1}),
        ("berlin OR rome", {1, 2, 3}),
        ("berlin NOT trip", {2}),
        ("berlin AND NOT trip", {2}),
        ("(berlin OR rome) AND trip", {1, 3}),
        ("berlin OR rome trip", {1, 2, 3}),
        ('rome AND "trip to"', {3}),
        ('trip NOT "to berlin"', {3, 4}),
        ("essence:berlin", {2}),
        ("title:berlin OR content:rome", {2, 3}),
        ("content:berlin", {1, 2}),
        ('title:"city guide"', {2}),
        ("text:berl*", {1, 2}),
        ("title:berl*", {2}),
        ("berlin AND", {1, 2}),
        ("trip AND nowhere", set()),
        ("trip and rome", {1, 3, 4}),
    ],
)
def test_expert_syntax(bench, memory, query: str, expected: set[int]) -> None:
    bench.store.write(
        memory("a trip to berlin"),
        memory("berlin in winter", title="City guide to Berlin"),
        memory("a trip to rome"),
        memory("trip notes"),
    )
    for _ in range(2):
        assert set(bench.find(query)) == expected
        bench.reopen()


def test_a_query_of_stop_words_alone_finds_them(bench) -> None:
    bench.store.add("to be or not to be", "boats and trees", "something else entirely")
    assert bench.find("to be") == [1]
    assert bench.find("and") == [2]
    assert bench.find("and trees of") == [2]


WORDS = st.sampled_from(["boat", "Boats", "the", "C++", "REQ-12", "今", "café", "x", "getUserById", "harbour", "2026-01-02"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), min_size=1, max_size=12)


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=3).map(" ".join))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_scores_are_exact_for_any_texts(fresh_bench, texts: list[str], query: str) -> None:
    corpus = tuple(texts)
    if not any(term[0] != "\x01" for term in analyse(query).terms):
        return
    with fresh_bench() as bench:
        bench.store.add(*corpus)
        found = {c.number: c.score for c in bench.ranker().rank(query, bench.store.all(), 99)}
        for number, text in enumerate(corpus, 1):
            expected = reference_score(query, text, corpus) if sum(analyse(t).length for t in corpus) else 0.0
            assert found.get(number, 0.0) == pytest.approx(expected, abs=1e-5)

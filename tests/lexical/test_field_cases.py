"""Faults that users of other memory servers reported, tried on ours."""

from __future__ import annotations

import pytest


def test_case_09_a_deleted_memory_leaves_no_trace_in_the_index(bench) -> None:
    first, second = bench.store.add("Use jose for signed tokens", "Signed tokens expire after 30 minutes")
    (winner,) = bench.find("signed tokens", depth=1)
    survivor = second if winner == first else first
    bench.store.write(winner)
    assert bench.find("signed tokens", depth=1, among=[first, second]) == [survivor]
    bench.reopen()
    assert bench.find("signed tokens", depth=1, among=[first, second]) == [survivor]


LITERALS = ("Downloads/notes", "don't", "pre-edit", "current.md", "GB/s")


@pytest.mark.parametrize("literal", LITERALS)
def test_case_20_ordinary_punctuation_is_searched_literally(bench, literal: str) -> None:
    bench.store.add(*(f"something with {other} inside" for other in LITERALS), *["a distractor of another kind"] * 10)
    assert bench.texts(literal, depth=1) == [f"something with {literal} inside"]


@pytest.mark.parametrize("query", ['"', "(", "*", "a AND", "NEAR(", "col:value", "'; DROP TABLE x; --"])
def test_case_20_no_punctuation_is_an_error(bench, query: str) -> None:
    bench.store.add("a value in a column", "drop the table near x")
    bench.find(query)
    assert bench.find("value") == [1]


TERMS = ("rm -rf", "C++", "Go", "R", "C#", ".NET", "S3", "3D", "k8s", "F#", "X", "AI", "IT", "UI", "µ")


@pytest.mark.parametrize("term", TERMS)
def test_case_21_short_and_symbolic_terms_are_found_alone(bench, term: str) -> None:
    bench.store.add(*(f"Working with {other} in the team" for other in TERMS), *(f"Distractor number {n} in a row" for n in range(10)))
    for query in (term, term.lower(), term.upper()):
        assert f"Working with {term} in the team" in bench.texts(query, depth=3)


def test_case_22_several_words_need_not_stand_together(bench) -> None:
    (number, *_) = bench.store.add("The migration of the orders database runs on Sundays", "unrelated")
    for query in ("database migration", "orders sunday"):
        assert bench.find(query) == [number]
    assert bench.find('"database migration"') == []
    assert bench.find('"orders database"') == [number]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("しりとり", "今日は成語しりとりをした"),
        ("成语接龙", "今天玩成语接龙游戏"),
        ("끝말잇기", "오늘 끝말잇기 게임을 했다"),
        ("龙", "今天玩成语接龙游戏"),
        ("戏", "今天玩成语接龙游戏"),
        ("語", "今日は成語しりとりをした"),
        ("ภาษาไทย", "ฉันเรียนภาษาไทยทุกวัน"),
    ],
)
def test_case_23_cjk_is_searchable(bench, query: str, expected: str) -> None:
    bench.store.add("今日は成語しりとりをした", "今天玩成语接龙游戏", "오늘 끝말잇기 게임을 했다", "ฉันเรียนภาษาไทยทุกวัน", "nothing here")
    for _ in range(2):
        assert bench.texts(query, depth=1) == [expected]
        bench.reopen()


SCRIPTS = {
    "Завтра ёлка и подарки": ("ёлка", "ЕЛКА", "подарки"),
    "Ο καφές είναι ζεστός": ("καφές", "ΚΑΦΕΣ", "ζεστος"),
    "القهوة ساخنة اليومَ": ("ساخنة", "اليوم", "القهوة"),
    "הקפה חם מאוד שָׁלוֹם": ("הקפה", "שלום"),
    "मुझे हिन्दी अच्छी लगती है": ("हिन्दी", "अच्छी"),
    "Le café est naïve à Łódź, dans la straße": ("cafe", "CAFÉ", "naive", "Lodz", "łódź", "STRASSE", "strasse"),
}


@pytest.mark.parametrize(("query", "expected"), [(word, text) for text, words in SCRIPTS.items() for word in words])
def test_case_24_every_script_and_accent_is_searchable(bench, query: str, expected: str) -> None:
    bench.store.add(*SCRIPTS)
    assert bench.texts(query, depth=1) == [expected]


def test_case_26_the_end_of_a_long_memory_is_searchable(bench) -> None:
    filler = " ".join(f"sentence{n} says little" for n in range(1500))
    (number, *_) = bench.store.add(filler + "\n\nThe spare key hangs behind the boiler.", *["a short note about a key"] * 3)
    assert bench.find("where is the spare key", depth=1) == [number]
    assert bench.find("boiler") == [number]


def test_case_26_huge_texts_and_huge_words(bench) -> None:
    numbers = bench.store.add("word " * 40_000 + "needle", "x" * 50_000, "a-b/" * 12_500)
    assert bench.find("needle") == [numbers[0]]
    assert bench.find("x" * 50_000) == [numbers[1]]
    assert bench.find('"word needle"') == [numbers[0]]


@pytest.mark.parametrize("query", ["deploy", "deploy the service", "depl*", '"deploy the"', "deploy AND service"])
def test_case_27_the_filter_comes_before_the_cut(bench, query: str) -> None:
    bench.store.add(*["deploy the service deploy"] * 2000)
    rare = bench.store.add(*["a longer and weaker text in which somebody will at some time deploy the service as it is"] * 3)
    assert bench.find(query, depth=5, among=rare) == rare
    one_percent = range(1, 2001, 100)
    assert bench.find(query, depth=50, among=one_percent) == list(one_percent)

"""Which terms a text gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_lexical.tokens import STOP_MARK, analyse, spoken


def terms(text: str) -> dict[str, int]:
    """The counted terms, stop words left aside."""
    return {term: count for term, count in analyse(text).terms.items() if not term.startswith(STOP_MARK)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/config/loader.ts", {"src/config/loader.ts", "srcconfigloaderts", "src", "config", "loader", "ts"}),
        ("parseUserConfig", {"parseuserconfig", "pars", "user", "config"}),
        ("HTTPServer2", {"httpserver2", "http", "server", "2"}),
        ("ORA-01555", {"ora-01555", "ora01555", "ora", "01555"}),
        ("numpy==1.26.4", {"numpy==1.26.4", "numpy1264", "numpi", "1", "26", "4"}),
        ("dns-01", {"dns-01", "dns01", "dns", "01"}),
        ("REQ-FUNC-12", {"req-func-12", "reqfunc12", "req", "func", "12"}),
        ("2026-07-01", {"2026-07-01", "20260701", "2026", "07", "01"}),
        ("user_service.py", {"user_service.py", "userservicepy", "user", "servic", "py"}),
        ("2026", {"2026"}),
        ("S3", {"s3", "3"}),
        ("C++", {"c++"}),
        ("C++17", {"c++17", "c17", "c++", "17"}),
        ("C#", {"c#"}),
        (".NET", {".net", "net"}),
        ("R", {"r"}),
        ("Go", {"go"}),
        ("rm -rf", {"rm", "rf"}),
        ("GB/s", {"gb/s", "gbs", "gb"}),
        ("issue#12", {"issue#12", "issue12", "issu", "12"}),
        ("running runs", {"run"}),
        ("Bob's boat", {"bob", "boat"}),
        ("Bob\u2019s", {"bob"}),
        ("the end of it", {"end"}),
        ("...", set()),
        ("_", set()),
        ("", set()),
    ],
)
def test_counted_terms(text: str, expected: set[str]) -> None:
    assert set(terms(text)) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("straße", "STRASSE"),
        ("STRAẞE", "strasse"),
        ("Łódź", "lodz"),
        ("café", "cafe\u0301"),
        ("naïve", "NAIVE"),
        ("Ærø", "aero"),
        ("ёлка", "ЕЛКА"),
        ("Οδός", "ΟΔΟΣ"),
        ("İstanbul", "istanbul"),
        ("ISTANBUL", "ıstanbul"),
        ("שָׁלוֹם", "שלום"),
        ("أهلاً", "اهلا"),
        ("ｆｕｌｌ", "full"),
        ("ﬁne", "fine"),
        ("co\u00adoperate", "cooperate"),
        ("pre\u2011edit", "pre-edit"),
        ("ｶﾞｷﾞ", "ガギ"),
    ],
)
def test_spellings_that_are_the_same_word(one: str, other: str) -> None:
    assert terms(one) == terms(other) != {}


def test_a_word_with_combining_signs_stays_one_word() -> None:
    assert set(terms("नमस्ते दुनिया")) == {"नमस्ते", "दुनिया"}


def test_the_virama_keeps_words_apart() -> None:
    assert terms("क्या") != terms("कया")


def test_unspaced_runs_become_pairs_and_the_last_character_is_free() -> None:
    document = analyse("成语接龙 wins")
    assert set(document.terms) == {"成语", "语接", "接龙", "龙", "win"}
    assert document.length == 4


def test_a_single_unspaced_character_is_a_term() -> None:
    assert analyse("車").terms == {"車": 1}


def test_stop_words_are_kept_aside_and_do_not_count() -> None:
    document = analyse("to be or not to be")
    assert document.length == 0
    assert document.terms[STOP_MARK + "be"] == 2


def test_length_counts_every_occurrence() -> None:
    document = analyse("boat boats BOAT harbour")
    assert document.terms["boat"] == 3
    assert document.length == 4


def test_a_very_long_word_is_one_bounded_term() -> None:
    assert [len(term) for term in terms("x" * 50_000)] == [100]
    assert terms("x" * 50_000) == terms("x" * 60_000)


def test_spoken_words_keep_order_stop_words_and_single_characters() -> None:
    assert spoken("The R in 今日 C++, isn't it?") == ["the", "r", "in", "今", "日", "c++", "isn", "t", "it"]


@given(st.text(max_size=200))
def test_any_text_gives_sound_terms(text: str) -> None:
    document = analyse(text)
    counted = sum(document.terms.values())
    assert 0 <= document.length <= counted
    assert all(term and len(term) <= 101 for term in document.terms)
    for term in document.terms:
        term.encode()


@given(st.text(max_size=100))
def test_case_makes_no_difference_to_plain_words(text: str) -> None:
    words = " ".join(word for word in text.split() if word.isascii() and word.isalpha())
    assert terms(words.lower()) == terms(words.title()) or "'" in words


@given(st.binary(max_size=60))
def test_lone_surrogates_do_no_harm(raw: bytes) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    for term in analyse(text).terms:
        term.encode()

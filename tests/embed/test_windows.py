"""Windows: nothing is left out, nothing is too long, and the end stands by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_embed.windows import MOST, OVERLAP, SIZE, windows

TEXTS = {
    "no space": "abcdefghij" * 20_000,
    "words": "some words " * 18_000,
    "tiny paragraphs": "a\n\n" * 66_000,
    "lines": "a line of text\n" * 13_000,
    "sentences": "This is one. " * 15_000,
    "chinese": "備用鑰匙掛在鍋爐後面。" * 18_000,
    "a million": "word " * 200_000,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_all_of_a_very_long_text_is_covered(text: str) -> None:
    cut = windows(text)
    assert len(cut) <= MOST
    assert sum(map(len, cut)) >= len(text)
    assert text.startswith(cut[0])
    assert text.endswith(cut[-1])


@given(st.text(alphabet="ab .\n", max_size=4000))
def test_every_character_is_in_a_window(text: str) -> None:
    cut = windows(text)
    reached = 0
    for window in cut:
        start = next(at for at in range(reached, max(-1, reached - OVERLAP - 1), -1) if text.startswith(window, at))
        assert start + len(window) > reached or not text
        reached = start + len(window)
    assert reached == len(text)
    assert all(len(window) <= SIZE + OVERLAP for window in cut)


def test_a_short_text_is_one_window() -> None:
    assert windows("") == [""]
    assert windows("x" * (SIZE + OVERLAP)) == ["x" * (SIZE + OVERLAP)]


def test_the_last_paragraph_stands_by_itself() -> None:
    text = "\n\n".join(["Something about the garden and the weather of that year. " * 4] * 20 + ["The spare key hangs behind the boiler."])
    assert windows(text)[-1] == "The spare key hangs behind the boiler."


def test_a_long_paragraph_is_cut_at_sentences_with_an_overlap() -> None:
    text = " ".join(f"Sentence number {n} says a little about this and that." for n in range(40))
    cut = windows(text)
    assert all(window.rstrip().endswith(".") for window in cut)
    assert all(any(part in after for part in before.split(". ")[-2:]) for before, after in pairwise(cut))

"""Making spellings equal: Unicode normal forms, case, accents, and letters that do not decompose."""

from __future__ import annotations

import re
import unicodedata
from importlib import resources

MARK_RANGES = ((0x0300, 0x1E00), (0x20D0, 0x2100), (0xA66F, 0xAC00), (0xFB1E, 0xFB1F), (0xFE20, 0xFE30))
VIRAMA = 9
"""Combining class of the sign that joins consonants in Indic scripts; without it words would fall together."""


def _marks() -> str:
    codes = (code for start, end in MARK_RANGES for code in range(start, end))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code)).startswith("M"))


MARKS = re.escape(_marks())
"""Combining marks, for use inside a character class: they belong to the word but are not `\\w`."""


def word_list(name: str) -> list[list[str]]:
    """The lines of a file in `words/`, each split at blanks."""
    text = (resources.files("engram_lexical") / "words" / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line.strip()]


_FOLDS = {line[0]: line[1] if len(line) > 1 else "" for line in word_list("folds")}
_LETTERS = str.maketrans(_FOLDS)
_CAPITAL_PAIR = re.compile("[" + "".join(letter for letter, plain in _FOLDS.items() if len(plain) > 1 and letter.isupper()) + "]")
_TYPOGRAPHY = str.maketrans(
    {"\u2019": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-", "\u2212": "-", "\u00ad": "", "\u200b": "", "\u200e": "", "\u200f": ""}
)


def normalise(text: str) -> str:
    """Compatibility form with plain apostrophes and hyphens; unpaired surrogates become `?`."""
    if text.isascii():
        return text
    whole = text.encode("utf-8", "replace").decode()
    return unicodedata.normalize("NFKC", whole.translate(_TYPOGRAPHY)).translate(_TYPOGRAPHY)


def plain_letters(text: str) -> str:
    """Accents and vowel points removed, special letters spelled out; the case is kept."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFKD", text)
    kept = "".join(char for char in parts if unicodedata.combining(char) in (0, VIRAMA))
    return _CAPITAL_PAIR.sub(_capital_pair, kept).translate(_LETTERS)


def _capital_pair(match: re.Match[str]) -> str:
    """Ae before a small letter and AE elsewhere, so that a word does not seem to have a second capital."""
    pair = _FOLDS[match[0]]
    return pair.capitalize() if match.string[match.end() : match.end() + 1].islower() else pair


def fold(text: str) -> str:
    """Plain letters without case."""
    return plain_letters(text).casefold()

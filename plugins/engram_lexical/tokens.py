"""From text to index terms.

Runs of unspaced scripts become overlapping character pairs. Every other chunk of word characters gives its folded
whole (when it looks like an identifier, a path, a version or a date), the same without punctuation, and its stemmed
parts. Beside these *counted* terms a document has *free* ones, which do not count towards its length: stop words
(searched only when a query has nothing else) and the last character of an unspaced run (so that every
character starts some term and a single one can be found as a prefix).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import snowballstemmer

from engram_lexical.folding import MARKS, normalise, plain_letters, word_list

TOKEN_RULES = 2
"""Raise it whenever the same memory may give other terms; indexes of another version are rebuilt."""

STOP_MARK = "\x01"
FORM_SEPARATOR = "\x00"
LONGEST_TERM = 100
"""Characters of a term that count; longer ones are compared by their beginning, in texts and in queries alike."""

LANGUAGES = ("english", "french", "german", "spanish", "romanian")
STOP_WORDS = frozenset(word for language in LANGUAGES for line in word_list(language) for word in line)

UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
_CHUNK = re.compile(rf"(?:(?<![\w.])\.)?[^\W_](?:[\w{MARKS}./:\-=~+#@']*(?:[^\W_]|[{MARKS}]))?(?:\+\+|\#)?")
_SYMBOL = r"(?<![^\W\d_])[^\W\d_]+\+\+|(?<![^\W_])[^\W\d_]{1,2}#(?![^\W\d_])"
_HUMPS = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+"
_RUNS = rf"\d+|[^\W\d_][{MARKS}]*(?:[^\W\d_]|[{MARKS}])*"
_IDENTIFIER = re.compile(r"[\d./_:=\-]|[a-z][A-Z]")
_POSSESSIVE = re.compile(r"'[sS](?![^\W_])")
_PUNCTUATION = re.compile(r"[./_:=\-]")
_NOT_WORD = re.compile(rf"[^\w{MARKS}]|_")

_symbols = re.compile(_SYMBOL)
_humps, _runs = re.compile(_HUMPS), re.compile(_RUNS)
_spoken_humps, _spoken_runs = re.compile(f"{_SYMBOL}|{_HUMPS}"), re.compile(f"{_SYMBOL}|{_RUNS}")
_stemmer = snowballstemmer.stemmer("english")


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one chunk of text gives. `shown[i]` is the readable form of `terms[i]`; `forms` are for prefix search."""

    terms: tuple[str, ...]
    shown: tuple[str, ...]
    free: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    folded: str = ""
    unspaced: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """The terms of one text with their frequencies, its length in counted terms, and its word forms."""

    terms: Mapping[str, int]
    length: int
    forms: frozenset[str]


@lru_cache(30_000)
def stem(word: str) -> str:
    """English Snowball stem of a folded word."""
    return str(_stemmer.stemWord(word)) if word.isascii() else word


def chunks(text: str) -> Iterator[Chunk]:
    """The chunks of a text in reading order."""
    for raw, unspaced in raw_chunks(text):
        if unspaced:
            yield _unspaced_run(raw)
        else:
            yield _cached(raw) if len(raw) <= LONGEST_TERM else _spaced(raw)


def raw_chunks(text: str) -> Iterator[tuple[str, bool]]:
    """(characters, whether it is a run of an unspaced script)."""
    text = normalise(text)
    if text.isascii():
        for raw in _CHUNK.findall(text):
            yield raw, False
        return
    for at, piece in enumerate(UNSPACED.split(text)):
        if at % 2:
            yield piece, True
        else:
            for raw in _CHUNK.findall(piece):
                yield raw, False


def analyse(text: str) -> Document:
    """All terms of a text, as they are indexed."""
    terms: list[str] = []
    free: list[str] = []
    forms: set[str] = set()
    for chunk in chunks(text):
        terms += chunk.terms
        if chunk.free:
            free += chunk.free
        if chunk.forms:
            forms.update(chunk.forms)
    counts = Counter(terms)
    counts.update(free)
    return Document(counts, len(terms), frozenset(forms))


def spoken(text: str) -> list[str]:
    """The words of a text in order, folded and unstemmed, stop words included: what a quoted phrase is compared with."""
    words: list[str] = []
    for raw, unspaced in raw_chunks(text):
        if unspaced:
            words += raw
        else:
            plain = plain_letters(_POSSESSIVE.sub("", raw))
            words += [word.casefold() for word in (_spoken_humps if plain.isascii() else _spoken_runs).findall(plain)]
    return words


def stop_term(word: str) -> str:
    return STOP_MARK + word


def _unspaced_run(run: str) -> Chunk:
    if len(run) == 1:
        return Chunk((run,), (run,), unspaced=True, folded=run)
    pairs = tuple(run[at : at + 2] for at in range(len(run) - 1))
    return Chunk(pairs, pairs, (run[-1],), unspaced=True, folded=run)


def _spaced(raw: str) -> Chunk:
    if raw.isascii() and raw.isalpha() and (raw.islower() or raw.istitle()):
        return _word(raw.lower())
    plain = plain_letters(_POSSESSIVE.sub("", raw))
    folded = plain.casefold()
    parts = [part.casefold()[:LONGEST_TERM] for part in (_humps if plain.isascii() else _runs).findall(plain)]
    wholes = _wholes(plain, folded, parts)
    kept = [part for part in parts if part not in STOP_WORDS and (len(part) > 1 or part.isdigit() or part == folded)]
    stems = [stem(part) for part in kept]
    symbols = [found[:LONGEST_TERM] for found in _symbols.findall(folded)]
    return Chunk(
        tuple(wholes + symbols + stems),
        tuple([folded] * len(wholes) + symbols + kept),
        tuple(stop_term(part) for part in parts if part in STOP_WORDS),
        tuple(part + FORM_SEPARATOR + root for part, root in zip(kept, stems, strict=True) if part != root),
        folded,
    )


def _word(word: str) -> Chunk:
    """The common case: one plain word."""
    word = word[:LONGEST_TERM]
    if word in STOP_WORDS:
        return Chunk((), (), (stop_term(word),), folded=word)
    root = stem(word)
    return Chunk((root,), (word,), forms=(word + FORM_SEPARATOR + root,) if root != word else (), folded=word)


_cached = lru_cache(50_000)(_spaced)


def _wholes(plain: str, folded: str, parts: list[str]) -> list[str]:
    """The chunk as one term, with and without its punctuation, where it is more than a single word."""
    if not _IDENTIFIER.search(plain) or (len(parts) < 2 and not _PUNCTUATION.search(folded)):
        return []
    joined = _NOT_WORD.sub("", folded)
    return [folded[:LONGEST_TERM]] + ([joined[:LONGEST_TERM]] if joined != folded and [joined] != parts else [])

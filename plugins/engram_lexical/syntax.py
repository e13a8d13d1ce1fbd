"""Reading a query. Nothing is ever an error.

Plain: words are alternatives, a phrase in quotes must occur, `word*` is a prefix. Expert, entered by an upper-case
AND, OR or NOT or by a field prefix: those operators, parentheses, phrases and fields, all else joined by AND; what is malformed is
read plainly, without its operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from engram_lexical.expressions import AllOf, AnyOf, Expression, InField, Needle, NoneOf, Part, Phrase, Search, Word, positive
from engram_lexical.folding import normalise
from engram_lexical.tokens import LONGEST_TERM, STOP_MARK, Chunk, chunks, spoken

OPERATORS = frozenset({"AND", "OR", "NOT"})
FIELDS: dict[str, Part] = {"essence": "title", "title": "title", "content": "text", "text": "text"}
DEEPEST = 40
"""Parentheses and NOTs inside each other; what is deeper is read plainly."""

_FIELD = "(?:essence|content|title|text)"
_PHRASE = re.compile(r'"([^"]*)"')
_LEXEME = re.compile(rf'(?:({_FIELD}):)?"([^"]*)"|([()])|([^\s()"]+)|(")')
_FIELD_WORD = re.compile(rf"({_FIELD}):(\S+)")
_STARRED = re.compile(r"(?<![^\s\"(])([^\s*\"]*[^\s*\"\W]\)?)\*(?![^\s\")])")


@dataclass(frozen=True, slots=True)
class _Lexeme:
    kind: str
    text: str
    field: str = ""


class _MalformedError(Exception):
    """Not an expert query after all."""


def parse(query: str) -> Search | None:
    """What to search for; None when there is nothing."""
    text = normalise(query)
    lexemes = _lexemes(text)
    if any(lexeme.kind == "operator" or lexeme.field for lexeme in lexemes):
        try:
            return _expert(lexemes)
        except _MalformedError:
            text = " ".join(word for word in text.split() if word.strip("()") not in OPERATORS)
    return _plain(text)


def _plain(text: str) -> Search | None:
    phrases = [phrase for found in _PHRASE.findall(text) if (phrase := _phrase(found))]
    needles = _distinct(needle for word in text.split() for needle in _needles(word))
    if not needles:
        return None
    return Search(_counted(needles), AllOf(tuple(phrases)) if phrases else None)


def _needles(word: str) -> list[Needle]:
    """The needles of a text without blanks, stop words marked."""
    starred = _STARRED.search(word)
    if starred is None:
        return [needle for chunk in chunks(word) for needle in _chunk_needles(chunk)]
    before, after = word[: starred.end(1)], word[starred.end() :]
    *found, last = chunks(before)
    needles = [needle for chunk in (*found, *chunks(after)) for needle in _chunk_needles(chunk)]
    stem = last.folded[:LONGEST_TERM]
    return [*needles, *(_chunk_needles(last) if last.unspaced else [Needle(stem, stem + "*", prefix=True)])]


def _chunk_needles(chunk: Chunk) -> list[Needle]:
    if chunk.unspaced:
        single = len(chunk.folded) == 1
        return [Needle(term, term, prefix=single) for term in chunk.terms]
    words = [Needle(term, shown) for term, shown in zip(chunk.terms, chunk.shown, strict=True)]
    return words + [Needle(term, term.removeprefix(STOP_MARK)) for term in chunk.free]


def _distinct(needles: Iterable[Needle]) -> list[Needle]:
    return list({(needle.text, needle.prefix): needle for needle in reversed(list(needles))}.values())[::-1]


def _counted(needles: list[Needle]) -> tuple[Needle, ...]:
    """Stop words count only where there is nothing else."""
    return tuple(needle for needle in needles if not needle.text.startswith(STOP_MARK)) or tuple(needles)


def _phrase(text: str) -> Phrase | None:
    words = spoken(text)
    needles = _distinct(needle for chunk in chunks(text) for needle in _chunk_needles(chunk))
    return Phrase(tuple(words), tuple(needles)) if words and needles else None


def _lexemes(text: str) -> list[_Lexeme]:
    found = []
    for field, phrase, parenthesis, word, quote in _LEXEME.findall(text):
        if parenthesis or quote:
            found.append(_Lexeme(parenthesis or quote, parenthesis or quote))
        elif not word:
            found.append(_Lexeme("phrase", phrase, field))
        elif word in OPERATORS:
            found.append(_Lexeme("operator", word))
        elif match := _FIELD_WORD.fullmatch(word):
            found.append(_Lexeme("word", match[2], match[1]))
        else:
            found.append(_Lexeme("word", word))
    return found


def _expert(lexemes: list[_Lexeme]) -> Search:
    parser = _Parser(lexemes)
    expression = parser.whole()
    needles = _distinct(positive(expression))
    if not needles:
        raise _MalformedError
    return Search(_counted(needles), expression)


class _Parser:
    """Recursive descent: OR binds weakest, then AND (also unwritten), then NOT."""

    def __init__(self, lexemes: list[_Lexeme]) -> None:
        self._rest = lexemes[::-1]
        self._depth = 0

    def whole(self) -> Expression:
        expression = self._any()
        if self._rest:
            raise _MalformedError
        return expression

    def _peek(self) -> str:
        if not self._rest:
            return ""
        return self._rest[-1].text if self._rest[-1].kind == "operator" else self._rest[-1].kind

    def _any(self) -> Expression:
        parts = [self._all()]
        while self._peek() == "OR":
            self._rest.pop()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self) -> Expression:
        parts = [self._one()]
        while self._peek() in ("AND", "NOT", "word", "phrase", "("):
            if self._peek() == "AND":
                self._rest.pop()
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self) -> Expression:
        kind = self._peek()
        if kind in ("word", "phrase"):
            return _leaf(self._rest.pop())
        if kind not in ("NOT", "(") or self._depth == DEEPEST:
            raise _MalformedError
        self._rest.pop()
        self._depth += 1
        inner = NoneOf(self._one()) if kind == "NOT" else self._group()
        self._depth -= 1
        return inner

    def _group(self) -> Expression:
        inner = self._any()
        if self._peek() != ")":
            raise _MalformedError
        self._rest.pop()
        return inner


def _leaf(lexeme: _Lexeme) -> Expression:
    inner = _phrase(lexeme.text) if lexeme.kind == "phrase" else _word(lexeme.text)
    if inner is None:
        raise _MalformedError
    return InField(FIELDS[lexeme.field], inner) if lexeme.field else inner


def _word(text: str) -> Word | None:
    needles = _distinct(_needles(text))
    return Word(_counted(needles)) if needles else None

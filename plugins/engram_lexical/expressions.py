"""The condition of a query: a small tree, judged first by the index (bounds) and, where needed, by the text itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from engram_kernel.model import Memory
from engram_kernel.retrieval import rendering
from engram_lexical.tokens import FORM_SEPARATOR, Document, analyse, spoken

Part: TypeAlias = Literal["title", "text"]


@dataclass(frozen=True, slots=True)
class Needle:
    """One thing to look up in the index: a term, or all terms with a prefix. `shown` is its readable form."""

    text: str
    shown: str
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """All needles must occur."""

    needles: tuple[Needle, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words must occur next to each other; `needles` say which documents are worth reading."""

    words: tuple[str, ...]
    needles: tuple[Needle, ...]


@dataclass(frozen=True, slots=True)
class InField:
    """`inner` must hold within the title or within the text alone."""

    part: Part
    inner: Word | Phrase


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    part: Expression


Expression: TypeAlias = Word | Phrase | InField | AllOf | AnyOf | NoneOf


@dataclass(frozen=True, slots=True)
class Search:
    """A parsed query: what is scored, and what must hold besides."""

    needles: tuple[Needle, ...]
    condition: Expression | None = None


def positive(expression: Expression) -> list[Needle]:
    """The needles that are wanted, not excluded, in reading order."""
    match expression:
        case Word(needles) | Phrase(_, needles) | InField(_, Word(needles) | Phrase(_, needles)):
            return list(needles)
        case AllOf(parts) | AnyOf(parts):
            return [needle for part in parts for needle in positive(part)]
        case _:
            return []


def needs_text(expression: Expression) -> bool:
    """Whether the index alone cannot decide it."""
    match expression:
        case Phrase() | InField():
            return True
        case AllOf(parts) | AnyOf(parts):
            return any(needs_text(part) for part in parts)
        case NoneOf(part):
            return needs_text(part)
        case _:
            return False


class Reading:
    """One memory's text, analysed when first needed."""

    def __init__(self, memory: Memory, part: Part | None = None) -> None:
        self._memory, self._part = memory, part

    @cached_property
    def text(self) -> str:
        if self._part is None:
            return rendering(self._memory)
        return self._memory.title if self._part == "title" else self._memory.text

    @cached_property
    def document(self) -> Document:
        return analyse(self.text)

    @cached_property
    def _spoken(self) -> str:
        return _joined(spoken(self.text))

    def holds(self, expression: Expression) -> bool:
        match expression:
            case Word(needles):
                return all(self._has(needle) for needle in needles)
            case Phrase(words):
                return _joined(words) in self._spoken
            case InField(part, inner):
                return Reading(self._memory, part).holds(inner)
            case AllOf(parts):
                return all(self.holds(part) for part in parts)
            case AnyOf(parts):
                return any(self.holds(part) for part in parts)
            case NoneOf(part):
                return not self.holds(part)

    def _has(self, needle: Needle) -> bool:
        if not needle.prefix:
            return needle.text in self.document.terms
        forms = (form.partition(FORM_SEPARATOR)[0] for form in self.document.forms)
        return any(term.startswith(needle.text) for term in (*self.document.terms, *forms))


def _joined(words: tuple[str, ...] | list[str]) -> str:
    return "\n" + "\n".join(words) + "\n"

"""What every part of the index can answer, and the part that lives in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engram_lexical.tokens import FORM_SEPARATOR, Document

Numbers: TypeAlias = NDArray[np.int32]
Postings: TypeAlias = tuple[Numbers, NDArray[Any]]
"""(memory numbers, term frequency in each), both one-dimensional and of equal length."""

NOTHING: Postings = (np.empty(0, np.int32), np.empty(0, np.uint8))


class Part(Protocol):
    """A piece of the index; a later part overrides what an earlier one says about the same document."""

    id: int

    def __len__(self) -> int:
        """Documents in it, valid or not."""
        ...

    def postings(self, term: str) -> Postings: ...

    def prefixed(self, prefix: str) -> list[Postings]:
        """The postings of every term that starts with `prefix` or has a word form that does; a number may recur."""
        ...


class MemoryPart:
    """Fresh documents. Replacing and dropping happens in place, so nothing in it is ever out of date."""

    def __init__(self, part_id: int) -> None:
        self.id = part_id
        self.documents: dict[int, Document] = {}
        self.dropped: set[int] = set()
        self._postings: dict[str, dict[int, int]] = {}
        self._forms: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.documents)

    def __bool__(self) -> bool:
        return bool(self.documents or self.dropped)

    def add(self, number: int, document: Document) -> None:
        self.documents[number] = document
        for term, frequency in document.terms.items():
            self._postings.setdefault(term, {})[number] = frequency
        for form in document.forms:
            self._forms[form] = self._forms.get(form, 0) + 1

    def remove(self, number: int) -> None:
        document = self.documents.pop(number)
        for term in document.terms:
            holders = self._postings[term]
            del holders[number]
            if not holders:
                del self._postings[term]
        for form in document.forms:
            self._forms[form] -= 1
            if not self._forms[form]:
                del self._forms[form]

    def postings(self, term: str) -> Postings:
        holders = self._postings.get(term)
        return as_postings(holders) if holders else NOTHING

    def prefixed(self, prefix: str) -> list[Postings]:
        terms = {term for term in self._postings if term.startswith(prefix)}
        terms |= {form.partition(FORM_SEPARATOR)[2] for form in self._forms if form.startswith(prefix)}
        return [as_postings(self._postings[term]) for term in sorted(terms)]

    def sorted_terms(self) -> list[tuple[str, Mapping[int, int]]]:
        return sorted(self._postings.items())

    def sorted_forms(self) -> Sequence[str]:
        return sorted(self._forms)


def as_postings(holders: Mapping[int, int]) -> Postings:
    size = len(holders)
    return np.fromiter(holders.keys(), np.int32, size), np.fromiter(holders.values(), np.int32, size)

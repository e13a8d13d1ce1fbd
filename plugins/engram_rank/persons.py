"""Whom a question names, among those who wrote the candidates or are spoken of in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from engram_kernel.model import Memory
from engram_kernel.retrieval import NAMELESS

ENTITIES = "entities"
"""Key in `metadata` or `attributes` with a list of the names a memory speaks of."""
SHORTEST = 2
LONGEST = 2000
"""Characters of a question that are looked at."""


def named(text: str, memories: Sequence[Memory]) -> tuple[str, set[int]]:
    """The one author, or else the one entity, that the text names, and the numbers of the memories by or about it.

    Empty when the text names none or several: it then asks about no one in particular.
    """
    folded = _folded(text[:LONGEST])
    authors = {memory.number: {_folded(memory.origin)} for memory in memories if memory.origin not in NAMELESS}
    entities = {memory.number: names for memory in memories if (names := {_folded(name[:LONGEST]) for name in _entities(memory)})}
    for known in (authors, entities):
        found = {name for name in set().union(*known.values()) if _occurs(name, folded)} if known else set()
        if found:
            return _one(found, authors, entities)
    return "", set()


def _one(found: set[str], *groups: dict[int, set[str]]) -> tuple[str, set[int]]:
    if len(found) > 1:
        return "", set()
    (name,) = found
    return name, {number for group in groups for number, names in group.items() if name in names}


def _entities(memory: Memory) -> Iterable[str]:
    for document in (memory.metadata, memory.attributes):
        listed = document.get(ENTITIES)
        if isinstance(listed, list):
            yield from (name for name in listed if isinstance(name, str))


def _occurs(name: str, text: str) -> bool:
    """As a whole word; scripts without spaces have no word borders to ask for."""
    if len(name) < SHORTEST or name not in text:
        return False
    return not name.isascii() or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


@lru_cache(4096)
def _folded(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char)).casefold()

"""Retrieval: collect candidates from rankers, re-score, fuse, cut to the limit, explain.

Filtering happens before every ranker's cut: each gets the Selection of allowed memories, so a narrow filter never
empties a result that exists. Equal scores are ordered by memory id, so the order is reproducible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from engram_kernel.model import Memory
from engram_kernel.query import Query
from engram_kernel.store import Reader, Selection

R = TypeVar("R")


NAMELESS = frozenset({"", "agent", "human"})
"""Origins that are a tool's default and so name nobody."""


def rendering(memory: Memory) -> str:
    """The one line that is indexed and embedded: date, author, title and text. A title or author that opens it anyway is not repeated."""
    date = f"[{memory.valid_from.day} {memory.valid_from:%B %Y}] " if memory.valid_from else ""
    text = memory.text if memory.text.startswith(memory.title) else f"{memory.title}\n{memory.text}"
    return date + (text if memory.origin in NAMELESS or text.startswith(memory.origin) else f"{memory.origin}: {text}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory proposed by one ranker; `score` lies in 0..1 and is comparable between queries."""

    number: int
    score: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What to look for. `weights` names the signals that take part and their shares; they are scaled to sum to 1.

    `depth` is each ranker's cut; `pool` holds memories to be considered even when no ranker proposes them.
    A signal that is missing from `weights`, has weight 0 or is not available takes no part. `context` above 0 lets sessions,
    persons and dates named in the text re-order what the signals found; it has no share of its own.
    """

    text: str
    query: Query
    weights: Mapping[str, float]
    limit: int = 10
    depth: int = 200
    pool: tuple[Memory, ...] = ()
    now: datetime | None = None


class Embedder(Protocol):
    """Turns texts into unit vectors. `model` names weights and version: vectors of different models are never compared."""

    model: str
    dimension: int

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Sequence[bytes]:
        """For each text one or more vectors of `dimension` little-endian float32, one for each window of a long text.

        Raises Busy while the model loads or its provider cannot be reached.
        """


class Ranker(Protocol):
    """A signal that can propose memories by itself, such as BM25 or vector similarity."""

    name: str

    def rank(self, text: str, selection: Selection, depth: int) -> Sequence[Candidate] | None:
        """The best `depth` members of `selection`, best first; empty when the text holds nothing to search.

        None when the signal is not available at the moment, for example while its model loads: it then takes no part.
        """


class Scorer(Protocol):
    """A signal that can only judge candidates, such as recency or priority."""

    name: str

    def active(self, request: SearchRequest) -> bool: ...

    def score(self, request: SearchRequest, candidates: Sequence[Memory], base: Mapping[int, float]) -> Mapping[int, float]:
        """A score in 0..1 for each memory number; `base` holds the best ranker score of each candidate."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory with its fused score and the share each signal contributed to it.

    `relevance`, 0..1, says how well the memory by itself fits the text; it is comparable between queries, None without a text.
    """

    memory: Memory
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result: hits best first, the signals that took part, and how many memories were allowed and considered.

    `weak` when nothing found fits the text well: what was asked is probably not known.
    """

    hits: Sequence[Hit]
    signals: Sequence[str]
    allowed: int
    considered: int
    failed: Sequence[str] = ()
    weak: bool = False


class Guard(Protocol):
    """Calls a plugin's function for a read; returns None, and records the failure, when it raises."""

    def __call__(self, owner: object, call: Callable[[], R], /) -> R | None: ...


class Retriever(Protocol):
    """Runs the pipeline; a fusion plugin provides it."""

    def search(self, reader: Reader, request: SearchRequest) -> Ranking:
        """Never fails because one signal fails: that signal is left out and named in `failed`."""

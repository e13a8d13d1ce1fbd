"""The final order: what replaced another stands in its place, repeats make way, ties are broken the same way each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engram_kernel.model import Memory, Ref, State
from engram_kernel.retrieval import Hit

REPEAT_SHARE = 0.5
"""What a repeat keeps of its score: it moves down, it is not dropped."""


def arranged(hits: Sequence[Hit]) -> list[Hit]:
    """Best first: score descending, living before superseded, then id, collection and number."""
    return sorted(_repeats_lowered(sorted(_succeeded(hits), key=_order)), key=_order)


def _order(hit: Hit) -> tuple[Any, ...]:
    memory = hit.memory
    return (-hit.score, memory.state is not State.LIVE, memory.id, memory.collection, memory.number)


def _succeeded(hits: Sequence[Hit]) -> Sequence[Hit]:
    """A superseded memory lends its score to its successor, so that what holds now stands above what held before."""
    if all(hit.memory.state is not State.SUPERSEDED for hit in hits):
        return hits
    held = {hit.memory.ref: hit for hit in hits}
    for hit in sorted(hits, key=_order):
        current = _current(hit, held)
        if current is not None and hit.score > current.score:
            held[current.memory.ref] = _raised(current, hit)
    return list(held.values())


def _current(hit: Hit, held: Mapping[Ref, Hit]) -> Hit | None:
    """The living hit at the end of a superseded one's line, as far as its members are among the hits."""
    following: Hit | None = hit
    for _ in range(len(held)):
        if following is None or following.memory.state is not State.SUPERSEDED:
            break
        following = held.get(Ref(following.memory.collection, following.memory.superseded_by or ""))
    return following if following is not None and following is not hit and following.memory.state is State.LIVE else None


def _raised(hit: Hit, old: Hit) -> Hit:
    parts = {**hit.parts, "succession": old.score - hit.score}
    return replace(hit, score=old.score, parts=parts, details={**hit.details, "succession": f"replaced {old.memory.id}"})


def _repeats_lowered(hits: Sequence[Hit]) -> list[Hit]:
    """The second and later memory with the same title, text and valid time: it answers nothing that the first does not."""
    seen: dict[Any, str] = {}
    lowered = []
    for hit in hits:
        first = seen.setdefault(_said(hit.memory), hit.memory.id)
        alone = first == hit.memory.id or not hit.memory.content_hash or hit.relevance is None
        lowered.append(hit if alone else _lowered(hit, first))
    return lowered


def _said(memory: Memory) -> Any:
    return memory.content_hash, memory.title, memory.valid_from, memory.valid_until, memory.state


def _lowered(hit: Hit, first: str) -> Hit:
    lost = hit.score * (1 - REPEAT_SHARE)
    parts, details = {**hit.parts, "repeat": -lost}, {**hit.details, "repeat": f"says the same as {first}"}
    return replace(hit, score=hit.score - lost, parts=parts, details=details)

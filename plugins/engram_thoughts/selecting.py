"""Choosing the final hits: at most a share of reflections, at most one hit for each value of a metadata key."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from engram_kernel.retrieval import Hit
from engram_thoughts.vocabulary import ThoughtType


def capped(hits: Sequence[Hit], top_k: int, share: float) -> list[Hit]:
    """The best `top_k`, with at most `top_k * share` reflections.

    The lowest surplus reflections make way for the next other hits; without a replacement they stay, so a question
    that only reflections answer is answered.
    """
    chosen, spare = list(hits[:top_k]), [hit for hit in hits[top_k:] if not is_reflection(hit)]
    surplus = sum(map(is_reflection, chosen)) - math.floor(top_k * share)
    for hit in reversed(hits[:top_k]):
        if surplus <= 0 or not spare:
            break
        if is_reflection(hit):
            chosen.remove(hit)
            chosen.append(spare.pop(0))
            surplus -= 1
    return chosen


def is_reflection(hit: Hit) -> bool:
    return hit.memory.kind == ThoughtType.REFLECTION


def collapsed(hits: Sequence[Hit], key: str) -> list[Hit]:
    """Only the best hit of each value of `metadata.<key>`; thoughts without the key are all kept."""
    seen: set[str] = set()
    kept: list[Hit] = []
    for hit in hits:
        value = hit.memory.metadata.get(key)
        mark = json.dumps(value, sort_keys=True)
        if value is None or mark not in seen:
            kept.append(hit)
            seen.add(mark)
    return kept

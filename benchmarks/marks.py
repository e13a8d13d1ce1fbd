"""Marks of a ranked result, and their means. All lie in 0..1, higher is better."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

CUTS = (5, 10, 20)
NAMES = (*(f"recall@{cut}" for cut in CUTS), "ndcg@10", "hit@1", "hit@5", "hit@10")


def marks(found: Sequence[str], wanted: Collection[str]) -> dict[str, float]:
    """`found` is best first; an id that occurs twice counts once."""
    hits = [name in wanted for name in dict.fromkeys(found)]
    gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    recalls = {f"recall@{cut}": sum(hits[:cut]) / len(wanted) for cut in CUTS}
    return recalls | {"ndcg@10": gain / ideal} | {f"hit@{cut}": float(any(hits[:cut])) for cut in (1, 5, 10)}


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: sum(row[name] for row in rows) / len(rows) for name in NAMES} if rows else {}


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))] if ordered else float("nan")

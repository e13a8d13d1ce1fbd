"""The candidates of a blank query, chosen by the final order: exact, however large the store is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from engram_kernel.model import Memory
from engram_kernel.query import And, Compare, Condition, Not, Order, Query
from engram_kernel.store import Reader
from engram_thoughts.conditions import is_reflection
from engram_thoughts.vocabulary import Priority


def window(reader: Reader, query: Query, top_k: int, moment: datetime | None) -> list[Memory]:
    """The union of the best `top_k` by age within every priority level, apart for reflections and other thoughts.

    Within a level the score depends on age alone, so nothing outside this union can be among the best `top_k`, even
    after reflections were replaced. Records not older than `moment` score alike and are ordered by id.
    """
    found: dict[int, Memory] = {}
    for part, order in _parts(moment, moment is not None and _any_younger(reader, query, moment)):
        page = reader.find(_within(query, part, order, top_k))
        found |= {memory.number: memory for memory in page.items}
    return list(found.values())


def _within(query: Query, part: Sequence[Condition], order: tuple[Order, ...], limit: int) -> Query:
    where = And(tuple(condition for condition in (query.where, *part) if condition is not None))
    return replace(query, where=where, order=order, limit=limit)


def _any_younger(reader: Reader, query: Query, moment: datetime) -> bool:
    return reader.find(_within(query, [Compare("updated_at", ">=", moment)], (), 1)).total > 0


def _parts(moment: datetime | None, younger: bool) -> Iterator[tuple[tuple[Condition, ...], tuple[Order, ...]]]:
    by_id = (Order("id"),)
    youngest = (Order("updated_at", descending=True), Order("id"))
    for level in Priority:
        for reflections in (is_reflection(), Not(is_reflection())):
            group = (Compare("priority", "=", level.number), reflections)
            if moment is None:
                yield group, by_id
            else:
                if younger:
                    yield (*group, Compare("updated_at", ">=", moment)), by_id
                yield (*group, Compare("updated_at", "<", moment)), youngest

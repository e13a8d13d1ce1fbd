"""get_thought, list_memory, memory_stats."""

from __future__ import annotations

from datetime import datetime

from engram_kernel.call import Call
from engram_kernel.model import Memory
from engram_kernel.query import Compare, Condition, Query
from engram_kernel.query import Order as OrderBy
from engram_kernel.times import now
from engram_thoughts.arguments import GetThought, ListMemory, MemoryStats
from engram_thoughts.budget import fit, next_offset
from engram_thoughts.conditions import all_of, filtered_by, not_expired
from engram_thoughts.records import thought_ref, to_thought, to_thoughts
from engram_thoughts.results import Count, FoundThought, Listing, Metrics, Revision, Stats, ThoughtCount
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import THOUGHTS

LISTING_ORDER = (OrderBy("updated_cycle", descending=True),)
"""Equal cycles: newest first, by the kernel's own tie-break."""


class Reading:
    """The tools that read thoughts without searching."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def get(self, call: Call, given: GetThought) -> FoundThought:
        memory = _find(call, given.thought_id, given.as_of)
        history, total = self._history(call, given) if given.include_history else (None, None)
        if memory is None:
            return FoundThought(found=False, thought=None, history=history, history_total=total)
        (thought,) = to_thoughts(call.store, [memory])
        if self._settings.access_counting:
            call.touch([memory.number])
        return FoundThought(found=True, thought=thought, revision=memory.revision, history=history, history_total=total)

    def _history(self, call: Call, given: GetThought) -> tuple[list[Revision], int]:
        revisions = call.store.history(thought_ref(given.thought_id))
        shown = (Revision(revision=item.revision, state=item.state.value, thought=to_thought(item)) for item in reversed(revisions))
        return fit(shown, self._settings.result_bytes), len(revisions)

    def page(self, call: Call, given: ListMemory) -> Listing:
        conditions = filtered_by(given.thought_type, given.lifecycle_status, given.priority)
        if given.min_cycle is not None:
            conditions.append(Compare("updated_cycle", ">=", given.min_cycle))
        if given.max_cycle is not None:
            conditions.append(Compare("updated_cycle", "<=", given.max_cycle))
        if not given.include_expired:
            conditions.append(not_expired(now()))
        return self._page(call, conditions, given.limit, given.offset)

    def _page(self, call: Call, conditions: list[Condition], limit: int, offset: int) -> Listing:
        query = Query(collections=(THOUGHTS.id,), where=all_of(conditions), order=LISTING_ORDER, limit=limit, offset=offset)
        page = call.store.find(query)
        shown = fit(to_thoughts(call.store, page.items), self._settings.result_bytes)
        following = next_offset(offset, len(shown), page.total)
        return Listing(thoughts=shown, count=len(shown), limit=limit, offset=offset, total=page.total, next_offset=following)

    def stats(self, call: Call, given: MemoryStats) -> Stats:
        living = Query(collections=(THOUGHTS.id,), where=not_expired(now()), limit=1)
        return Stats(thought_count=call.store.find(living).total, metrics=self._metrics(call))

    def _metrics(self, call: Call) -> Metrics:
        if not self._settings.metrics:
            empty = ThoughtCount(total=0, by_type={}, by_status={})
            return Metrics(thoughts=empty, edges=Count(total=0, by_type={}), storage_total_bytes=0, measured=False)
        counted = call.store.statistics([THOUGHTS.id])
        by = {name: dict(counted.memories_by.get(name, {})) for name in ("kind", "status")}
        return Metrics(
            thoughts=ThoughtCount(total=counted.memories, by_type=by["kind"], by_status=by["status"]),
            edges=Count(total=counted.edges, by_type=dict(counted.edges_by.get("type", {}))),
            storage_total_bytes=counted.bytes_on_disk,
            measured=True,
        )


def _find(call: Call, thought_id: str, as_of: datetime | None) -> Memory | None:
    if as_of is None:
        return call.store.get([thought_ref(thought_id)])[0]
    query = Query(collections=(THOUGHTS.id,), where=Compare("id", "=", thought_id), limit=1, as_of=as_of)
    return next(iter(call.store.find(query).items), None)

"""The three resources: statistics, recent thoughts, one thought."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from urllib.parse import quote

from engram_kernel.call import Call
from engram_kernel.changes import Applied
from engram_kernel.query import And, Compare, Order, Query
from engram_kernel.tools import Resource
from engram_thoughts.arguments import GetThought, ListMemory, MemoryStats
from engram_thoughts.reading import Reading
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import THOUGHTS, TOOL_SET

SCHEME, ALIAS = "engram://", "engrava://"
RECENT = 10
Read: TypeAlias = Callable[[Call, Mapping[str, str]], str]
Touched: TypeAlias = Callable[[Applied], Iterable[str]]
COMPLETIONS = 100


class Resources:
    """The readers and watchers behind the addresses."""

    def __init__(self, settings: Settings) -> None:
        self._reading = Reading(settings)

    def stats(self, call: Call, values: Mapping[str, str]) -> str:
        return self._reading.stats(call, MemoryStats()).model_dump_json()

    def recent(self, call: Call, values: Mapping[str, str]) -> str:
        page = self._reading.page(call, ListMemory(limit=RECENT))
        return page.model_dump_json(include={"thoughts", "limit"})

    def thought(self, call: Call, values: Mapping[str, str]) -> str:
        return self._reading.get(call, GetThought(thought_id=values["thought_id"])).model_dump_json()

    def all(self) -> Sequence[Resource]:
        return [
            _resource("stats", "Memory statistics", "Counts and size, as memory_stats", self.stats, _summary_touched("stats")),
            _resource("recent", "Recent thoughts", "The first thoughts of list_memory", self.recent, _summary_touched("recent")),
            replace(
                _resource("thought/{thought_id}", "One thought", "As get_thought", self.thought, _thought_touched), complete=thought_ids
            ),
        ]


def _resource(path: str, name: str, description: str, read: Read, touched: Touched) -> Resource:
    return Resource(
        uri=SCHEME + path,
        aliases=(ALIAS + path,),
        name=name,
        description=description,
        group=TOOL_SET,
        read=read,
        touched=touched,
    )


def _changed(applied: Applied) -> list[str]:
    """Ids of the thoughts that a commit changed."""
    changed = (outcome for outcome in applied.outcomes if outcome.changed and outcome.operation != "embed")
    return [outcome.id for outcome in changed if outcome.collection == THOUGHTS.id]


def _summary_touched(path: str) -> Touched:
    return lambda applied: [SCHEME + path] if _changed(applied) else []


def _thought_touched(applied: Applied) -> Iterable[str]:
    return [f"{SCHEME}thought/{quote(thought_id, safe='')}" for thought_id in dict.fromkeys(_changed(applied))]


def thought_ids(call: Call, argument: str, value: str) -> Sequence[str]:
    """Ids that start with `value`, in order."""
    within = And((Compare("id", ">=", value), Compare("id", "<", value + "\U0010ffff")))
    page = call.store.find(Query(collections=(THOUGHTS.id,), where=within, order=(Order("id"),), limit=COMPLETIONS))
    return [memory.id for memory in page.items]

"""The one visibility rule: which collections a session may see and write. Every read of a tool goes through it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from engram_kernel.changes import Change, ChangeSet, Link, Put, PutCard, RetireCard, Supersede, Unlink
from engram_kernel.errors import NotAllowed
from engram_kernel.model import Collection, Edge, Memory, Ref, Tier
from engram_kernel.query import Page, Query
from engram_kernel.store import Direction, Reader, Selection, Statistics, Usage

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Scope:
    """What one session may touch. `consented` names sensitive collections that a person has opened for it."""

    tool_sets: frozenset[str]
    consented: frozenset[str] = frozenset()
    may_write: bool = True

    def sees(self, collection: Collection) -> bool:
        if collection.archived or collection.tool_set not in self.tool_sets:
            return False
        return collection.tier is not Tier.SENSITIVE or collection.id in self.consented

    def check(self, changes: ChangeSet, collections: Sequence[Collection]) -> None:
        """Raises NotAllowed when the session is read-only or a change touches a collection outside the scope."""
        if not self.may_write:
            raise NotAllowed("This session is read-only.", next_step="Start the server without read-only mode to write.")
        hidden = {collection.id for collection in collections if not self.sees(collection)}
        for change in changes.changes:
            if hidden & _touched(change):
                raise NotAllowed("The change touches a collection that is not open to this session.")


def _touched(change: Change) -> set[str]:
    match change:
        case Put(memory=memory):
            return {memory.collection}
        case Supersede(ref=ref, memory=memory):
            return {ref.collection, memory.collection}
        case Link(edge=edge):
            return {edge.source.collection, edge.target.collection}
        case PutCard(card=Collection(id=name)):
            return {name}
        case PutCard(card=card):
            return {getattr(card, "collection", "")}
        case RetireCard(collection=collection):
            return {collection}
        case Unlink():
            return set()
        case _:
            return {change.ref.collection}


class ScopedReader:
    """A Reader that answers as if collections outside the scope did not exist."""

    def __init__(self, reader: Reader, scope: Scope) -> None:
        self._reader, self._scope = reader, scope

    def _visible(self) -> frozenset[str]:
        return frozenset(card.id for card in self._reader.cards(Collection) if self._scope.sees(card))

    def _narrow(self, query: Query) -> Query:
        seen = self._visible()
        return replace(query, collections=tuple(name for name in query.collections if name in seen))

    def _kept(self, memories: Sequence[Memory | None]) -> list[Memory | None]:
        seen = self._visible()
        return [memory if memory is not None and memory.collection in seen else None for memory in memories]

    def _shown(self, edges: Sequence[Edge]) -> list[Edge]:
        seen = self._visible()
        return [edge for edge in edges if edge.source.collection in seen and edge.target.collection in seen]

    def get(self, refs: Sequence[Ref]) -> list[Memory | None]:
        return self._kept(self._reader.get(refs))

    def by_number(self, numbers: Sequence[int]) -> list[Memory | None]:
        return self._kept(self._reader.by_number(numbers))

    def edge(self, edge_id: str) -> Edge | None:
        found = self._reader.edge(edge_id)
        return found if found is not None and self._shown([found]) else None

    def edges_of(self, ref: Ref, direction: Direction = "BOTH", limit: int | None = None) -> list[Edge]:
        return self._shown(self._reader.edges_of(ref, direction))[:limit]

    def find(self, query: Query) -> Page[Memory]:
        return self._reader.find(self._narrow(query))

    def find_edges(self, query: Query) -> Page[Edge]:
        return self._reader.find_edges(self._narrow(query))

    def select(self, query: Query) -> Selection:
        return self._reader.select(self._narrow(query))

    def history(self, ref: Ref) -> list[Memory]:
        return self._reader.history(ref) if ref.collection in self._visible() else []

    def lineage(self, ref: Ref) -> list[Memory]:
        return [memory for memory in self._kept(self._reader.lineage(ref)) if memory is not None]

    def cards(self, kind: type[C], collection: str | None = None) -> list[C]:
        seen = self._visible()
        return [card for card in self._reader.cards(kind, collection) if _home(card) in seen]

    def usage(self, numbers: Sequence[int]) -> Mapping[int, Usage]:
        return self._reader.usage([memory.number for memory in self.by_number(numbers) if memory is not None])

    def statistics(self, collections: Sequence[str]) -> Statistics:
        seen = self._visible()
        return self._reader.statistics([name for name in collections if name in seen])


def _home(card: object) -> str:
    return card.id if isinstance(card, Collection) else str(getattr(card, "collection", ""))

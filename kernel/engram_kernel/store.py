"""The `Store` protocol: a narrow interface in domain terms. Every method may be called from any thread.

A third party proves its own store with the suite in `tests/contracts/store.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from engram_kernel.changes import Applied, ChangeSet
from engram_kernel.model import Card, Edge, Event, Memory, Ref
from engram_kernel.query import Page, Query

Direction: TypeAlias = Literal["IN", "OUT", "BOTH"]
C = TypeVar("C")

Progress: TypeAlias = Callable[[int, int, str], None]


class Selection(Protocol):
    """A set of memory numbers, for rankers to filter with before they cut."""

    def __len__(self) -> int: ...
    def __contains__(self, number: int) -> bool: ...

    def mask(self) -> Any:
        """A numpy bool array indexed by memory number; numbers past its end are not selected."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of `verify`: counts of what was checked, and one line for each fault found."""

    events: int
    memories: int
    edges: int
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return not self.faults


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of living records. `by` maps a field to its value counts."""

    memories: int
    edges: int
    memories_by: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    edges_by: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bytes_on_disk: int = 0
    last_sequence: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """How often and when last a memory was handed out by a read."""

    count: int = 0
    last: datetime | None = None


class Reader(Protocol):
    """The reading half. Results are what the store knows now unless a query carries `as_of`."""

    def get(self, refs: Sequence[Ref]) -> list[Memory | None]:
        """The living or superseded memory behind each ref, in the same order; None where there is none."""

    def by_number(self, numbers: Sequence[int]) -> list[Memory | None]:
        """Like `get`, by internal number; retired ones are None."""

    def edge(self, edge_id: str) -> Edge | None: ...

    def edges_of(self, ref: Ref, direction: Direction = "BOTH", limit: int | None = None) -> list[Edge]:
        """Living edges of a memory, heaviest first, then oldest first; a self loop appears once."""

    def find(self, query: Query) -> Page[Memory]: ...
    def find_edges(self, query: Query) -> Page[Edge]: ...

    def select(self, query: Query) -> Selection:
        """All memories matching the query's collections, states and condition; order, limit and offset are ignored."""

    def history(self, ref: Ref) -> list[Memory]:
        """Every revision of every holder of this id, oldest first."""

    def lineage(self, ref: Ref) -> list[Memory]:
        """The supersede chain that contains this memory, oldest first, each in its latest revision."""

    def cards(self, kind: type[C], collection: str | None = None) -> list[C]:
        """Living cards of one record class, ordered by id."""

    def usage(self, numbers: Sequence[int]) -> Mapping[int, Usage]: ...

    def statistics(self, collections: Sequence[str]) -> Statistics: ...


class Store(Reader, Protocol):
    """A full store; only the kernel and the operator tools hold one, tools get a scoped facade."""

    def apply(self, changes: ChangeSet) -> Applied:
        """Apply durably, or raise and change nothing. Returns only after the commit is on disk."""

    def recorded(self, reference: str) -> Applied | None:
        """The result of an earlier ChangeSet with this reference."""

    def card(self, kind: type[Card], collection: str, card_id: str) -> Card | None: ...
    def sources(self) -> Any:
        """A numpy integer array indexed by memory number: equal values for an equal `source`, below 0 for none."""

    def vectors(self, model: str, numbers: Sequence[int]) -> Mapping[int, bytes]: ...
    def events(self, after: int = 0, limit: int = 1000) -> list[Event]: ...

    def touch(self, numbers: Sequence[int]) -> None:
        """Count one access for each memory; buffered, written with a later commit, at close at the latest."""

    def subscribe(self, listener: Callable[[Applied], None]) -> None:
        """Call `listener` after every commit, in commit order, before `apply` returns."""

    def changed_since(self, sequence: int, limit: int = 1000) -> list[tuple[int, int]]:
        """(sequence, memory number) of content, state or title changes after `sequence`, ascending: index catch-up."""

    def scan(self, after: int = 0, batch: int = 1000) -> Iterator[Sequence[Memory]]:
        """All living memories with a number above `after`, ascending, in batches: index rebuild."""

    def sequence(self) -> int:
        """The last committed sequence number."""

    def verify(self, deep: bool = False, progress: Progress | None = None) -> Verification:
        """Check the hash chain and content hashes; `deep` also replays the log and compares the state."""

    def backup(self, target: Path, progress: Progress | None = None) -> Mapping[str, Any]:
        """Write a complete backup folder with a manifest; returns the manifest. Never overwrites."""

    def health(self) -> Mapping[str, str]:
        """Short operator facts: schema, file size, durability state, warnings."""

    def close(self) -> None:
        """Drain writers, checkpoint and release the files."""


class StoreProvider(Protocol):
    """What a storage plugin registers."""

    def open(self, folder: Path, settings: Mapping[str, Any], *, read_only: bool = False) -> Store:
        """Open or create the store, migrating an older one after an automatic backup.

        Raises StoreUnusable for a newer or damaged store.
        """

    def restore(self, folder: Path, backup: Path, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Fill an empty folder from a backup; returns its manifest. The caller holds the lease."""

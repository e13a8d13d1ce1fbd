"""Keeping the index in step with the store: catching up after a start, following commits, saving in the background.

A commit only notes whose vectors may have changed; the background thread, or the next search, reads them. Nothing is
imported, read or loaded before the first search or the first vector, or a moment after the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import structlog

from engram_kernel.changes import Applied
from engram_kernel.model import Collection, State
from engram_kernel.query import Query
from engram_kernel.retrieval import Embedder
from engram_kernel.store import Store

if TYPE_CHECKING:
    from engram_faiss.index import Index
    from engram_faiss.snapshot import Snapshot

Stage: TypeAlias = Literal["waiting", "catching up", "ready", "stopped"]

TOUCHING = frozenset({"embed", "revise", "retire", "restore"})
"""Operations after which a memory's vectors may be others, or none."""
BATCH = 200
"""Memories whose vectors are read at once; a search may have to wait for that many."""
PAGE = 4_000
PATIENCE = 1.0
"""Seconds after the first need in which searches wait for the index; from then on they take what is there."""
DEAD_SHARE, DEAD_ROWS = 1 / 3, 1_000
"""When rows without owner are removed: above this share, and this many."""


@dataclass(frozen=True, slots=True)
class Pace:
    """When fresh vectors go to disk: at `flush_vectors`, or `idle_seconds` after the last one.

    The work starts with the first need, at the latest `start_seconds` after the start; after a failure the next attempt is
    made `retry_seconds` later.
    """

    flush_vectors: int = 2_000
    idle_seconds: float = 10.0
    start_seconds: float = 3.0
    retry_seconds: float = 30.0


class Keeper:
    """Owns the writing side. `index` and `health` may be called from any thread."""

    def __init__(self, store: Store, embedder: Embedder, folder: Path, exact_rows: int, pace: Pace) -> None:
        self._store, self._embedder, self._folder, self._exact_rows, self._pace = store, embedder, folder, exact_rows, pace
        self._index: Index | None = None
        self._snapshot: Snapshot | None = None
        self._feeding, self._noting = Lock(), Lock()
        self._noted: dict[int, None] = {}
        self._heard = self._reached = self._saved_sequence = 0
        self._last_change = time.monotonic()
        self._asked = 0.0
        self._usable = Condition()
        self._wake, self._stop = Event(), Event()
        self.stage: Stage = "waiting"
        self.repair = ""
        self.trouble = ""
        self._log = structlog.get_logger("faiss")
        self._thread = Thread(target=self._run, name="vector-index", daemon=True)

    def start(self) -> None:
        self._store.subscribe(self._note)
        self._thread.start()

    def prepare(self) -> None:
        """Begin to load the index with the first search."""
        if not self._asked:
            self._asked = time.monotonic()
            self._wake.set()

    def index(self, model: str) -> Index | None:
        """The index of this model with all that is committed, as far as it can be had within PATIENCE; else None."""
        self._wake.set()
        with self._usable:
            rest = max(0.0, self._asked + PATIENCE - time.monotonic())
            self._usable.wait_for(lambda: self._stop.is_set() or self._has(model), rest)
            index = self._index
        if index is None or index.model != model:
            return None
        self._drain_shortly()
        return index

    def _has(self, model: str) -> bool:
        return self.stage == "ready" and self._index is not None and self._index.model == model

    def close(self) -> None:
        """Save and stop; the store must still be open."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        if self.stage == "ready":
            self._guarded(self._drain)
            self._guarded(self._save)
        self.stage = "stopped"

    def health(self) -> dict[str, str]:
        """State, model, counts, the change it reaches, the last repair and the last trouble."""
        index = self._index
        facts: dict[str, str] = {"state": self.stage}
        if index is not None:
            facts |= {
                "memories": f"{index.rows.memories:,}",
                "vectors": f"{len(index.rows) - index.rows.dead:,}",
                "not yet on disk": f"{len(index.matrix.fresh):,}",
                "reaches change": f"{self._reached:,} of {self._store.sequence():,}",
            }
        return facts | {name: text for name, text in (("repaired", self.repair), ("trouble", self.trouble)) if text}

    def _note(self, applied: Applied) -> None:
        numbers = [outcome.number for outcome in applied.outcomes if outcome.operation in TOUCHING and outcome.number > 0]
        with self._noting:
            self._heard = max(self._heard, applied.sequence)
            self._noted.update(dict.fromkeys(numbers))
        if numbers:
            self._last_change = time.monotonic()
            self._wake.set()

    def _drain_shortly(self) -> None:
        """One batch, unless the background thread is at it."""
        if self._noted and self.stage == "ready" and self._feeding.acquire(timeout=0.05):
            try:
                self._feed_noted()
            except Exception as error:
                self.trouble = f"{type(error).__name__}: {error}"
            finally:
                self._feeding.release()

    def _drain(self) -> None:
        while self._noted:
            with self._feeding:
                self._feed_noted()
        with self._noting:
            if not self._noted and self.stage == "ready":
                self._reached = max(self._reached, self._heard)

    def _feed_noted(self) -> None:
        """Read one batch of what was noted; on failure it stays noted."""
        with self._noting:
            batch = list(islice(self._noted, BATCH))
            for number in batch:
                del self._noted[number]
        try:
            self._feed(batch)
        except BaseException:
            with self._noting:
                self._noted = dict.fromkeys(batch) | self._noted
            raise

    def _feed(self, numbers: Sequence[int]) -> None:
        index = self._index
        if index is None or not numbers:
            return
        vectors = self._store.vectors(index.model, numbers)
        if faulty := index.apply([(number, vectors.get(number)) for number in numbers]):
            self._log.warning("vectors that do not fit the model are left out", memories=faulty, model=index.model)

    def _run(self) -> None:
        self._wake.wait(self._pace.start_seconds)
        while not self._stop.is_set():
            self._wake.clear()
            if not self._guarded(self._step):
                self._stop.wait(self._pace.retry_seconds)
            elif not self._noted:
                self._wake.wait(self._pace.idle_seconds)

    def _guarded(self, work: Callable[[], None]) -> bool:
        """Trouble never ends the thread: it is reported, and the work tried again after a while."""
        try:
            work()
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"
            self._log.exception("vector index could not be brought up to date or saved; it is tried again")
            return False
        self.trouble = ""
        return True

    def _step(self) -> None:
        model, dimension = self._embedder.model, self._embedder.dimension
        if not model or not dimension:
            return
        if self._index is None or self._index.model != model:
            self._open(model, dimension)
        if self.stage == "catching up":
            self._catch_up()
        self._drain()
        idle = time.monotonic() - self._last_change >= self._pace.idle_seconds
        self._save_when_due(1 if idle else self._pace.flush_vectors)

    def _open(self, model: str, dimension: int) -> None:
        """Load the index of this model, or start a new one and say why."""
        from engram_faiss.snapshot import Snapshot  # brings in faiss

        snapshot = Snapshot(self._folder, self._exact_rows)
        index, reason = self._load(snapshot, model, dimension)
        if index is None:
            index = snapshot.new(model, dimension)
            self._reached = self._store.sequence()
            if self._reached:
                self.repair = f"rebuilt, because {reason}"
                self._log.info("vector index is built", reason=reason, model=model)
        with self._feeding, self._usable:
            if self._index is not None:  # a change of the model
                self._asked = time.monotonic()
            self._snapshot, self._index, self.stage = snapshot, index, "catching up"
            self._usable.notify_all()

    def _load(self, snapshot: Snapshot, model: str, dimension: int) -> tuple[Index | None, str]:
        from engram_faiss.snapshot import DamagedError

        try:
            catalog = snapshot.catalog()
            if catalog is None:
                return None, "there was none"
            if (catalog.model, catalog.dimension) != (model, dimension):
                return None, f"it is of the model {catalog.model}"
            if catalog.sequence > self._store.sequence() or catalog.anchor != self._anchor(catalog.sequence):
                return None, "it belongs to another store or another history"
            index = snapshot.load(catalog)
        except DamagedError as error:
            self._log.warning("vector index cannot be used", reason=str(error))
            return None, str(error)
        self._reached = self._saved_sequence = catalog.sequence
        return index, ""

    def _anchor(self, sequence: int) -> str:
        """The hash of the event with this sequence: the same only in the same store with the same history."""
        events = self._store.events(sequence - 1, 1) if sequence else []
        return events[0].hash if events and events[0].sequence == sequence else ""

    def _catch_up(self) -> None:
        """First what has changed since the last save, then what has vectors that the index never got."""
        count = 0
        for numbers, reached in self._changed():
            count += self._feed_all(numbers)
            self._reached = reached
        missing = self._missing()
        count += self._feed_all(missing)
        if self._stop.is_set():
            return
        if count and not self.repair:
            self.repair = f"{count:,} memories of the last run were looked at again"
        with self._feeding, self._usable:
            self.stage = "ready"
            self._usable.notify_all()
        self._log.debug("vector index ready", looked_at=count)

    def _changed(self) -> Iterator[tuple[list[int], int]]:
        while not self._stop.is_set() and (page := self._store.changed_since(self._reached, PAGE)):
            yield list(dict.fromkeys(number for _, number in page)), page[-1][0]

    def _missing(self) -> list[int]:
        """Memories that can be searched but have no vector in the index; most of them have none in the store either."""
        assert self._index is not None
        collections = tuple(card.id for card in self._store.cards(Collection))
        chosen = self._store.select(Query(collections=collections, states=(State.LIVE, State.SUPERSEDED))).mask()
        with self._index.lock:
            held = self._index.rows.held(len(chosen))
        numbers: list[int] = np.flatnonzero(chosen & ~held).tolist()
        return numbers

    def _feed_all(self, numbers: Sequence[int]) -> int:
        """In pages, each saved when that is due."""
        for start in range(0, len(numbers), PAGE):
            with self._feeding:
                self._feed(numbers[start : start + PAGE])
            if self._stop.is_set():
                break
            self._save_when_due(self._pace.flush_vectors)
            time.sleep(0.001)  # let a waiting search in
        return len(numbers)

    def _save_when_due(self, vectors: int) -> None:
        index = self._index
        if index is None:
            return
        behind = vectors == 1 and self._saved_sequence != self._reached and index.rows.memories > 0
        if len(index.matrix.fresh) >= vectors or behind:
            self._save()

    def _save(self) -> None:
        """Raises OSError; what is not saved stays in memory, where it is found all the same."""
        index, snapshot = self._index, self._snapshot
        if index is None or snapshot is None:
            return
        with self._feeding:
            reached = self._reached
            anchor = self._anchor(reached)
            if index.rows.dead > max(DEAD_ROWS, DEAD_SHARE * len(index.rows)):
                compacted = snapshot.compact(index, reached, anchor)
                with self._usable:
                    self._index = compacted
            elif len(index.rows):
                snapshot.save(index, reached, anchor)
            self._saved_sequence = reached

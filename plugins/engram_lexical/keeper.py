"""Keeping the index in step with the store: catching up at start, following commits, saving in the background.

A commit only notes which memories it touched; the next search, or the background thread, reads and indexes them, so a
commit is never held up and a search never misses one. The catalog on disk says how far it reaches; whatever came after
that, for example before a crash, is read again from the store at the next start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Event, Lock, Thread
from typing import Literal, TypeAlias

import structlog

from engram_kernel.changes import Applied
from engram_kernel.retrieval import rendering
from engram_kernel.store import Store
from engram_lexical.index import Index
from engram_lexical.segment import DamagedError
from engram_lexical.tokens import Document, analyse

State: TypeAlias = Literal["opening", "catching up", "ready", "stopped"]

BATCH = 200
"""Memories read and indexed at once; a search may have to wait for that many."""
PAGE = 1000
BACKLOG = 4_000
"""Noted memories above which a committing writer waits a moment, so that a search never waits for a whole import."""
BACKLOG_SECONDS = 0.25
EDGES = frozenset({"link", "unlink", "embed"})
"""Operations whose outcomes carry numbers of edges, not of memories, or that leave the text as it is."""
PATIENCE = 2.0
"""Seconds a search waits for the index to catch up after a start, before it answers from what is there."""


@dataclass(frozen=True, slots=True)
class Pace:
    """When fresh documents go to disk: at `flush_documents`, or after `idle_seconds` without a new one.

    After a failure, of the disk for example, the next attempt is made `retry_seconds` later.
    """

    flush_documents: int = 2_000
    idle_seconds: float = 10.0
    retry_seconds: float = 30.0


class Keeper:
    """Owns the index's writing side. `refresh` and `health` may be called from any thread."""

    def __init__(self, store: Store, index: Index, pace: Pace) -> None:
        self._store, self._index, self._pace = store, index, pace
        self._feeding = Lock()
        self._noting = Lock()
        self._noted: dict[int, None] = {}
        self._heard = 0
        self._reached = 0
        self._opened, self._usable, self._stop, self._wake, self._eased = Event(), Event(), Event(), Event(), Event()
        self._eased.set()
        self._last_change = time.monotonic()
        self._retry_at = 0.0
        self.state: State = "opening"
        self.repair = ""
        self.trouble = ""
        self._log = structlog.get_logger("lexical")
        self._thread = Thread(target=self._run, name="lexical-index", daemon=True)

    def start(self) -> None:
        self._store.subscribe(self._note)
        self._thread.start()

    def refresh(self) -> None:
        """Index everything committed so far, as far as it can be had within PATIENCE seconds of a start."""
        self._usable.wait(PATIENCE)
        if self._opened.is_set():
            self._drain()

    def close(self) -> None:
        """Save and stop; the store must still be open."""
        self._stop.set()
        self._wake.set()
        self._thread.join()
        if self.state != "opening":
            self._guarded(self._drain)
            self._guarded(self._flush)
        self.state = "stopped"

    def health(self) -> dict[str, str]:
        """State, documents, the change it reaches, the last repair and the last trouble."""
        facts = {
            "state": self.state,
            "documents": f"{self._index.documents.count:,}",
            "not yet on disk": f"{self._index.fresh + len(self._noted):,}",
            "reaches change": f"{self._reached:,} of {self._store.sequence():,}",
        }
        return facts | {name: text for name, text in (("repaired", self.repair), ("trouble", self.trouble)) if text}

    def _note(self, applied: Applied) -> None:
        with self._noting:
            touched = (outcome for outcome in applied.outcomes if outcome.number > 0 and outcome.operation not in EDGES)
            self._noted.update((outcome.number, None) for outcome in touched)
            self._heard = max(self._heard, applied.sequence)
            if len(self._noted) > BACKLOG:
                self._eased.clear()
        self._last_change = time.monotonic()
        self._wake.set()
        self._eased.wait(BACKLOG_SECONDS)

    def _drain(self) -> None:
        """Index all that is noted now; what is noted meanwhile is left for the next time."""
        todo = len(self._noted)
        while True:
            with self._feeding:
                todo -= self._feed_noted()
            if todo <= 0:
                return

    def _feed_noted(self) -> int:
        """Index one batch of the noted memories, oldest first; returns how many, at least 1."""
        with self._noting:
            batch = list(islice(self._noted, BATCH))
            heard = self._heard if len(batch) == len(self._noted) else 0
            for number in batch:
                del self._noted[number]
        try:
            self._feed(batch)
        except BaseException:
            with self._noting:
                self._noted = dict.fromkeys(batch) | self._noted
            raise
        if self.state == "ready":
            self._reached = max(self._reached, heard)
        if len(self._noted) <= BACKLOG:
            self._eased.set()
        return max(len(batch), 1)

    def _feed(self, batch: Sequence[int]) -> None:
        memories = self._store.by_number(batch) if batch else []
        documents: Iterable[Document | None] = (analyse(rendering(memory)) if memory else None for memory in memories)
        self._index.apply(list(zip(batch, documents, strict=True)))

    def _run(self) -> None:
        while not self._stop.is_set():
            if time.monotonic() >= self._retry_at:
                self._guarded(self._step)
            self._opened.set()
            self._usable.set()
            self._wake.wait(self._pace.idle_seconds)
            self._wake.clear()

    def _step(self) -> None:
        if self.state == "opening":
            with self._feeding:
                self._open()
            self._opened.set()
        if self.state == "catching up":
            self._catch_up()
        self._drain()
        idle = time.monotonic() - self._last_change >= self._pace.idle_seconds
        self._save_when_due(1 if idle else self._pace.flush_documents)

    def _guarded(self, work: Callable[[], None]) -> None:
        """Trouble never ends the thread: it is reported, and the work tried again after a while."""
        try:
            work()
        except Exception as error:
            self.trouble = f"{type(error).__name__}: {error}"
            self._retry_at = time.monotonic() + self._pace.retry_seconds
            self._log.exception("lexical index could not be brought up to date or saved; it is tried again")
        else:
            if time.monotonic() >= self._retry_at:
                self.trouble = ""

    def _save_when_due(self, documents: int) -> None:
        """A full disk keeps documents in memory, where they are found all the same."""
        if self._index.fresh >= documents and time.monotonic() >= self._retry_at:
            self._guarded(self._save)

    def _save(self) -> None:
        self._flush()
        while not self._stop.is_set() and self._index.merge():
            continue

    def _flush(self) -> None:
        with self._feeding:
            reached = self._reached
        self._index.flush(reached, self._anchor(reached))

    def _anchor(self, sequence: int) -> str:
        """The hash of the event with this sequence: the same only in the same store with the same history."""
        events = self._store.events(sequence - 1, 1) if sequence else []
        return events[0].hash if events and events[0].sequence == sequence else ""

    def _open(self) -> None:
        """Load the index, or start a new one and say why."""
        try:
            reason = "" if self._index.load() else "there was none"
        except DamagedError as error:
            reason = str(error)
        saved = self._index.saved
        if not reason and (saved.sequence > self._store.sequence() or saved.anchor != self._anchor(saved.sequence)):
            reason = "it belongs to another store or another history"
        if reason:
            if self._store.sequence():
                self.repair = f"rebuilt, because {reason}"
                self._log.warning("lexical index is rebuilt", reason=reason)
            self._index.reset()
        self._reached = self._index.saved.sequence
        self.state = "catching up"

    def _catch_up(self) -> None:
        """Read every change after the saved one; a memory that changed often is read once."""
        deadline = time.monotonic() + PATIENCE / 2
        seen: set[int] = set()
        while page := self._page(self._reached):
            numbers = [number for _, number in page if number not in seen]
            seen.update(numbers)
            self._catch_up_with(list(dict.fromkeys(numbers)), page[-1][0])
            if time.monotonic() > deadline:
                self._usable.set()
            if self._stop.is_set():
                return
        self._report_repair(len(seen))
        with self._feeding:
            self.state = "ready"

    def _report_repair(self, count: int) -> None:
        if count and not self.repair:
            self.repair = f"{count:,} memories of the last run were added"
            self._log.info("lexical index caught up", memories=count)

    def _catch_up_with(self, numbers: Sequence[int], sequence: int) -> None:
        for start in range(0, len(numbers), BATCH):
            with self._feeding:
                self._feed(numbers[start : start + BATCH])
            time.sleep(0.001)  # let a waiting search in
        self._reached = sequence
        self._save_when_due(self._pace.flush_documents)

    def _page(self, after: int) -> list[tuple[int, int]]:
        """Whole commits only: a sequence cut by the page's end is left for the next page."""
        size = PAGE
        while len(page := self._store.changed_since(after, size)) == size:
            last = page[-1][0]
            whole = [item for item in page if item[0] != last]
            if whole:
                return whole
            size *= 2
        return page

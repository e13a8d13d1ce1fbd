"""The worker: embeds, in the background, every living memory that has no vector of the current model.

A commit only notes which memories it touched. Progress on disk says up to which change everything is embedded; what
came after it, or all of it when the model is another, is looked through again at the next start. So nothing is lost
when the process is killed or the provider is down for days.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event, Lock, Thread, get_native_id

import structlog

from engram_embed import progress
from engram_embed.embedder import WindowEmbedder
from engram_embed.model import Model
from engram_kernel.changes import Applied, ChangeSet, Embed
from engram_kernel.errors import Busy, EngramError, InvalidInput, NotFound
from engram_kernel.model import Memory, State
from engram_kernel.retrieval import rendering
from engram_kernel.store import Store

NEEDING = frozenset({"put", "supersede", "revise", "restore"})
"""Operations after which a memory may need a vector."""
PAGE = 500
"""Changes read at once while catching up."""
BACKGROUND = 10
"""Nice value of the worker."""
PATIENCE = 5.0
"""Seconds the end waits for a running batch."""
MOST_CHARACTERS = 20_000
"""Text embedded for one commit, unless a single memory is longer."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds, but for `batch`, the memories of one commit.

    Work starts `soon` after a single commit. In a burst, whose commits are less than `quiet` apart, it starts when none came
    for `quiet` or one has waited for `patience`. Without any commit it starts `start` after the start.
    """

    start: float = 2.0
    soon: float = 0.003
    quiet: float = 0.03
    patience: float = 1.0
    batch: int = 64
    save: float = 2.0
    retry: float = 30.0


@dataclass(frozen=True, slots=True)
class Report:
    """What the worker is doing. `reached` of `last` changes are done; `skipped` memories were refused by the provider."""

    busy: bool
    waiting: int
    reached: int
    last: int
    embedded: int
    skipped: int
    trouble: str


class Worker:
    """One thread. `report` may be called from any thread."""

    def __init__(self, store: Store, embedder: WindowEmbedder, model: Model, folder: Path, pace: Pace | None = None) -> None:
        self._store, self._embedder, self._model, self._folder, self._pace = store, embedder, model, folder, pace or Pace()
        self._noting = Lock()
        self._noted: dict[int, None] = {}
        self._heard = 0
        self._first_note = self._last_note = 0.0
        self._burst = False
        self._name = ""
        self._reached = self._saved = self._started_from = 0
        self._caught_up = False
        self._saved_at = 0.0
        self._embedded = 0
        self._skipped: set[int] = set()
        self._trouble = ""
        self._wake, self._stop = Event(), Event()
        self._log = structlog.get_logger("embed")
        self._thread = Thread(target=self._run, name="embedding-worker", daemon=True)

    def start(self) -> None:
        self._store.subscribe(self._note)
        self._thread.start()

    def close(self) -> None:
        """Stop after the running batch; what is left is done after the next start."""
        self._stop.set()
        self._wake.set()
        self._thread.join(PATIENCE)
        if not self._thread.is_alive() and self._reached != self._saved:
            self._save()

    def report(self) -> Report:
        last = self._store.sequence()
        busy = bool(self._noted) or (self._name != "" and not self._caught_up)
        trouble = self._trouble or self._model.trouble
        return Report(busy, len(self._noted), self._reached, last, self._embedded, len(self._skipped), trouble)

    def _note(self, applied: Applied) -> None:
        numbers = [outcome.number for outcome in applied.outcomes if outcome.operation in NEEDING and outcome.number > 0]
        with self._noting:
            self._heard = max(self._heard, applied.sequence)
            if not numbers:
                return
            now = time.monotonic()
            self._burst = now < self._last_note + self._pace.quiet
            self._last_note = now
            self._first_note = self._first_note if self._noted else self._last_note
            self._noted.update(dict.fromkeys(numbers))
        self._wake.set()

    def _run(self) -> None:
        _step_back()
        self._wake.wait(self._pace.start)
        while not self._stop.is_set():
            self._wake.clear()
            pause = self._guarded(self._step)
            if pause:
                self._stop.wait(pause)
            elif not self._work_left():
                self._wake.wait(self._pace.save if self._reached != self._saved else None)

    def _work_left(self) -> bool:
        return bool(self._noted) or not self._caught_up

    def _guarded(self, work: Callable[[], None]) -> float:
        """Do it; the seconds after which it is to be tried again when it fails, else 0. Trouble never ends the thread."""
        try:
            work()
        except Busy:
            return max(self._model.pause, 0.05)
        except Exception as error:
            if self._stop.is_set():
                return 0.0
            self._trouble = f"{type(error).__name__}: {error}"
            self._log.exception("memories could not be embedded; it is tried again")
            return self._pace.retry
        self._trouble = ""
        return 0.0

    def _step(self) -> None:
        """One batch of what was noted, then one of the older changes."""
        if not self._recognise_model():
            return
        self._embed_noted()
        if not self._caught_up:
            self._catch_up()
        with self._noting:
            if self._caught_up and not self._noted:
                self._reached = max(self._reached, self._heard)
        self._save_when_due()

    def _recognise_model(self) -> bool:
        """Whether there is something to do and a model to do it with. Another model begins from the first change."""
        if not self._model.name and not self._store.sequence():
            self._caught_up = True
            return False
        if not self._model.name and not self._model.wait(0.5):
            raise Busy("The embedding model is not available.")
        if self._name != self._model.name:
            known = progress.read(self._folder, self._store, self._model.name)
            self._name, self._reached, self._caught_up = known.model, known.sequence, False
            self._saved = self._started_from = known.sequence
        return True

    def _embed_noted(self) -> None:
        self._wait_for_quiet()
        batch = list(islice(self._noted.copy(), self._pace.batch))
        self._embed_missing(batch)
        with self._noting:
            for number in batch:
                self._noted.pop(number, None)
            self._first_note = time.monotonic()

    def _wait_for_quiet(self) -> None:
        """A burst of commits is embedded after it, so that the embedding's own commits do not stand in its way."""
        while self._noted and len(self._noted) < self._pace.batch and not self._stop.is_set():
            now = time.monotonic()
            quiet = self._pace.quiet if self._burst else self._pace.soon
            rest = min(self._last_note + quiet, self._first_note + self._pace.patience) - now
            if rest <= 0:
                return
            self._stop.wait(rest)

    def _catch_up(self) -> None:
        """Look through one page of older changes; whatever is noted meanwhile goes first."""
        last = self._store.sequence()
        page = self._store.changed_since(self._reached, PAGE)
        if not page:
            self._caught_up, self._reached = True, max(self._reached, last)
            self._report_end()
            return
        numbers = list(dict.fromkeys(number for _, number in page))
        for memories in self._missing(numbers):
            if self._stop.is_set():
                return
            if self._noted:
                self._embed_noted()
            self._embed(memories)
        self._reached = page[-1][0]
        self._log.debug("embedding older memories", reached=self._reached, of=self._store.sequence())

    def _report_end(self) -> None:
        if self._embedded:
            self._log.info("all memories are embedded", model=self._name, embedded=self._embedded, since_change=self._started_from)

    def _embed_missing(self, numbers: Sequence[int]) -> None:
        for memories in self._missing(numbers):
            self._embed(memories)

    def _missing(self, numbers: Sequence[int]) -> Iterator[list[Memory]]:
        """The living memories without a vector, in batches for one commit each."""
        if not numbers:
            return
        found = [memory for memory in self._store.by_number(numbers) if memory is not None and memory.state is State.LIVE]
        have = self._store.vectors(self._name, [memory.number for memory in found])
        batch: list[Memory] = []
        size = 0
        for memory in found:
            if memory.number in have or memory.number in self._skipped:
                continue
            if batch and (len(batch) == self._pace.batch or size + len(memory.text) > MOST_CHARACTERS):
                yield batch
                batch, size = [], 0
            batch.append(memory)
            size += len(memory.text)
        if batch:
            yield batch

    def _embed(self, memories: Sequence[Memory]) -> None:
        """Raises Busy when the model is not available, or has become another one meanwhile."""
        try:
            vectors = self._embedder.embed([rendering(memory) for memory in memories])
        except InvalidInput as error:
            self._one_by_one(memories, error)
            return
        if self._embedder.model != self._name:
            raise Busy("The embedding model has changed.")
        self._write(memories, vectors)

    def _one_by_one(self, memories: Sequence[Memory], error: InvalidInput) -> None:
        """The provider refuses a batch: find out whose text it is, and go on without it."""
        if len(memories) > 1:
            for memory in memories:
                self._embed([memory])
            return
        self._skipped.add(memories[0].number)
        self._log.warning("a memory cannot be embedded", memory=memories[0].id, collection=memories[0].collection, reason=str(error))

    def _write(self, memories: Sequence[Memory], vectors: Sequence[bytes]) -> None:
        dimension = self._embedder.dimension
        changes = tuple(
            Embed(memory.ref, self._name, dimension, vector, memory.content_hash) for memory, vector in zip(memories, vectors, strict=True)
        )
        try:
            self._store.apply(ChangeSet(changes, actor="embed"))
        except NotFound:  # retired meanwhile
            for change in changes if len(changes) > 1 else ():
                self._write_one(change)
        self._embedded += len(memories)

    def _write_one(self, change: Embed) -> None:
        try:
            self._store.apply(ChangeSet((change,), actor="embed"))
        except NotFound as error:
            self._log.debug("no memory to attach a vector to", reason=str(error))

    def _save_when_due(self) -> None:
        if self._reached != self._saved and time.monotonic() >= self._saved_at + self._pace.save:
            self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        try:
            progress.save(self._folder, self._store, self._name, self._reached)
            self._saved = self._reached
        except (OSError, EngramError) as error:
            self._log.warning("the progress of the embedding could not be noted", error=str(error))


def _step_back() -> None:
    """Let the system prefer the threads that answer callers; only Linux has a priority for each thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), BACKGROUND)

"""The one thread that writes: it takes waiting ChangeSets in groups and makes each group durable in one commit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

import duckdb
import structlog

from engram_duckdb import commit, oplog
from engram_duckdb.database import Database, failed_write
from engram_duckdb.moments import column_value
from engram_duckdb.overlay import Base, Layer
from engram_duckdb.planner import plan, touched
from engram_duckdb.publish import publish
from engram_duckdb.records import Records
from engram_duckdb.stage import Stage
from engram_duckdb.state import Counters, State, Tail
from engram_duckdb.statements import statements
from engram_kernel.changes import Applied, ChangeSet
from engram_kernel.errors import EngramError, OutcomeUnknown, StoreUnusable

_log = structlog.get_logger("duckdb")
Listener = Callable[[Applied], None]


@dataclass
class Job:
    """One waiting ChangeSet."""

    changes: ChangeSet
    future: Future[Applied] = field(default_factory=Future)


@dataclass
class Group:
    """ChangeSets that commit together, each planned on top of the earlier ones."""

    layer: Layer
    tail: Tail
    counters: Counters
    stages: list[tuple[Job, Stage]] = field(default_factory=list)


class Writer:
    """`reload` gives a fresh State after the database had to be opened again."""

    def __init__(self, database: Database, state: State, records: Records, reload: Callable[[], State]) -> None:
        self._database, self._state, self._records, self._reload = database, state, records, reload
        self._jobs: queue.Queue[Job | None] = queue.Queue()
        self._listeners: list[Listener] = []
        self._touched: dict[int, tuple[int, int]] = {}
        self._touch_lock = threading.Lock()
        self._dirty = False
        self._broken: EngramError | None = None
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def submit(self, changes: ChangeSet) -> Future[Applied]:
        job = Job(changes)
        with self._closing:
            if self._closed:
                raise StoreUnusable("The store is closed.")
            self._jobs.put(job)
        return job.future

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def touch(self, numbers: Sequence[int]) -> None:
        """Count accesses now in memory; they reach the disk when the writer is idle, at close at the latest."""
        state, moment = self._state, time.time_ns() // 1000
        with state.lock, self._touch_lock:
            used = state.memories["used"].array
            for number in numbers:
                if 0 < number < state.memories.size:
                    count = max(int(used[number]), 0) + 1
                    state.memories.put({number: {"used": count, "used_at": moment}})
                    self._touched[number] = (count, moment)

    def close(self) -> None:
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (jobs := self._next_jobs()) is not None:
            if jobs:
                self._guarded(jobs)
            else:
                self._settle()
        self._settle()

    def _next_jobs(self) -> list[Job] | None:
        """A group of waiting jobs, [] after an idle moment, None at the end."""
        try:
            first = self._jobs.get(timeout=self._database.settings.idle_seconds)
        except queue.Empty:
            return []
        if first is None:
            return None
        jobs = [first]
        while len(jobs) < self._database.settings.group_size:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)
                break
            jobs.append(job)
        return jobs

    def _guarded(self, jobs: list[Job]) -> None:
        try:
            self._write(jobs)
        except Exception as error:
            _log.error("the writer failed", error=repr(error)[:500])
            self._database.rollback()
            self._fail([job for job in jobs if not job.future.done()], OutcomeUnknown(f"The store failed unexpectedly: {error}"))

    def _write(self, jobs: list[Job]) -> None:
        group = self._plan(jobs)
        if not group.stages:
            return
        try:
            self._commit(group)
        except duckdb.FatalException as error:
            self._recover(group.stages, error)
        except duckdb.Error as error:
            self._database.rollback()
            self._retry([job for job, _ in group.stages], error)
        else:
            self._finish(group)

    def _retry(self, jobs: list[Job], error: duckdb.Error) -> None:
        """After a refused group: each alone, so that one bad ChangeSet fails alone."""
        if len(jobs) == 1:
            _log.error("a write was refused by the database", error=str(error)[:300])
            self._fail(jobs, failed_write(error))
            return
        for job in jobs:
            self._write([job])

    def _recover(self, waiting: Sequence[tuple[Job, Stage]], error: duckdb.Error) -> None:
        """The instance is invalid: open it again and answer from what is really in the log."""
        _log.error("the database had to be opened again", error=str(error)[:300])
        try:
            self._database.reopen()
            self._state = self._reload()
        except (duckdb.Error, EngramError) as failure:
            self._broken = StoreUnusable(
                f"The database could not be opened again: {failure}", next_step="Restart the server; see `engram doctor`."
            )
            self._fail([job for job, _ in waiting], OutcomeUnknown("The database failed while the write was committed."))
            return
        for job, stage in waiting:
            # A commit is all or nothing, so the length of the log tells whether it happened.
            if stage.sequence <= self._state.tail.sequence:
                self._succeed(job, stage)
            else:
                job.future.set_exception(failed_write(error))

    def recorded(self, references: Sequence[str]) -> dict[str, Applied]:
        if not references:
            return {}
        rows = self._database.rows(statements("read")["recorded"], [list(references)])
        return {reference: oplog.applied_from(sequence, result) for reference, sequence, result in rows}

    def _plan(self, jobs: list[Job]) -> Group:
        base = Base(self._state, self._records)
        group = Group(Layer(base), replace(self._state.tail), self._state.counters)
        base.prefetch(ref for job in jobs for ref in touched(job.changes.changes))
        known = self.recorded([job.changes.reference for job in jobs if job.changes.reference])
        for job in jobs:
            self._plan_one(group, job, known)
        return group

    def _plan_one(self, group: Group, job: Job, known: dict[str, Applied]) -> None:
        if self._broken is not None:
            self._fail([job], self._broken)
            return
        reference = job.changes.reference
        if reference is not None and reference in known:
            self._chain(group, job, known[reference])
            return
        micros = max(time.time_ns() // 1000, group.tail.micros + 1)
        stage = Stage(Layer(group.layer), group.counters, group.tail.sequence + 1, micros)
        try:
            plan(stage, job.changes)
        except EngramError as error:
            self._refuse(group, job, error)
            return
        self._admit(group, job, stage)
        if reference is not None:
            known[reference] = Applied(stage.sequence, tuple(stage.outcomes), repeated=True)

    @staticmethod
    def _chain(group: Group, job: Job, earlier: Applied) -> None:
        """Answer a repeated request; when the first one is in this very group, only after the commit."""
        first = next((other for other, stage in group.stages if stage.sequence == earlier.sequence), None)
        if first is None:
            job.future.set_result(earlier)
            return

        def follow(done: Future[Applied]) -> None:
            failure = done.exception()
            if failure is not None:
                job.future.set_exception(failure)
            else:
                job.future.set_result(earlier)

        first.future.add_done_callback(follow)

    @staticmethod
    def _refuse(group: Group, job: Job, error: EngramError) -> None:
        """A refusal may rest on a change of this very group, so it is told only after the group's commit."""
        if not group.stages:
            job.future.set_exception(error)
            return

        def follow(done: Future[Applied]) -> None:
            if not job.future.done():
                job.future.set_exception(done.exception() or error)

        group.stages[-1][0].future.add_done_callback(follow)

    @staticmethod
    def _admit(group: Group, job: Job, stage: Stage) -> None:
        payload, changes = oplog.payload_of(stage.effects), job.changes
        digest = oplog.link_hash(group.tail.hash, stage.micros, changes.actor, payload)
        result, summary = oplog.result_of(stage.outcomes), oplog.summary_of(stage.outcomes)
        moment = column_value(stage.micros)
        stage.rows.oplog.append(
            (stage.sequence, changes.reference, summary, moment, changes.actor, payload, result, group.tail.hash, digest)
        )
        group.tail = Tail(stage.sequence, digest, stage.micros)
        group.counters = stage.counters
        group.layer.absorb(stage.layer)
        group.stages.append((job, stage))

    def _commit(self, group: Group) -> None:
        rows = commit.merge(stage.rows for _, stage in group.stages)
        self._database.begin()
        self._database.fault("write")
        commit.write(self._database.writer, rows)
        self._database.commit()

    def _finish(self, group: Group) -> None:
        publish(self._state, group.layer, self._records.cache)
        self._state.counters = group.counters
        self._state.tail = group.tail
        self._dirty = True
        self._note_anchor()
        for job, stage in group.stages:
            self._succeed(job, stage)

    def _succeed(self, job: Job, stage: Stage) -> None:
        applied = Applied(stage.sequence, tuple(stage.outcomes))
        self._announce(applied)
        job.future.set_result(applied)

    def _announce(self, applied: Applied) -> None:
        for listener in self._listeners:
            try:
                listener(applied)
            except Exception:
                _log.exception("a commit listener failed", sequence=applied.sequence)

    @staticmethod
    def _fail(jobs: Sequence[Job], error: EngramError) -> None:
        for job in jobs:
            job.future.set_exception(error)

    def _settle(self) -> None:
        """In an idle moment and at the end: write the access counts, fold the log into the file, note the anchor."""
        if self._database.invalid.is_set():
            self._recover([], duckdb.FatalException("found unusable by a reader"))
        if not self._dirty and not self._touched:
            return
        try:
            self._write_touches()
            if self._dirty:
                self._database.checkpoint()
        except duckdb.FatalException as error:
            self._recover([], error)
        except duckdb.Error as error:
            self._database.rollback()
            _log.warning("idle work postponed", error=str(error)[:300])
        self._dirty = False
        self._note_anchor()

    def _note_anchor(self) -> None:
        try:
            oplog.write_anchor(self._database.places.anchor, self._state.tail.sequence, self._state.tail.hash)
        except OSError as error:
            _log.warning("the anchor of the log could not be written", error=str(error))

    def _write_touches(self) -> None:
        with self._touch_lock:
            waiting, self._touched = self._touched, {}
        if not waiting:
            return
        counts, moments = zip(*waiting.values(), strict=True)
        self._database.writer.execute(statements("write")["usage"], [list(waiting), list(counts), list(moments)])
        self._dirty = True

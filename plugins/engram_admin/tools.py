"""The operator tools: the command line calls them through the owner, agents never see them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engram_admin import checks, paths
from engram_admin.backups import Backups, size_of
from engram_admin.models import (
    BackupArguments,
    BackupResult,
    CollectionFacts,
    DoctorResult,
    EventResult,
    EventsArguments,
    EventsResult,
    FindingResult,
    StatusResult,
    VerifyArguments,
    VerifyResult,
)
from engram_kernel.arguments import Arguments
from engram_kernel.call import Call
from engram_kernel.model import Collection, Event
from engram_kernel.store import Progress, Store
from engram_kernel.times import format_time
from engram_kernel.tools import Tool

GROUP = "admin"
PROGRESS_SECONDS = 0.1


@dataclass(frozen=True)
class Operator:
    """The handlers, with the store that they look after."""

    store: Store
    folder: Path

    def tools(self) -> tuple[Tool, ...]:
        return (
            _tool("status", "What is in the store and how it is", self.status, Arguments, StatusResult),
            _tool("verify", "Check hash chain and content", self.verify, VerifyArguments, VerifyResult),
            _tool("backup", "Write a complete backup", self.backup, BackupArguments, BackupResult),
            _tool("doctor", "Run every plugin's health checks", self.doctor, Arguments, DoctorResult),
            _tool("events", "One page of the operation log", self.events, EventsArguments, EventsResult),
        )

    def status(self, call: Call, arguments: Arguments) -> StatusResult:
        cards = self.store.cards(Collection)
        counts = {card.id: self.store.statistics([card.id]).memories for card in cards}
        total = self.store.statistics(list(counts))
        health, last = dict(self.store.health()), Backups(self.folder).last()
        return StatusResult(
            folder=str(self.folder),
            memories=total.memories,
            edges=total.edges,
            sequence=self.store.sequence(),
            collections=[_collection(card, counts[card.id]) for card in cards],
            bytes_on_disk=total.bytes_on_disk,
            bytes_free=shutil.disk_usage(self.folder).free,
            last_backup=format_time(last) if last else None,
            health=health,
            warnings=checks.troubles(health),
        )

    def verify(self, call: Call, arguments: VerifyArguments) -> VerifyResult:
        found = self.store.verify(arguments.deep, throttled(call))
        return VerifyResult(
            sound=found.sound,
            events=found.events,
            memories=found.memories,
            edges=found.edges,
            faults=list(found.faults),
            notes=list(found.notes),
        )

    def backup(self, call: Call, arguments: BackupArguments) -> BackupResult:
        target = self._target(call, arguments.target)
        manifest = dict(self.store.backup(target, throttled(call)))
        backups = Backups(self.folder)
        backups.remember(target)
        sequence = int(manifest.get("sequence", self.store.sequence()))
        return BackupResult(path=str(target), bytes=size_of(target), sequence=sequence, manifest=manifest)

    def _target(self, call: Call, text: str | None) -> Path:
        backups = Backups(self.folder)
        if text is None:
            return backups.default_target()
        wanted = paths.new_folder(text, "target", base=call.session.workspace)
        return paths.outside_store(wanted, "target", data=self.folder, backups=backups.folder)

    def doctor(self, call: Call, arguments: Arguments) -> DoctorResult:
        findings: list[FindingResult] = []
        known = call.kernel.checks
        for done, check in enumerate(known):
            call.progress(done, len(known), f"Checking: {check.name}")
            findings += [
                FindingResult(level=found.level, check=check.name, text=found.text, advice=found.advice) for found in checks.run(check)
            ]
        return DoctorResult(healthy=all(found.level != "error" for found in findings), findings=findings)

    def events(self, call: Call, arguments: EventsArguments) -> EventsResult:
        page = self.store.events(arguments.after, arguments.limit)
        last = self.store.sequence()
        more = bool(page) and page[-1].sequence < last
        return EventsResult(
            events=[_event(event, arguments.payload) for event in page],
            last_sequence=last,
            next_after=page[-1].sequence if more else None,
        )


def _tool(name: str, title: str, handler: Callable[[Call, Any], Any], arguments: type[Arguments], result: type[Any]) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=f"{title}.",
        group=GROUP,
        handler=handler,
        arguments=arguments,
        result=result,
        audience="operator",
    )


def _collection(card: Collection, memories: int) -> CollectionFacts:
    return CollectionFacts(id=card.id, title=card.title, tool_set=card.tool_set, tier=str(card.tier), memories=memories)


def _event(event: Event, payload: bool) -> EventResult:
    return EventResult(
        sequence=event.sequence,
        operation=event.operation,
        recorded_at=format_time(event.recorded_at),
        actor=event.actor,
        bytes=len(event.payload.encode()),
        hash=event.hash,
        payload=event.payload if payload else None,
    )


def throttled(call: Call, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Progress to the caller, ten times a second at most: each report crosses to another thread and process."""
    told = [float("-inf")]

    def report(done: int, total: int, message: str) -> None:
        moment = clock()
        if moment - told[0] >= PROGRESS_SECONDS or done >= total:
            told[0] = moment
            call.progress(done, total, message)

    return report

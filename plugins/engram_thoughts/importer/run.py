"""The import itself: batches of changes, each skipping what is already there, then a check by reading back.

A batch is one transaction. Running the import again continues where it stopped and brings nothing over twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from engram_kernel.call import Call
from engram_kernel.changes import Change, ChangeSet, Embed, Link, Put
from engram_kernel.model import Edge, Memory
from engram_thoughts.importer import convert
from engram_thoughts.importer.report import SHOWN, Counter, ImportReport
from engram_thoughts.importer.source import NOT_IMPORTED, Row, Source
from engram_thoughts.records import thought_ref

BATCH = 500
TABLES = ("thought", "edge", "action", "embedding")
T = TypeVar("T", Memory, Edge, Embed)
_OURS = {"number", "revision", "state", "superseded_by", "content_hash", "updated_at", "created_at"}
"""Fields that the store sets by itself; `created_at` is compared only when the source has one."""


@dataclass(frozen=True, slots=True)
class Plan(Generic[T]):
    """How one table is brought over. `held` finds the record that is already here, `lacks` what it needs and is not here."""

    table: str
    identity: str
    convert: Callable[[Row], T]
    held: Callable[[Call, Sequence[T]], list[T | None]]
    change: Callable[[T], Change]
    lacks: Callable[[Call, Sequence[T]], list[str]]


class Import:
    """One run over one source."""

    def __init__(self, call: Call, source: Source) -> None:
        self._call, self._source = call, source
        self._counters = {table: Counter(table) for table in TABLES}
        self._done, self._total = 0, sum(source.count(table) for table in TABLES)

    def run(self) -> ImportReport:
        for plan in PLANS:
            counter = self._counters[plan.table]
            try:
                self._table(plan, counter)
            except sqlite3.Error as error:
                counter.skip("(the rest)", f"the table is damaged: {error}")
        return self._report()

    def _table(self, plan: Plan[Any], counter: Counter) -> None:
        for rows in self._source.batches(plan.table, BATCH):
            self._batch(plan, counter, rows)
            self._done += len(rows)
            self._call.progress(self._done, self._total, f"{plan.table}s")

    def _batch(self, plan: Plan[Any], counter: Counter, rows: Sequence[Row]) -> None:
        counter.found += len(rows)
        records = self._complete(plan, counter, _converted(plan, counter, rows))
        held = plan.held(self._call, records)
        fresh = [record for record, found in zip(records, held, strict=True) if found is None]
        for record, found in zip(records, held, strict=True):
            if found is not None:
                self._compare(counter, record, found, present=True)
        if fresh:
            self._call.write(lambda: ChangeSet(tuple(plan.change(record) for record in fresh)))
            counter.imported += len(fresh)
            self._verify(plan, counter, fresh)

    def _complete(self, plan: Plan[Any], counter: Counter, records: Sequence[Any]) -> list[Any]:
        """The records whose partners are here; repeated ids within a batch are left out."""
        kept: dict[str, Any] = {}
        for record, lack in zip(records, plan.lacks(self._call, records), strict=True):
            name = _name(record)
            if lack or name in kept:
                counter.skip(name, lack or "its id occurs twice")
            else:
                kept[name] = record
        return list(kept.values())

    def _verify(self, plan: Plan[Any], counter: Counter, records: Sequence[Any]) -> None:
        for record, found in zip(records, plan.held(self._call, records), strict=True):
            if found is None:
                counter.differs(_name(record), "cannot be read back")
            else:
                self._compare(counter, record, found, present=False)

    def _compare(self, counter: Counter, record: Any, found: Any, *, present: bool) -> None:
        counter.present += present
        different = _different(record, found)
        if not different:
            counter.verified += 1
        elif present:
            counter.differs(_name(record), f"is already here with another {', '.join(different)}; left as it is")
        else:
            counter.differs(_name(record), f"reads back with another {', '.join(different)}")

    def _report(self) -> ImportReport:
        counters = self._counters
        skipped = [item for counter in counters.values() for item in counter.skipped]
        differences = [item for counter in counters.values() for item in counter.differences]
        return ImportReport(
            file=self._source.path.name,
            thoughts=counters["thought"].tally(),
            edges=counters["edge"].tally(),
            actions=counters["action"].tally(),
            embeddings=counters["embedding"].tally(),
            not_imported={table: count for table in NOT_IMPORTED if (count := self._source.count(table))},
            skipped=skipped[:SHOWN],
            skipped_total=len(skipped),
            differences=differences[:SHOWN],
            differences_total=len(differences),
        )


def _converted(plan: Plan[Any], counter: Counter, rows: Iterable[Row]) -> list[Any]:
    records = []
    for row in rows:
        try:
            records.append(plan.convert(row))
        except ValueError as error:
            counter.skip(row.get(plan.identity), str(error))
    return records


def _name(record: Any) -> str:
    return f"{record.ref.id} ({record.model})" if isinstance(record, Embed) else str(record.id)


def _different(record: Any, found: Any) -> list[str]:
    """Names of the fields in which what is here differs from the source."""
    names = [field.name for field in fields(record) if field.name not in _OURS]
    if getattr(record, "created_at", None) is not None:
        names.append("created_at")
    return [name for name in names if getattr(record, name) != getattr(found, name)]


def _memories(call: Call, records: Sequence[Memory]) -> list[Memory | None]:
    return call.store.get([record.ref for record in records])


def _edges(call: Call, records: Sequence[Edge]) -> list[Edge | None]:
    """By id, else an edge of the same ends and type, which the store would refuse to double."""
    return [call.store.edge(record.id) or _same_link(call, record) for record in records]


def _same_link(call: Call, record: Edge) -> Edge | None:
    around = call.store.edges_of(record.source, "OUT")
    return next((edge for edge in around if (edge.target, edge.type) == (record.target, record.type)), None)


def _vectors(call: Call, records: Sequence[Embed]) -> list[Embed | None]:
    owners = call.store.get([record.ref for record in records])
    return [_vector(call, record, memory) for record, memory in zip(records, owners, strict=True)]


def _vector(call: Call, record: Embed, memory: Memory | None) -> Embed | None:
    if memory is None:
        return None
    found = call.kernel.store.vectors(record.model, [memory.number]).get(memory.number)
    return None if found is None else Embed(record.ref, record.model, len(found) // 4, bytes(found))


def _nothing_lacks(call: Call, records: Sequence[Any]) -> list[str]:
    return [""] * len(records)


def _edge_lacks(call: Call, records: Sequence[Edge]) -> list[str]:
    return _missing(call, [(record.source.id, record.target.id) for record in records])


def _action_lacks(call: Call, records: Sequence[Memory]) -> list[str]:
    return _missing(call, [(str(record.attributes["source_thought_id"]),) for record in records])


def _vector_lacks(call: Call, records: Sequence[Embed]) -> list[str]:
    return _missing(call, [(record.ref.id,) for record in records])


def _missing(call: Call, needed: Sequence[tuple[str, ...]]) -> list[str]:
    """For each record, which thoughts it needs and are not here; "" when all are."""
    wanted = sorted({thought_id for ids in needed for thought_id in ids})
    found = call.store.get([thought_ref(thought_id) for thought_id in wanted])
    here: Mapping[str, bool] = {thought_id: memory is not None for thought_id, memory in zip(wanted, found, strict=True)}
    return [", ".join(f"the thought {name!r} is not here" for name in ids if not here[name]) for ids in needed]


PLANS: tuple[Plan[Any], ...] = (
    Plan("thought", "thought_id", convert.thought, _memories, Put, _nothing_lacks),
    Plan("edge", "edge_id", convert.edge, _edges, Link, _edge_lacks),
    Plan("action", "action_id", convert.action, _memories, Put, _action_lacks),
    Plan("embedding", "embedding_id", convert.embedding, _vectors, lambda embed: embed, _vector_lacks),
)

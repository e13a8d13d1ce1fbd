"""Turns a ChangeSet into rows, or refuses it. One function per change; all checks read the layered view."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from engram_duckdb import cards, relations
from engram_duckdb.heads import content_hash
from engram_duckdb.inputs import check_fields, checked_memory, inverted
from engram_duckdb.moments import from_micros, utc
from engram_duckdb.overlay import Held
from engram_duckdb.stage import Stage
from engram_kernel.changes import (
    Change,
    ChangeSet,
    Confirm,
    Embed,
    Link,
    Outcome,
    Put,
    PutCard,
    Restore,
    Retire,
    RetireCard,
    Revise,
    Supersede,
    Unlink,
)
from engram_kernel.errors import AlreadyExists, DuplicateContent, InvalidInput, NotFound, StaleRevision, StoreUnusable
from engram_kernel.model import Memory, Ref, State

_Handler: TypeAlias = Callable[[Stage, Any], None]


def plan(stage: Stage, changes: ChangeSet) -> None:
    """Raises the kernel error of the first change that cannot be applied; the stage is then worthless."""
    for change in changes.changes:
        _HANDLERS[type(change)](stage, change)


def touched(changes: Iterable[Change]) -> list[Ref]:
    """Memories that planning will read."""
    return [change.ref for change in changes if isinstance(change, Revise | Confirm | Supersede | Retire | Embed)]


def living(stage: Stage, ref: Ref) -> int | None:
    """The number of the living or superseded memory of an address."""
    return next((number for number in reversed(stage.layer.holders(ref)) if stage.layer.alive(number)), None)


def required(stage: Stage, ref: Ref) -> Held:
    """Raises NotFound, or StoreUnusable for a damaged record, which is left as it is."""
    number = living(stage, ref)
    if number is None:
        raise NotFound(f"There is no memory {ref.id!r} in {ref.collection!r}.", data={"collection": ref.collection, "id": ref.id})
    held = stage.layer.memory(number)
    if held is None:
        raise StoreUnusable(
            f"The memory {ref.id!r} in {ref.collection!r} is damaged.", next_step="Run `engram verify`; a backup may hold it."
        )
    return held


def _put(stage: Stage, change: Put) -> None:
    memory = _insertable(stage, change.memory)
    if change.unique_content:
        _refuse_same_content(stage, memory)
    stage.done("put", stage.insert(memory))


def _insertable(stage: Stage, memory: Memory) -> Memory:
    memory = replace(checked_memory(memory), state=State.LIVE)
    if living(stage, memory.ref) is not None:
        raise AlreadyExists(
            f"The id {memory.id!r} is taken in {memory.collection!r}.",
            next_step="Choose another id, or revise the existing memory.",
            data={"taken": "id", "collection": memory.collection, "id": memory.id},
        )
    return memory


def _refuse_same_content(stage: Stage, memory: Memory) -> None:
    digest = content_hash(memory.text)
    for number in stage.layer.same_content(memory.collection, digest):
        same = stage.layer.memory(number)
        if same is not None and same.memory.content_hash == digest:
            raise DuplicateContent(
                f"{same.memory.id!r} already holds this content.",
                next_step="Confirm or revise that memory instead.",
                data={"collection": memory.collection, "id": same.memory.id, "number": number, "revision": same.memory.revision},
            )


def _expect(held: Held, expected: int | None) -> None:
    current = held.memory.revision
    if expected is not None and expected != current:
        raise StaleRevision(
            f"{held.memory.id!r} is at revision {current}, not {expected}: it changed after you read it.",
            next_step="Read it again and repeat the change.",
            data={"expected": expected, "current": current, "id": held.memory.id},
        )


def _revise(stage: Stage, change: Revise) -> None:
    check_fields(change.fields)
    held = required(stage, change.ref)
    _expect(held, change.expected_revision)
    wanted = checked_memory(replace(held.memory, **change.fields))
    stage.done("revise", stage.revise(held, **{name: getattr(wanted, name) for name in change.fields}))


def _confirm(stage: Stage, change: Confirm) -> None:
    held = required(stage, change.ref)
    stage.done("confirm", stage.revise(held, confirmations=held.memory.confirmations + 1))


def _supersede(stage: Stage, change: Supersede) -> None:
    held = required(stage, change.ref)
    old = held.memory
    _expect(held, change.expected_revision)
    if old.state is State.SUPERSEDED:
        raise InvalidInput(
            f"{old.id!r} has already been superseded by {old.superseded_by!r}.",
            next_step="Supersede that one, or restore this one first.",
            data={"fields": {"id": "is superseded"}, "superseded_by": old.superseded_by},
        )
    ended = utc(change.ended) or old.valid_until
    if change.ended is not None and inverted(old.valid_from, ended):
        raise InvalidInput(f"{old.id!r} cannot end before it begins.", data={"fields": {"ended": "lies before valid_from"}})
    successor = _insertable(stage, change.memory)
    stage.revise(held, state=State.SUPERSEDED, superseded_by=successor.id, valid_until=ended)
    stage.done("supersede", stage.insert(successor, held.root))


def _retire(stage: Stage, change: Retire) -> None:
    if change.missing_ok and living(stage, change.ref) is None:
        stage.outcomes.append(Outcome("retire", change.ref.collection, change.ref.id, 0, 0, changed=False))
        return
    held = required(stage, change.ref)
    relations.retire_edges(stage, held.memory.number)
    if change.reason:
        stage.effects.append({"reason": change.reason, "of": held.memory.number})
    stage.done("retire", stage.revise(held, state=State.RETIRED))


def _restore(stage: Stage, change: Restore) -> None:
    found = [held for number in stage.layer.holders(change.ref) if (held := stage.layer.memory(number)) is not None]
    if any(held.memory.state is State.LIVE for held in found):
        raise AlreadyExists(f"{change.ref.id!r} is alive; there is nothing to restore.", data={"taken": "id", "id": change.ref.id})
    if not found:
        raise NotFound(f"There never was a memory {change.ref.id!r} in {change.ref.collection!r}.", data={"id": change.ref.id})
    held = max(found, key=lambda item: (item.memory.state is State.SUPERSEDED, item.memory.number))
    _bring_back(stage, held)


def _bring_back(stage: Stage, held: Held) -> None:
    fields: dict[str, Any] = {"state": State.LIVE, "superseded_by": None}
    if held.memory.superseded_by is not None:
        fields["valid_until"] = from_micros(stage.layer.last_living_end(held.memory.number))
    memory = stage.revise(held, **fields)
    relations.restore_edges(stage, memory.number)
    stage.done("restore", memory)


def _embed(stage: Stage, change: Embed) -> None:
    held = required(stage, change.ref)
    if change.dimension < 1 or not change.vector or len(change.vector) % (4 * change.dimension):
        raise InvalidInput(
            f"The vectors have {len(change.vector)} bytes; each has {change.dimension} float32 numbers in {4 * change.dimension} bytes.",
            data={"fields": {"vector": "does not fit the dimension"}},
        )
    fits = change.content_hash in (None, held.memory.content_hash)
    if fits:
        stage.embed(held, _model(stage, change), change.vector)
    stage.done("embed", held.memory, changed=fits)


def _model(stage: Stage, change: Embed) -> int:
    known = stage.layer.model(change.model)
    if known is None:
        number = int.from_bytes(bytes.fromhex(content_hash(change.model)[:14]), "big")
        return stage.model(change.model, change.dimension, number)
    number, dimension = known
    if dimension != change.dimension:
        raise InvalidInput(
            f"Vectors of {change.model!r} have {dimension} numbers here, not {change.dimension}.",
            data={"fields": {"dimension": f"is not {dimension}"}},
        )
    return number


def _put_card(stage: Stage, change: PutCard) -> None:
    card = change.card
    kind = cards.kind_of(type(card))
    if kind not in cards.CLASSES or not card.id.strip():
        raise InvalidInput(f"This {kind} cannot be stored.", data={"fields": {"id": "is blank"}})
    key = (kind, cards.home(kind, getattr(card, "collection", ""), card.id), card.id)
    _, revision = stage.layer.card(key)
    stage.card(key, card, revision + 1)
    stage.outcomes.append(Outcome("put_card", key[1], card.id, 0, revision + 1))


def _retire_card(stage: Stage, change: RetireCard) -> None:
    kind = change.kind.lower()
    key = (kind, cards.home(kind, change.collection, change.id), change.id)
    card, revision = stage.layer.card(key)
    if card is None:
        raise NotFound(f"There is no {kind} {change.id!r} in {change.collection!r}.", data={"id": change.id})
    stage.card(key, None, revision + 1)
    stage.outcomes.append(Outcome("retire_card", key[1], change.id, 0, revision + 1))


_HANDLERS: dict[type[Any], _Handler] = {
    Put: _put,
    Revise: _revise,
    Confirm: _confirm,
    Supersede: _supersede,
    Retire: _retire,
    Restore: _restore,
    Link: relations.link,
    Unlink: relations.unlink,
    Embed: _embed,
    PutCard: _put_card,
    RetireCard: _retire_card,
}

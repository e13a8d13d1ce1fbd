"""store_thought, update_thought, delete_thought.

All rules are checked inside the function given to `Call.write`, so a re-sent call is answered and not repeated.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from engram_kernel.arguments import refused
from engram_kernel.call import Call
from engram_kernel.changes import Change, ChangeSet, Confirm, Put, Retire, Revise
from engram_kernel.errors import AlreadyExists, DuplicateContent, NotFound, StaleRevision
from engram_kernel.model import Memory, Ref
from engram_kernel.query import Compare, Query
from engram_kernel.store import Reader
from engram_kernel.times import now
from engram_thoughts import messages
from engram_thoughts.arguments import DeleteThought, StoreThought, UpdateThought
from engram_thoughts.messages import fault
from engram_thoughts.records import new_attributes, session_of, thought_ref
from engram_thoughts.results import Deleted, Stored, StoredFields, Updated, UpdatedFields
from engram_thoughts.rules import UNKNOWN, check_interval, check_move, conflict, existing, latest
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import ACTIONS, THOUGHTS, Clearable, LifecycleStatus, Priority

_COLUMNS = {"essence": "title", "content": "text", "lifecycle_status": "status"}
_PLAIN = ("essence", "content", "lifecycle_status", "confidence", "valid_from", "valid_until", "expires_at", "metadata", "pinned")
_GUARDED = {"status", "valid_from", "valid_until", "attributes"}
"""Fields checked against, or merged with, what was read: they are written only on the revision that was read."""


class Writing:
    """The three tools that change thoughts."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def store(self, call: Call, given: StoreThought) -> Stored:
        memory = self._new(given)
        try:
            applied = call.write(lambda: self._insert(given, memory))
        except DuplicateContent as error:
            return self._confirm(call, given, str(error.data["id"]))
        except AlreadyExists as error:
            raise fault(AlreadyExists, messages.ID_TAKEN, error.data, id=memory.id) from None
        outcome = applied.outcomes[0]
        return Stored(thought=_stored(latest(call, outcome.id, memory)), created=True, revision=outcome.revision)

    def _insert(self, given: StoreThought, memory: Memory) -> ChangeSet:
        check_interval(given.valid_from, given.valid_until)
        return ChangeSet((Put(memory, unique_content=given.deduplicate),))

    def _new(self, given: StoreThought) -> Memory:
        provenance = given.provenance.model_dump(exclude_none=True) if given.provenance else None
        return Memory(
            collection=THOUGHTS.id,
            id=given.thought_id or str(uuid.uuid4()),
            kind=given.thought_type.value,
            title=given.essence,
            text=given.content,
            status=LifecycleStatus.CREATED.value,
            priority=given.priority.number,
            origin=given.source,
            source=session_of(provenance),
            confidence=given.confidence,
            valid_from=given.valid_from,
            valid_until=given.valid_until,
            expires_at=given.expires_at or self._default_expiry(),
            pinned=given.pinned,
            metadata=given.metadata or {},
            attributes=new_attributes(given.visibility.value, provenance),
        )

    def _default_expiry(self) -> datetime | None:
        seconds = self._settings.default_ttl_seconds
        return now() + timedelta(seconds=seconds) if seconds else None

    def _confirm(self, call: Call, given: StoreThought, thought_id: str) -> Stored:
        """Count the confirmation; an archived or expired match is brought back, and the answer says so."""
        ref = thought_ref(thought_id)
        restored: list[bool] = []

        def build() -> ChangeSet:
            changes: tuple[Change, ...] = (Confirm(ref),)
            if fields := self._revival(existing(call.store, thought_id), given):
                restored.append(True)
                changes = (Revise(ref, fields), Confirm(ref))
            return ChangeSet(changes)

        applied = call.write(build)
        current = latest(call, thought_id)
        revived = bool(restored) or len(applied.outcomes) > 1
        return Stored(
            thought=_stored(current),
            created=False,
            revision=applied.outcomes[-1].revision,
            restored=revived or None,
            ignored=_ignored(given, current) or None,
        )

    def _revival(self, found: Memory, given: StoreThought) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if found.status == LifecycleStatus.ARCHIVED:
            fields["status"] = LifecycleStatus.ACTIVE.value
            fields["attributes"] = {**found.attributes, "archived_at": None, "archived_at_cycle": None}
        if found.expires_at and found.expires_at <= now():
            fields["expires_at"] = given.expires_at or self._default_expiry()
        return fields

    def update(self, call: Call, given: UpdateThought) -> Updated:
        try:
            applied = call.write(lambda: _revise(call.store, given))
        except StaleRevision as error:
            raise conflict(given.thought_id, error) from None
        except NotFound as error:
            if UNKNOWN.items() <= error.data.items():
                raise
            raise conflict(given.thought_id, error) from None
        memory = latest(call, given.thought_id)
        shown = UpdatedFields(thought_id=memory.id, essence=memory.title, priority=f"P{memory.priority}", lifecycle_status=memory.status)
        return Updated(thought=shown, revision=applied.outcomes[0].revision)

    def delete(self, call: Call, given: DeleteThought) -> Deleted:
        applied = call.write(lambda: _retire(call.store, given.thought_id))
        return Deleted(deleted=applied.outcomes[0].changed)


def _revise(reader: Reader, given: UpdateThought) -> ChangeSet:
    current = existing(reader, given.thought_id)
    fields = _changed_fields(current, given)
    check_move(current, given.lifecycle_status)
    check_interval(fields.get("valid_from", current.valid_from), fields.get("valid_until", current.valid_until))
    expected = given.expected_revision
    if expected is None and _GUARDED & fields.keys():
        expected = current.revision
    return ChangeSet((Revise(current.ref, fields, expected),))


def _changed_fields(current: Memory, given: UpdateThought) -> dict[str, Any]:
    """The fields of `Memory` that an update sets or clears. Raises InvalidInput when it does both to one."""
    both = [name for name in given.clear if getattr(given, name) is not None]
    if both:
        raise refused({"clear": messages.CLEAR_AND_SET.format(names=", ".join(both))})
    fields = {_COLUMNS.get(name, name): _plain(getattr(given, name)) for name in _PLAIN if getattr(given, name) is not None}
    if given.priority is not None:
        fields["priority"] = given.priority.number
    cleared = [name for name in given.clear if name is not Clearable.PROVENANCE]
    fields |= {name.value: {} if name is Clearable.METADATA else None for name in cleared}
    if attributes := _changed_attributes(current, given):
        fields["attributes"] = {**current.attributes, **attributes}
    if "provenance" in attributes:
        fields["source"] = session_of(attributes["provenance"])
    return fields


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, LifecycleStatus) else value


def _changed_attributes(current: Memory, given: UpdateThought) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    if given.visibility is not None:
        changed["visibility"] = given.visibility.value
    if given.provenance is not None:
        changed["provenance"] = given.provenance.model_dump(exclude_none=True)
    if Clearable.PROVENANCE in given.clear:
        changed["provenance"] = None
    if current.status == LifecycleStatus.ARCHIVED and given.lifecycle_status is LifecycleStatus.ACTIVE:
        changed |= {"archived_at": None, "archived_at_cycle": None}
    return changed


def _retire(reader: Reader, thought_id: str) -> ChangeSet:
    """The thought (its edges go with it) and its actions."""
    actions = reader.find(Query(collections=(ACTIONS.id,), where=Compare("attributes.source_thought_id", "=", thought_id)))
    changes = [Retire(thought_ref(thought_id), "delete_thought", missing_ok=True)]
    changes += [Retire(Ref(ACTIONS.id, action.id), "delete_thought", missing_ok=True) for action in actions.items]
    return ChangeSet(tuple(changes))


def _stored(memory: Memory) -> StoredFields:
    return StoredFields(
        thought_id=memory.id,
        essence=memory.title,
        thought_type=memory.kind,
        priority=f"P{memory.priority}",
        lifecycle_status=memory.status,
    )


def _ignored(given: StoreThought, found: Memory) -> list[str]:
    """Arguments that a confirmation dropped although they differ from the existing thought."""
    held: dict[str, Any] = {
        "essence": found.title,
        "thought_type": found.kind,
        "priority": Priority(f"P{found.priority}"),
        "source": found.origin,
        "confidence": found.confidence,
        "thought_id": found.id,
        "valid_from": found.valid_from,
        "valid_until": found.valid_until,
        "expires_at": found.expires_at,
        "metadata": dict(found.metadata),
        "visibility": found.attributes.get("visibility"),
        "pinned": found.pinned,
        "provenance": found.attributes.get("provenance"),
    }
    dropped = given.model_dump(include=given.model_fields_set & held.keys(), exclude_none=True)
    return [name for name, value in dropped.items() if value != held[name]]

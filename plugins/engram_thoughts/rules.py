"""The rules of a write that need the store: the thought exists, the move is open, the interval is not inverted."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from engram_kernel.arguments import refused
from engram_kernel.call import Call
from engram_kernel.errors import EngramError, InvalidInput, NotFound, StaleRevision
from engram_kernel.model import Memory
from engram_kernel.store import Reader
from engram_kernel.times import format_time
from engram_thoughts import messages
from engram_thoughts.messages import fault
from engram_thoughts.records import thought_ref
from engram_thoughts.vocabulary import MOVES, LifecycleStatus

UNKNOWN = {"kind": "thought"}
"""Data that tells a thought which was not there when the call began from one deleted while it ran."""


def existing(reader: Reader, thought_id: str) -> Memory:
    """Raises NotFound."""
    (found,) = reader.get([thought_ref(thought_id)])
    if found is None:
        raise fault(NotFound, messages.UNKNOWN_THOUGHT, {**UNKNOWN, "id": thought_id}, id=thought_id)
    return found


def latest(call: Call, thought_id: str, written: Memory | None = None) -> Memory:
    """The thought as it is now; when another writer has deleted it since, as it was last."""
    (found,) = call.store.get([thought_ref(thought_id)])
    if found is not None:
        return found
    revisions = call.store.history(thought_ref(thought_id))
    return revisions[-1] if revisions or written is None else replace(written, id=thought_id)


def check_interval(start: datetime | None, end: datetime | None) -> None:
    """Raises InvalidInput for a valid time that ends before it starts; an empty interval is allowed."""
    if start and end and end < start:
        raise refused({"valid_until": messages.INVERTED.format(start=format_time(start))})


def check_move(current: Memory, wanted: LifecycleStatus | None) -> None:
    """Raises InvalidInput listing the moves that are open."""
    allowed = MOVES.get(current.status, ())
    if wanted is not None and wanted not in allowed:
        fields = {"lifecycle_status": f"cannot become {wanted.value}"}
        data = {"fields": fields, "current": current.status, "open": [status.value for status in allowed]}
        words = {"id": current.id, "current": current.status, "wanted": wanted.value, "open": ", ".join(allowed)}
        raise fault(InvalidInput, messages.BAD_MOVE, data, **words)


def conflict(thought_id: str, error: EngramError) -> StaleRevision:
    """Another writer was faster."""
    known = [f"{name} revision {error.data[name]}" for name in ("expected", "current") if error.data.get(name) is not None]
    detail = f" ({', '.join(known)})" if known else ""
    return fault(StaleRevision, messages.CONFLICT, error.data, id=thought_id, detail=detail)

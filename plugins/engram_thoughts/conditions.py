"""Conditions that several tools share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_kernel.query import And, Compare, Condition, IsNull, Not, Or
from engram_thoughts.vocabulary import LifecycleStatus, Priority, ThoughtType


def not_expired(moment: datetime) -> Condition:
    """Expired means `expires_at <= moment`."""
    return Or((IsNull("expires_at"), Compare("expires_at", ">", moment)))


def not_ended(moment: datetime) -> Condition:
    """Whose valid time has not ended; one that has not begun yet counts as not ended."""
    return Or((IsNull("valid_until"), Compare("valid_until", ">", moment)))


def active_reflection() -> Condition:
    """No reflection at all, or one that is ACTIVE."""
    return Or((Not(is_reflection()), Compare("status", "=", LifecycleStatus.ACTIVE.value)))


def is_reflection() -> Condition:
    return Compare("kind", "=", ThoughtType.REFLECTION.value)


def filtered_by(thought_type: ThoughtType | None, status: LifecycleStatus | None, priority: Priority | None) -> list[Condition]:
    """The three structured filters."""
    found: list[Condition] = []
    if thought_type is not None:
        found.append(Compare("kind", "=", thought_type.value))
    if status is not None:
        found.append(Compare("status", "=", status.value))
    if priority is not None:
        found.append(Compare("priority", "=", priority.number))
    return found


def all_of(conditions: Sequence[Condition]) -> Condition | None:
    """None when there is nothing to ask."""
    return And(tuple(conditions)) if conditions else None

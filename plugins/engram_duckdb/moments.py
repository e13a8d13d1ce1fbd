"""Moments as whole microseconds since 1970 in UTC, the form the store keeps in memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

NONE = -(2**63)
"""Stands for "no value" in every integer column."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime | None) -> int | None:
    """A value without a zone is read as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def from_micros(value: int | None) -> datetime | None:
    return None if value is None or value == NONE else _EPOCH + timedelta(microseconds=int(value))


def column_value(micros: int | None) -> datetime | None:
    """The naive UTC datetime that DuckDB stores in a timestamp column."""
    return None if micros is None else (_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None)


def utc(moment: datetime | None) -> datetime | None:
    """The same moment, aware, in UTC."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)

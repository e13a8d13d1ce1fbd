"""The one rule for moments: stored in UTC, a value without a zone is read as UTC, intervals are half-open."""

from __future__ import annotations

from datetime import UTC, datetime

from engram_kernel.errors import InvalidInput


def now() -> datetime:
    """The current moment, aware, in UTC."""
    return datetime.now(UTC)


def parse_time(text: str, field: str = "time") -> datetime:
    """Read any ISO 8601 form (date, blank or `T`, basic, week date, with or without offset) as an aware UTC moment.

    Raises InvalidInput naming `field`.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{field}: {text[:80]!r} is not an ISO 8601 time between the years 1 and 9999.",
            next_step="Use a form like 2026-01-31 or 2026-01-31T12:00:00+00:00.",
            data={"fields": {field: "not an ISO 8601 time"}},
        ) from error


def format_time(moment: datetime) -> str:
    """Canonical text `YYYY-MM-DDTHH:MM:SS[.ffffff]+00:00`, so that text order equals time order within a precision."""
    return moment.astimezone(UTC).isoformat()

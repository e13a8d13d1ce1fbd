"""Dates that a question names: `8 May 2023`, `May 8th`, `May 2023`, `2023-05-08`, `2023`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december")
SLACK_DAYS = 3
"""A memory recorded so near to a named day probably speaks of it."""

_NAMED = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTH = re.compile(rf"(?:\b{_DAY}\s+(?:of\s+)?)?\b({_NAMED})\b\.?(?:\s+{_DAY}\b)?(?:,?\s+(\d{{4}})\b)?", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_VERB = re.compile(r"\b(?:may|march|mar|dec|sept?|jan)\b")
"""Words that are a month only with a capital letter or a number."""


@dataclass(frozen=True, slots=True)
class Named:
    """A date as far as it was named; None fits everything."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def fits(self, moment: datetime) -> bool:
        if self.year not in (None, moment.year) or self.month not in (None, moment.month):
            return False
        return self.day is None or abs(self.day - moment.day) <= SLACK_DAYS


def dates_in(text: str) -> list[Named]:
    """Every date in the text; a bare year only where nothing more exact is named."""
    exact = [*_iso(text), *_months(text)]
    return exact or [Named(int(year)) for year in _YEAR.findall(text)]


def _iso(text: str) -> Iterator[Named]:
    for year, month, day in _ISO.findall(text):
        if 1 <= int(month) <= 12:
            yield Named(int(year), int(month), int(day) if day else None)


def _months(text: str) -> Iterator[Named]:
    for match in _MONTH.finditer(text):
        before, name, after, year = match.groups()
        if (before or after or year) is None and _VERB.fullmatch(name):
            continue
        month = next(number for number, full in enumerate(MONTHS, 1) if full.startswith(name[:3].lower()))
        day = before or after
        yield Named(int(year) if year else None, month, int(day) if day else None)

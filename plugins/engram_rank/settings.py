"""The plugin's settings as one typed record; the manifest says what each means and where it may lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Field names are the setting names of the manifest. The values are measured: see docs/explanation/ranking.md."""

    half_life_seconds: float = 604_800.0
    neighbour_words: float = 0.4
    neighbour_score: float = 0.15
    session: float = 0.3
    person: float = 0.2
    date: float = 0.1
    weak_below: float = 0.2
    weak_below_alone: float = 0.15
    fits_alone: float = 0.35

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        known = {field.name for field in fields(cls)}
        return cls(**{name: float(value) for name, value in values.items() if name in known})

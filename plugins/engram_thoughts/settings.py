"""The plugin's settings, checked against the manifest by the kernel, as one typed record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Settings:
    """Field names are the setting names of the manifest; the values here are only for tests without a manifest."""

    default_ttl_seconds: float | None = None
    access_counting: bool = True
    metrics: bool = True
    result_bytes: int = 100_000
    weight_lexical: float = 0.595
    weight_vector: float = 0.255
    weight_recency: float = 0.10
    weight_priority: float = 0.05
    weight_graph: float = 0.0
    reflection_share: float = 0.3
    expansion: bool = True
    context: bool = True

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def weights(self) -> dict[str, float]:
        """Signal name to weight; `context` is a switch."""
        names = ("lexical", "vector", "recency", "priority", "graph")
        return {name: float(getattr(self, f"weight_{name}")) for name in names} | {"context": float(self.context)}

"""The plugin's settings, and what makes two of them produce different vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from engram_embed.windows import RULES


@dataclass(frozen=True, slots=True)
class Settings:
    """See `engram-plugin.yaml` for each field."""

    provider: str = "builtin"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    query_prefix: str = ""
    document_prefix: str = ""
    batch_size: int = 32
    cache: int = 1000
    timeout_seconds: float = 60.0
    query_timeout_seconds: float = 5.0

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Settings:
        return cls(**{field.name: values[field.name] for field in fields(cls) if values.get(field.name) is not None})

    @property
    def label(self) -> str:
        """Provider, model and the rules for windows, in one readable word."""
        return "/".join(part for part in (self.provider, self.model, f"w{RULES}") if part)

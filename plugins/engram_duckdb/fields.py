"""What conditions may name: the fields of memories and edges, their kinds and their SQL columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from engram_duckdb.columns import Kind
from engram_duckdb.heads import EDGE_FIELDS, MEMORY_FIELDS
from engram_duckdb.moments import to_micros
from engram_kernel.arguments import refused
from engram_kernel.query import Target
from engram_kernel.times import format_time, parse_time

_DOCUMENTS = ("metadata.", "attributes.")

_MEMORY_SQL: Mapping[str, str] = {
    **{name: f"r.{name}" for name in MEMORY_FIELDS},
    "collection": "m.collection",
    "created_at": "m.created_at",
    "number": "r.mid",
    "revision": "r.rev",
    "id": "m.id",
    "text": "c.text",
    "title": "c.title",
    "content_hash": "c.hash",
    "superseded_by": "r.superseded_by",
}
_EDGE_SQL: Mapping[str, str] = {
    **{name: f"r.{name}" for name in EDGE_FIELDS},
    "number": "r.eid",
    "revision": "r.rev",
    "id": "r.id",
    "source": "s.id",
    "target": "t.id",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: how it is compared, its SQL expression, and the key inside a document, if it is a path."""

    name: str
    kind: Kind
    sql: str
    key: str | None = None

    @property
    def numeric(self) -> bool:
        return self.kind in (Kind.INT, Kind.FLOAT, Kind.FLAG)


def field_of(name: str, target: Target) -> Field:
    """Raises InvalidInput for a field that does not exist."""
    columns, kinds = (_MEMORY_SQL, MEMORY_FIELDS) if target is Target.MEMORY else (_EDGE_SQL, EDGE_FIELDS)
    if name in columns:
        return Field(name, kinds.get(name, Kind.WORD), columns[name])
    for prefix in _DOCUMENTS:
        if name.startswith(prefix) and len(name) > len(prefix):
            return Field(name, Kind.WORD, f"r.{prefix[:-1]}", name[len(prefix) :])
    raise refused({name: f"is not a field of {'memories' if target is Target.MEMORY else 'edges'}"})


def pointer(key: str) -> str:
    """The JSON pointer of one key; a dot in it is part of the name."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def operand(field: Field, value: Any) -> Any:
    """The operand in the form of the field: microseconds for times, numbers for flags. Raises InvalidInput."""
    if isinstance(value, float) and value != value:  # noqa: PLR0124
        raise refused({field.name: "cannot be compared with NaN"})
    if field.kind is Kind.TIME:
        return _moment(field, value)
    if isinstance(value, datetime):
        return format_time(value if value.tzinfo else value.replace(tzinfo=UTC))
    return value


def _moment(field: Field, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = parse_time(value, field.name)
    if not isinstance(value, datetime):
        raise refused({field.name: "is a time and can only be compared with a time"})
    return to_micros(value)


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)

"""The stated size of a result: records are cut at their borders, and the answer says where to go on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

R = TypeVar("R")


def fit(records: Iterable[R], budget: int) -> list[R]:
    """The first records whose JSON stays within `budget` bytes; at least one, so that a reader always gets on.

    Records past the budget are not even asked for.
    """
    kept: list[R] = []
    used = 0
    for record in records:
        used += _size(record)
        if kept and used > budget:
            break
        kept.append(record)
    return kept


def _size(record: Any) -> int:
    if isinstance(record, BaseModel):
        return len(record.__pydantic_serializer__.to_json(record))
    return len(json.dumps(record, ensure_ascii=False).encode())


def next_offset(offset: int, shown: int, total: int) -> int | None:
    """Where the next page starts; None at the end."""
    end = offset + shown
    return end if end < total else None

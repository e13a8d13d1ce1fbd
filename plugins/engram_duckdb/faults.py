"""The seam through which tests make the storage fail at a chosen step; it does nothing otherwise."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

Step: TypeAlias = Literal["write", "commit", "committed", "checkpoint"]


class Faults(Protocol):
    """Called before each step; may raise what DuckDB would raise there."""

    def __call__(self, step: Step) -> None: ...


def none(step: Step) -> None:
    """No fault."""

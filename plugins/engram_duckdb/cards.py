"""The low-volume records (collections, sources, obligations, proposals) to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from engram_kernel.model import Card, Collection, Obligation, Proposal, Source, Tier
from engram_kernel.times import format_time, parse_time

CLASSES: Mapping[str, type[Any]] = {"collection": Collection, "source": Source, "obligation": Obligation, "proposal": Proposal}
_TIMES = {"expires_at", "effective_at"}


def kind_of(card_class: type[Any]) -> str:
    return card_class.__name__.lower()


def home(kind: str, collection: str, card_id: str) -> str:
    """A collection is its own home, whatever the caller says."""
    return card_id if kind == "collection" else collection


def write(card: Card) -> dict[str, Any]:
    cells = {field.name: getattr(card, field.name) for field in fields(card)}
    return {name: format_time(value) if isinstance(value, datetime) else value for name, value in cells.items()}


def read(kind: str, body: Mapping[str, Any]) -> Card:
    """Raises KeyError, TypeError or ValueError for a body that is not such a record."""
    cells: dict[str, Any] = {name: parse_time(value) if name in _TIMES and value is not None else value for name, value in body.items()}
    if kind == "collection":
        cells["tier"] = Tier(cells["tier"])
    card: Card = CLASSES[kind](**cells)
    return card

"""How far the store has been embedded, kept on disk: every memory up to `sequence` has its vector of `model`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from engram_embed.files import replace_file
from engram_kernel.store import Store

FILE = "progress.json"


class Progress(BaseModel):
    """`anchor` is the hash of the event with that sequence number, which identifies the store and its history."""

    model_config = ConfigDict(frozen=True)

    model: str = ""
    sequence: int = 0
    anchor: str = ""


def read(folder: Path, store: Store, model: str) -> Progress:
    """The progress with this model in this store; from the beginning when there is none, or it is of another."""
    try:
        found = Progress.model_validate_json((folder / FILE).read_bytes())
    except (OSError, ValidationError):
        return Progress(model=model)
    known = found.model == model and found.sequence <= store.sequence() and found.anchor == anchor(store, found.sequence)
    return found if known else Progress(model=model)


def save(folder: Path, store: Store, model: str, sequence: int) -> None:
    """Raises OSError."""
    replace_file(folder / FILE, Progress(model=model, sequence=sequence, anchor=anchor(store, sequence)).model_dump_json())


def anchor(store: Store, sequence: int) -> str:
    """The hash of the event with this sequence number."""
    events = store.events(sequence - 1, 1) if sequence else []
    return events[0].hash if events and events[0].sequence == sequence else ""

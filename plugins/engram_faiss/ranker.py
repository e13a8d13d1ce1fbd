"""The `vector` signal: cosine similarity to the best window of each memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engram_faiss.arrays import Floats
from engram_faiss.keeper import Keeper, Pace
from engram_kernel.errors import Busy
from engram_kernel.retrieval import Candidate, Embedder
from engram_kernel.store import Selection, Store

EXACT_VECTORS = 20_000


class VectorRanker:
    """A `Ranker`. May be called from any thread."""

    name = "vector"

    def __init__(
        self, store: Store, embedder: Embedder, folder: Path, exact_vectors: int = EXACT_VECTORS, pace: Pace | None = None
    ) -> None:
        self._embedder = embedder
        self._keeper = Keeper(store, embedder, folder, exact_vectors, pace or Pace())
        self._keeper.start()

    def rank(self, text: str, selection: Selection, depth: int) -> Sequence[Candidate] | None:
        """The best `depth` members of `selection`, best first, equals by number; a score is max(0, cosine).

        None while the model or the index cannot be had: it loads, its provider is down, or it changes.
        """
        if not text.strip() or depth < 1 or not len(selection):
            return []
        self._keeper.prepare()
        try:
            (data,) = self._embedder.embed([text], query=True)
        except Busy:
            return None
        index = self._keeper.index(self._embedder.model)
        if index is None or len(data) % (4 * index.dimension):
            return None
        found = index.search(_direction(data, index.dimension), selection, depth)
        return [
            Candidate(number, score, f"similarity {score:.2f}")
            for number, score in zip(found.numbers.tolist(), np.round(found.scores.astype(float), 6).tolist(), strict=True)
        ]

    def health(self) -> dict[str, str]:
        """Short facts for an operator."""
        return self._keeper.health()

    def close(self) -> None:
        """Save the index and stop the background work; call it before the store closes."""
        self._keeper.close()


def _direction(data: bytes, dimension: int) -> Floats:
    """The query's vector; the mean of its windows when there are several."""
    vector: Floats = np.frombuffer(data, "<f4").reshape(-1, dimension).mean(axis=0, dtype=np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-12)

"""The `Embedder`: windows, prefixes, batches and the memory of recent queries around one model."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Event, Lock

import numpy as np

from engram_embed.model import Model
from engram_embed.providers import Vectors
from engram_embed.settings import Settings
from engram_embed.windows import windows
from engram_kernel.errors import Busy

QUERY_CHARACTERS = 1_000
"""Longer queries are embedded by their beginning."""
FIRST_QUERY_SECONDS = 4.0
"""Longest wait of a query for a model that is loading."""
COURTESY_SECONDS = 0.25
"""Longest wait of a batch of memories for the queries that are being embedded."""


class WindowEmbedder:
    """See `engram_kernel.retrieval.Embedder`. May be called from any thread; queries go before memories."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings, self._model = settings, model
        self._cache = QueryCache(settings.cache)
        self._queue = _Precedence()
        self._stopped = Event()

    @property
    def model(self) -> str:
        """ "" until the model behind the provider is known; `embed` finds it out."""
        return self._model.name

    @property
    def dimension(self) -> int:
        return self._model.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Sequence[bytes]:
        """Raises Busy while the model is not available, and InvalidInput when the provider refuses the texts."""
        if query:
            return [self._query(text) for text in texts]
        if not texts:
            return []
        prefix = self._settings.document_prefix
        cut = [[prefix + part for part in windows(readable(text))] for text in texts]
        vectors = self._documents([part for parts in cut for part in parts])
        ends = np.cumsum([len(parts) for parts in cut])
        return [block.tobytes() for block in np.split(vectors, ends[:-1])]

    def _documents(self, texts: Sequence[str]) -> Vectors:
        blocks: list[Vectors] = []
        done = 0
        while done < len(texts):
            if self._stopped.is_set():
                raise Busy("The owner is stopping.")
            self._queue.let_queries_pass()
            batch = texts[done : done + self._model.at_once]
            blocks.append(self._model.encode(batch, query=False))
            done += len(batch)
        return np.concatenate(blocks).astype("<f4")

    def _query(self, text: str) -> bytes:
        key = readable(text)[:QUERY_CHARACTERS]
        known = self._cache.get(self.model, key)
        if known is not None:
            return known
        # The first question after a start waits for the model: without it, "nothing fits" would be said too early.
        self._model.settle(FIRST_QUERY_SECONDS)
        with self._queue.query():
            vectors = self._model.encode([self._settings.query_prefix + key], query=True)
        vector: bytes = vectors.astype("<f4").tobytes()
        self._cache.put(self.model, key, vector)
        return vector

    def close(self) -> None:
        """Let a running batch of memories end early."""
        self._stopped.set()


class QueryCache:
    """The vectors of the latest queries, oldest use first out."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, Lock()
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def get(self, model: str, text: str) -> bytes | None:
        with self._lock:
            found = self._kept.get((model, text))
            if found is not None:
                self._kept.move_to_end((model, text))
            return found

    def put(self, model: str, text: str, vector: bytes) -> None:
        with self._lock:
            self._kept[model, text] = vector
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)


class _Precedence:
    """Memories wait a moment while a query is being embedded."""

    def __init__(self) -> None:
        self._queries = 0
        self._changed = Condition()

    @contextmanager
    def query(self) -> Iterator[None]:
        with self._changed:
            self._queries += 1
        try:
            yield
        finally:
            with self._changed:
                self._queries -= 1
                self._changed.notify_all()

    def let_queries_pass(self) -> None:
        time.sleep(0.001)  # any other thread may go first
        with self._changed:
            self._changed.wait_for(lambda: not self._queries, COURTESY_SECONDS)


def readable(text: str) -> str:
    """Without unpaired surrogates and NUL, which no tokenizer takes."""
    clean = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return clean.replace("\x00", " ")

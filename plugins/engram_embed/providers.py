"""What a provider of vectors must do, how it fails, and which ones there are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engram_embed.settings import Settings

Vectors: TypeAlias = NDArray[np.float32]


class Unreachable(Exception):
    """The provider cannot be reached now; the same call may succeed later."""


class Refused(Exception):
    """The provider does not take these texts; others may work."""


class Unusable(Exception):
    """The provider cannot work until a person acts; the text says what to do."""


class Provider(Protocol):
    """Turns texts into vectors. Called from several threads at once."""

    def encode(self, texts: Sequence[str], *, query: bool) -> Any:
        """An array or nested sequence of shape (texts, dimension), of any length, not necessarily normalised.

        `query` marks a call that a person waits for. Raises Unreachable, Refused or Unusable.
        """
        ...


PROVIDERS: Mapping[str, str] = {
    "builtin": "engram_embed.builtin:BuiltIn",
    "openai-compatible": "engram_embed.servers:OpenAiCompatible",
    "ollama": "engram_embed.servers:Ollama",
    "sentence-transformers": "engram_embed.local:SentenceTransformers",
    "model2vec": "engram_embed.local:Model2Vec",
    "onnx-folder": "engram_embed.local:OnnxFolder",
}
"""Provider name to `module:factory`; a factory takes the Settings and returns a Provider, or a function of texts."""


def open_provider(settings: Settings) -> Provider:
    """Import and build the provider of these settings. Raises Unusable."""
    place = PROVIDERS.get(settings.provider, settings.provider)
    module, colon, name = place.partition(":")
    if not colon:
        raise Unusable(f"There is no embedding provider {settings.provider!r}. Use one of {', '.join(PROVIDERS)}, none, or module:factory.")
    try:
        factory: Callable[[Settings], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Unusable(f"The embedding provider {place} cannot be imported: {error}.") from error
    made = factory(settings)
    return made if hasattr(made, "encode") else _Function(made)


class _Function:
    """A plain function of texts as a provider."""

    def __init__(self, function: Callable[[Sequence[str]], Any]) -> None:
        self._function = function

    def encode(self, texts: Sequence[str], *, query: bool) -> Any:
        return self._function(list(texts))


def unit_vectors(answer: Any, count: int) -> Vectors:
    """The provider's answer as rows of length 1. Raises Unusable for one that is not `count` vectors of finite numbers."""
    try:
        vectors = np.array(answer, np.float32)
    except (TypeError, ValueError) as error:
        raise Unusable(f"The embedding provider answered with something else than vectors: {error}.") from error
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        raise Unusable(f"The embedding provider answered {count} texts with numbers of shape {vectors.shape}, or with some that are none.")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: Vectors = np.divide(vectors, lengths, dtype=np.float32)
    return unit

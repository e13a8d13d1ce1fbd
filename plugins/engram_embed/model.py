"""The model behind a door: loaded in a thread of its own at the first need, closed for a while after each failure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import Literal, TypeAlias

import structlog

from engram_embed import builtin
from engram_embed.identity import Identities, Identity
from engram_embed.providers import Provider, Refused, Unreachable, Unusable, Vectors, open_provider, unit_vectors
from engram_embed.settings import Settings
from engram_embed.windows import RULES
from engram_kernel.errors import Busy, InvalidInput

State: TypeAlias = Literal["not loaded", "loading", "ready", "unreachable", "unusable"]

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds until the next attempt after the first failure; it doubles with each."""
WARM_PAUSE = 60.0
"""Longest pause while the provider is merely unreachable."""


class Model:
    """`encode` never waits for a load. `name` is "" until the model behind the provider is known."""

    def __init__(self, settings: Settings, identities: Identities, make: Callable[[Settings], Provider] = open_provider) -> None:
        self._settings, self._identities, self._make = settings, identities, make
        self._label = settings.label + (f"+{settings.document_prefix}" if settings.document_prefix else "")
        self._identity = self._expected()
        self._provider: Provider | None = None
        self._changed = Condition()
        self._failures, self._retry_at = 0, 0.0
        self.state: State = "not loaded"
        self.trouble = ""
        self._log = structlog.get_logger("embed")

    def _expected(self) -> Identity | None:
        if self._settings.provider == "builtin":
            return Identity(name=builtin.name(f"w{RULES}"), dimension=builtin.DIMENSION)
        return self._identities.known(self._label)

    @property
    def name(self) -> str:
        return self._identity.name if self._identity else ""

    @property
    def dimension(self) -> int:
        """0 until it is known."""
        return self._identity.dimension if self._identity else 0

    @property
    def at_once(self) -> int:
        """Texts for one call of `encode`: few enough that a waiting query gets in between."""
        most = int(getattr(self._provider, "most_at_once", self._settings.batch_size))
        return min(most, self._settings.batch_size)

    def need(self) -> None:
        """Start loading unless it is loaded, loading, or has failed too short a time ago."""
        with self._changed:
            if self.state in ("ready", "loading", "unusable") or time.monotonic() < self._retry_at:
                return
            self.state = "loading"
        Thread(target=self._load, name="embedding-model", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Start loading if need be, and wait; whether the model is ready."""
        self.need()
        with self._changed:
            return self._changed.wait_for(lambda: self.state == "ready", seconds)

    def settle(self, seconds: float) -> None:
        """Start loading if need be, and wait until it has succeeded or failed."""
        self.need()
        with self._changed:
            self._changed.wait_for(lambda: self.state != "loading", seconds)

    @property
    def pause(self) -> float:
        """Seconds until the next attempt makes sense."""
        return max(0.0, self._retry_at - time.monotonic())

    def encode(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Unit vectors of shape (texts, dimension). Raises Busy, and InvalidInput for texts the provider refuses."""
        self.need()
        provider = self._provider
        if provider is None:
            raise Busy(self._explain())
        try:
            vectors = unit_vectors(provider.encode(texts, query=query), len(texts))
        except Refused as error:
            raise InvalidInput(str(error)) from error
        except Exception as error:
            self._fail(error)
            raise Busy(self._explain()) from error
        if vectors.shape[1] != self.dimension:
            self._fail(Unreachable(f"The embedding model answers with {vectors.shape[1]} numbers now, not {self.dimension}."))
            raise Busy(self._explain())
        self._failures = 0
        return vectors

    def _explain(self) -> str:
        return self.trouble or "The embedding model is still loading."

    def _load(self) -> None:
        started = time.monotonic()
        try:
            provider = self._make(self._settings)
            probe = unit_vectors(provider.encode([self._settings.document_prefix + builtin.PROBE], query=False), 1)[0]
            if self._settings.provider != "builtin":
                self._settle(probe)
        except Exception as error:
            self._fail(error)
        else:
            self._become_ready(provider)
            self._log.info("embedding model ready", model=self.name, seconds=round(time.monotonic() - started, 2))

    def _settle(self, probe: Vectors) -> None:
        found = self._identities.settle(self._label, probe)
        if self._identity is not None and found.name != self._identity.name:
            self._log.warning("the embedding model has changed", before=self._identity.name, now=found.name)
        self._identity = found

    def _become_ready(self, provider: Provider) -> None:
        with self._changed:
            self._provider, self.state, self.trouble, self._failures = provider, "ready", "", 0
            self._changed.notify_all()

    def _fail(self, error: Exception) -> None:
        """Close the door; after a pause the provider is opened, and its model recognised, again."""
        lasting = not isinstance(error, Unreachable)
        with self._changed:
            self._provider = None
            never_worked = isinstance(error, Unusable) and self.state == "loading"
            self.state = "unusable" if never_worked else "unreachable"
            self.trouble = str(error) if isinstance(error, Unreachable | Unusable) else f"The embedding provider failed: {error!r}."
            pause = min(FIRST_PAUSE * 2.0 ** min(self._failures, 16), LONGEST_PAUSE if lasting else WARM_PAUSE)
            self._failures += 1
            self._retry_at = time.monotonic() + pause
            self._changed.notify_all()
        self._log.warning("no embeddings for now", reason=self.trouble, state=self.state, next_attempt=round(pause, 1))

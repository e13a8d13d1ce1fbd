"""The parts of the plugin that run for one store."""

from __future__ import annotations

from pathlib import Path

from engram_embed.embedder import WindowEmbedder
from engram_embed.identity import Identities
from engram_embed.model import Model
from engram_embed.settings import Settings
from engram_embed.worker import Pace, Worker
from engram_kernel.store import Store


class Running(WindowEmbedder):
    """The embedder of a store together with the worker that embeds what is written to it."""

    def __init__(self, settings: Settings, store: Store, folder: Path, pace: Pace | None = None) -> None:
        self.inner = Model(settings, Identities(folder))
        super().__init__(settings, self.inner)
        self.worker = Worker(store, self, self.inner, folder, pace)
        self.worker.start()

    def close(self) -> None:
        super().close()
        self.worker.close()

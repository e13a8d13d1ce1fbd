"""Hook implementations of the vector search plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from engram_kernel.hookspecs import hookimpl
from engram_kernel.plugins import PluginContext
from engram_kernel.retrieval import Ranker, Scorer
from engram_kernel.services import Check, Finding

if TYPE_CHECKING:
    from engram_faiss.ranker import VectorRanker

_rankers: WeakValueDictionary[Path, VectorRanker] = WeakValueDictionary()
"""The ranker of each data folder, for the health check of the same kernel."""


@hookimpl
def engram_register_rankers(register: Callable[[Ranker | Scorer], None], context: PluginContext) -> None:
    if context.embedder is None:
        return
    from engram_faiss.keeper import Pace  # numpy is imported only where there is something to search
    from engram_faiss.ranker import VectorRanker

    settings = context.settings
    pace = Pace(int(settings["flush_vectors"]), float(settings["idle_seconds"]))
    ranker = VectorRanker(context.store, context.embedder, context.index_folder, int(settings["exact_vectors"]), pace)
    _rankers[context.folder] = ranker
    register(ranker)


@hookimpl
def engram_register_checks(register: Callable[[Check], None], context: PluginContext) -> None:
    folder = context.folder
    register(Check("vector index", lambda: _findings(_rankers.get(folder))))


def _findings(ranker: VectorRanker | None) -> list[Finding]:
    if ranker is None:
        return [Finding("ok", "There is no embedder, so there is no vector index; search uses words only.")]
    facts = ranker.health()
    text = "; ".join(f"{name}: {value}" for name, value in facts.items())
    if "trouble" in facts:
        return [Finding("warning", text, "Check the free space and the permissions of the data folder; the memories themselves are safe.")]
    return [Finding("ok", text)]

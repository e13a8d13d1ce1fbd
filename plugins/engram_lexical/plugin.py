"""Hook implementations of the lexical search plugin."""

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
    from engram_lexical.ranker import LexicalRanker

_rankers: WeakValueDictionary[Path, LexicalRanker] = WeakValueDictionary()
"""The ranker of each data folder, for the health check of the same kernel."""


@hookimpl
def engram_register_rankers(register: Callable[[Ranker | Scorer], None], context: PluginContext) -> None:
    from engram_lexical.keeper import Pace  # numpy is imported only where an index is opened
    from engram_lexical.ranker import LexicalRanker

    settings = context.settings
    pace = Pace(int(settings["flush_documents"]), float(settings["idle_seconds"]))
    ranker = LexicalRanker(context.store, context.index_folder, pace)
    _rankers[context.folder] = ranker
    register(ranker)


@hookimpl
def engram_register_checks(register: Callable[[Check], None], context: PluginContext) -> None:
    folder = context.folder
    register(Check("lexical index", lambda: _findings(_rankers.get(folder))))


def _findings(ranker: LexicalRanker | None) -> list[Finding]:
    if ranker is None:
        return [Finding("error", "The lexical index is not running.", "Look for an error of the plugin in the log.")]
    facts = ranker.health()
    text = "; ".join(f"{name}: {value}" for name, value in facts.items())
    if "trouble" in facts:
        return [Finding("warning", text, "Check the free space and the permissions of the data folder; the memories themselves are safe.")]
    return [Finding("ok", text)]

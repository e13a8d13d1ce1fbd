"""Hook implementations of the ranking plugin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engram_kernel.hookspecs import hookimpl
from engram_kernel.plugins import PluginContext
from engram_kernel.retrieval import Guard, Ranker, Retriever, Scorer
from engram_rank.pipeline import WeightedSum
from engram_rank.scorers import Graph, Priority, Recency
from engram_rank.sessions import Sessions
from engram_rank.settings import Settings


@hookimpl
def engram_register_rankers(register: Callable[[Ranker | Scorer], None], context: PluginContext) -> None:
    register(Recency(float(context.settings["half_life_seconds"])))
    register(Priority())
    register(Graph(context.store))


@hookimpl
def engram_retriever(context: PluginContext, rankers: Sequence[Ranker], scorers: Sequence[Scorer], guard: Guard) -> Retriever:
    return WeightedSum(rankers, scorers, guard, Sessions(context.store.sources), Settings.read(context.settings))

"""One tool and one health check. Nothing here writes, so the manifest does not ask for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from engram_kernel.arguments import Arguments, Result
from engram_kernel.call import Call
from engram_kernel.hookspecs import hookimpl
from engram_kernel.model import Collection, Memory
from engram_kernel.plugins import PluginContext
from engram_kernel.query import Compare, Order, Page, Query
from engram_kernel.services import Check, Finding
from engram_kernel.store import Reader
from engram_kernel.times import now
from engram_kernel.tools import Tool

if TYPE_CHECKING:
    from engram_kernel.hookspecs import Surface


class StaleArguments(Arguments):
    limit: int = Field(20, ge=1, le=100, description="How many to return, the longest untouched first")


class StaleMemories(Result):
    ids: list[str] = Field(description="Ids of the stale memories")
    total: int = Field(description="How many there are in all")


def stale(store: Reader, days: int, limit: int) -> Page[Memory]:
    """What the caller may see and nobody changed for `days` days."""
    collections = tuple(collection.id for collection in store.cards(Collection))
    untouched = Compare("updated_at", "<", now() - timedelta(days=days))
    return store.find(Query(collections=collections, where=untouched, order=(Order("updated_at"),), limit=limit))


def find_stale(days: int, call: Call, arguments: StaleArguments) -> StaleMemories:
    page = stale(call.store, days, arguments.limit)
    return StaleMemories(ids=[memory.id for memory in page.items], total=page.total)


def check_stale(context: PluginContext) -> list[Finding]:
    total = stale(context.store, context.settings["days"], 1).total
    if not total:
        return [Finding("ok", "no stale memories")]
    return [Finding("warning", f"{total} stale memories", "Ask an agent to review them with find_stale.")]


@hookimpl
def engram_register_tools(register: Callable[[Surface], None], context: PluginContext) -> None:
    register(
        Tool(
            name="find_stale",
            title="Find stale memories",
            description=f"List memories that nobody changed for {context.settings['days']} days, so that they can be reviewed.",
            group="thoughts",
            profiles=frozenset({"standard"}),
            handler=partial(find_stale, context.settings["days"]),
            arguments=StaleArguments,
            result=StaleMemories,
        )
    )


@hookimpl
def engram_register_checks(register: Callable[[Check], None], context: PluginContext) -> None:
    register(Check("stale memories", partial(check_stale, context)))

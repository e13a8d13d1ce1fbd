"""Every hook of the kernel, typed. A plugin implements the ones it needs with `hookimpl`.

Each hook is called once per plugin at start, with that plugin's own `PluginContext`. What a plugin registers is called
later under guard: a failing read-side call is recorded and skipped, a failing write-side call stops the operation
with an error that names the plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import pluggy

if TYPE_CHECKING:
    from engram_kernel.approval import Approver
    from engram_kernel.model import Collection
    from engram_kernel.plugins import PluginContext
    from engram_kernel.retrieval import Embedder, Guard, Ranker, Retriever, Scorer
    from engram_kernel.services import Check, Service, Transport
    from engram_kernel.store import StoreProvider
    from engram_kernel.tools import Prompt, Resource, Tool

    Surface: TypeAlias = Tool | Resource | Prompt | Collection

hookspec = pluggy.HookspecMarker("engram")
hookimpl = pluggy.HookimplMarker("engram")


class Hooks:
    """The specifications."""

    @hookspec
    def engram_store_provider(self, context: PluginContext) -> StoreProvider | None:
        """Offer a storage engine. The first enabled plugin wins; an exception stops the start. Since 0.1."""

    @hookspec
    def engram_embedder(self, context: PluginContext) -> Embedder | None:
        """Provide the embedding model. The first enabled plugin wins; an exception leaves search without it. Since 0.1."""

    @hookspec
    def engram_register_rankers(self, register: Callable[[Ranker | Scorer], None], context: PluginContext) -> None:
        """Register retrieval signals. An exception leaves this plugin's signals out. A signal with a method `close` is
        closed before the store. Since 0.1."""

    @hookspec
    def engram_retriever(
        self, context: PluginContext, rankers: Sequence[Ranker], scorers: Sequence[Scorer], guard: Guard
    ) -> Retriever | None:
        """Provide the pipeline that fuses the signals. The first enabled plugin wins; an exception stops the start. Since 0.1."""

    @hookspec
    def engram_register_approvers(self, register: Callable[[Approver], None], context: PluginContext) -> None:
        """Register ways to get a person's decision, asked in plugin order. An exception stops the start. Since 0.1."""

    @hookspec
    def engram_register_tools(self, register: Callable[[Surface], None], context: PluginContext) -> None:
        """Register tools, resources, prompts and the collections they need. An exception drops them. Since 0.1."""

    @hookspec
    def engram_register_transports(self, register: Callable[[Transport | Service], None], context: PluginContext) -> None:
        """Register protocols of the socket and services, before the store opens; an optional `warm` imports meanwhile. Since 0.1."""

    @hookspec
    def engram_register_checks(self, register: Callable[[Check], None], context: PluginContext) -> None:
        """Register checks for `engram doctor`. An exception is reported as a failed check. Since 0.1."""

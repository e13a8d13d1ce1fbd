"""`Call`: all that a tool handler may use while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engram_kernel import approval
from engram_kernel.changes import Applied, ChangeSet, Unlink
from engram_kernel.errors import NotAllowed
from engram_kernel.retrieval import Ranking, SearchRequest
from engram_kernel.scope import Scope, ScopedReader
from engram_kernel.session import Answer, Channel, Form, Session

if TYPE_CHECKING:
    from engram_kernel.kernel import Kernel
    from engram_kernel.model import Proposal


class Call:
    """One running call. `store` answers only what the session may see; `write` is the only way to change anything.

    `reference` identifies the client's request across re-sending; each write of the call derives its own from it.
    """

    def __init__(self, kernel: Kernel, session: Session, channel: Channel, *, plugin: str, reference: str | None, resent: bool) -> None:
        self.session, self.channel, self.kernel = session, channel, kernel
        self.scope = Scope(session.tool_sets, session.consented, may_write=not session.read_only)
        self.store = ScopedReader(kernel.store, self.scope)
        self._plugin, self._reference, self._resent = plugin, reference, resent
        self._writes = 0
        self._loop = asyncio.get_running_loop()

    def write(self, build: Callable[[], ChangeSet]) -> Applied:
        """Validate and apply a change.

        `build` reads what it needs, checks the domain's rules and returns the ChangeSet. It is not called when this
        very request was applied before: a re-sent call gets the recorded result, not a second write.
        """
        self._writes += 1
        reference = f"{self._reference}#{self._writes}" if self._reference else None
        if self._resent and reference and (earlier := self.kernel.store.recorded(reference)):
            return earlier
        if not self.kernel.may_write(self._plugin):
            raise NotAllowed(f"The plugin {self._plugin!r} has not declared that it writes.")
        changes = replace(build(), reference=reference, actor=self.session.actor)
        self.scope.check(changes, self.kernel.collections())
        unlinked = [change.edge for change in changes.changes if isinstance(change, Unlink)]
        if any(self.store.edge(edge) is None and self.kernel.store.edge(edge) for edge in unlinked):
            raise NotAllowed("The change touches a collection that is not open to this session.")
        return self.kernel.store.apply(changes)

    def search(self, request: SearchRequest) -> Ranking:
        return self.kernel.retriever.search(self.store, request)

    def touch(self, numbers: list[int]) -> None:
        """Count an access to each memory, unless the session is read-only."""
        if not self.session.read_only:
            self.kernel.store.touch(numbers)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress from a worker thread; silent when the caller did not ask for it."""
        asyncio.run_coroutine_threadsafe(self.channel.progress(done, total, message), self._loop).result(5)

    async def ask(self, form: Form) -> Answer:
        return await self.channel.ask(form) if self.channel.can_ask() else Answer("unavailable", keep=form.keep)

    async def approve(self, proposal: Proposal) -> approval.Decision:
        return await approval.decide(proposal, self.kernel.approvers, self.session, self.channel)

    async def run(self, work: Callable[[], Any]) -> Any:
        """Run blocking work of an async handler in the tool threads."""
        return await self.kernel.in_thread(work)

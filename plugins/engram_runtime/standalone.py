"""`--standalone`: the owner inside the calling process, under the same lease, serving other hosts too where it can."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Any

from engram_kernel.errors import EngramError, LeaseHeld
from engram_runtime import logs, owner, wire
from engram_runtime.join import JoinError

if TYPE_CHECKING:
    from engram_runtime.pipe import Pipe


class Standalone:
    """Runs an Owner in a thread of its own and hands the pipe a socket to it."""

    def __init__(self, pipe: Pipe, config_file: str | None) -> None:
        self._pipe, self._config_file = pipe, config_file
        self._ready = threading.Event()
        self._error: Exception | None = None
        self._owner: owner.Owner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ours, self._theirs = socket.socketpair()

    def run(self) -> None:
        """Serve the host. Raises JoinError."""
        thread = threading.Thread(target=self._own, name="owner")
        thread.start()
        self._ready.wait()
        if self._error is not None:
            self._join_instead()
            return
        try:
            self._pipe.connect(wire.LineSocket(self._ours))
            self._pipe.run()
        finally:
            self._stop()
            thread.join()

    def _join_instead(self) -> None:
        """Somebody else owns the folder: be a pipe to it, or say who it is."""
        if not isinstance(self._error, LeaseHeld):
            raise JoinError(str(self._error), "failed")
        self._pipe.connect()
        self._pipe.run()

    def _own(self) -> None:
        try:
            asyncio.run(self._serve())
        except EngramError as error:
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        import os

        loaded = owner.read_config(self._config_file, os.environ)
        logs.configure(loaded.config.log.level)
        self._loop = asyncio.get_running_loop()
        self._pipe.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._owner = owner.Owner(self._pipe.folder, loaded, self._config_file, stay=True)
        await self._owner.take_lease(patience=0.5)
        try:
            await self._owner.listen()
        except OSError:
            self._owner.unreachable()
        self._owner.attach(self._theirs)
        self._ready.set()
        await self._owner.run()

    def _stop(self) -> None:
        if self._owner is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._owner.stop)


def serve(pipe: Pipe, config_file: str | None) -> None:
    """Own the store in this process for as long as the host is there. Raises JoinError."""
    Standalone(pipe, config_file).run()


__all__: list[Any] = ["Standalone", "serve"]

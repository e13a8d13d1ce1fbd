"""The owner: one process per data folder. Holds the lease and the kernel, serves every host, leaves when nobody is left."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import secrets
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import structlog

from engram_kernel import __version__, config
from engram_kernel.errors import ConfigError, EngramError, LeaseHeld
from engram_kernel.kernel import Kernel
from engram_kernel.plugins import Plugins
from engram_runtime import join, lease, logs, places, wire
from engram_runtime.connection import StreamConnection
from engram_runtime.hello import HelloRefused, read_hello, session_facts

LEASE_PATIENCE = 10.0
STAYS = 1.0
"""Seconds after which a published owner is not one that is just leaving."""
FIRST_CLIENT = 5.0
"""Seconds that a fresh owner waits for whoever started it, however short its idle time is."""
DRAIN = 10.0


class Owner:
    """Everything one owner process does. `run` returns when it is told to stop or has been idle for long enough."""

    def __init__(self, folder: Path, loaded: config.Loaded, config_file: str | None = None, *, stay: bool = False) -> None:
        self.folder, self._config_file, self._stay = folder, config_file, stay
        self._config = loaded.config
        self._lease = lease.Lease(folder)
        self._log = structlog.get_logger("owner")
        self._sessions: set[asyncio.Task[None]] = set()
        self._kinds: set[str] = set()
        self._key = secrets.token_urlsafe(24)
        self._stopping = asyncio.Event()
        self._kernel: asyncio.Future[Kernel] = asyncio.get_running_loop().create_future()
        self._idle: asyncio.TimerHandle | None = None
        self._server: asyncio.Server | None = None
        self._plugins = Plugins(trace=bool(os.environ.get("ENGRAM_TRACE_HOOKS")))

    async def take_lease(self, patience: float = LEASE_PATIENCE) -> None:
        """Wait for a leaving owner, which has withdrawn its record. Raises LeaseHeld, naming the holder, when one stays."""
        began = withdrawn = time.monotonic()
        while not self._lease.acquire():
            moment, record = time.monotonic(), lease.read_record(self.folder)
            withdrawn = moment if record is None else withdrawn
            if moment - began > patience or moment - withdrawn > STAYS:
                holder = f"process {record.pid}" if record else "another process"
                raise LeaseHeld(f"{self.folder} is owned by {holder}.", next_step="Use that one, or wait until it leaves.")
            await asyncio.sleep(0.02)

    async def listen(self, *, tcp: bool = sys.platform == "win32") -> None:
        """Open the endpoint and publish it. Raises OSError where no socket can be had."""
        if tcp:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=wire.MAX_LINE)
            endpoint = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        else:
            path = places.socket_path(self.folder)
            places.private_folder(path.parent)
            path.unlink(missing_ok=True)
            self._server = await asyncio.start_unix_server(self._accept, path, limit=wire.MAX_LINE)
            path.chmod(0o600)
            endpoint = str(path)
        self._lease.publish(lease.OwnerRecord(os.getpid(), __version__, endpoint, self._key))
        (self.folder / lease.HANDOVER).unlink(missing_ok=True)

    def unreachable(self) -> None:
        """Publish who holds the folder although no socket could be had, so that others can name us."""
        self._lease.publish(lease.OwnerRecord(os.getpid(), __version__, "", ""))

    async def run(self, services: Sequence[str] = (), options: Mapping[str, str] | None = None) -> None:
        """Serve until stopped. Raises what kept the kernel from starting, after telling every waiting client."""
        self._restart_idle(at_least=FIRST_CLIENT)
        starting = asyncio.get_running_loop().run_in_executor(None, self._start_kernel)
        try:
            self._kernel.set_result(await starting)
        except EngramError as error:
            self._kernel.set_exception(error)
            # Give those who wait for their hello's answer the time to read why.
            await asyncio.sleep(0.2)
            await self._close(None)
            raise
        gc.freeze()
        gc.enable()
        self._log.info("ready", pid=os.getpid(), version=__version__)
        running = [asyncio.create_task(self._service(name, options or {})) for name in services]
        await self._stopping.wait()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._close(self._kernel.result())

    def _start_kernel(self) -> Kernel:
        self._plugins.load(self._config.plugins.disabled, self._config.plugins.settings)
        return Kernel.start(self._config, self.folder, self._plugins, self._warm)

    def _warm(self, ways: Sequence[Any]) -> None:
        """Import what the waiting clients' protocols need beside the opening of the store, which is not Python's work."""
        for way in ways:
            if getattr(way, "kind", None) in self._kinds and hasattr(way, "warm"):
                threading.Thread(target=way.warm, name="warm", daemon=True).start()

    async def _service(self, name: str, options: Mapping[str, str]) -> None:
        kernel = await self._kernel
        if name not in kernel.services:
            raise ConfigError(f"No plugin offers the service {name!r}.")
        try:
            await kernel.services[name].run(kernel, options)
        except EngramError as error:
            self._log.error("service failed", service=name, error=str(error))
            self.stop()

    def stop(self) -> None:
        self._stopping.set()

    def session_count(self) -> int:
        return len(self._sessions)

    async def reload(self) -> None:
        """Read engram.yaml again and take over which tools are shown. Raises ConfigError."""
        kernel = await self._kernel
        fresh = read_config(self._config_file, os.environ)
        kernel.config = kernel.config.model_copy(update={"tools": fresh.config.tools})
        await kernel.tools_changed()

    def attach(self, raw: socket.socket) -> None:
        """Serve a client over a connected socket of this very process."""
        asyncio.ensure_future(self._attach(raw))  # noqa: RUF006 - kept by the session set

    async def _attach(self, raw: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=raw, limit=wire.MAX_LINE)
        await self._accept(reader, writer, trusted=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, trusted: bool = False) -> None:
        task = asyncio.current_task()
        if task is None or self._stopping.is_set() or not _is_own_user(writer):
            writer.close()
            return
        self._sessions.add(task)
        if self._idle is not None:
            self._idle.cancel()
        try:
            await self._session(reader, writer, trusted)
        except (ConnectionError, wire.WireError, ValueError, asyncio.CancelledError) as error:
            self._log.info("session ended", reason=type(error).__name__)
        except Exception:
            self._log.exception("session failed")
        finally:
            with contextlib.suppress(ConnectionError, RuntimeError):
                writer.close()
            self._sessions.discard(task)
            self._restart_idle()

    async def _session(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, trusted: bool) -> None:
        try:
            said = read_hello(await reader.readline(), None if trusted else self._key)
            self._kinds.add(str(said["kind"]))
            kernel = await asyncio.shield(self._kernel)
            facts = session_facts(said, self._config_file)
        except HelloRefused as refusal:
            if refusal.reason == "handover":
                self.hand_over(refusal.version)
            await _reply(writer, {"ok": False, "reason": refusal.reason, "text": str(refusal)})
            return
        except EngramError as error:
            await _reply(writer, {"ok": False, "reason": error.code, "text": str(error)})
            return
        transport = kernel.transports.get(str(said["kind"]))
        if transport is None:
            await _reply(writer, {"ok": False, "reason": "kind", "text": f"No enabled plugin speaks {said['kind']!r}."})
            return
        await _reply(writer, {"ok": True, "version": __version__, "pid": os.getpid()})
        await transport.serve(StreamConnection(reader, writer, {**said, **facts, "owner": self}), kernel)

    def hand_over(self, version: str, pid: int | None = None) -> None:
        """Leave for a newer client's owner, or for the process `pid`: remember it, so that no other client starts one."""
        record = {"version": version, "time": time.time(), "pid": pid}
        lease.write_private(self.folder / lease.HANDOVER, json.dumps(record))
        self._log.info("handing over", to=version, pid=pid)
        self.stop()

    def _restart_idle(self, at_least: float = 0.0) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if not self._sessions and not self._stay:
            self._idle = asyncio.get_running_loop().call_later(max(self._config.owner.idle_seconds, at_least), self.stop)

    async def _close(self, kernel: Kernel | None) -> None:
        """Stop accepting, end the sessions, close the store, release the lease last."""
        if self._server is not None:
            self._server.close()
        self._lease.withdraw()
        for task in list(self._sessions):
            task.cancel()
        if self._sessions:
            await asyncio.wait(list(self._sessions), timeout=DRAIN)
        if kernel is not None:
            await asyncio.get_running_loop().run_in_executor(None, kernel.close)
        self.release()
        self._log.info("left")

    def release(self) -> None:
        """Give the lease back, last of all and on every way out."""
        if self._server is not None and sys.platform != "win32" and self._lease.held:
            places.socket_path(self.folder).unlink(missing_ok=True)
        self._lease.release()


async def _reply(writer: asyncio.StreamWriter, answer: Mapping[str, Any]) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(json.dumps(answer).encode() + b"\n")
        await writer.drain()


def _is_own_user(writer: asyncio.StreamWriter) -> bool:
    """On Linux the kernel tells who is on the other side; elsewhere the folder's mode and the key decide."""
    raw = writer.get_extra_info("socket")
    if raw is None or raw.family != getattr(socket, "AF_UNIX", None) or not hasattr(socket, "SO_PEERCRED"):
        return True
    _, user, _ = struct.unpack("3i", raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.getuid())


def read_config(file: str | None, env: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> config.Loaded:
    """All layers for this process. Raises ConfigError."""
    chosen = places.environment(env)
    files = [(path, layer == "config") for layer, path in places.config_files(chosen, file)]
    return config.load(files, chosen, flags)


async def serve(
    folder: Path,
    config_file: str | None,
    *,
    stay: bool,
    services: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    started: Callable[[Owner], None] | None = None,
) -> None:
    """Own a folder until there is nothing left to do. Raises LeaseHeld, ConfigError, StoreUnusable."""
    loaded = read_config(config_file, os.environ)
    log_file = loaded.config.log.file
    logs.configure(loaded.config.log.level, Path(log_file).expanduser() if log_file else None)
    owner = Owner(folder, loaded, config_file, stay=stay)
    await owner.take_lease()
    try:
        await owner.listen()
        for name in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(name, owner.stop)
        if started:
            started(owner)
        await owner.run(services, options)
    finally:
        owner.release()


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m engram_runtime.owner`: what a client starts, detached."""
    parser = argparse.ArgumentParser("engram-owner")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--config")
    options = parser.parse_args(arguments)
    # Background work in Python, such as embedding, must not hold a caller up for the default 5 ms at every turn.
    sys.setswitchinterval(0.0005)
    # What is imported and loaded at the start never dies: looking for garbage in it only takes time.
    gc.disable()
    try:
        asyncio.run(serve(options.folder, options.config, stay=False))
    except LeaseHeld:
        return join.HELD
    except EngramError as error:
        sys.stderr.write(f"engram owner: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Nothing is left to clean up; tearing the interpreter down would only take time.
    os._exit(code)

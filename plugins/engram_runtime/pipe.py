"""`engram-mcp`: copies lines between a host's stdin/stdout and the owner. Standard library only.

Every line gets a number and is kept until the owner has settled it. When the owner is lost, the pipe joins or starts the
next one, repeats the handshake and sends again what was not settled, marked as such; the host notices nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import threading
import uuid
from collections.abc import Sequence
from typing import BinaryIO, NoReturn

from engram_kernel import __version__
from engram_runtime import places, wire
from engram_runtime.join import DEADLINE, JoinError, join, launch

STICKY = (b'"initialize"', b'"notifications/initialized"', b'"resources/subscribe"', b'"resources/unsubscribe"', b'"logging/setLevel"')
"""Methods whose effect lives in the owner's session and is made again in the next owner."""
LISTENING = b'"subscriptions/listen"'
LONGEST = wire.MAX_LINE - 64
LAST_ANSWERS = 3.0
TRIES = 5


class Pipe:
    """One host's session. `host_in` and `host_out` are the protocol streams."""

    def __init__(self, options: argparse.Namespace, host_in: BinaryIO, host_out: BinaryIO) -> None:
        self._in, self._out = host_in, host_out
        self._env = places.environment(os.environ)
        self._config = options.config or self._env.get("ENGRAM_CONFIG")
        self.folder = places.data_folder(self._env, options.config, options.data)
        self._flags = {name: str(value) for name, value in vars(options).items() if value not in (None, False) and name != "standalone"}
        self._session = uuid.uuid4().hex
        self._unsettled: dict[int, bytes] = {}
        self._sticky: dict[int, bytes] = {}
        self._lock = threading.Lock()
        self._settled = threading.Condition(self._lock)
        self._lines: wire.LineSocket | None = None
        self._joined = threading.Event()
        self._sent = 0
        self._closing = False

    def connect(self, lines: wire.LineSocket | None = None) -> None:
        """Join an owner, or use the given socket to one in this process. Raises JoinError."""
        if lines is None:
            lines, _ = join(self.folder, self._hello, lambda: launch(self.folder, self._config))
        else:
            answer = lines.introduce(self._hello(""))
            if not answer.get("ok"):
                raise JoinError(str(answer.get("text")), str(answer.get("reason")))
        with self._lock:
            waiting = {**self._sticky, **self._unsettled}
            for number in sorted(waiting):
                lines.send(wire.frame(number, waiting[number], again=number <= self._sent))
            self._sent = max(waiting, default=self._sent)
            if self._closing:
                lines.finish()
            self._lines = lines
        self._joined.set()

    def _hello(self, key: str) -> dict[str, object]:
        return wire.hello("mcp", session=self._session, key=key, env=self._env, flags=self._flags)

    def listen(self) -> None:
        """Start to read the host's lines; they are kept until an owner is joined."""
        threading.Thread(target=self._read_host, daemon=True).start()

    def run(self) -> None:
        """Copy the owner's lines until the host has closed its side. Raises JoinError when no owner can be had."""
        lost = 0
        while True:
            line = _receive(self._lines) if self._lines else None
            if line is not None:
                lost = 0
                self._to_host(line)
            elif self._closing:
                return
            else:
                lost += 1
                self._rejoin(lost)

    def _read_host(self) -> None:
        number = 0
        while line := self._next_line():
            number += 1
            self._to_owner(number, line.rstrip(b"\r\n"))
        self._joined.wait(DEADLINE)
        with self._settled:
            self._closing = True
            self._settled.wait_for(lambda: all(LISTENING in line for line in self._unsettled.values()), LAST_ANSWERS)
            if self._lines is not None:
                with contextlib.suppress(OSError):
                    self._lines.finish()

    def _next_line(self) -> bytes:
        """The host's next line. One too long for the wire loses its end, so that it is answered as no JSON."""
        line = self._in.readline(LONGEST)
        if len(line) < LONGEST or line.endswith(b"\n"):
            return line
        while (rest := self._in.readline(LONGEST)) and not rest.endswith(b"\n"):
            pass
        return line[:1000]

    def _to_owner(self, number: int, line: bytes) -> None:
        with self._lock:
            self._unsettled[number] = line
            if any(mark in line for mark in STICKY):
                self._sticky[number] = line
            if self._lines is not None:
                # A failed send is noticed by the reading side, which joins again and repeats the line.
                self._sent = number
                with contextlib.suppress(OSError):
                    self._lines.send(wire.frame(number, line))

    def _to_host(self, line: bytes) -> None:
        number, _, payload = wire.unframe(line)
        with self._settled:
            known = self._unsettled.pop(number, None) is not None
            self._settled.notify_all()
        # The answer to a repeated handshake is not the host's concern.
        if payload and (known or number == 0):
            self._out.write(payload + b"\n")
            self._out.flush()

    def _rejoin(self, lost: int) -> None:
        with self._lock:
            if self._lines is not None:
                self._lines.close()
            self._lines = None
        if lost > TRIES:
            raise JoinError(f"The owner ended {lost} times in a row; see {self.folder / 'owner.log'}.")
        with contextlib.suppress(OSError):
            self.connect()

    def refuse(self, text: str) -> None:
        """Answer every open request with an error, so that the host can show why we leave."""
        for line in self._unsettled.values():
            with contextlib.suppress(ValueError, AttributeError):
                if (request_id := json.loads(line).get("id")) is not None:
                    error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32603, "message": text}}
                    self._out.write(json.dumps(error).encode() + b"\n")
        self._out.flush()


def _receive(lines: wire.LineSocket) -> bytes | None:
    try:
        return lines.receive()
    except (OSError, ValueError):
        return None


def parse(arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Options and what was not understood."""
    parser = argparse.ArgumentParser("engram-mcp", description="MCP server on stdin and stdout.", allow_abbrev=False)
    parser.add_argument("--config", help="configuration file")
    parser.add_argument("--data", help="data folder")
    parser.add_argument("--profile", help="which tools to show: standard, project, graph, thoughts, all")
    parser.add_argument("--tools", help="groups or tools to show besides the profile, separated by commas")
    parser.add_argument("--read-only", action="store_true", help="offer no tool that writes")
    parser.add_argument("--always-load", action="store_true", help="ask the host to keep the main tool loaded")
    parser.add_argument("--no-elicitation", action="store_true", help="never open a dialog in the host")
    parser.add_argument("--standalone", action="store_true", help="start no process: own the store in this one")
    parser.add_argument("--version", action="version", version=__version__)
    return parser.parse_known_args(arguments)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The console script."""
    options, unknown = parse(sys.argv[1:] if arguments is None else arguments)
    if unknown:
        _say(f"ignored: {' '.join(unknown)}")
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, _: _leave(128 + number))
    host_out = os.fdopen(os.dup(1), "wb")
    # From here on nothing in this process can write to the host's stream by accident.
    os.dup2(2, 1)
    pipe = Pipe(options, sys.stdin.buffer, host_out)
    pipe.listen()
    try:
        _serve(pipe, options)
    except JoinError as error:
        _say(str(error))
        pipe.refuse(str(error))
        _leave(1)
    except BrokenPipeError:
        _leave(0)
    _leave(0)


def _serve(pipe: Pipe, options: argparse.Namespace) -> None:
    if not options.standalone:
        try:
            pipe.connect()
        except OSError as error:
            _say(f"no owner process can be started ({error}); serving from this process")
        else:
            pipe.run()
            return
    from engram_runtime.standalone import serve

    serve(pipe, options.config)


def _say(text: str) -> None:
    sys.stderr.write(f"engram-mcp: {text}\n")
    sys.stderr.flush()


def _leave(code: int) -> NoReturn:
    """End at once: a thread that waits for the host's next line cannot be joined."""
    os._exit(code)


if __name__ == "__main__":
    main()

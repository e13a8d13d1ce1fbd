"""The pipe against a scripted owner: numbering, settling, re-sending, refusing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engram_runtime import lease, pipe, wire
from engram_runtime.join import DEADLINE

INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}'


class ScriptedOwner:
    """Holds the lease of a folder and plays one script per connection."""

    def __init__(self, folder: Path, *scripts: Callable[[wire.LineSocket], None]) -> None:
        self.lease = lease.Lease(folder)
        assert self.lease.acquire()
        self.listener = socket.create_server(("127.0.0.1", 0))
        host, port = self.listener.getsockname()
        self.lease.publish(lease.OwnerRecord(os.getpid(), "0", f"{host}:{port}", "k"))
        self.hellos: list[dict[str, object]] = []
        self.thread = threading.Thread(target=self._play, args=(scripts,), daemon=True)
        self.thread.start()

    def _play(self, scripts: tuple[Callable[[wire.LineSocket], None], ...]) -> None:
        for script in scripts:
            raw, _ = self.listener.accept()
            lines = wire.LineSocket(raw)
            self.hellos.append(json.loads(lines.receive() or b"{}"))
            lines.send(b'{"ok": true}')
            script(lines)
            raw.shutdown(socket.SHUT_RDWR)
            raw.close()


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(*flags: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "ENGRAM_DATA": str(tmp_path)}
        command = [sys.executable, "-m", "engram_runtime.pipe", *flags]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def write(process: subprocess.Popen[bytes], line: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(line + b"\n")
    process.stdin.flush()


def read(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().rstrip(b"\n")


def test_lines_go_through_unchanged_and_the_end_of_input_ends_it(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]]) -> None:
    def script(lines: wire.LineSocket) -> None:
        number, _, payload = wire.unframe(lines.receive() or b"")
        lines.send(wire.frame(number, b"answer to " + payload))
        lines.send(wire.frame(0, b"a notification"))
        assert lines.receive() is None

    owner = ScriptedOwner(tmp_path, script)
    process = host("--read-only")
    write(process, "héllo \U0001f600".encode())
    assert read(process) == "answer to héllo \U0001f600".encode()
    assert read(process) == b"a notification"
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(10) == 0
    assert owner.hellos[0]["flags"] == {"read_only": "True"} and owner.hellos[0]["key"] == "k"


def test_what_was_not_settled_is_sent_again_to_the_next_owner(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]]) -> None:
    seen: list[tuple[int, bool, bytes]] = []

    def first(lines: wire.LineSocket) -> None:
        seen.append(wire.unframe(lines.receive() or b""))
        lines.send(wire.frame(1, b"init answer"))
        seen.append(wire.unframe(lines.receive() or b""))

    def second(lines: wire.LineSocket) -> None:
        for _ in range(2):
            seen.append(wire.unframe(lines.receive() or b""))
        lines.send(wire.frame(1, b"init answer, which nobody waits for"))
        lines.send(wire.frame(2, b"call answer"))
        assert lines.receive() is None

    owner = ScriptedOwner(tmp_path, first, second)
    process = host()
    write(process, INITIALIZE)
    assert read(process) == b"init answer"
    write(process, CALL)
    assert read(process) == b"call answer"
    assert seen == [(1, False, INITIALIZE), (2, False, CALL), (1, True, INITIALIZE), (2, True, CALL)]
    assert owner.hellos[0]["session"] == owner.hellos[1]["session"]


def test_a_settled_call_is_not_sent_again(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]]) -> None:
    seen: list[bytes] = []

    def first(lines: wire.LineSocket) -> None:
        lines.receive()
        lines.send(wire.frame(1, b"done"))

    def second(lines: wire.LineSocket) -> None:
        seen.append(lines.receive() or b"")
        lines.send(wire.frame(2, b"second"))
        lines.receive()

    ScriptedOwner(tmp_path, first, second)
    process = host()
    write(process, CALL)
    assert read(process) == b"done"
    write(process, CALL)
    assert read(process) == b"second"
    assert [wire.unframe(line)[0] for line in seen] == [2]


def test_a_refusal_is_told_to_the_host(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]]) -> None:
    held = lease.Lease(tmp_path)
    assert held.acquire()
    listener = socket.create_server(("127.0.0.1", 0))
    held.publish(lease.OwnerRecord(1, "0", "{}:{}".format(*listener.getsockname()), "k"))

    def refuse() -> None:
        lines = wire.LineSocket(listener.accept()[0])
        lines.receive()
        lines.send(b'{"ok": false, "reason": "config_error", "text": "engram.yaml line 3: log.levle: unknown key"}')

    threading.Thread(target=refuse, daemon=True).start()
    process = host()
    write(process, INITIALIZE)
    answer = json.loads(read(process))
    assert answer["id"] == 1 and "line 3" in answer["error"]["message"]
    assert process.wait(10) == 1
    assert process.stderr is not None and b"line 3" in process.stderr.read()


@pytest.mark.parametrize("number", [15, 2])
def test_signals_end_it_at_once(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]], number: int) -> None:
    ScriptedOwner(tmp_path, lambda lines: (lines.send(wire.frame(0, b"hello")), lines.receive())[0])
    process = host()
    assert read(process) == b"hello"
    process.send_signal(number)
    assert process.wait(5) == 128 + number


def test_unknown_flags_are_ignored_with_a_note() -> None:
    options, unknown = pipe.parse(["--always-load", "--new-flag", "x"])
    assert options.always_load and unknown == ["--new-flag", "x"]


def test_the_pipe_imports_nothing_heavy() -> None:
    heavy = ("mcp", "duckdb", "numpy", "pydantic", "yaml", "click", "asyncio")
    code = f"import engram_runtime.pipe, sys; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_an_endless_line_is_answered_and_the_next_ones_too(tmp_path: Path, host: Callable[..., subprocess.Popen[bytes]]) -> None:
    seen: list[bytes] = []

    def script(lines: wire.LineSocket) -> None:
        for _ in range(2):
            number, _, payload = wire.unframe(lines.receive() or b"")
            seen.append(payload)
            lines.send(wire.frame(number, b"answer"))
        lines.receive()

    ScriptedOwner(tmp_path, script)
    process = host()
    write(process, b'{"jsonrpc": "' + b"x" * (wire.MAX_LINE + 5_000_000))
    write(process, CALL)
    assert [read(process), read(process)] == [b"answer", b"answer"]
    assert len(seen[0]) == 1000 and seen[1] == CALL


def test_an_owner_that_cannot_start_says_why_at_once(host: Callable[..., subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_OWNER_IDLE_SECONDS", "soon")
    started = time.monotonic()
    process = host()
    write(process, INITIALIZE)
    assert "owner.idle_seconds" in json.loads(read(process))["error"]["message"]
    assert process.wait(10) == 1
    assert time.monotonic() - started < DEADLINE

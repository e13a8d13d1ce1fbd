"""`make bench`: what a host feels, measured through the real `engram-mcp` over stdio, next to the budgets.

Every figure is wall time on this machine, other programs included. The result is also written to build/bench.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import EDGES, WITHOUT_MODEL, fill, query
from rich.console import Console
from rich.table import Table

from engram_kernel import __version__
from engram_kernel.errors import EngramError
from engram_runtime import lease
from engram_runtime.cli.line_client import Host, clean_environment
from engram_runtime.client import OwnerClient

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
COLD_STARTS, WARM_STARTS = 3, 10
SEARCH_BUDGETS = {1_000: 10.0, 10_000: 15.0, 100_000: 25.0, 1_000_000: 60.0}


@dataclass
class Run:
    """The measurements of one size. Milliseconds, except `facts`."""

    size: int
    folder: Path
    model: bool = False
    samples: dict[str, list[float]] = field(default_factory=dict)
    facts: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, milliseconds: float) -> None:
        self.samples.setdefault(name, []).append(milliseconds)

    def environment(self) -> dict[str, str]:
        disabled = {} if self.model else {"ENGRAM_DISABLE_PLUGINS": ",".join(WITHOUT_MODEL)}
        return clean_environment(self.folder, ENGRAM_OWNER_IDLE_SECONDS="600", ENGRAM_PROFILE="thoughts", **disabled)


FIXED_BUDGETS = {"start, owner running": 150.0, "start, no owner": 2000.0, "store": 15.0, "get": 3.0, "list 20": 3.0, "neighbours": 3.0}


def budget(name: str, size: int) -> float | None:
    """The target for the median, in milliseconds."""
    return SEARCH_BUDGETS.get(size) if name.startswith("search") else FIXED_BUDGETS.get(name)


def measure(size: int, *, model: bool = False) -> Run:
    """Fill a store, start hosts on it, and time their calls."""
    run = Run(size, BUILD / "bench" / f"store-{size}", model)
    shutil.rmtree(run.folder, ignore_errors=True)
    run.folder.mkdir(parents=True)
    run.facts["fill_s"] = fill(run.folder, size, model=model)
    try:
        starts(run)
        with Host(run.environment(), name="bench") as host:
            host.initialize()
            calls(run, host)
            run.facts["rss_mb"] = status(run)["rss_mb"]
    finally:
        stop_owner(run)
    run.facts["disk_mb"] = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file()) / 2**20
    shutil.rmtree(run.folder, ignore_errors=True)
    return run


def starts(run: Run) -> None:
    """Cold: no owner runs. Warm: one does. The first search after a cold start includes loading the index."""
    for _ in range(COLD_STARTS):
        stop_owner(run)
        with start(run, "start, no owner") as host:
            began = time.perf_counter()
            host.call("search_memory", query_text="kalo", top_k=10)
            run.add("first search after it", 1000 * (time.perf_counter() - began))
    for _ in range(WARM_STARTS):
        start(run, "start, owner running").close()


def start(run: Run, name: str) -> Host:
    host = Host(run.environment(), name="bench")
    host.initialize()
    run.add(name, 1000 * (time.perf_counter() - host.began))
    return host


def calls(run: Run, host: Host) -> None:
    """Every kind of call, many times, one after another."""
    chance = random.Random(run.size)

    def some() -> str:
        return f"bench-{chance.randrange(run.size):07d}"

    find = "FIND thoughts WHERE priority = 'P1' AND valid_at '2026-02-01' ORDER BY thought_id LIMIT 20"
    repeated(run, host, "store", 100, lambda: ("store_thought", {"essence": query(chance), "content": query(chance) * 12}))
    repeated(run, host, "get", 300, lambda: ("get_thought", {"thought_id": some()}))
    repeated(run, host, "list 20", 100, lambda: ("list_memory", {"limit": 20}))
    repeated(run, host, "neighbours", 300, lambda: ("get_edges", {"thought_id": some()}))
    repeated(run, host, "search, keywords", 200, lambda: ("search_keywords", {"query": query(chance)}))
    repeated(run, host, "search, hybrid", 200, lambda: ("search_memory", {"query_text": query(chance)}))
    narrow = {"priority": "P1", "thought_type": "TASK"}
    repeated(run, host, "search, narrow filter", 100, lambda: ("search_memory", {"query_text": query(chance), **narrow}))
    repeated(run, host, "FIND, two conditions", 50, lambda: ("query_memory", {"query": find}))
    repeated(run, host, "FIND, all of one source", 20, lambda: ("query_memory", {"query": "FIND thoughts WHERE source = 'bench' LIMIT 20"}))


def repeated(run: Run, host: Host, name: str, times: int, make: Callable[[], tuple[str, Mapping[str, Any]]]) -> None:
    for turn in range(times + 3):
        tool, arguments = make()
        began = time.perf_counter()
        host.call(tool, **arguments)
        if turn >= 3:
            run.add(name, 1000 * (time.perf_counter() - began))


def connect(run: Run) -> OwnerClient:
    return OwnerClient.connect(run.environment(), start=False)


def status(run: Run) -> Any:
    client = connect(run)
    try:
        return client.request("status")
    finally:
        client.close()


def stop_owner(run: Run) -> None:
    """Ask the owner to leave, and wait until the lease is free."""
    try:
        client = connect(run)
        client.request("stop", {"force": True})
        client.close()
    except EngramError:
        pass
    probe = lease.Lease(run.folder)
    while not probe.acquire():
        time.sleep(0.01)
    probe.release()


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(console: Console, run: Run) -> None:
    table = Table(title=f"{run.size:,} memories, {run.size * EDGES:,} links", title_justify="left", title_style="bold", show_edge=False)
    table.add_column("")
    for heading in ("p50 ms", "p95 ms", "budget p50", "", "calls"):
        table.add_column(heading, justify="right")
    for name, values in run.samples.items():
        median, target = statistics.median(values), budget(name, run.size)
        verdict = "" if target is None else "[green]within[/]" if median <= target else "[red]over[/]"
        row = (f"{median:.1f}", f"{quantile(values, 0.95):.1f}", "" if target is None else f"{target:g}", verdict, str(len(values)))
        table.add_row(name, *row)
    console.print(table)
    memory = f"owner {run.facts['rss_mb']:.0f} MB resident" + (" (budget 600 MB)" if run.size == 100_000 else "")
    console.print(f"{memory}, {run.facts['disk_mb']:.0f} MB on disk, filled in {run.facts['fill_s']:.0f} s\n")


def document(runs: Sequence[Run], definitions: int) -> dict[str, Any]:
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "standard_profile_tokens": definitions,
        "sizes": {str(run.size): {**{name: _summary(run, name) for name in run.samples}, **run.facts} for run in runs},
    }


def _summary(run: Run, name: str) -> dict[str, float | None]:
    values = run.samples[name]
    middle, late = statistics.median(values), quantile(values, 0.95)
    return {"p50_ms": middle, "p95_ms": late, "calls": len(values), "budget_ms": budget(name, run.size)}


def definition_tokens() -> int:
    """What the definitions of the standard profile cost a model; four characters make a token."""
    run = Run(0, BUILD / "bench" / "store-0")
    run.folder.mkdir(parents=True, exist_ok=True)
    try:
        with Host({**run.environment(), "ENGRAM_PROFILE": "standard"}) as host:
            host.initialize()
            tools = host.request("tools/list")["result"]["tools"]
    finally:
        stop_owner(run)
    return len(json.dumps(tools, separators=(",", ":"))) // 4


def sizes() -> list[int]:
    return [1_000, 10_000, 100_000, *([1_000_000] if os.environ.get("BENCH_1M") == "1" else [])]


def main() -> int:
    parser = argparse.ArgumentParser("speed", description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, sizes())), help="numbers of memories, separated by commas")
    parser.add_argument("--model", action="store_true", help="with the embedding model; waits until every memory has its vector")
    options = parser.parse_args()
    wanted = [int(part) for part in options.sizes.split(",")]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)
    runs = []
    for size in wanted:
        runs.append(measure(size, model=options.model))
        show(console, runs[-1])
    tokens = definition_tokens()
    console.print(f"definitions of the standard profile: about {tokens:,} tokens (budget 5,000)")
    (BUILD / "bench.json").write_text(json.dumps(document(runs, tokens), indent=2) + "\n", encoding="utf-8")
    console.print("written to build/bench.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())

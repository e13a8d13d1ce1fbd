"""Run as a program: writes ChangeSets and prints the reference of each one that was confirmed, until it is killed."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from engram_duckdb.settings import Settings
from engram_duckdb.store import DuckStore
from engram_kernel.changes import ChangeSet, Confirm, Link, Put, Retire
from engram_kernel.model import Edge, Memory, Ref


def main() -> None:
    folder, start = Path(sys.argv[1]), int(sys.argv[2])
    store = DuckStore(folder, Settings(idle_seconds=0.01))
    print("ready", flush=True)

    def write(number: int) -> None:
        name, before = f"m{number}", f"m{number - 4}"
        changes = [
            Put(Memory(collection="a", id=name, kind="NOTE", text=f"text {number}", metadata={"n": number})),
            Confirm(Ref("a", name)),
        ]
        if store.get([Ref("a", before)])[0] is not None:
            changes.append(Link(Edge(id=f"e{number}", source=Ref("a", name), target=Ref("a", before), type="AFTER")))
        if number % 5 == 0:
            changes.append(Retire(Ref("a", name)))
        store.apply(ChangeSet(tuple(changes), reference=f"r{number}"))
        os.write(1, f"{number}\n".encode())  # One call, so that lines of several threads stay whole.

    with ThreadPoolExecutor(4) as pool:
        for block in count(start, 40):
            list(pool.map(write, range(block, block + 40)))


if __name__ == "__main__":
    main()

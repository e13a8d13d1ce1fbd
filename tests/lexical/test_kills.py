"""A process that is killed while it writes leaves an index that repairs itself."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.query import Query
from engram_kernel.retrieval import SearchRequest

CONFIG = Config(
    plugins=PluginsConfig(
        disabled=["admin", "mcp", "runtime", "thoughts"], settings={"lexical": {"flush_documents": 5, "idle_seconds": 0.1}}
    )
)

WRITER = """
import sys
from pathlib import Path
from engram_kernel.changes import ChangeSet, Put, PutCard, Retire
from engram_kernel.config import Config
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Memory, Ref
kernel = Kernel.start(Config.model_validate_json(sys.argv[2]), Path(sys.argv[1]))
if not kernel.collections():
    kernel.store.apply(ChangeSet((PutCard(Collection(id="c", title="C", tool_set="thoughts")),)))
start = kernel.store.sequence()
for n in range(start, start + 100_000):
    kernel.store.apply(ChangeSet((Put(Memory(collection="c", id=f"m{n}", kind="NOTE", text=f"lantern number{n}")),)))
    if n % 3 == 0:
        kernel.store.apply(ChangeSet((Retire(Ref("c", f"m{n}")),)))
    print(n, flush=True)
"""


def test_case_10_killed_writers_leave_nothing_out_of_step(tmp_path: Path) -> None:
    chance = random.Random(10)
    for _ in range(3):
        command = [sys.executable, "-c", WRITER, str(tmp_path), CONFIG.model_dump_json()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as writer:
            assert writer.stdout is not None
            written = 0
            enough = chance.randint(10, 30)
            for line in writer.stdout:
                written += line.strip().isdigit()
                if written >= enough:
                    break
            writer.kill()
        assert written >= enough
        _check(tmp_path)


def _check(folder: Path) -> None:
    kernel = Kernel.start(CONFIG, folder)
    try:
        query = Query(collections=("c",))
        living = {memory.id for memory in kernel.store.find(query).items}
        request = SearchRequest(text="lantern", query=query, weights={"lexical": 1.0}, limit=10_000, depth=10_000)
        assert {hit.memory.id for hit in kernel.retriever.search(kernel.store, request).hits} == living != set()
    finally:
        kernel.close()

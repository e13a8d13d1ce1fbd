"""A process that is killed while it writes, embeds and saves leaves nothing that cannot be searched."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.query import Query
from engram_kernel.retrieval import SearchRequest

CONFIG = Config(
    plugins=PluginsConfig(
        disabled=["admin", "mcp", "runtime", "thoughts", "lexical"],
        settings={
            "embed": {"provider": "hashing_provider:make", "model": "one:64"},
            "faiss": {"flush_vectors": 4, "idle_seconds": 0.1},
        },
    )
)
KILLS = 10

WRITER = """
import sys
from pathlib import Path
from engram_kernel.changes import ChangeSet, Put, PutCard, Retire, Revise
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
    elif n % 5 == 1:
        kernel.store.apply(ChangeSet((Revise(Ref("c", f"m{n}"), {"text": f"lantern changed{n}"}),)))
    print(n, flush=True)
"""


def test_case_10_killed_writers_leave_nothing_out_of_step(tmp_path: Path, tools) -> None:
    chance = random.Random(10)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, str(tmp_path), CONFIG.model_dump_json()]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as writer:
            assert writer.stdout is not None
            written = 0
            enough = chance.randint(5, 40)
            for line in writer.stdout:
                written += line.strip().isdigit()
                if written >= enough:
                    break
            time.sleep(chance.random() * 0.3)
            writer.kill()
        assert written >= enough
    _check(tmp_path, tools)


def _check(folder: Path, tools) -> None:
    """Every living memory is found by its own text, best of all, and nothing else is."""
    kernel = Kernel.start(CONFIG, folder)
    try:
        query = Query(collections=("c",))
        living = {memory.id: memory.text for memory in kernel.store.find(query).items}

        def search(text: str, limit: int) -> list[str]:
            request = SearchRequest(text=text, query=query, weights={"vector": 1.0}, limit=limit, depth=limit)
            return [hit.memory.id for hit in kernel.retriever.search(kernel.store, request).hits]

        tools.until(lambda: set(search("lantern", 10_000)) == set(living), 60)
        assert len(living) > KILLS * 5 / 2
        for name, text in random.Random(1).sample(sorted(living.items()), 20):
            assert search(text, 1) == [name]
        assert kernel.store.verify(deep=True).sound
    finally:
        kernel.close()

"""Deterministic synthetic memories, and filling a store with many of them through change sets."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from pathlib import Path

from engram_kernel.changes import Change, ChangeSet, Link, Put
from engram_kernel.config import Config, PluginsConfig
from engram_kernel.kernel import Kernel
from engram_kernel.model import Edge, Memory, Ref
from engram_thoughts.records import new_attributes
from engram_thoughts.vocabulary import THOUGHTS, EdgeType, LifecycleStatus, ThoughtType, Visibility

BATCH = 1000
EDGES = 2
WORDS = 75
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
SYLLABLES = ("ka", "lo", "mi", "ren", "tas", "vo", "shu", "ber", "din", "pel", "gor", "ni", "fa", "zet", "ul", "om")
VOCABULARY = ["".join(parts) for parts in islice(product(SYLLABLES, repeat=4), 0, 65_536, 5)]
"""About 13,000 invented words."""
random.Random(1).shuffle(VOCABULARY)


def word(chance: random.Random) -> str:
    """Few words are frequent and many are rare, as in real text."""
    return VOCABULARY[int(len(VOCABULARY) ** chance.random()) - 1]


def sentence(chance: random.Random, words: int) -> str:
    return " ".join(word(chance) for _ in range(words))


def query(chance: random.Random) -> str:
    """Three words that occur, one of them frequent."""
    return sentence(chance, 3)


def memory(number: int) -> Memory:
    """About 500 characters; every tenth one has an end of validity, every twentieth is P1."""
    chance = random.Random(number)
    start = FIRST + timedelta(minutes=number % 300_000)
    return Memory(
        collection=THOUGHTS.id,
        id=f"bench-{number:07d}",
        kind=chance.choice(list(ThoughtType)[:3]).value,
        title=sentence(chance, 5),
        text=sentence(chance, WORDS),
        status=LifecycleStatus.CREATED.value,
        priority=1 if number % 20 == 0 else 3,
        origin="bench",
        valid_from=start,
        valid_until=start + timedelta(days=60) if number % 10 == 0 else None,
        metadata={"topic": VOCABULARY[number % 100]},
        attributes=new_attributes(Visibility.SELECTIVE.value, None),
    )


def edges(number: int) -> Iterator[Edge]:
    """Links to two earlier memories."""
    chance = random.Random(-number)
    for place, target in enumerate(chance.sample(range(number), EDGES) if number >= EDGES else ()):
        yield Edge(
            id=f"bench-{number:07d}-{place}",
            source=Ref(THOUGHTS.id, f"bench-{number:07d}"),
            target=Ref(THOUGHTS.id, f"bench-{target:07d}"),
            type=EdgeType.ASSOCIATED.value,
            weight=chance.random(),
            attributes={"decay_multiplier": 1.0},
        )


WITHOUT_MODEL = ["embed", "faiss"]
"""The plugins of the vector signal."""
QUIET = 6.0
"""Seconds without a commit after which the background embedding must be done."""


def fill(folder: Path, count: int, *, model: bool = False) -> float:
    """Write `count` memories with their links, and their vectors with `model`, into a new store; returns seconds.

    The folder has no owner meanwhile.
    """
    began = time.perf_counter()
    plugins = PluginsConfig(disabled=[] if model else WITHOUT_MODEL)
    kernel = Kernel.start(Config(plugins=plugins), folder)
    try:
        for start in range(0, count, BATCH):
            numbers = range(start, min(count, start + BATCH))
            puts: list[Change] = [Put(memory(number)) for number in numbers]
            links: list[Change] = [Link(edge) for number in numbers for edge in edges(number)]
            kernel.store.apply(ChangeSet((*puts, *links), actor="bench"))
        seconds = time.perf_counter() - began
        seen = -1
        while model and seen != (seen := kernel.store.sequence()):
            time.sleep(QUIET)
    finally:
        kernel.close()
    return seconds

"""The one visibility rule, through the running kernel: what a session may not see it can neither read nor change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.call import Call
from engram_kernel.changes import Change, ChangeSet, Confirm, Link, Put, PutCard, Restore, Retire, Revise, Supersede, Unlink
from engram_kernel.config import Config
from engram_kernel.errors import NotAllowed
from engram_kernel.kernel import Kernel
from engram_kernel.model import Collection, Edge, Memory, Ref, Source, Tier
from engram_kernel.query import Query
from engram_kernel.session import Session, SilentChannel

OPEN, SECRET = "open", "secret"


def memory(collection: str, name: str) -> Memory:
    return Memory(collection=collection, id=name, kind="NOTE", text=f"text of {collection} {name}")


def edge(name: str, source: str, target: str) -> Edge:
    return Edge(id=name, source=Ref(source, "a"), target=Ref(target, "b"), type="T")


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    running = Kernel.start(Config(), tmp_path)
    cards = [
        Collection(id=OPEN, title="Open", tool_set="graph"),
        Collection(id=SECRET, title="Secret", tool_set="graph", tier=Tier.SENSITIVE),
    ]
    changes: list[Change] = [PutCard(card) for card in cards]
    changes += [Put(memory(name, which)) for name in (OPEN, SECRET) for which in ("a", "b")]
    changes += [Link(edge("e-open", OPEN, OPEN)), Link(edge("e-secret", SECRET, SECRET)), Link(edge("e-across", OPEN, SECRET))]
    changes += [PutCard(Source(id="s", collection=SECRET, kind="clip", reference="r"))]
    running.store.apply(ChangeSet(tuple(changes)))
    yield running
    running.close()


def in_call(kernel: Kernel, session: Session, work: Callable[[Call], Any]) -> Any:
    async def run() -> Any:
        return work(Call(kernel, session, SilentChannel(), plugin="thoughts", reference=None, resent=False))

    return asyncio.run(run())


def read_everything(call: Call) -> dict[str, Any]:
    store = call.store
    numbers = [found.number for found in call.kernel.store.find(Query(collections=(OPEN, SECRET))).items]
    return {
        "get": [found.id for found in store.get([Ref(SECRET, "a")]) if found],
        "by_number": [found.collection for found in store.by_number(numbers) if found and found.collection == SECRET],
        "edge": [name for name in ("e-secret", "e-across") if store.edge(name)],
        "edges_of": [found.id for found in store.edges_of(Ref(OPEN, "a")) if found.id == "e-across"],
        "find": list(store.find(Query(collections=(SECRET,))).items),
        "total": store.find(Query(collections=(SECRET,))).total,
        "find_edges": [found.id for found in store.find_edges(Query(collections=(OPEN, SECRET))).items if found.id != "e-open"],
        "select": len(store.select(Query(collections=(SECRET,)))),
        "history": store.history(Ref(SECRET, "a")),
        "lineage": store.lineage(Ref(SECRET, "a")),
        "cards": [card.id for card in store.cards(Collection) if card.id == SECRET] + [card.id for card in store.cards(Source)],
        "statistics": store.statistics([SECRET]).memories,
    }


def test_case_44_what_is_hidden_is_hidden_from_every_read(kernel: Kernel) -> None:
    for name, seen in in_call(kernel, Session(), read_everything).items():
        assert not seen, name


def test_consent_opens_every_read(kernel: Kernel) -> None:
    seen = in_call(kernel, Session(consented=frozenset({SECRET})), read_everything)
    assert seen["get"] == ["a"] and seen["total"] == 2 and seen["select"] == 2 and seen["statistics"] == 2
    assert sorted(seen["find_edges"]) == ["e-across", "e-secret"] and seen["cards"] == [SECRET, "s"]


@pytest.mark.parametrize(
    "change",
    [
        Put(memory(SECRET, "new")),
        Revise(Ref(SECRET, "a"), {"text": "x"}),
        Confirm(Ref(SECRET, "a")),
        Supersede(Ref(SECRET, "a"), memory(OPEN, "new")),
        Retire(Ref(SECRET, "a")),
        Restore(Ref(SECRET, "a")),
        Link(edge("new", OPEN, SECRET)),
        Unlink("e-secret"),
        Unlink("e-across"),
        PutCard(Collection(id=SECRET, title="Mine now", tool_set="graph")),
        PutCard(Source(id="t", collection=SECRET, kind="clip", reference="r")),
    ],
    ids=lambda change: type(change).__name__,
)
def test_no_change_reaches_what_is_hidden(kernel: Kernel, change: Change) -> None:
    before = kernel.store.sequence()
    with pytest.raises(NotAllowed):
        in_call(kernel, Session(), lambda call: call.write(lambda: ChangeSet((change,))))
    assert kernel.store.sequence() == before


def test_a_read_only_session_changes_nothing(kernel: Kernel) -> None:
    before = kernel.store.sequence()
    with pytest.raises(NotAllowed, match="read-only"):
        in_call(kernel, Session(read_only=True), lambda call: call.write(lambda: ChangeSet((Put(memory(OPEN, "new")),))))
    assert kernel.store.sequence() == before


def test_a_request_sent_again_is_answered_and_not_repeated(kernel: Kernel) -> None:
    def work(resent: bool) -> Any:
        async def run() -> Any:
            call = Call(kernel, Session(), SilentChannel(), plugin="thoughts", reference="session:7", resent=resent)
            return call.write(lambda: ChangeSet((Put(memory(OPEN, "once")),)))

        return asyncio.run(run())

    first, second = work(False), work(True)
    assert second.repeated and second.outcomes == first.outcomes and second.sequence == first.sequence

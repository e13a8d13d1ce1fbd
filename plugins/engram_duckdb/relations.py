"""Planning of edges: link, unlink, and what happens to edges when a memory is retired or restored."""

from __future__ import annotations

from engram_duckdb.inputs import checked_edge
from engram_duckdb.overlay import HeldEdge
from engram_duckdb.stage import Stage
from engram_kernel.changes import Link, Outcome, Unlink
from engram_kernel.errors import AlreadyExists, NotFound
from engram_kernel.model import Edge, Ref, State


def link(stage: Stage, change: Link) -> None:
    edge = checked_edge(change.edge)
    ends = (_end(stage, edge.source, "source"), _end(stage, edge.target, "target"))
    taken = _living_named(stage, edge.id)
    if taken is not None:
        raise AlreadyExists(f"The edge id {edge.id!r} is taken.", next_step="Choose another id.", data={"taken": "id", "id": edge.id})
    same = living_link(stage, ends, edge.type)
    if same is not None:
        raise AlreadyExists(
            f"{edge.source.id!r} is already linked to {edge.target.id!r} as {edge.type} (edge {same.id!r}).",
            next_step="Use that edge, or unlink it first.",
            data={"taken": "link", "id": same.id},
        )
    stage.done_edge("link", stage.link(edge, ends))


def _end(stage: Stage, ref: Ref, side: str) -> int:
    for number in reversed(stage.layer.holders(ref)):
        if stage.layer.alive(number):
            return number
    raise NotFound(
        f"The {side} of the link, {ref.id!r} in {ref.collection!r}, does not exist.",
        data={"end": side, "collection": ref.collection, "id": ref.id},
    )


def _living_named(stage: Stage, edge_id: str) -> HeldEdge | None:
    for number in reversed(stage.layer.edge_numbers(edge_id)):
        held = stage.layer.edge(number)
        if held is not None and held.edge.state is State.LIVE:
            return held
    return None


def living_link(stage: Stage, ends: tuple[int, int], kind: str) -> Edge | None:
    """The living edge of this type from one memory to the other."""
    # The shorter of the two lists: one end may be a hub with very many edges.
    number_lists = (stage.layer.edges_out(ends[0]), stage.layer.edges_into(ends[1]))
    both = set(number_lists[0]).intersection(number_lists[1])
    for number in both:
        held = stage.layer.edge(number)
        if held is not None and held.edge.type == kind and held.edge.state is State.LIVE:
            return held.edge
    return None


def unlink(stage: Stage, change: Unlink) -> None:
    held = _living_named(stage, change.edge)
    if held is not None:
        stage.done_edge("unlink", stage.revise_edge(held, state=State.RETIRED))
    elif change.missing_ok:
        stage.outcomes.append(Outcome("unlink", "", change.edge, 0, 0, changed=False))
    else:
        raise NotFound(f"There is no edge {change.edge!r}.", data={"id": change.edge})


def _edges_at(stage: Stage, number: int) -> list[HeldEdge]:
    numbers = dict.fromkeys(stage.layer.edges_out(number) + stage.layer.edges_into(number))
    return [held for edge in numbers if (held := stage.layer.edge(edge)) is not None]


def retire_edges(stage: Stage, number: int) -> None:
    """Retire the living edges of a memory, remembering which memory took them along."""
    for held in _edges_at(stage, number):
        if held.edge.state is State.LIVE:
            stage.revise_edge(held, number, state=State.RETIRED)


def restore_edges(stage: Stage, number: int) -> None:
    """Bring back what was retired with the memory; an edge whose other end is retired now waits for that one."""
    for held in _edges_at(stage, number):
        if held.edge.state is State.RETIRED and held.retired_with == number:
            _restore_edge(stage, held, number)


def _restore_edge(stage: Stage, held: HeldEdge, number: int) -> None:
    other = held.ends[1] if held.ends[0] == number else held.ends[0]
    if not stage.layer.alive(other):
        stage.revise_edge(held, other)
    elif _living_named(stage, held.edge.id) is None and living_link(stage, held.ends, held.edge.type) is None:
        stage.revise_edge(held, state=State.LIVE)

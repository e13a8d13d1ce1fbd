"""link_thoughts, delete_edge, get_edges, list_edges."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from engram_kernel.arguments import refused
from engram_kernel.call import Call
from engram_kernel.changes import ChangeSet, Link, Unlink
from engram_kernel.errors import AlreadyExists, EngramError, NotFound
from engram_kernel.model import Edge
from engram_kernel.query import Compare, Condition, In, IsNull, Or, Order, Query, Target
from engram_kernel.store import Reader
from engram_thoughts import messages
from engram_thoughts.arguments import DeleteEdge, GetEdges, LinkThoughts, ListEdges
from engram_thoughts.budget import fit, next_offset
from engram_thoughts.conditions import all_of
from engram_thoughts.messages import fault
from engram_thoughts.records import is_thought_edge, thought_ref, to_edge
from engram_thoughts.results import Deleted, Edges, Linked, LinkedFields
from engram_thoughts.rules import check_interval
from engram_thoughts.settings import Settings
from engram_thoughts.vocabulary import MAX_CONDITIONS, THOUGHTS, KnowledgeSource


class _AbsentError(Exception):
    """There is no such edge, or none that this session may see: nothing is written."""


class Linking:
    """The four tools about edges."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def link(self, call: Call, given: LinkThoughts) -> Linked:
        edge = _new(given)
        try:
            applied = call.write(lambda: _insert(call.store, edge))
        except AlreadyExists as error:
            raise _taken(edge, error) from None
        edge_id = applied.outcomes[0].id
        shown = to_edge(call.store.edge(edge_id) or edge)
        return Linked(
            edge=LinkedFields(
                edge_id=edge_id,
                from_thought_id=shown.from_thought_id,
                to_thought_id=shown.to_thought_id,
                edge_type=shown.edge_type,
                weight=shown.weight,
                metadata=shown.metadata,
            )
        )

    def delete(self, call: Call, given: DeleteEdge) -> Deleted:
        try:
            applied = call.write(lambda: _remove(call.store, given.edge_id))
        except _AbsentError:
            return Deleted(deleted=False)
        return Deleted(deleted=applied.outcomes[0].changed)

    def around(self, call: Call, given: GetEdges) -> Edges:
        found = call.store.edges_of(thought_ref(given.thought_id), given.direction.value)
        ours = [edge for edge in found if is_thought_edge(edge)]
        end = None if given.limit is None else given.offset + given.limit
        return self._page(ours[given.offset : end], given.offset, len(ours))

    def browse(self, call: Call, given: ListEdges) -> Edges:
        query = Query(
            collections=(THOUGHTS.id,),
            target=Target.EDGE,
            where=all_of(_filters(given)),
            order=(Order("created_cycle", descending=True),),
            limit=given.limit,
            offset=given.offset,
        )
        page = call.store.find_edges(query)
        return self._page(page.items, given.offset, page.total)

    def _page(self, edges: Sequence[Edge], offset: int, total: int) -> Edges:
        shown = fit(map(to_edge, edges), self._settings.result_bytes)
        return Edges(edges=shown, count=len(shown), total=total, next_offset=next_offset(offset, len(shown), total))


def _new(given: LinkThoughts) -> Edge:
    return Edge(
        id=given.edge_id or str(uuid.uuid4()),
        source=thought_ref(given.from_thought_id),
        target=thought_ref(given.to_thought_id),
        type=given.edge_type.value,
        weight=given.weight,
        origin=KnowledgeSource.EXPERIENCE.value,
        valid_from=given.valid_from,
        valid_until=given.valid_until,
        metadata=given.metadata or {},
        attributes={"decay_multiplier": 1.0},
    )


def _insert(reader: Reader, edge: Edge) -> ChangeSet:
    check_interval(edge.valid_from, edge.valid_until)
    source, target = reader.get([edge.source, edge.target])
    ends = (("from_thought_id", edge.source.id, source), ("to_thought_id", edge.target.id, target))
    missing = {name: thought_id for name, thought_id, found in ends if found is None}
    if missing:
        words = "; ".join(f"{name} {thought_id!r} does not exist" for name, thought_id in missing.items())
        raise fault(NotFound, messages.NO_ENDPOINT, {"missing": missing}, missing=words)
    return ChangeSet((Link(edge),))


def _remove(reader: Reader, edge_id: str) -> ChangeSet:
    """An edge id says nothing about its collection, so what may not be seen must not be deleted either."""
    found = reader.edge(edge_id)
    if found is None or not is_thought_edge(found):
        raise _AbsentError
    return ChangeSet((Unlink(edge_id, missing_ok=True),))


def _taken(edge: Edge, error: AlreadyExists) -> EngramError:
    if error.data.get("taken") == "id":
        return fault(AlreadyExists, messages.EDGE_ID_TAKEN, error.data, id=edge.id)
    return fault(AlreadyExists, messages.LINK_EXISTS, error.data, type=edge.type, source=edge.source.id, target=edge.target.id)


def _filters(given: ListEdges) -> list[Condition]:
    equals, members = given.metadata_equals or {}, given.metadata_in or {}
    if len(equals) + len(members) > MAX_CONDITIONS:
        text = messages.TOO_MANY_CONDITIONS.format(count=len(equals) + len(members), maximum=MAX_CONDITIONS)
        raise refused({"metadata_equals" if equals else "metadata_in": text})
    found: list[Condition] = []
    if given.edge_type is not None:
        found.append(Compare("type", "=", given.edge_type.value))
    if given.source is not None:
        found.append(Compare("origin", "=", given.source.value))
    found += metadata_equals(equals)
    found += [_any_of(f"metadata.{key}", values) for key, values in members.items()]
    return found


def metadata_equals(wanted: Mapping[str, Any]) -> list[Condition]:
    """One condition for each key; null matches a null value and an absent key alike."""
    return [_any_of(f"metadata.{key}", [value]) for key, value in wanted.items()]


def _any_of(field: str, values: Sequence[Any]) -> Condition:
    held = tuple(value for value in values if value is not None)
    if None not in values:
        return In(field, held)
    return Or((IsNull(field), In(field, held))) if held else IsNull(field)

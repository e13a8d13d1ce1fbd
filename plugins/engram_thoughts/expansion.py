"""Expansion: the best reflections of a result lead to the observations they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engram_kernel.model import Edge
from engram_kernel.query import Query
from engram_kernel.retrieval import Hit
from engram_kernel.store import Reader
from engram_thoughts.records import is_thought_edge
from engram_thoughts.selecting import is_reflection
from engram_thoughts.vocabulary import EdgeType, ThoughtType

REFLECTIONS = 5
SOURCES_EACH = 20
SOURCE_CEILING = 50
FACTOR = 0.7
SIGNAL = "graph_expansion"


def expand(reader: Reader, query: Query, hits: Sequence[Hit]) -> tuple[list[Hit], bool]:
    """The hits with sources added or lifted, best first, and whether there was anything to follow.

    Only sources that the search's own conditions allow take part.
    """
    offers: dict[int, Hit] = {}
    followed = False
    for hit in [hit for hit in hits if is_reflection(hit)][:REFLECTIONS]:
        edges = _sources(reader, hit)
        followed = followed or bool(edges)
        _offer(reader, hit, edges, offers)
    if not offers:
        return list(hits), followed
    return _merge(hits, _permitted(reader, query, offers)), followed


def _sources(reader: Reader, hit: Hit) -> list[Edge]:
    outgoing = reader.edges_of(hit.memory.ref, "OUT")
    found = [edge for edge in outgoing if edge.type == EdgeType.CONSOLIDATED_FROM and is_thought_edge(edge)]
    return found[:SOURCES_EACH] if len(found) <= SOURCE_CEILING else []


def _offer(reader: Reader, hit: Hit, edges: Sequence[Edge], offers: dict[int, Hit]) -> None:
    for edge, memory in zip(edges, reader.get([edge.target for edge in edges]), strict=True):
        if memory is None or memory.kind != ThoughtType.OBSERVATION:
            continue
        score = hit.score * FACTOR * edge.weight
        held = offers.get(memory.number)
        if held is None or score > held.score:
            offers[memory.number] = Hit(memory, score, {SIGNAL: score}, {SIGNAL: f"source of {hit.memory.id}"})


def _permitted(reader: Reader, query: Query, offers: dict[int, Hit]) -> dict[int, Hit]:
    selection = reader.select(query)
    return {number: hit for number, hit in offers.items() if number in selection}


def _merge(hits: Sequence[Hit], offers: dict[int, Hit]) -> list[Hit]:
    merged = {hit.memory.number: hit for hit in hits}
    for number, offer in offers.items():
        held = merged.get(number)
        if held is None:
            merged[number] = offer
        elif offer.score > held.score:
            merged[number] = replace(offer, details={**held.details, **offer.details})
    return sorted(merged.values(), key=lambda hit: (-hit.score, hit.memory.id))

"""Counts of living records by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engram_duckdb.columns import Columns, Kind, Mask
from engram_duckdb.evaluate import base_mask, edge_mask
from engram_duckdb.state import State
from engram_kernel.query import Query
from engram_kernel.store import Statistics

_MEMORY_FIELDS = ("collection", "kind", "status", "priority", "origin")
_EDGE_FIELDS = ("type", "origin")


def collect(state: State, collections: Sequence[str], bytes_on_disk: int) -> Statistics:
    query = Query(collections=tuple(collections))
    with state.lock:
        memories = base_mask(state.memories, query)
        edges = edge_mask(state.edges, state.memories, query)
        return Statistics(
            memories=int(np.count_nonzero(memories)),
            edges=int(np.count_nonzero(edges)),
            memories_by={name: _counts(state.memories, name, memories) for name in _MEMORY_FIELDS},
            edges_by={name: _counts(state.edges, name, edges) for name in _EDGE_FIELDS},
            bytes_on_disk=bytes_on_disk,
            last_sequence=state.tail.sequence,
        )


def _counts(columns: Columns, name: str, mask: Mask) -> Mapping[str, int]:
    """Nulls are not counted."""
    values, counts = np.unique(columns.view(name)[mask], return_counts=True)
    column = columns[name]
    words = column.vocabulary.words
    named = (
        (words[value] if column.kind is Kind.WORD else str(value), count)
        for value, count in zip(values, counts.tolist(), strict=True)
        if value >= 0
    )
    return dict(sorted(named))

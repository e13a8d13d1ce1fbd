"""Merging neighbouring segments into one, and when to do it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram_lexical.parts import Numbers
from engram_lexical.segment import Arrays, Segment, narrow, string_arrays
from engram_lexical.strings import StringTable

FAN_OUT = 8
SMALLEST_TIER = 256
PIECE = 1 << 20
"""Postings moved at once: keeps the extra memory small and lets searches in between."""


def plan(sizes: Sequence[int], outdated: Sequence[int]) -> slice | None:
    """Which neighbouring segments to merge next, oldest first; None when all is well.

    Eight of one size class, with only smaller ones between them, become one; one that is mostly outdated is rewritten.
    """
    for at, (size, gone) in enumerate(zip(sizes, outdated, strict=True)):
        if gone * 2 > size:
            return slice(at, at + 1)
    tiers = [_tier(size) for size in sizes]
    for tier in sorted(set(tiers)):
        alike: list[int] = []
        for at, other in enumerate(tiers):
            alike = [] if other > tier else [*alike, at] if other == tier else alike
            if len(alike) == FAN_OUT:
                return slice(alike[0], at + 1)
    return None


def _tier(size: int) -> int:
    tier = 0
    while size >= SMALLEST_TIER * FAN_OUT:
        size //= FAN_OUT
        tier += 1
    return tier


def merged(segments: Sequence[Segment], valid: Sequence[NDArray[np.bool_]], *, oldest: bool) -> Arrays:
    """The arrays of one segment with all valid documents of the given ones, oldest first.

    `valid[i]` is a mask over `segments[i].documents`. The oldest segment of an index need not remember what is gone.
    """
    keeps = [_keep(segment, mask) for segment, mask in zip(segments, valid, strict=True)]
    terms, maps = _union([segment.terms for segment in segments])
    forms, _ = _union([segment.forms for segment in segments])
    counts = [_counts(segment, keep) for segment, keep in zip(segments, keeps, strict=True)]
    total = np.zeros(len(terms), np.int64)
    for count, target in zip(counts, maps, strict=True):
        total[target] += count
    used = total > 0
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(total)])
    numbers, frequencies = _fill(segments, keeps, counts, maps, starts)
    documents = np.concatenate([segment.documents[mask] for segment, mask in zip(segments, valid, strict=True)])
    return {
        **string_arrays("terms", "term_offsets", [term for term, kept in zip(terms, used.tolist(), strict=True) if kept]),
        **string_arrays("forms", "form_offsets", forms),
        "starts": np.concatenate([starts[:-1][used], starts[-1:]]),
        "numbers": numbers,
        "frequencies": narrow(frequencies),
        "documents": documents,
        "lengths": np.concatenate([segment.lengths[mask] for segment, mask in zip(segments, valid, strict=True)]),
        "dropped": np.empty(0, np.int32) if oldest else _gone(segments, documents),
    }


def _keep(segment: Segment, mask: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """A mask by memory number of what is kept, or None for everything."""
    if mask.all():
        return None
    keep = np.zeros(int(segment.documents.max()) + 1, bool)
    keep[segment.documents[mask]] = True
    return keep


def _gone(segments: Sequence[Segment], documents: Numbers) -> Numbers:
    """All that any of the segments mentions and that the merged one does not hold."""
    mentioned = np.concatenate([array for segment in segments for array in (segment.dropped, segment.documents)])
    return np.setdiff1d(mentioned, documents).astype(np.int32)


def _union(tables: Sequence[StringTable]) -> tuple[list[bytes], list[NDArray[np.int64]]]:
    """All strings in order, and for each table the new position of each of its strings."""
    maps = [np.empty(len(table), np.int64) for table in tables]
    strings: list[bytes] = []
    for text, group in groupby(heapq.merge(*(_labelled(table, at) for at, table in enumerate(tables))), lambda item: item[0]):
        for _, table, position in group:
            maps[table][position] = len(strings)
        strings.append(text)
    return strings, maps


def _labelled(table: StringTable, label: int) -> Iterator[tuple[bytes, int, int]]:
    return ((text, label, position) for position, text in enumerate(table))


def _counts(segment: Segment, keep: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """How many postings of each term are kept."""
    starts = segment.arrays["starts"]
    if keep is None:
        every: NDArray[np.int64] = np.diff(starts)
        return every
    if len(starts) == 1:
        return np.empty(0, np.int64)
    kept: NDArray[np.int64] = np.add.reduceat(keep[segment.arrays["numbers"]], starts[:-1], dtype=np.int64)
    return kept


def _fill(
    segments: Sequence[Segment],
    keeps: Sequence[NDArray[np.bool_] | None],
    counts: Sequence[NDArray[np.int64]],
    maps: Sequence[NDArray[np.int64]],
    starts: NDArray[np.int64],
) -> tuple[Numbers, NDArray[Any]]:
    """Each segment's postings go behind those of the older ones, term by term."""
    numbers = np.empty(int(starts[-1]), np.int32)
    frequencies = np.empty(int(starts[-1]), np.uint16)
    free = starts[:-1].copy()
    for segment, keep, count, target in zip(segments, keeps, counts, maps, strict=True):
        bounds = segment.arrays["starts"]
        for first, last in _blocks(bounds):
            inside = slice(int(bounds[first]), int(bounds[last]))
            moved = count[first:last]
            places = _places(free[target[first:last]], moved)
            kept = slice(None) if keep is None else keep[segment.arrays["numbers"][inside]]
            numbers[places] = segment.arrays["numbers"][inside][kept]
            frequencies[places] = segment.arrays["frequencies"][inside][kept]
        free[target] += count
    return numbers, frequencies


def _blocks(bounds: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Runs of whole terms with about PIECE postings each."""
    first, end = 0, len(bounds) - 1
    while first < end:
        last = int(np.searchsorted(bounds, bounds[first] + PIECE, "right")) - 1
        last = min(max(last, first + 1), end)
        yield first, last
        first = last


def _places(begin: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """begin[0], begin[0]+1, … counts[0] of them, then the same for the next term."""
    ends = np.cumsum(counts)
    places: NDArray[np.int64] = np.arange(int(ends[-1])) + np.repeat(begin - (ends - counts), counts)
    return places

"""BM25 divided by the best score the query could reach, so that scores lie in 0..1 and compare between queries.

idf = ln(1 + (N - df + 0.5) / (df + 0.5))        df = 0 for terms nobody holds
w   = idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))
score = sum of w over the query's distinct terms / sum of idf * (k1 + 1)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram_lexical.expressions import AllOf, AnyOf, Expression, InField, Needle, NoneOf, Phrase, Word
from engram_lexical.index import Index
from engram_lexical.parts import Numbers, Postings

K1, B = 0.9, 0.4


@dataclass(frozen=True, slots=True)
class Scores:
    """`values` (float32) is indexed by memory number, 0 where no term matches; `holders` are the matching numbers of each needle."""

    values: NDArray[np.float32]
    holders: Mapping[Needle, list[Numbers]]


def score(index: Index, needles: Sequence[Needle]) -> Scores:
    """Score every document; the caller holds the index's lock."""
    documents = index.documents
    values = np.zeros(len(documents.owner), np.float32)
    scale = np.float32(K1 * B / documents.mean)
    holders: dict[Needle, list[Numbers]] = {}
    best = 0.0
    for needle in needles:
        found = look_up(index, needle)
        held = sum(len(numbers) for numbers, _ in found)
        weight = math.log(1 + (documents.count - held + 0.5) / (held + 0.5)) * (K1 + 1)
        best += weight
        holders[needle] = [numbers for numbers, _ in found]
        for numbers, frequencies in found:
            places = numbers.astype(np.intp)
            frequency = frequencies.astype(np.float32)
            bottom = documents.length.take(places) * scale
            bottom += frequency
            bottom += np.float32(K1 * (1 - B))
            frequency *= np.float32(weight)
            frequency /= bottom
            np.add.at(values, places, frequency)
    if best:
        values /= np.float32(best)
    return Scores(np.minimum(values, 1.0, out=values), holders)


def look_up(index: Index, needle: Needle) -> list[Postings]:
    return index.prefixed(needle.text) if needle.prefix else index.postings(needle.text)


Mask = NDArray[np.bool_]


def bounds(index: Index, expression: Expression) -> tuple[Mask, Mask]:
    """(surely, possibly): masks by number of the documents that satisfy a condition, as far as the index knows."""
    match expression:
        case Word(needles):
            held = _holding_all(index, needles)
            return held, held
        case Phrase(_, needles) | InField(_, Word(needles) | Phrase(_, needles)):
            return np.zeros(len(index.documents.owner), bool), _holding_all(index, needles)
        case AllOf(parts):
            return _combine(np.logical_and, [bounds(index, part) for part in parts])
        case AnyOf(parts):
            return _combine(np.logical_or, [bounds(index, part) for part in parts])
        case NoneOf(part):
            surely, possibly = bounds(index, part)
            return ~possibly, ~surely


def _combine(operator: Any, pairs: Sequence[tuple[Mask, Mask]]) -> tuple[Mask, Mask]:
    surely, possibly = zip(*pairs, strict=True)
    return operator.reduce(surely), operator.reduce(possibly)


def _holding_all(index: Index, needles: Sequence[Needle]) -> Mask:
    counts = np.zeros(len(index.documents.owner), np.uint16)
    for needle in needles:
        for numbers, _ in look_up(index, needle):
            counts[numbers] += 1
    return np.equal(counts, len(needles))


def ranked(values: NDArray[np.float32], allowed: Any, depth: int | None = None) -> Numbers:
    """The numbers with a score inside the mask `allowed`, best first, equal ones by number; at most `depth`."""
    size = min(len(values), len(allowed))
    numbers = np.flatnonzero(values[:size] * allowed[:size]).astype(np.int32)
    scores = values[numbers]
    if depth is not None and len(numbers) > depth:
        last = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        above = scores > last
        level = np.flatnonzero(scores == last)[: depth - int(above.sum())]
        chosen = np.concatenate([np.flatnonzero(above), level])
        numbers, scores = numbers[chosen], scores[chosen]
    return numbers[np.lexsort((numbers, -scores))]


def matched(numbers: Numbers, holders: Mapping[Needle, list[Numbers]], size: int) -> dict[int, list[str]]:
    """For each of `numbers`, the readable forms of the needles it holds, in the order of the query."""
    wanted = np.zeros(size, bool)
    wanted[numbers] = True
    words: dict[int, list[str]] = {number: [] for number in numbers.tolist()}
    together: dict[str, list[Numbers]] = {}
    for needle, arrays in holders.items():
        together.setdefault(needle.shown, []).extend(array[wanted.take(array)] for array in arrays)
    for shown, hits in together.items():
        for number in np.unique(np.concatenate(hits)).tolist() if hits else ():
            words[number].append(shown)
    return words

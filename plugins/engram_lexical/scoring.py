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
SPARSE = 8
"""Below one posting for so many documents it is quicker to collect the matches than to look through all sums."""
SAMPLE = 64
"""One value in so many is looked at to guess where the highest begin."""
BLOCK = 1 << 15
"""Postings scored at once: what is needed for them stays in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Scores:
    """`sums` (float32) is indexed by memory number, 0 where no term matches; `best` is what the query could reach.

    `holders` are the matching numbers of each needle.
    """

    sums: NDArray[np.float32]
    best: float
    holders: Mapping[Needle, list[Numbers]]

    def of(self, numbers: Numbers) -> list[float]:
        """The scores, 0..1."""
        share = self.sums[numbers] / np.float32(self.best)
        return [min(score, 1.0) for score in share.tolist()]

    def candidates(self, allowed: Any, depth: int | None) -> NDArray[np.integer[Any]]:
        """Numbers with a score inside the mask `allowed`, ascending: all, or at least the `depth` best."""
        arrays = [array for found in self.holders.values() for array in found]
        if sum(map(len, arrays)) * SPARSE > len(self.sums):
            return _promising(self.sums[: len(allowed)] * allowed[: len(self.sums)], depth)
        numbers = np.unique(np.concatenate(arrays)) if arrays else np.empty(0, np.int32)
        numbers = numbers[: np.searchsorted(numbers, len(allowed))]
        kept: Numbers = numbers[allowed.take(numbers)]
        return kept


def score(index: Index, needles: Sequence[Needle]) -> Scores:
    """Score every document; the caller holds the index's lock."""
    sums = np.zeros(len(index.documents.owner), np.float32)
    holders: dict[Needle, list[Numbers]] = {}
    best = 0.0
    for needle in needles:
        found = look_up(index, needle)
        weight = weight_of(index, sum(len(numbers) for numbers, _ in found))
        best += weight
        holders[needle] = [numbers for numbers, _ in found]
        for numbers, frequencies in found:
            for start in range(0, len(numbers), BLOCK):
                block = slice(start, start + BLOCK)
                places = numbers[block].astype(np.intp)
                part = shares(index, places, frequencies[block])
                part *= np.float32(weight)
                np.add.at(sums, places, part)
    return Scores(sums, best, holders)


def weight_of(index: Index, held: int) -> float:
    """idf * (k1 + 1) of a needle that so many documents hold."""
    return math.log(1 + (index.documents.count - held + 0.5) / (held + 0.5)) * (K1 + 1)


def shares(index: Index, places: NDArray[Any], frequencies: NDArray[Any]) -> NDArray[np.float32]:
    """tf / (tf + k1 * (1 - b + b * length / mean)) in single precision, for a needle's frequency in each place."""
    frequency = frequencies.astype(np.float32)
    scale = np.float32(K1 * B / index.documents.mean)
    bottom: NDArray[np.float32] = np.multiply(index.documents.length.take(places), scale, dtype=np.float32)
    bottom += frequency
    bottom += np.float32(K1 * (1 - B))
    frequency /= bottom
    return frequency


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


def _promising(values: NDArray[np.float32], depth: int | None) -> NDArray[np.intp]:
    """Where values are above 0; with a depth, what is certainly not among the highest may be left out."""
    place = 0 if depth is None else 2 * depth // SAMPLE + 8
    probe = values[::SAMPLE]
    if depth is not None and place < len(probe):
        low = np.partition(probe, len(probe) - place)[len(probe) - place]
        high = np.flatnonzero(values >= low) if low > 0 else ()
        if len(high) >= depth:
            return np.asarray(high)
    return np.flatnonzero(values)


def ranked(scores: Scores, allowed: Any, depth: int | None = None) -> Numbers:
    """The numbers with a score inside the mask `allowed`, best first, equal ones by number; at most `depth`."""
    numbers = scores.candidates(np.asarray(allowed, bool), depth).astype(np.int32)
    values = scores.sums[numbers]
    if depth is not None and len(numbers) > depth:
        last = np.partition(values, len(values) - depth)[len(values) - depth]
        above = numbers[values > last]
        numbers = np.concatenate([above, numbers[values == last][: depth - len(above)]])
    return numbers[np.lexsort((numbers, -scores.sums[numbers]))]


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

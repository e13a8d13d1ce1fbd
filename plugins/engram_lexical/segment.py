"""An immutable part of the index on disk: one file of flat arrays, mapped into memory."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engram_lexical.parts import NOTHING, MemoryPart, Numbers, Postings
from engram_lexical.strings import StringTable, pack
from engram_lexical.tokens import FORM_SEPARATOR

MAGIC = b"ENGLEX1\n"
ALIGNMENT = 64
CHUNK = 1 << 22

Arrays = Mapping[str, NDArray[Any]]
"""terms, term_offsets, forms, form_offsets: string tables. starts (int64): where each term's postings begin.
numbers (int32), frequencies (uint8 or uint16): the postings. documents, lengths (int32): what is in it. dropped
(int32): documents that earlier parts hold and that are gone."""


class DamagedError(Exception):
    """A file of the index is missing, cut or altered."""


class Segment:
    """One opened file. `checksum` is the CRC-32 of all its bytes."""

    def __init__(self, part_id: int, path: Path) -> None:
        self.id, self.path = part_id, path
        arrays = _map(path)
        self.arrays = arrays
        self.documents: Numbers = arrays["documents"]
        self.lengths: Numbers = arrays["lengths"]
        self.dropped: Numbers = arrays["dropped"]
        self.terms = StringTable(arrays["terms"], arrays["term_offsets"])
        self.forms = StringTable(arrays["forms"], arrays["form_offsets"])

    def __len__(self) -> int:
        return len(self.documents)

    def postings(self, term: str) -> Postings:
        at = self.terms.find(term)
        return self._span(at, at + 1) if at >= 0 else NOTHING

    def prefixed(self, prefix: str) -> list[Postings]:
        direct = self.terms.prefixed(prefix)
        stems = {self.forms[at].decode().partition(FORM_SEPARATOR)[2] for at in self.forms.prefixed(prefix)}
        positions = {self.terms.find(term) for term in stems}
        spans = [(direct.start, direct.stop)] if direct else []
        spans += [(at, at + 1) for at in sorted(positions) if at >= 0 and at not in direct]
        return [self._span(*span) for span in spans]

    def _span(self, first: int, last: int) -> Postings:
        starts = self.arrays["starts"]
        inside = slice(int(starts[first]), int(starts[last]))
        return self.arrays["numbers"][inside], self.arrays["frequencies"][inside]


def arrays_of(part: MemoryPart) -> Arrays:
    """The arrays of a part that was kept in memory."""
    terms = part.sorted_terms()
    starts = np.zeros(len(terms) + 1, np.int64)
    np.cumsum(np.fromiter((len(holders) for _, holders in terms), np.int64, len(terms)), out=starts[1:])
    total = int(starts[-1])
    frequencies = np.fromiter((frequency for _, holders in terms for frequency in holders.values()), np.int64, total)
    size = len(part.documents)
    return {
        **string_arrays("terms", "term_offsets", [term.encode() for term, _ in terms]),
        **string_arrays("forms", "form_offsets", [form.encode() for form in part.sorted_forms()]),
        "starts": starts,
        "numbers": np.fromiter((number for _, holders in terms for number in holders), np.int32, total),
        "frequencies": narrow(frequencies),
        "documents": np.fromiter(part.documents, np.int32, size),
        "lengths": np.fromiter((document.length for document in part.documents.values()), np.int32, size),
        "dropped": np.fromiter(sorted(part.dropped), np.int32, len(part.dropped)),
    }


def string_arrays(blob_name: str, offsets_name: str, strings: list[bytes]) -> Arrays:
    blob, offsets = pack(strings)
    return {blob_name: blob, offsets_name: offsets}


def narrow(frequencies: NDArray[Any]) -> NDArray[Any]:
    """The smallest type that holds the values; above 65,535 occurrences the score no longer changes."""
    highest = int(frequencies.max()) if len(frequencies) else 0
    kind: type[np.unsignedinteger[Any]] = np.uint8 if highest < 256 else np.uint16
    return np.asarray(np.minimum(frequencies, 65_535), kind)


def write(path: Path, arrays: Arrays) -> int:
    """Write a segment durably; returns its checksum."""
    with path.open("wb") as file:
        header, body = _header(arrays)
        checksum = zlib.crc32(header)
        file.write(header)
        position = len(header)
        for name, start in body.items():
            for piece in (b"\0" * (start - position), *_pieces(arrays[name])):
                file.write(piece)
                checksum = zlib.crc32(piece, checksum)
            position = start + arrays[name].nbytes
        file.flush()
        os.fsync(file.fileno())
    return checksum


def checksum_of(path: Path) -> int:
    """CRC-32 of a file. Raises DamagedError when it cannot be read."""
    checksum = 0
    try:
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                checksum = zlib.crc32(piece, checksum)
    except OSError as error:
        raise DamagedError(f"{path.name}: {error.strerror}") from error
    return checksum


def _pieces(array: Any) -> list[bytes | memoryview]:
    whole: Any = np.ascontiguousarray(array)
    flat = memoryview(whole).cast("B") if whole.nbytes else memoryview(b"")
    return [flat[at : at + CHUNK] for at in range(0, len(flat), CHUNK)]


def _header(arrays: Arrays) -> tuple[bytes, dict[str, int]]:
    """The file's beginning, and where each array starts."""
    table = {name: [array.dtype.str, len(array)] for name, array in arrays.items()}
    text = json.dumps(table).encode()
    header = MAGIC + len(text).to_bytes(8, "little") + text
    return header, _layout({name: array.nbytes for name, array in arrays.items()}, len(header))


def _layout(sizes: Mapping[str, int], position: int) -> dict[str, int]:
    starts = {}
    for name, size in sizes.items():
        starts[name] = -(-position // ALIGNMENT) * ALIGNMENT
        position = starts[name] + size
    return starts


def _map(path: Path) -> dict[str, NDArray[Any]]:
    try:
        whole = np.memmap(path, np.uint8, "r")
        size = int.from_bytes(bytes(whole[8:16]), "little")
        if bytes(whole[:8]) != MAGIC or size > len(whole):
            raise DamagedError(f"{path.name} is not an index segment")
        table = {name: (np.dtype(kind), count) for name, (kind, count) in json.loads(bytes(whole[16 : 16 + size])).items()}
        starts = _layout({name: kind.itemsize * count for name, (kind, count) in table.items()}, 16 + size)
        return {name: _view(whole, starts[name], kind, count) for name, (kind, count) in table.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path.name}: {error}") from error


def _view(whole: NDArray[np.uint8], start: int, kind: np.dtype[Any], count: int) -> NDArray[Any]:
    """Plain arrays on the mapped bytes: indexing a numpy.memmap costs several times as much."""
    return np.asarray(whole[start : start + kind.itemsize * count]).view(np.ndarray).view(kind)

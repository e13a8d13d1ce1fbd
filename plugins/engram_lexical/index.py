"""The index: segments on disk, fresh documents in memory, and the statistics over both.

Writers (apply, flush, merge, reset) are called by one thread at a time; readers hold `lock` while they look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from engram_lexical import catalog, merging
from engram_lexical.catalog import Catalog, Entry
from engram_lexical.documents import NOWHERE, Documents
from engram_lexical.parts import NOTHING, MemoryPart, Part, Postings
from engram_lexical.segment import Arrays, DamagedError, Segment, arrays_of, checksum_of, write
from engram_lexical.tokens import Document


class Index:
    """`parts` are ordered oldest first; the last one is in memory and takes what comes in."""

    def __init__(self, folder: Path) -> None:
        self.lock = RLock()
        self._folder = folder
        self._catalog = Catalog()
        self._entries: dict[int, Entry] = {}
        self._next_id = 0
        self._clear()

    def _clear(self) -> None:
        self.documents = Documents()
        self._fresh = self._new_part()
        self.parts: list[Part] = [self._fresh]

    def _new_part(self) -> MemoryPart:
        self._next_id += 1
        return MemoryPart(self._next_id)

    @property
    def saved(self) -> Catalog:
        """What is on disk."""
        return self._catalog

    @property
    def fresh(self) -> int:
        """How many documents are in memory only, or gone in memory only."""
        return sum(len(part) + len(part.dropped) for part in self.parts if isinstance(part, MemoryPart))

    def load(self) -> bool:
        """Open what is on disk; False when there is nothing. Raises DamagedError, with the index left empty."""
        found = catalog.read(self._folder)
        if found is None:
            return False
        opened = [self._open(entry) for entry in found.segments]
        with self.lock:
            self._catalog, self._next_id = found, found.next_id
            self._entries = {entry.id: entry for entry in found.segments}
            self._clear()
            for segment in opened:
                self.documents.drop(segment.dropped)
                self.documents.take(segment.documents, segment.lengths, segment.id)
            self.parts = [*opened, self._fresh]
        catalog.clean(self._folder, found)
        return True

    def _open(self, entry: Entry) -> Segment:
        path = self._folder / entry.file
        if checksum_of(path) != entry.checksum or path.stat().st_size != entry.size:
            raise DamagedError(f"{entry.file} is not as it was written")
        return Segment(entry.id, path)

    def reset(self) -> None:
        """Forget everything; what is on disk is replaced by the next flush."""
        with self.lock:
            self._catalog, self._entries = Catalog(), {}
            self._clear()

    def apply(self, updates: Iterable[tuple[int, Document | None]]) -> None:
        """Bring documents to these versions; None removes one."""
        with self.lock:
            for number, document in updates:
                self._apply_one(number, document)

    def _apply_one(self, number: int, document: Document | None) -> None:
        owner = self.documents.owner_of(number)
        if owner == self._fresh.id:
            self._fresh.remove(number)
        elif owner != NOWHERE:
            self._fresh.dropped.add(number)
        where = np.array([number])
        if document is None:
            self.documents.drop(where)
        else:
            self._fresh.add(number, document)
            self.documents.take(where, np.array([document.length]), self._fresh.id)
        self.documents.outdated.pop(self._fresh.id, None)

    def postings(self, term: str) -> list[Postings]:
        """The valid postings of a term, part by part."""
        found = [self._valid(part, part.postings(term)) for part in self.parts]
        return [postings for postings in found if len(postings[0])]

    def prefixed(self, prefix: str) -> list[Postings]:
        """The valid postings of all terms with a prefix, frequencies added up for each document."""
        found = [self._valid(part, postings) for part in self.parts for postings in part.prefixed(prefix)]
        if not found:
            return []
        numbers, frequencies = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        sums = np.bincount(numbers, frequencies, 1)
        holders = np.flatnonzero(sums).astype(np.int32)
        return [(holders, sums[holders])] if len(holders) else []

    def _valid(self, part: Part, postings: Postings) -> Postings:
        if not len(postings[0]):
            return NOTHING
        if not self.documents.outdated.get(part.id):
            return postings
        valid = self.documents.owner[postings[0]] == part.id
        return postings[0][valid], postings[1][valid]

    def flush(self, sequence: int, anchor: str) -> None:
        """Write what is in memory to disk; it then reaches up to `sequence`. Raises OSError, with nothing lost in memory."""
        with self.lock:
            if self._fresh:
                self._fresh = self._new_part()
                self.parts = [*self.parts, self._fresh]
            waiting = [part for part in self.parts[:-1] if isinstance(part, MemoryPart)]
        for part in waiting:
            self._replace([part], self._write(part.id, arrays_of(part)))
        if waiting or sequence != self._catalog.sequence:
            self._publish(sequence, anchor)

    def merge(self) -> bool:
        """Do the next merge that is due; False when none is. Raises OSError, with the index as before."""
        segments = [part for part in self.parts if isinstance(part, Segment)]
        outdated = [self.documents.outdated.get(segment.id, 0) for segment in segments]
        chosen = merging.plan([len(segment) for segment in segments], outdated)
        if chosen is None:
            return False
        run = segments[chosen]
        with self.lock:
            valid: list[NDArray[np.bool_]] = [self.documents.owner[segment.documents] == segment.id for segment in run]
        arrays = merging.merged(run, valid, oldest=chosen.start == 0)
        self._next_id += 1
        empty = not len(arrays["documents"]) and not len(arrays["dropped"])
        self._replace(run, None if empty else self._write(self._next_id, arrays))
        self._publish(self._catalog.sequence, self._catalog.anchor)
        return True

    def _write(self, part_id: int, arrays: Arrays) -> Segment:
        path = self._folder / f"{part_id:08d}.segment"
        checksum = write(path, arrays)
        self._entries[part_id] = Entry(id=part_id, file=path.name, size=path.stat().st_size, checksum=checksum)
        return Segment(part_id, path)

    def _replace(self, old: Sequence[Part], new: Segment | None) -> None:
        """Put one part in the place of several neighbours."""
        with self.lock:
            at = self.parts.index(old[0])
            self.parts = [*self.parts[:at], *([] if new is None else [new]), *self.parts[at + len(old) :]]
            sources = {part.id for part in old}
            if new is None or sources != {new.id}:
                self._moved(sources, new)

    def _moved(self, sources: set[int], new: Segment | None) -> None:
        if new is not None:
            self.documents.move(new.documents, sources, new.id)
        for source in sources:
            self._entries.pop(source, None)

    def _publish(self, sequence: int, anchor: str) -> None:
        kept = tuple(self._entries[part.id] for part in self.parts if part.id in self._entries)
        self._catalog = Catalog(sequence=sequence, anchor=anchor, next_id=self._next_id, segments=kept)
        catalog.save(self._folder, self._catalog)
        catalog.clean(self._folder, self._catalog)

"""The index on disk: one file of vectors that only grows, one of row owners, and a catalog that names both.

The catalog is replaced atomically and says how many rows count, so whatever an interrupted save left behind its end is
ignored and later written over.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from engram_faiss.arrays import Halves, Integers
from engram_faiss.index import Index
from engram_faiss.matrix import BLOCK, Matrix
from engram_faiss.rows import Rows

FORMAT = 1
FILE = "catalog.json"


class DamagedError(Exception):
    """The files cannot be used; the text says why."""


class Catalog(BaseModel):
    """`sequence` is the change up to which every row is current; `anchor` the hash of that event."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    model: str
    dimension: int
    rows: int = 0
    vectors: str
    checksum: int = 0
    owners: str = ""
    owners_checksum: int = 0
    sequence: int = 0
    anchor: str = ""


class Snapshot:
    """Reads and writes the files of one folder. Not for several threads."""

    def __init__(self, folder: Path, exact_rows: int) -> None:
        self._folder, self._exact_rows = folder, exact_rows
        self._catalog: Catalog | None = None

    def catalog(self) -> Catalog | None:
        """The catalog on disk, or None when there is none. Raises DamagedError."""
        try:
            catalog = Catalog.model_validate_json((self._folder / FILE).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise DamagedError(f"{FILE} cannot be read") from error
        if catalog.format != FORMAT:
            raise DamagedError(f"it has format {catalog.format}, this version writes {FORMAT}")
        return catalog

    def load(self, catalog: Catalog) -> Index:
        """Raises DamagedError when a file is missing, too short or does not have its checksum."""
        try:
            owners = self._read_owners(catalog)
            vectors = self._map(catalog)
        except (OSError, ValueError) as error:
            raise DamagedError(f"its files cannot be read: {error}") from error
        self._catalog = catalog
        return Index(catalog.model, Matrix(catalog.dimension, vectors), Rows(owners), self._exact_rows)

    def new(self, model: str, dimension: int) -> Index:
        self._catalog = None
        return Index(model, Matrix(dimension), Rows(), self._exact_rows)

    def _read_owners(self, catalog: Catalog) -> Integers:
        owners = np.fromfile(self._folder / catalog.owners, "<i8") if catalog.rows else np.empty(0, np.int64)
        if len(owners) != catalog.rows or zlib.crc32(owners.tobytes()) != catalog.owners_checksum or (owners < 0).any():
            raise DamagedError(f"{catalog.owners} is damaged")
        return owners.astype(np.int64)

    def _map(self, catalog: Catalog) -> Halves:
        vectors = self._mapped(catalog)
        checksum = 0
        for start in range(0, len(vectors), BLOCK):
            checksum = zlib.crc32(vectors[start : start + BLOCK].data, checksum)
        if checksum != catalog.checksum:
            raise DamagedError(f"{catalog.vectors} is damaged")
        return vectors

    def _mapped(self, catalog: Catalog) -> Halves:
        if not catalog.rows:
            return np.empty((0, catalog.dimension), np.float16)
        return np.memmap(self._folder / catalog.vectors, "<f2", "r", shape=(catalog.rows, catalog.dimension))

    def save(self, index: Index, sequence: int, anchor: str) -> None:
        """Add the fresh rows to the files durably; no rows may be added or dropped meanwhile. Raises OSError."""
        old = self._catalog or self._first(index)
        fresh = index.matrix.fresh.astype("<f2").tobytes()
        _write(self._folder / old.vectors, old.rows * index.dimension * 2, fresh)
        grown = {"rows": len(index.matrix), "checksum": zlib.crc32(fresh, old.checksum)}
        catalog = self._publish(old.model_copy(update=grown), index.rows.numbers.astype("<i8").tobytes(), sequence, anchor)
        with index.lock:
            index.matrix.saved_as(self._mapped(catalog))

    def _publish(self, catalog: Catalog, owners: bytes, sequence: int, anchor: str) -> Catalog:
        """Write the owners under a new name and let the catalog name it."""
        name = f"owners-{_number(catalog.owners) + 1}.i8"
        _write(self._folder / name, 0, owners)
        update = {"owners": name, "owners_checksum": zlib.crc32(owners), "sequence": sequence, "anchor": anchor}
        self._write_catalog(catalog.model_copy(update=update))
        assert self._catalog is not None
        return self._catalog

    def _first(self, index: Index) -> Catalog:
        """Of a new file of vectors, whose name no older file has."""
        taken = max((_number(path.name) for path in self._folder.glob("*-*.*")), default=0)
        return Catalog(model=index.model, dimension=index.dimension, vectors=f"vectors-{taken + 1}.f2", owners=f"owners-{taken}.i8")

    def _write_catalog(self, catalog: Catalog) -> None:
        fresh = self._folder / (FILE + ".new")
        with fresh.open("w", encoding="utf-8") as file:
            file.write(catalog.model_dump_json())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._folder / FILE)
        self._catalog = catalog
        self._clean(catalog)

    def _clean(self, catalog: Catalog) -> None:
        """Remove files the catalog does not name; one still in use stays until next time."""
        for path in self._folder.glob("*-*.*"):
            if path.name not in (catalog.vectors, catalog.owners):
                try:
                    path.unlink()
                except OSError:
                    continue

    def compact(self, index: Index, sequence: int, anchor: str) -> Index:
        """Write the living rows into new files and load them; the old index may be searched meanwhile. Raises OSError."""
        catalog = self._first(index)
        alive = np.flatnonzero(index.rows.numbers)
        checksum = 0
        for start in range(0, len(alive), BLOCK):
            block = index.matrix.take(alive[start : start + BLOCK]).astype("<f2").tobytes()
            _write(self._folder / catalog.vectors, start * index.dimension * 2, block)
            checksum = zlib.crc32(block, checksum)
        owners = index.rows.numbers[alive].astype("<i8").tobytes()
        self._publish(catalog.model_copy(update={"rows": len(alive), "checksum": checksum}), owners, sequence, anchor)
        assert self._catalog is not None
        return self.load(self._catalog)


def _write(path: Path, offset: int, data: bytes) -> None:
    """Durably; what lies behind it in the file stays."""
    with path.open("r+b" if offset else "wb") as file:
        file.seek(offset)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _number(name: str) -> int:
    digits = name.partition("-")[2].partition(".")[0]
    return int(digits) if digits.isdigit() else 0

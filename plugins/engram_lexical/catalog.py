"""The catalog of the index: which files belong to it and up to which change of the store they reach.

It is replaced atomically; a file it does not name is a leftover and is removed.
"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from engram_lexical.segment import DamagedError
from engram_lexical.tokens import TOKEN_RULES

FORMAT = 1
FILE = "catalog.json"
PATTERN = "*.segment"


class Entry(BaseModel):
    """One segment file."""

    model_config = ConfigDict(frozen=True)

    id: int
    file: str
    size: int
    checksum: int


class Catalog(BaseModel):
    """`sequence` is the last change that is in the files; `anchor` the hash of that event, which identifies the store."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    token_rules: int = TOKEN_RULES
    sequence: int = 0
    anchor: str = ""
    next_id: int = 0
    segments: tuple[Entry, ...] = ()


def read(folder: Path) -> Catalog | None:
    """The catalog, or None when there is no index yet. Raises DamagedError for one that cannot be used."""
    try:
        catalog = Catalog.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise DamagedError(f"{FILE} cannot be read") from error
    if (catalog.format, catalog.token_rules) != (FORMAT, TOKEN_RULES):
        raise DamagedError(f"it has format {catalog.format}.{catalog.token_rules}, this version writes {FORMAT}.{TOKEN_RULES}")
    return catalog


def save(folder: Path, catalog: Catalog) -> None:
    """Replace the catalog durably."""
    fresh = folder / (FILE + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(catalog.model_dump_json())
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / FILE)


def clean(folder: Path, catalog: Catalog) -> None:
    """Remove segment files that the catalog does not name; one still in use elsewhere stays until next time."""
    named = {entry.file for entry in catalog.segments}
    for path in folder.glob(PATTERN):
        if path.name not in named:
            try:
                path.unlink()
            except OSError:
                continue

"""SQL texts, read once from the `.sql` files of this package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_MARK = "-- name: "


@cache
def statements(file: str) -> dict[str, str]:
    """The named statements of `sql/<file>.sql`."""
    text = (files("engram_duckdb") / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    named = (block.split("\n", 1) for block in text.split(_MARK)[1:])
    return {name.strip(): body.strip() for name, body in named}


def migrations() -> dict[int, str]:
    """Migration scripts by number, ascending."""
    folder = files("engram_duckdb") / "migrations"
    found = {int(item.name[:4]): item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".sql")}
    return dict(sorted(found.items()))

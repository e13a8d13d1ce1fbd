"""query_memory: runs a FIND query of the MindQL language."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engram_kernel.call import Call
from engram_kernel.query import Target
from engram_kernel.times import now
from engram_thoughts.arguments import QueryMemory
from engram_thoughts.budget import fit, next_offset
from engram_thoughts.mindql.compiler import Compiled, compile_find
from engram_thoughts.mindql.parser import parse
from engram_thoughts.mindql.rows import COLUMNS, PLAN_COLUMNS, Row, action_rows, edge_rows, plan_row, thought_rows
from engram_thoughts.results import Rows
from engram_thoughts.settings import Settings


class Querying:
    """The query tool."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def query(self, call: Call, given: QueryMemory) -> Rows:
        find = parse(given.query)
        compiled = compile_find(given.query, find, now(), given.limit)
        if find.explain:
            row = plan_row(find, compiled.table, compiled.query.limit or 0, compiled.query.offset)
            return Rows(columns=list(PLAN_COLUMNS), rows=[row], total=1)
        if find.count:
            _, total = _run(call, replace(compiled, query=replace(compiled.query, limit=1)))
            return Rows(columns=["count"], rows=[{"count": total}], total=1)
        rows, total = _run(call, compiled)
        shown = fit(rows, self._settings.result_bytes)
        following = next_offset(compiled.query.offset, len(shown), total)
        return Rows(columns=list(COLUMNS[compiled.table.name]), rows=shown, total=total, next_offset=following)


def _run(call: Call, compiled: Compiled) -> tuple[Iterable[Row], int]:
    """The rows of one page and the count of all matches."""
    if compiled.query.target is Target.EDGE:
        edges = call.store.find_edges(compiled.query)
        return edge_rows(edges.items), edges.total
    page = call.store.find(compiled.query)
    if compiled.table.name == "actions":
        return action_rows(page.items), page.total
    return thought_rows(call.store, page.items), page.total

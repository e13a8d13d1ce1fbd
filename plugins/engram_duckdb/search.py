"""Runs queries: on the in-memory columns when they hold every field of the query, else as SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from engram_duckdb import evaluate
from engram_duckdb.columns import Array, Mask
from engram_duckdb.compile_sql import count_sql, numbers_sql, page_sql
from engram_duckdb.database import Database
from engram_duckdb.evaluate import Evaluator, Ids
from engram_duckdb.records import Records
from engram_duckdb.selection import MaskSelection
from engram_duckdb.state import State
from engram_kernel.arguments import refused
from engram_kernel.model import Edge, Memory
from engram_kernel.query import Page, Query, Target


def memory_evaluator(state: State) -> Evaluator:
    numbers = state.memories.view("number")
    return Evaluator(state.memories, Target.MEMORY, {"id": Ids(numbers, state.memory_names)})


def edge_evaluator(state: State) -> Evaluator:
    edges = state.edges
    ends = {"source": Ids(edges.view("src"), state.memory_names), "target": Ids(edges.view("dst"), state.memory_names)}
    return Evaluator(edges, Target.EDGE, {"id": Ids(edges.view("number"), state.edge_names), **ends})


def check_page(query: Query) -> None:
    faults = {name: "is negative" for name, value in (("limit", query.limit), ("offset", query.offset)) if value is not None and value < 0}
    if faults:
        raise refused(faults)


class Search:
    """Page and set queries over one state. `prefer_sql` sends everything through SQL; tests compare both ways."""

    def __init__(self, database: Database, records: Records, prefer_sql: bool = False) -> None:
        self._database, self._records, self.prefer_sql = database, records, prefer_sql

    def memories(self, state: State, query: Query) -> Page[Memory]:
        check_page(query)
        query = replace(query, target=Target.MEMORY)
        with state.lock:
            evaluator = memory_evaluator(state)
            quick = self._in_memory(evaluator, query)
            if quick:
                numbers, total = _page(evaluator, self._memory_mask(state, evaluator, query), query)
                rids: list[int] = state.memories["rid"].array[numbers].tolist()
        if not quick:
            rids, total = self._sql_page(query)
        return _filled(self._records.memories(rids, state), total)

    def edges(self, state: State, query: Query) -> Page[Edge]:
        check_page(query)
        query = replace(query, target=Target.EDGE)
        with state.lock:
            evaluator = edge_evaluator(state)
            quick = self._in_memory(evaluator, query)
            if quick:
                numbers, total = _page(evaluator, self._edge_mask(state, evaluator, query), query)
        if quick:
            return Page(self._records.edges(state, numbers.tolist()), total)
        rids, total = self._sql_page(query)
        return Page(self._records.old_edges(rids, state.damaged), total)

    def select(self, state: State, query: Query) -> MaskSelection:
        query = replace(query, target=Target.MEMORY, order=())
        with state.lock:
            evaluator = memory_evaluator(state)
            if self._in_memory(evaluator, query):
                return MaskSelection(self._memory_mask(state, evaluator, query))
            size = state.memories.size
        rows = self._rows(numbers_sql(query), arrays=True)
        return MaskSelection.of(rows, max(size, int(rows.max(initial=0)) + 1))

    def _in_memory(self, evaluator: Evaluator, query: Query) -> bool:
        able = evaluator.can(query.where) and evaluator.can_order(query.order)
        return able and query.as_of is None and not self.prefer_sql

    @staticmethod
    def _memory_mask(state: State, evaluator: Evaluator, query: Query) -> Mask:
        mask = evaluate.base_mask(state.memories, query)
        return mask if query.where is None else mask & evaluator.truth(query.where).true

    @staticmethod
    def _edge_mask(state: State, evaluator: Evaluator, query: Query) -> Mask:
        mask = evaluate.edge_mask(state.edges, state.memories, query)
        return mask if query.where is None else mask & evaluator.truth(query.where).true

    def _sql_page(self, query: Query) -> tuple[list[int], int]:
        rows = self._rows(page_sql(query))
        if rows:
            return [rid for rid, _ in rows], rows[0][1]
        return [], self._rows(count_sql(query))[0][0] if query.offset or query.limit == 0 else 0

    def _rows(self, statement: tuple[str, list[Any]], arrays: bool = False) -> Any:
        with self._database.reading() as cursor:
            cursor.execute(*statement)
            return np.ma.getdata(next(iter(cursor.fetchnumpy().values()))) if arrays else cursor.fetchall()


def _page(evaluator: Evaluator, mask: Mask, query: Query) -> tuple[Array, int]:
    numbers = np.flatnonzero(mask)
    wanted = None if query.limit is None else query.offset + query.limit
    return evaluator.order(numbers, query.order, wanted)[query.offset :], len(numbers)


def _filled(memories: list[Memory | None], total: int) -> Page[Memory]:
    return Page([memory for memory in memories if memory is not None], total)

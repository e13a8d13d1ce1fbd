"""Loads the in-memory state in a few statements, without a Python object for each record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from engram_duckdb import cards
from engram_duckdb.columns import ABSENT, Array, Columns, Kind
from engram_duckdb.database import Connection, Database
from engram_duckdb.heads import EDGE_FIELDS, MEMORY_FIELDS
from engram_duckdb.names import Names
from engram_duckdb.state import Counters, State, Tail
from engram_duckdb.statements import statements

_REVISION_WORDS = tuple(name for name, kind in MEMORY_FIELDS.items() if kind is Kind.WORD and name != "collection")
_EDGE_WORDS = tuple(name for name, kind in EDGE_FIELDS.items() if kind is Kind.WORD)


def load(database: Database) -> State:
    """Raises duckdb.Error."""
    state, sql = State(), statements("load")
    with database.reading() as cursor:
        state.counters = Counters(*cursor.execute(sql["counters"]).fetchall()[0])
        tail = cursor.execute(sql["tail"]).fetchone()
        state.tail = Tail(*tail) if tail else Tail()
        state.models = {name: (model, dimension) for model, name, dimension in cursor.execute(sql["models"]).fetchall()}
        _load_cards(state, cursor.execute(sql["cards"]).fetchall())
        _load_memories(state, cursor)
        _load_edges(state, cursor)
    return state


def _load_cards(state: State, rows: list[tuple[Any, ...]]) -> None:
    for kind, collection, name, body, revision in rows:
        key = (kind, collection, name)
        state.card_revisions[key] = revision
        if body is None:
            continue
        try:
            state.cards[key] = cards.read(kind, json.loads(body))
        except (ValueError, TypeError, KeyError) as error:
            state.damaged[f"{kind} {name}"] = f"the record cannot be read: {error}"


def _load_memories(state: State, cursor: Connection) -> None:
    heads, sql = state.memories, statements("load")
    heads["collection"].vocabulary.extend(word for (word,) in cursor.execute(sql["collections"]).fetchall())
    known = _table(cursor, sql["identities"], heads, ("collection",), alias="m")
    numbers = np.ma.getdata(known.pop("mid"))
    heads.load(numbers, {"number": numbers, **known})
    newest = _table(cursor, sql["memories"], heads, _REVISION_WORDS, alias="r", table="revision")
    numbers = np.ma.getdata(newest.pop("mid"))
    heads.load(numbers, newest)
    state.prints.load(np.ma.getdata(newest["print"]), numbers)
    _load_names(state.memory_names, cursor, number="mid", table="memory", current="true")
    used = cursor.execute(sql["usage"]).fetchnumpy()
    heads.load(np.ma.getdata(used["mid"]), {"used": used["count"], "used_at": used["last_at"]})


def _load_edges(state: State, cursor: Connection) -> None:
    newest = _table(cursor, statements("load")["edges"], state.edges, _EDGE_WORDS, alias="r", table="edge")
    numbers = np.ma.getdata(newest.pop("eid"))
    state.edges.load(numbers, {"number": numbers, **newest})
    _load_names(state.edge_names, cursor, number="eid", table="edge", current="known_to is null")
    state.sort_edges()


def _table(cursor: Connection, sql: str, columns: Columns, words: Sequence[str], *, alias: str, table: str = "") -> dict[str, Array]:
    """Run a load statement with its text columns as vocabulary codes, found by DuckDB."""
    parameters, joins = [], []
    for place, name in enumerate(words):
        vocabulary = columns[name].vocabulary
        if table:
            found = cursor.execute(statements("load")["words"].format(column=name, table=table)).fetchall()
            vocabulary.extend(word for (word,) in found)
        joins.append(f"left join (select unnest(?::varchar[]) as w, unnest(range(?)) as n) w{place} on w{place}.w = {alias}.{name}")
        parameters += [vocabulary.words, len(vocabulary.words)]
    codes = ", ".join(f"coalesce(w{place}.n, {ABSENT}) as {name}" for place, name in enumerate(words))
    return dict(cursor.execute(sql.format(codes=codes, joins=" ".join(joins)), parameters).fetchnumpy())


def _load_names(names: Names, cursor: Connection, **place: str) -> None:
    sql = statements("load")
    numbers, lengths, keys = (np.ma.getdata(column) for column in cursor.execute(sql["names"].format(**place)).fetchnumpy().values())
    text = cursor.execute(sql["all_names"].format(**place)).fetchall()[0][0]
    names.load(numbers, lengths, keys, text.encode())

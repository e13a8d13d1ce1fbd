"""Queries as SQL: columns come from a fixed table, everything of the caller travels as a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engram_duckdb.columns import Kind
from engram_duckdb.fields import Field, field_of, operand, pointer
from engram_duckdb.moments import to_micros
from engram_kernel.query import And, Compare, Condition, In, IsNull, Like, Not, Or, Order, Query, Target, ValidAt, ValidBetween, ValidWithin

_FEW = 20
_TIME = "make_timestamp(?::bigint)"
_SOURCES = {
    Target.MEMORY: "revision r join memory m on m.mid = r.mid join content c on c.cid = r.cid",
    Target.EDGE: "edge r join memory s on s.mid = r.src join memory t on t.mid = r.dst",
}
_NUMBER = {Target.MEMORY: "r.mid", Target.EDGE: "r.eid"}
_HOMES = {Target.MEMORY: ("m.collection",), Target.EDGE: ("s.collection", "t.collection")}


@dataclass
class Sql:
    """A statement under construction."""

    target: Target
    parameters: list[Any] = field(default_factory=list)

    def add(self, *values: Any) -> None:
        self.parameters.extend(values)

    def condition(self, condition: Condition) -> str:
        match condition:
            case And(parts=parts):
                return "(" + " and ".join([self.condition(part) for part in parts] or ["true"]) + ")"
            case Or(parts=parts):
                return "(" + " or ".join([self.condition(part) for part in parts] or ["false"]) + ")"
            case Not(part=part):
                return f"(not {self.condition(part)})"
            case ValidAt() | ValidWithin() | ValidBetween():
                return self._valid(condition)
            case _:
                return self._leaf(condition)

    def _valid(self, condition: ValidAt | ValidWithin | ValidBetween) -> str:
        match condition:
            case ValidAt(moment=moment):
                self.add(to_micros(moment), to_micros(moment))
                return f"(coalesce(r.valid_from <= {_TIME}, true) and coalesce(r.valid_until > {_TIME}, true))"
            case ValidWithin(start=start, end=end):
                self.add(to_micros(end), to_micros(start))
                return f"(coalesce(r.valid_from < {_TIME}, true) and coalesce(r.valid_until > {_TIME}, true))"
            case ValidBetween(start=start, end=end):
                self.add(to_micros(start), to_micros(end))
                return f"(coalesce(r.valid_from >= {_TIME}, false) and coalesce(r.valid_until <= {_TIME}, false))"

    def _leaf(self, leaf: Compare | In | IsNull | Like) -> str:
        named = field_of(leaf.field, self.target)
        match leaf:
            case IsNull():
                return self._is_null(named)
            case Compare(operator=sign, value=value):
                return self._compare(named, sign, operand(named, value))
            case In(values=values):
                return self._in(named, values)
            case Like(pattern=pattern, fold=fold):
                return self._like(named, pattern, fold)

    def _in(self, named: Field, values: Sequence[Any]) -> str:
        """Many texts travel as one list, since the planner needs quadratic time for a chain of comparisons."""
        if len(values) < _FEW or named.numeric or named.kind is Kind.TIME or not all(isinstance(value, str) for value in values):
            return "(" + " or ".join([self._compare(named, "=", operand(named, value)) for value in values] or ["false"]) + ")"
        one_of = "in (select unnest(?::varchar[]))"
        if named.key is None:
            self.add(list(values))
            return f"({named.sql} {one_of})"
        path = pointer(named.key)
        self.add(path, path, path, list(values))
        null = f"case when coalesce(json_type({named.sql}, ?), 'NULL') = 'NULL' then null"
        return f"({null} when json_type({named.sql}, ?) = 'VARCHAR' then json_extract_string({named.sql}, ?) {one_of} else false end)"

    def _is_null(self, named: Field) -> str:
        if named.key is None:
            return f"({named.sql} is null)"
        self.add(pointer(named.key))
        return f"(coalesce(json_type({named.sql}, ?), 'NULL') = 'NULL')"

    def _compare(self, named: Field, sign: str, value: Any) -> str:
        if value is None:
            return "null::boolean"
        if named.key is not None:
            return self._compare_path(named, sign, value)
        if named.kind is Kind.TIME:
            self.add(value)
            return f"({named.sql} {sign} {_TIME})"
        if named.numeric is isinstance(value, str):
            return _mismatch(named.sql, sign)
        return self._compare_plain(named, sign, value)

    def _compare_plain(self, named: Field, sign: str, value: Any) -> str:
        self.add(_parameter(value))
        column = f"{named.sql}::bigint" if named.kind is Kind.FLAG else named.sql
        return f"({column} {sign} ?)"

    def _compare_path(self, named: Field, sign: str, value: Any) -> str:
        path = pointer(named.key or "")
        wrong = "true" if sign == "!=" else "false"
        self.add(path)
        null = f"case when coalesce(json_type({named.sql}, ?), 'NULL') = 'NULL' then null"
        if isinstance(value, str):
            self.add(path, path, value)
            text = f"json_extract_string({named.sql}, ?) {sign} ?"
            return f"({null} when json_type({named.sql}, ?) = 'VARCHAR' then {text} else {wrong} end)"
        return f"({null} {self._number_cases(named.sql, path, sign, value)} else {wrong} end)"

    def _number_cases(self, column: str, path: str, sign: str, value: Any) -> str:
        """Whole numbers are compared exactly; true and false count as 1 and 0."""
        exact = "hugeint" if isinstance(value, int) and abs(value) < 2**63 else "double"
        number = _parameter(value)
        self.add(*(path, path, number) * 3)
        cell = f"json_extract_string({column}, ?)"
        return (
            f"when json_type({column}, ?) in ('BIGINT', 'UBIGINT') then try_cast({cell} as {exact}) {sign} ?::{exact} "
            f"when json_type({column}, ?) = 'DOUBLE' then try_cast({cell} as double) {sign} ?::double "
            f"when json_type({column}, ?) = 'BOOLEAN' then ({cell} = 'true')::bigint {sign} ?::double"
        )

    def _like(self, named: Field, pattern: str, fold: bool) -> str:
        pattern = _closed(pattern)
        if named.key is None and (named.numeric or named.kind is Kind.TIME):
            return _mismatch(named.sql, "=")
        cell = named.sql if named.key is None else f"json_extract_string({named.sql}, ?)"
        test = f"lower({cell}) like lower(?) escape '\\'" if fold else f"{cell} like ? escape '\\'"
        if named.key is None:
            self.add(pattern)
            return f"({test})"
        path = pointer(named.key)
        self.add(path, path, path, pattern)
        null = f"case when coalesce(json_type({named.sql}, ?), 'NULL') = 'NULL' then null"
        return f"({null} when json_type({named.sql}, ?) = 'VARCHAR' then {test} else false end)"

    def where(self, query: Query) -> str:
        parts = [self._known(query), *(self._one_of(home, query.collections) for home in _HOMES[self.target])]
        parts.append(self._one_of("r.state", [state.value for state in query.states]))
        if query.where is not None:
            parts.append(self.condition(query.where))
        return " and ".join(parts)

    def _known(self, query: Query) -> str:
        if query.as_of is None:
            return "r.known_to is null"
        moment = to_micros(query.as_of)
        self.add(moment, moment)
        return f"r.known_from <= {_TIME} and coalesce(r.known_to > {_TIME}, true)"

    def _one_of(self, column: str, values: Sequence[str]) -> str:
        if not values:
            return "false"
        self.add(*values)
        return f"{column} in ({','.join('?' * len(values))})"

    def order(self, order: Sequence[Order]) -> str:
        keys = [key for item in order for key in self._keys(item)]
        return ", ".join([*keys, f"{_NUMBER[self.target]} desc"])

    def _keys(self, item: Order) -> list[str]:
        named, way = field_of(item.field, self.target), "desc" if item.descending else "asc"
        if named.key is None:
            return [f"{named.sql} {way} nulls last"]
        path = pointer(named.key)
        self.add(path, path)
        cell = f"json_extract_string({named.sql}, ?)"
        return [f"try_cast({cell} as double) {way} nulls last", f"{cell} {way} nulls last"]


def _mismatch(column: str, sign: str) -> str:
    """A value of another type than the column's never compares, but is unequal; null stays unknown."""
    known = f"nullif({column} is null, true)"
    return f"(not {known})" if sign == "!=" else f"({known})"


def _parameter(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value) if abs(value) < 2**1000 else float("inf") * (1 if value > 0 else -1)
    return value


def _closed(pattern: str) -> str:
    """A last backslash that escapes nothing stands for itself; DuckDB would refuse it."""
    open_end = (len(pattern) - len(pattern.rstrip("\\"))) % 2
    return pattern + "\\" * open_end


def numbers_sql(query: Query) -> tuple[str, list[Any]]:
    """All matching record numbers."""
    sql = Sql(query.target)
    where = sql.where(query)
    return f"select {_NUMBER[query.target]} from {_SOURCES[query.target]} where {where}", sql.parameters  # noqa: S608


def count_sql(query: Query) -> tuple[str, list[Any]]:
    sql = Sql(query.target)
    where = sql.where(query)
    return f"select count(*) from {_SOURCES[query.target]} where {where}", sql.parameters  # noqa: S608


def page_sql(query: Query) -> tuple[str, list[Any]]:
    """Rows (revision row number, total of all matches) of one page."""
    sql = Sql(query.target)
    where, order = sql.where(query), sql.order(query.order)
    sql.add(min(2**62, query.limit if query.limit is not None else 2**62), min(2**62, query.offset))
    return f"select r.rid, count(*) over () from {_SOURCES[query.target]} where {where} order by {order} limit ? offset ?", sql.parameters  # noqa: S608

"""The message table of the language. A refused query is always an InvalidInput that names the part and its place."""

from __future__ import annotations

from engram_kernel.errors import InvalidInput

EXAMPLE = "Example: FIND thoughts WHERE priority = 'P1' AND valid_now ORDER BY updated_cycle DESC LIMIT 10"

TOO_DEEP = "parentheses are nested more than {maximum} levels deep"
DOUBLE_QUOTED = "texts are written in single quotes, not double quotes; write 'text', and '' for a quote inside"
UNCLOSED = "this quoted text is not closed; write '' for a quote inside"
INCOMPLETE = "the query ends too early; expected {expected}"
UNEXPECTED = "unexpected {found}; expected {expected}"
BAD_TEMPORAL = "malformed temporal predicate: {word} takes {moments}"
NO_TABLE = "unknown table {found}; query thoughts, edges or actions"
NO_EMBEDDINGS = "embeddings cannot be queried: a vector has no JSON form; query thoughts, edges or actions"
NO_COLUMN = "unknown column {found} of {table}; known columns: {columns}"
NO_CLAUSE_COLUMN = "the column {found} appears in rows but cannot be used in a clause{hint}"
METADATA_HINT = "; use metadata.<key>"
BAD_PATH = "{found} is not a metadata field; write metadata.<key> with letters, digits and underscores"
NO_VALID_TIME = "the table {table} has no valid time"
NOT_A_MOMENT = "{found} is not an ISO 8601 time between the years 1 and 9999; write for example '2026-01-31T12:00:00Z'"
INVERTED_WINDOW = "the window of {word} is inverted: {start} is after {end}"
INTEGER_RANGE = "the integer {found} is outside the range -9223372036854775808..9223372036854775807"
NOT_TEXT_COLUMN = "{word} works on text columns, and {found} is not one"
LIMIT_RANGE = "LIMIT must be between 1 and {maximum:,}; the query says {value}"
OFFSET_RANGE = "OFFSET must be between 0 and 9223372036854775807; the query says {value}"

MOMENTS = {
    "valid_now": "no moment",
    "valid_at": "one ISO 8601 moment",
    "valid_within": "two ISO 8601 moments",
    "valid_between": "two ISO 8601 moments",
}
"""What each temporal predicate takes."""

TOKENS = {
    "WORD": "a table (thoughts, edges or actions)",
    "COLUMN": "a column",
    "OPERATOR": "a comparison (= != < <= > >=)",
    "QUOTED": "a value",
    "BARE": "a value",
    "BARE_ITEM": "a value",
    "DOUBLE": "a value",
    "DIGITS": "a whole number",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": ",",
    "$END": "the end of the query",
    "<END-OF-FILE>": "the end of the query",
}
"""Names of tokens for people; a token that is not listed is a keyword and named by itself."""


def refuse(text: str, query: str | None = None, position: int | None = None, **values: object) -> InvalidInput:
    """An error with the place of the fault, as line and column counted from 1."""
    what = text.format(**values)
    if query is None or position is None:
        return InvalidInput(f"query: {what}.", next_step=EXAMPLE, data={"fields": {"query": what}})
    line = query.count("\n", 0, position) + 1
    column = position - (query.rfind("\n", 0, position) + 1) + 1
    data = {"fields": {"query": what}, "line": line, "column": column, "position": position}
    return InvalidInput(f"query, line {line}, column {column}: {what}.", next_step=EXAMPLE, data=data)


def shorten(text: str) -> str:
    """A part of the query, for a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")

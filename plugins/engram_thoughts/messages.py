"""Every error text of the thought tools, in one table. Placeholders are filled with `str.format`.

Each entry is (what happened, next step); that nothing was changed is added by the error class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from engram_kernel.errors import EngramError

E = TypeVar("E", bound=EngramError)


class Message(NamedTuple):
    what: str
    next_step: str


UNKNOWN_THOUGHT = Message(
    "There is no thought with the id {id!r}.", "Find ids with search_memory, list_memory or query_memory, or create it with store_thought."
)
ID_TAKEN = Message(
    "The thought id {id!r} is already taken.",
    "Choose another id, leave thought_id out, use update_thought to change that thought, or set deduplicate to reuse equal content.",
)
BAD_MOVE = Message(
    "The thought {id!r} is {current}; it cannot become {wanted}.",
    "From {current} it can become: {open}.",
)
CONFLICT = Message(
    "The thought {id!r} was changed or deleted by another writer since it was read{detail}. No field was applied.",
    "Read it again with get_thought, then repeat the update on its current revision.",
)
NO_ENDPOINT = Message("The edge cannot be created: {missing}.", "Check the ids with get_thought, or store the thought first.")
LINK_EXISTS = Message(
    "An edge of type {type} from {source!r} to {target!r} already exists.",
    "Read it with get_edges; delete it first to replace it, or use another edge_type.",
)
EDGE_ID_TAKEN = Message(
    "The edge id {id!r} is already taken; another edge_type would not help.", "Choose another edge_id, or leave it out to get a new one."
)
NOT_FIND = Message("Only FIND queries are accepted.", "Example: FIND thoughts WHERE priority = 'P1' ORDER BY updated_cycle DESC LIMIT 10")

BLANK = "must not be blank"
NOT_TIME = "is not an ISO 8601 time between the years 1 and 9999; use a form like 2026-01-31 or 2026-01-31T12:00:00+00:00"
NOT_TEXT_TIME = "must be a text with an ISO 8601 time, such as 2026-01-31T12:00:00+00:00"
INVERTED = "must not be before valid_from ({start})"
METADATA_TOO_LARGE = "is {supplied:,} bytes as JSON; the maximum is {maximum:,} bytes"
METADATA_VALUE = "the value of {key!r} must be a string, finite number, boolean{nested} or null"
METADATA_DEPTH = "is nested more than {maximum} levels deep"
METADATA_LIST = "the value of {key!r} must be a list of strings, numbers, booleans or nulls"
FILTER_KEY = "the key {key!r} is not a simple name; use letters, digits and underscores only"
TOO_MANY_CONDITIONS = "holds too many conditions together with the other filter ({count}); the maximum is {maximum}"
CLEAR_AND_SET = "names {names}, which the same call also sets"

WEAK = "Nothing stored fits this question well: the best match has a relevance of {best:.2f}. It is probably not known here; do not guess."
NOTHING = "Nothing stored fits this question. It is not known here; do not guess."


def fault(kind: type[E], text: Message, data: Mapping[str, Any] | None = None, **values: object) -> E:
    """An error of this table."""
    return kind(text.what.format(**values), next_step=text.next_step.format(**values), data=data)

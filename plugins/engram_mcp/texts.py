"""What the transport itself says to a client. One place, so that wording and codes can be reviewed together."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

NOT_JSON = "Parse error: the line is not JSON ({fault}). Nothing was done."
NOT_A_MESSAGE = "Invalid request: {fault}. Nothing was done."
NO_OBJECT = "a message must be a JSON object"
NO_METHOD = "method must be a string"
NO_VERSION = 'jsonrpc must be "2.0"'
BAD_ID = "id must be a string or an integer"
BAD_PARAMS = "params must be an object"
BATCH = "several messages in one line are served only after protocol version 2025-03-26 was agreed on"
EMPTY_BATCH = "the list of messages is empty"
INITIALIZE_IN_BATCH = "initialize must stand on a line of its own"
ID_IN_USE = "the id {id!r} belongs to a request that is still running"
LINE_TOO_LONG = "the line is too long"
TOO_DEEP = "is nested more than {limit} levels deep"

BAD_PARAMETERS = "Invalid params: {faults}. Nothing was changed."
NOT_INITIALIZED = "The session is not initialized: send initialize first. Nothing was done."
NO_SUCH_METHOD = "Method not found: {method}."
INTERNAL = "The request failed unexpectedly; details are in the server log. Read back before you repeat a write."
NO_PAGES = "cursor: unknown, the list has one page"
UNKNOWN_REFERENCE = "Unknown completion reference: {name}."
BAD_STATE = "Invalid or expired requestState. Nothing was written by this request; call the tool again without it."
NO_STATE = "inputResponses needs the requestState that came with the question. Nothing was written; call the tool again without both."


@cache
def instructions() -> str:
    """The text for the model that both protocol eras return; hosts may show only its first 512 characters."""
    return files("engram_mcp").joinpath("instructions.txt").read_text(encoding="utf-8").strip()

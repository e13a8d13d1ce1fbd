"""The error taxonomy.

Every error says three things: what happened, whether anything was changed, and the next sensible step.
`code`, the class name in snake case, is stable and machine-readable; the text is for a person or a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

UNCHANGED = "Nothing was changed."


class EngramError(Exception):
    """Base of all expected failures; `str(error)` is safe to show to a client."""

    code: ClassVar[str] = "engram_error"

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, what: str, *, changed: str = UNCHANGED, next_step: str = "", data: Mapping[str, Any] | None = None) -> None:
        super().__init__(" ".join(part for part in (what, changed, next_step) if part))
        self.what, self.changed, self.next_step = what, changed, next_step
        self.data: dict[str, Any] = dict(data or {})


class InvalidInput(EngramError):
    """An argument or a file is wrong; `data["fields"]` names each offending field and its fault."""


class Unknown(EngramError):
    """No such tool, resource or prompt, or none that this session may see; `data["kind"]` says which."""


class NotFound(EngramError):
    """The record named by the caller does not exist in a place the caller may see."""


class AlreadyExists(EngramError):
    """An id or a unique link is taken; `data` names the existing record."""


class DuplicateContent(EngramError):
    """A record with the same content exists and the change asked for unique content; `data["id"]` names it."""


class StaleRevision(EngramError):
    """The record changed since the caller read it; `data` carries `expected` and `current`."""


class NotAllowed(EngramError):
    """Scope, read-only mode, a missing capability or a declined approval stopped the operation."""


class Busy(EngramError):
    """The owner could not take the work now; the same call is safe to repeat."""


class OutcomeUnknown(EngramError):
    """The write may or may not have happened; read back before repeating."""

    def __init__(self, what: str, *, next_step: str = "Read the record back before you repeat the call.") -> None:
        super().__init__(what, changed="Whether it was written could not be confirmed.", next_step=next_step)


class StoreUnusable(EngramError):
    """The store cannot work until an operator acts (disk full, damaged, newer schema)."""


class LeaseHeld(EngramError):
    """Another process owns the data folder and cannot be reached."""


class ConfigError(EngramError):
    """`engram.yaml`, the environment or a flag is wrong; the text names layer, key and line."""


class PluginFailed(EngramError):
    """A plugin raised where its failure must stop the operation; `data["plugin"]` names it."""

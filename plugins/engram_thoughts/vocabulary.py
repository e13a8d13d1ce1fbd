"""The words of the thought store: enums, lifecycle moves, limits, and the names of its collections."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from engram_kernel.model import Collection

TOOL_SET = "thoughts"
THOUGHTS = Collection(id="thoughts", title="Thoughts", tool_set=TOOL_SET)
ACTIONS = Collection(id="actions", title="Actions", tool_set=TOOL_SET)

MAX_ESSENCE = 200
MAX_ID = 256
MAX_PAGE = 5000
MAX_TOP_K = 1000
MAX_CONDITIONS = 250
MAX_METADATA_BYTES = 65_536
MAX_METADATA_DEPTH = 32
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


# No docstrings on the enums: pydantic would publish them as the description of every argument.
class ThoughtType(StrEnum):
    TASK = "TASK"
    OBSERVATION = "OBSERVATION"
    BELIEF = "BELIEF"
    REFLECTION = "REFLECTION"
    OUTPUT_DRAFT = "OUTPUT_DRAFT"
    NOTE = "NOTE"


class Priority(StrEnum):
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"

    @property
    def number(self) -> int:
        return int(self.value[1:])


class LifecycleStatus(StrEnum):
    CREATED = "CREATED"
    ACTIVE = "ACTIVE"
    DONE = "DONE"
    ARCHIVED = "ARCHIVED"


class EdgeType(StrEnum):
    ASSOCIATED = "ASSOCIATED"
    DEPENDS_ON = "DEPENDS_ON"
    DERIVED_FROM = "DERIVED_FROM"
    MESSAGE_OF = "MESSAGE_OF"
    BRIDGE = "BRIDGE"
    CONSOLIDATED_FROM = "CONSOLIDATED_FROM"
    CONTESTED_BY = "CONTESTED_BY"


class KnowledgeSource(StrEnum):
    EXPERIENCE = "EXPERIENCE"
    SEEDED_LLM = "SEEDED_LLM"
    DISTILLED_LLM = "DISTILLED_LLM"
    DREAMING = "DREAMING"


class Visibility(StrEnum):
    PRIVATE = "private"
    SELECTIVE = "selective"
    PUBLIC = "public"


class Direction(StrEnum):
    IN = "IN"
    OUT = "OUT"
    BOTH = "BOTH"


class Clearable(StrEnum):
    CONFIDENCE = "confidence"
    VALID_FROM = "valid_from"
    VALID_UNTIL = "valid_until"
    EXPIRES_AT = "expires_at"
    METADATA = "metadata"
    PROVENANCE = "provenance"


MOVES: Mapping[str, tuple[LifecycleStatus, ...]] = {
    LifecycleStatus.CREATED: (LifecycleStatus.ACTIVE,),
    LifecycleStatus.ACTIVE: (LifecycleStatus.DONE, LifecycleStatus.ARCHIVED),
    LifecycleStatus.DONE: (LifecycleStatus.ARCHIVED,),
    LifecycleStatus.ARCHIVED: (LifecycleStatus.ACTIVE,),
}
"""Current status to the statuses that may follow it."""

ACTION_TYPES = ("CLI_OUTPUT", "TOOL_CALL", "MESSAGE", "STATE_UPDATE")
ACTION_STATUSES = ("PLANNED", "EXECUTING", "BLOCKED", "CONFIRMED", "FAILED")
VERIFICATION_STATUSES = ("PENDING", "CONFIRMED", "PARTIAL", "FAILED", "UNVERIFIABLE")

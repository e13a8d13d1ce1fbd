"""The words of the thought store that the command line offers for completion and checks early; the tools have the last word."""

THOUGHT_TYPES = ("TASK", "OBSERVATION", "BELIEF", "REFLECTION", "OUTPUT_DRAFT", "NOTE")
PRIORITIES = ("P1", "P2", "P3", "P4")
STATUSES = ("CREATED", "ACTIVE", "DONE", "ARCHIVED")
EDGE_TYPES = ("ASSOCIATED", "DEPENDS_ON", "DERIVED_FROM", "MESSAGE_OF", "BRIDGE", "CONSOLIDATED_FROM", "CONTESTED_BY")

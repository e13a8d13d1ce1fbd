"""Our own commands by section: what the manifest says too, but readable without a YAML parser, which costs every start 30 ms."""

from __future__ import annotations

from collections.abc import Mapping

_PACKAGE = "engram_runtime.cli"

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Memories": {
        "add": "writing:add",
        "search": "finding:search",
        "show": "showing:show",
        "list": "finding:list_memories",
        "history": "showing:history",
        "query": "querying:query",
        "link": "writing:link",
    },
    "Store": {
        "status": "operating:status",
        "doctor": "doctor:doctor",
        "verify": "operating:verify",
        "backup": "operating:backup",
        "restore": "restore:restore",
    },
    "Set-up": {
        "tools": "tools:tools",
        "plugins": "plugins:plugins",
        "config": "config:config",
        "serve": "serving:serve",
        "completion": "completion:completion",
        "schemas": "schemas:schemas",
        "demo": "demo:demo",
    },
}

OWN: Mapping[str, str] = {name: f"{_PACKAGE}.{target}" for section in SECTIONS.values() for name, target in section.items()}
"""Command name to `module:attribute`."""

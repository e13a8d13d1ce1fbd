"""A stand-in for the owner's client with invented memories, and a runner for whole command lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engram_kernel.errors import LeaseHeld

ALICE = "3f2a7c1e-5b0d-4c7a-9a52-1d2f3b4c5d6e"
BOB = "b0b5c1e2-5b0d-4c7a-9a52-1d2f3b4c5d6e"

THOUGHT = {
    "thought_id": ALICE,
    "thought_type": "OBSERVATION",
    "essence": "The session cache moved from memcached to Redis because of eviction storms",
    "content": "The session cache moved from memcached to Redis because of eviction storms.\n\nMeasured on the 3rd of March: p99 went "
    "from 420 ms to 35 ms.\n    redis-cli info memory\n- keep the old cluster until May",
    "priority": "P2",
    "lifecycle_status": "ACTIVE",
    "created_cycle": 0,
    "updated_cycle": 0,
    "source": "person",
    "confidence": 0.9,
    "source_type": "EXPERIENCE",
    "confirmation_count": 2,
    "visibility": "selective",
    "access_count": 3,
    "created_at": "2026-03-03T10:20:30+00:00",
    "updated_at": "2026-03-04T10:20:30+00:00",
    "expires_at": None,
    "valid_from": "2026-03-01T00:00:00+00:00",
    "valid_until": None,
    "metadata": {"project": "checkout", "ticket": 4711},
    "pinned": True,
}
OTHER = {**THOUGHT, "thought_id": BOB, "essence": "Redis 7 needs eviction policy volatile-lru", "content": "Redis 7", "metadata": {}}

EDGE = {
    "edge_id": "e0e0e0e0-5b0d-4c7a-9a52-1d2f3b4c5d6e",
    "from_thought_id": ALICE,
    "to_thought_id": BOB,
    "edge_type": "DEPENDS_ON",
    "weight": 0.75,
    "created_cycle": 0,
    "source": "EXPERIENCE",
    "decay_multiplier": 1.0,
    "valid_from": None,
    "valid_until": None,
    "metadata": {},
}

TOOLS: dict[str, Any] = {
    "store_thought": {
        "thought": {
            "thought_id": ALICE,
            "essence": THOUGHT["essence"],
            "thought_type": "NOTE",
            "priority": "P3",
            "lifecycle_status": "CREATED",
        },
        "created": True,
        "revision": 1,
    },
    "link_thoughts": {
        "edge": {key: EDGE[key] for key in ("edge_id", "from_thought_id", "to_thought_id", "edge_type", "weight", "metadata")}
    },
    "search_memory": {
        "results": [
            {
                "thought_id": ALICE,
                "score": 0.83,
                "essence": THOUGHT["essence"],
                "lifecycle_status": "ACTIVE",
                "updated_at": THOUGHT["updated_at"],
                "signals": {"lexical": 0.71, "recency": 0.12},
                "details": {"lexical": "redis, cache"},
            },
            {
                "thought_id": BOB,
                "score": 0.31,
                "essence": OTHER["essence"],
                "lifecycle_status": "CREATED",
                "updated_at": OTHER["updated_at"],
                "valid_until": "2026-06-01T00:00:00+00:00",
                "signals": {"lexical": 0.31},
                "details": {"lexical": "redis"},
            },
        ],
        "backends_used": ["lexical", "recency"],
        "filtered": {"criteria": {"priority": "P2"}, "scanned": 40, "matched": 12, "dropped": 28},
        "total": 12,
    },
    "list_memory": {"thoughts": [THOUGHT, OTHER], "count": 2, "limit": 2, "offset": 0, "total": 1500, "next_offset": 2},
    "get_edges": {"edges": [EDGE, {**EDGE, "from_thought_id": BOB, "to_thought_id": ALICE, "weight": 1.0}], "count": 2, "total": 2},
    "query_memory": {
        "columns": list(THOUGHT),
        "rows": [{**THOUGHT, "metadata": "{}"}, {**OTHER, "metadata": "{}"}],
        "total": 2,
    },
    "status": {
        "folder": "/home/ada/.local/share/engram",
        "memories": 12_345,
        "edges": 678,
        "sequence": 15_000,
        "collections": [{"id": "thoughts", "title": "Thoughts", "tool_set": "thoughts", "tier": "personal", "memories": 12_345}],
        "bytes_on_disk": 45_600_000,
        "bytes_free": 120_000_000_000,
        "last_backup": None,
        "health": {"schema": "1", "durability": "every commit"},
        "warnings": [],
    },
    "verify": {"sound": True, "events": 15_000, "memories": 12_345, "edges": 678, "faults": [], "notes": []},
    "backup": {"path": "/home/ada/.local/share/engram/backup/20260401T101112Z", "bytes": 22_600_000, "sequence": 15_000, "manifest": {}},
    "doctor": {
        "healthy": True,
        "findings": [
            {"level": "ok", "check": "store", "text": "answers; 15,000 changes so far", "advice": ""},
            {"level": "warning", "check": "backup", "text": "there is none yet", "advice": "Make one with `engram backup`."},
        ],
    },
}

PLUGINS = [
    {
        "name": "duckdb",
        "status": "loaded",
        "version": "0.1.0",
        "distribution": "engram-kernel",
        "error": "",
        "failures": 0,
        "manifest": {
            "name": "duckdb",
            "title": "DuckDB store",
            "summary": "keeps memories in one DuckDB file",
            "hooks": ["engram_store_provider"],
            "capabilities": {"reads": ["public", "personal"], "writes": True, "network": False},
            "settings": {"threads": {"type": "integer", "description": "Threads of the database", "default": 2}},
            "commands": [],
        },
        "settings": {"threads": 4},
    },
    {
        "name": "stale",
        "status": "failed",
        "version": "3.1",
        "distribution": "engram-stale",
        "error": "ImportError: no module named 'nowhere'",
        "failures": 0,
        "manifest": None,
        "settings": {},
    },
]

METHODS: dict[str, Any] = {
    "status": {
        "pid": 4242,
        "version": "0.1.0",
        "uptime_s": 4000.5,
        "sessions": 2,
        "sequence": 15_000,
        "rss_mb": 88.4,
        "folder": "/home/ada/.local/share/engram",
        "health": {},
    },
    "tools": [
        {
            "name": "store_thought",
            "title": "Store a thought",
            "group": "thoughts",
            "profiles": ["standard"],
            "writes": True,
            "visible": True,
            "tokens": 420,
            "description": "Store a thought.",
        },
        {
            "name": "delete_edge",
            "title": "Delete an edge",
            "group": "thoughts",
            "profiles": [],
            "writes": True,
            "visible": False,
            "tokens": 80,
            "description": "Delete an edge.",
        },
    ],
    "plugins": PLUGINS,
    "reload": {"profile": "standard"},
    "stop": {"stopping": True},
}


def get_thought(arguments: Mapping[str, Any]) -> dict[str, Any]:
    found = {ALICE: THOUGHT, BOB: OTHER}.get(arguments["thought_id"])
    answer: dict[str, Any] = {"found": found is not None, "thought": found}
    if found and arguments.get("include_history"):
        first = {**found, "essence": "The session cache moved to Redis", "updated_at": found["created_at"], "priority": "P3"}
        answer["history"] = [
            {"revision": 2, "state": "live", "thought": found},
            {"revision": 1, "state": "live", "thought": first},
        ]
        answer["history_total"] = 2
    return answer


@dataclass
class FakeOwner:
    """Answers from the tables; an exception in them is raised, a function is called with the arguments."""

    folder: Path
    tools: dict[str, Any] = field(default_factory=lambda: {**TOOLS, "get_thought": get_thought})
    methods: dict[str, Any] = field(default_factory=lambda: dict(METHODS))
    calls: list[tuple[str, dict[str, Any], bool]] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    runs: bool = True
    starts: Any = None
    closed: int = 0

    def connect(self, env: Mapping[str, str], *, config: str | None, data: str | None, json: bool, start: bool) -> FakeOwner:
        if self.starts is not None:
            raise self.starts
        if not self.runs and not start:
            raise LeaseHeld("No owner is running for this data folder.")
        return self

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False, progress: Any = None) -> Any:
        self.calls.append((tool, dict(arguments or {}), operator))
        return _answer(self.tools[tool], arguments or {})

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        self.requests.append((method, dict(params or {})))
        return _answer(self.methods[method], params or {})

    def close(self) -> None:
        self.closed += 1


def _answer(answer: Any, arguments: Mapping[str, Any]) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer(arguments) if callable(answer) else answer


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own: no file or variable of this machine's user is seen."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        folder = tmp_path / name.lower()
        folder.mkdir(mode=0o700)
        monkeypatch.setenv(name, str(folder))
    for name in ("ENGRAM_CONFIG", "ENGRAM_DATA", "ENGRAM_PROFILE", "ENGRAM_TOOLS", "ENGRAM_DISABLE_TOOLS", "ENGRAM_DISABLE_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ENGRAM_LOG_LEVEL", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def owner(home: Path) -> FakeOwner:
    return FakeOwner(home / "xdg_data_home" / "engram")


@pytest.fixture
def engram(owner: FakeOwner, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run one command line against the fake owner."""
    from engram_runtime.cli.caller import Caller
    from engram_runtime.cli.main import main

    def run(*words: str) -> Result:
        capsys.readouterr()
        code = main(list(words), Caller(owner.connect))
        said = capsys.readouterr()
        return Result(code, said.out, said.err)

    return run

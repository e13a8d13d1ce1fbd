"""A memory server under test, driven over MCP stdio and described by a small JSON file; see docs/benchmarks.md.

Slots in the file's texts: {id} {title} {text} {speaker} {session} {at} of a memory, {query} {k} of a question, {workdir} for
a folder of its own. A value that is nothing but a slot keeps the slot's type; an empty one takes its key with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from engram_runtime.cli.line_client import Host, clean_environment

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "benchmarks"
SETTLE_SECONDS = 180.0
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Stored:
    """One memory as the harness hands it over; `at` is ISO 8601 or empty."""

    id: str
    text: str
    title: str = ""
    speaker: str = ""
    session: str = ""
    at: str = ""

    def slots(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"title": self.title or self.text[:200] or "-"}


@dataclass(frozen=True, slots=True)
class Adapter:
    """What is in the JSON file."""

    command: tuple[str, ...]
    store: Mapping[str, Any]
    search: Mapping[str, Any]
    env: Mapping[str, str] = field(default_factory=dict)
    settle: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, path: Path) -> Adapter:
        """Raises OSError, ValueError or TypeError for a file that is no adapter."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**values, "command": tuple(values["command"])})


ENGRAM = HERE / "adapters" / "engram.json"


class System:
    """One running server with its memories. `config` is written for ours and ignored by others."""

    def __init__(self, adapter: Adapter, folder: Path, config: Mapping[str, Any] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        environment = clean_environment(folder / "data")
        environment |= {name: str(filled(value, {"workdir": str(folder)})) for name, value in adapter.env.items()}
        if config is not None:
            path = folder / "engram.yaml"
            path.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
            environment["ENGRAM_CONFIG"] = str(path)
        command = [str(filled(word, {"workdir": str(folder)})) for word in adapter.command]
        found = shutil.which(command[0], path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
        self._adapter = adapter
        self._ids: dict[str, str] = {}
        self.host = Host(environment, name="benchmark", command=[found or command[0], *command[1:]])
        self.host.initialize()
        self.milliseconds: list[float] = []
        self.last: Any = None

    def store(self, memory: Stored) -> None:
        spec = self._adapter.store
        answer = self.host.call(spec["tool"], **filled(spec["arguments"], memory.slots()))
        name = dug(answer, spec.get("id", ""))
        self._ids[str(name)] = memory.id

    def search(self, query: str, k: int, **more: Any) -> list[str]:
        """The ids of the memories found, best first; `last` then holds the whole answer."""
        spec = self._adapter.search
        arguments = {**filled(spec["arguments"], {"query": query, "k": k}), **more}
        began = time.perf_counter()
        self.last = self.host.call(spec["tool"], **arguments)
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        names = (str(dug(item, spec["id"])) for item in dug(self.last, spec.get("list", "")) or ())
        return [self._ids.get(name, name) for name in names]

    def settle(self, last: Stored) -> bool:
        """Wait until the memory stored last takes part in searches with all that the adapter's `settle` asks for.

        False when that has not happened within SETTLE_SECONDS, for example because there is no model.
        """
        spec = self._adapter.settle
        end = time.monotonic() + SETTLE_SECONDS
        while spec and not self._settled(spec, last):
            if time.monotonic() > end:
                return False
            time.sleep(0.2)
        self.milliseconds.clear()
        return True

    def _settled(self, spec: Mapping[str, Any], last: Stored) -> bool:
        names = self.search(last.text[:500], 20, **spec.get("arguments", {}))
        if last.id not in names:
            return False
        return dug(dug(self.last, self._adapter.search.get("list", "")), f"{names.index(last.id)}.{spec['path']}") is not None

    def close(self) -> None:
        self.host.close(60)


@contextmanager
def running(adapter: Adapter, folder: Path, config: Mapping[str, Any] | None = None) -> Iterator[System]:
    system = System(adapter, folder, config)
    try:
        yield system
    finally:
        system.close()


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with its slots filled; a key whose only slot is empty is left out."""
    if isinstance(template, str):
        whole = _SLOT.fullmatch(template)
        if whole and whole[1] in values:
            return values[whole[1]]
        return _SLOT.sub(lambda slot: str(values.get(slot[1], slot[0])), template)
    if isinstance(template, dict):
        pairs = ((name, filled(value, values)) for name, value in template.items())
        return {name: value for name, value in pairs if value not in ("", {})}
    return [filled(value, values) for value in template] if isinstance(template, list) else template


def dug(data: Any, path: str) -> Any:
    """`results.0.id` and the like; None where there is no such place."""
    for step in filter(None, path.split(".")):
        if isinstance(data, Sequence) and not isinstance(data, str):
            data = data[int(step)] if step.isdigit() and int(step) < len(data) else None
        else:
            data = data.get(step) if isinstance(data, Mapping) else None
    return data

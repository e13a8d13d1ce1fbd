"""The command line's side of the control protocol. Standard library and the error types only, so that it starts fast."""

from __future__ import annotations

import json as jsonlib
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engram_kernel import errors
from engram_runtime import places, wire
from engram_runtime.join import JoinError, join, launch

OnProgress = Callable[[float, float | None, str | None], None]


class OwnerClient:
    """A connection to the owner of a data folder; a kernel `Client`."""

    def __init__(self, folder: Path, lines: wire.LineSocket, *, json: bool = False) -> None:
        self.folder, self.json = folder, json
        self._lines, self._number = lines, 0

    @classmethod
    def connect(
        cls, env: Mapping[str, str], *, config: str | None = None, data: str | None = None, json: bool = False, start: bool = True
    ) -> OwnerClient:
        """Join the owner, starting one unless `start` is False. Raises LeaseHeld, ConfigError, StoreUnusable."""
        chosen = places.environment(env)
        folder = places.data_folder(chosen, config, data)
        session = uuid.uuid4().hex
        flags = {"config": str(Path(config).absolute())} if config else {}
        file = flags.get("config") or chosen.get("ENGRAM_CONFIG")

        def say(key: str) -> dict[str, Any]:
            return wire.hello("control", session=session, key=key, env=chosen, flags=flags)

        try:
            lines, _ = join(folder, say, (lambda: launch(folder, file)) if start else None)
        except JoinError as error:
            raise _named(error.reason)(str(error), changed="") from None
        return cls(folder, lines, json=json)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False, progress: OnProgress | None = None
    ) -> Any:
        """The structured result of one tool call, or its text. Raises EngramError as the owner raised it."""
        params = {"tool": tool, "arguments": dict(arguments or {}), "operator": operator}
        result = self.request("call", params, progress)
        return result["data"] if result["data"] is not None else result["text"]

    def request(self, method: str, params: Mapping[str, Any] | None = None, progress: OnProgress | None = None) -> Any:
        """The result of one control method. Raises EngramError, OutcomeUnknown when the owner is lost meanwhile."""
        self._number += 1
        body = jsonlib.dumps({"method": method, "params": dict(params or {})})
        try:
            self._lines.send(wire.frame(self._number, body.encode()))
            return self._await(progress)
        except (OSError, wire.WireError):
            raise errors.OutcomeUnknown("The connection to the owner process was lost.") from None

    def _await(self, progress: OnProgress | None) -> Any:
        while (line := self._lines.receive()) is not None:
            number, _, payload = wire.unframe(line)
            message = jsonlib.loads(payload)
            if "progress" in message:
                if progress:
                    progress(*message["progress"])
            elif number == self._number:
                return _unpack(message)
        raise wire.WireError("closed")

    def show(self, data: Any, render: Callable[[Any], None]) -> None:
        """Print `data` as JSON when the person asked for it, else hand it to `render`."""
        if self.json:
            sys.stdout.write(jsonlib.dumps(data, ensure_ascii=False, indent=2) + "\n")
        else:
            render(data)

    def close(self) -> None:
        self._lines.close()


def _unpack(message: Mapping[str, Any]) -> Any:
    if "error" not in message:
        return message["result"]
    said = message["error"]
    raise _named(said["code"])(said["what"], changed=said["changed"], next_step=said["next"], data=said["data"])


def _named(code: str) -> Callable[..., errors.EngramError]:
    """The error class with this code."""
    kinds = {kind.code: kind for kind in errors.EngramError.__subclasses__() if kind is not errors.OutcomeUnknown}
    return kinds.get(code, _REASONS.get(code, errors.EngramError))


_REASONS = {"unreachable": errors.LeaseHeld, "none": errors.LeaseHeld, "failed": errors.StoreUnusable}

"""What a plugin may run inside the owner process: transports, services and health checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from engram_kernel.kernel import Kernel


class Connection(Protocol):
    """One client on the owner's socket: whole lines in, whole lines out.

    `hello` is what the client said of itself (flags, workspace, environment). Each received line carries the client's
    own sequence number, which stays the same when the line is sent again after an owner was lost; a reply to it names
    that number, so the client knows what is answered.
    """

    hello: Mapping[str, object]

    async def receive(self) -> tuple[int, bytes] | None:
        """The next (number, line) without its line break; None at the end. Over-long lines raise ValueError."""
        ...

    async def send(self, line: bytes, answers: int = 0) -> None:
        """Send one line; `answers` is the number of the line it settles, 0 for none."""
        ...

    def resent(self, number: int) -> bool:
        """Whether the client marked this line as sent before to an owner that was lost."""
        ...

    def reference(self, number: int) -> str:
        """A reference for this line that is the same when it is sent again: ChangeSet references are made of it."""
        ...


@runtime_checkable
class Transport(Protocol):
    """Speaks one protocol to connections whose hello names `kind`."""

    kind: str

    async def serve(self, connection: Connection, kernel: Kernel) -> None: ...


class Service(Protocol):
    """Runs for as long as the owner is kept running by `engram serve`."""

    name: str

    async def run(self, kernel: Kernel, options: Mapping[str, str]) -> None: ...


class Client(Protocol):
    """How a command reaches the kernel, in this process or in the owner; a command finds it in `click`'s context object."""

    folder: Path
    json: bool

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False) -> Any:
        """The structured result of one tool call, or its text. Raises EngramError."""
        ...

    def show(self, data: Any, render: Callable[[Any], None]) -> None:
        """Print `data` as JSON when the person asked for it, else hand it to `render`."""
        ...


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one health check; `advice` is the next step when it is not ok."""

    level: Literal["ok", "warning", "error"]
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A named health check. `run` is called in a worker thread."""

    name: str
    run: Callable[[], list[Finding]]

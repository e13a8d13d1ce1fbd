"""`engram log`, run as the command line runs it: with a client as click's context object."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.testing import CliRunner

from engram_admin.commands import log


class Client:
    """Passes calls on to the kernel of the test."""

    folder: Any = None

    def __init__(self, call: Callable[..., Any], *, as_json: bool = False) -> None:
        self._call, self.json = call, as_json

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, *, operator: bool = False) -> Any:
        assert operator
        return self._call(tool, arguments)

    def show(self, data: Any, render: Callable[[Any], None]) -> None:
        if self.json:
            click.echo(json.dumps(data))
        else:
            render(data)


def run(client: Client, *words: str) -> str:
    result = CliRunner().invoke(log, list(words), obj=client, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_the_latest_entries_are_shown(call: Any) -> None:
    lines = run(Client(call), "--limit", "2").splitlines()
    assert [line.split()[0] for line in lines[:2]] == ["2", "3"]
    assert lines[0].endswith("put           local")
    assert lines[2] == "2 of 3 entries"


def test_pages_and_payload(call: Any) -> None:
    out = run(Client(call), "--after", "0", "--limit", "1", "--payload")
    assert "{}" in out
    assert out.rstrip().endswith("1 of 3 entries; more with --after 1")
    assert json.loads(run(Client(call, as_json=True)))["last_sequence"] == 3

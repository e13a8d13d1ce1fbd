"""What holds for every command: lazy imports, other plugins' commands, help, a closed pipe, start-up weight."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import engram_runtime
from engram_runtime.cli import lazy, table

HEAVY = ("mcp", "yaml", "duckdb", "numpy", "pydantic", "structlog", "lark", "rich", "asyncio")

SCRIPT = """
import json, sys
from engram_runtime.cli.caller import Caller
from engram_runtime.cli.main import main

class Owner:
    folder = None
    def call(self, tool, arguments=None, *, operator=False, progress=None):
        return json.loads(sys.argv[2])[tool]
    def request(self, method, params=None):
        return json.loads(sys.argv[2])[method]
    def close(self):
        pass

code = main(json.loads(sys.argv[1]), Caller(lambda env, **options: Owner()))
loaded = [name for name in json.loads(sys.argv[3]) if name in sys.modules]
print(json.dumps({"code": code, "loaded": loaded}), file=sys.stderr)
"""


def loaded_by(words: list[str], answers: dict[str, Any]) -> list[str]:
    """The heavy modules that a command line imports."""
    arguments = [sys.executable, "-c", SCRIPT, json.dumps(words), json.dumps(answers), json.dumps(HEAVY)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] == 0, done.stderr
    return list(told["loaded"])


def test_case_33_a_command_imports_nothing_heavy() -> None:
    found = {"results": [], "backends_used": []}
    thought = {"thought_id": "a", "essence": "a"}
    listing = {"thoughts": [], "count": 0, "limit": 1, "offset": 0, "total": 0}
    assert loaded_by(["search", "x"], {"search_memory": found}) == []
    assert loaded_by(["add", "x"], {"store_thought": {"thought": thought}}) == []
    assert loaded_by(["list", "--json"], {"list_memory": listing}) == []
    assert loaded_by(["tools", "--json"], {"tools": []}) == []
    assert loaded_by(["config", "path"], {}) == []
    assert loaded_by(["--help"], {}) == ["yaml"]


def test_the_real_client_is_light_too() -> None:
    code = f"import sys, engram_runtime.client; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_command_of_the_manifest_can_be_loaded() -> None:
    manifest = yaml.safe_load((Path(engram_runtime.__file__).parent / "engram-plugin.yaml").read_text(encoding="utf-8"))
    assert {entry["name"]: entry["run"] for entry in manifest["commands"]} == dict(table.OWN)
    for entry in manifest["commands"]:
        command = lazy.load(entry["name"], entry["run"])
        assert command.help, entry["name"]


def test_help_lists_all_and_names_the_exit_codes(engram: Any) -> None:
    out = engram("--help").out
    assert "Memories:" in out
    assert "Exit codes: 0 done" in out
    assert engram().code == 2
    assert "--json" in engram("plugins", "list", "--help").out


def test_version(engram: Any) -> None:
    from engram_kernel import __version__

    assert engram("--version").out == f"engram {__version__}\n"


@click.command()
@click.pass_obj
def foreign(client: Any) -> None:
    """A command of somebody else's plugin."""
    client.show(client.call("verify", {}, operator=True), lambda data: click.echo(f"sound: {data['sound']}"))


not_a_command = 7


def test_commands_of_other_plugins_get_the_client(engram: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = {"foreign": ("Somebody else's", f"{__name__}:foreign"), "add": ("Hijacked", f"{__name__}:foreign")}
    brought["broken"] = ("Broken", "no_such_module:x")
    brought["wrong"] = ("Wrong", f"{__name__}:not_a_command")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or sys.modules[foreign.callback.__module__])  # type: ignore[union-attr]
    monkeypatch.setattr("engram_runtime.cli.foreign.commands", lambda: brought)
    from engram_runtime.cli.main import cli

    cli.__dict__.pop("table", None)
    try:
        assert engram("foreign").out == "sound: True\n"
        assert json.loads(engram("foreign", "--json").out)["sound"] is True
        assert engram("add", "x").out.startswith("Stored")
        broken = engram("broken")
        assert broken.code == 1
        assert "'broken' cannot be loaded from no_such_module:x: ModuleNotFoundError" in broken.err
        assert "is not a click command" in engram("wrong").err
        assert "From plugins:" in engram("--help").out
    finally:
        cli.__dict__.pop("table", None)


@pytest.mark.parametrize("words", [["nope"], ["serch", "x"], ["list", "--limit", "0"], ["list", "--type", "x"], ["show"], ["plugins", "x"]])
def test_wrong_usage_exits_2(engram: Any, words: list[str]) -> None:
    result = engram(*words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("engram: ")
    assert "--help`" in result.err


def test_a_misspelt_command_is_suggested(engram: Any) -> None:
    assert "Did you mean search?" in engram("serch", "x").err
    assert json.loads(engram("serch", "--json").err)["error"]["code"] == "usage"


def test_a_closed_pipe_is_no_error_message() -> None:
    command = f"{sys.executable} -c 'from engram_runtime.cli.main import main; import sys; sys.exit(main(sys.argv[1:]))' --help"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command} | true"], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_completion_answers_without_importing_the_commands() -> None:
    code = "import sys; from engram_runtime.cli.main import main; main([])"
    environment = {"_ENGRAM_COMPLETE": "bash_complete", "COMP_WORDS": "engram se", "COMP_CWORD": "1", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout.split() == ["plain,search", "plain,serve"]

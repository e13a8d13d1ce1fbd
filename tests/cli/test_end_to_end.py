"""The real command line against real owners, each in a data folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_runtime.lease import Lease

RUN = "import sys; from engram_runtime.cli.main import main; sys.exit(main())"


class Machine:
    """A person's machine: a home, a data folder, and `engram`."""

    def __init__(self, base: Path) -> None:
        self.base, self.data = base, base / "data"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
        self.env = {**kept, "ENGRAM_DATA": str(self.data), "XDG_CONFIG_HOME": str(base / "config"), "COLUMNS": "80"}
        self.env |= {"ENGRAM_OWNER_IDLE_SECONDS": "30", "PYTHONUTF8": "1"}

    def run(self, *words: str, text: str | None = None, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", RUN, *words]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, cwd=self.base, env=self.env | (env or {}), timeout=60
        )

    def json(self, *words: str) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def stop(self) -> None:
        """Ask the owner to leave, and wait until it has."""
        code = "import os; from engram_runtime.client import OwnerClient as C; "
        code += "C.connect(os.environ, start=False).request('stop', {'force': True})"
        subprocess.run([sys.executable, "-c", code], env=self.env, capture_output=True, check=False, timeout=60)
        end = time.monotonic() + 15
        while self.data.is_dir() and time.monotonic() < end:
            probe = Lease(self.data)
            if probe.acquire():
                probe.release()
                return
            time.sleep(0.05)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.stop()


def test_a_day_with_memories(machine: Machine) -> None:
    first = machine.json("add", "Redis holds the sessions. It was memcached before.", "--type", "observation", "--priority", "P1")
    second = machine.run("add", "-", "--json", text="Grüße: eviction policy is volatile-lru\n")
    one, two = first["thought"]["thought_id"], json.loads(second.stdout)["thought"]["thought_id"]
    assert machine.json("add", "Redis holds the sessions. It was memcached before.", "--dedup")["created"] is False
    assert machine.run("link", one, two, "--type", "depends_on").returncode == 0

    found = machine.run("search", "memcached")
    assert one in found.stdout
    shown = machine.run("show", one).stdout
    assert "It was memcached before." in shown
    assert "Links to" in shown
    assert two in shown
    listed = machine.json("list", "--limit", "1")
    assert (listed["total"], listed["next_offset"]) == (2, 1)
    assert machine.run("list", "--type", "belief").stdout == "No memory here.\n"
    assert [row["thought_id"] for row in machine.json("query", "FIND thoughts WHERE priority = 'P1'")["rows"]] == [one]
    assert machine.run("history", one).stdout.startswith("revision")
    assert machine.json("status")["store"]["memories"] == 2

    assert machine.run("show", "nope").returncode == 3
    assert machine.run("history", "nope").returncode == 3
    assert machine.run("link", one, "nope").returncode == 3
    assert machine.run("query", "FIND nothing").returncode == 2
    assert machine.run("add", "x" * 1_000_001 if os.name == "nt" else "-", text="x" * 1_000_001).returncode == 2
    assert machine.json("status")["store"]["memories"] == 2


def test_backup_verify_restore(machine: Machine) -> None:
    machine.json("add", "Kept in the backup")
    made = Path(machine.json("backup", "saved")["path"])
    assert made == machine.base / "saved"
    assert machine.run("backup", "saved").returncode == 2
    machine.json("add", "Written after the backup")
    assert machine.json("verify", "--deep")["sound"] is True

    assert machine.run("restore", "saved").returncode == 1
    assert machine.json("list")["total"] == 2
    restored = machine.json("restore", "saved", "--force")
    assert (Path(restored["moved_aside"]) / "memory.duckdb").exists()
    assert [thought["content"] for thought in machine.json("list")["thoughts"]] == ["Kept in the backup"]
    assert machine.json("verify", "--deep")["sound"] is True


def test_case_14_no_command_that_looks_after_the_store_loses_a_memory(machine: Machine) -> None:
    for text in ("One", "Two", "One"):
        machine.json("add", text)
    before = machine.json("list")["thoughts"]
    for _ in range(2):
        for words in (["verify", "--deep"], ["doctor"], ["backup"], ["status"], ["log"]):
            assert machine.run(*words).returncode == 0, words
    machine.stop()
    machine.json("verify", "--deep")
    assert machine.json("list")["thoughts"] == before
    assert len(before) == 3


def test_read_only_is_told_in_words(machine: Machine) -> None:
    machine.json("add", "Here first")
    done = machine.run("add", "Not now", env={"ENGRAM_READ_ONLY": "1"})
    assert done.returncode == 3
    assert "memory is read-only here" in done.stderr
    assert machine.json("list")["total"] == 1


def test_a_backup_that_is_none_leaves_the_store_alone(machine: Machine) -> None:
    machine.json("add", "Still here")
    (machine.base / "empty").mkdir()
    done = machine.run("restore", "empty", "--force")
    assert done.returncode in (2, 4)
    assert "Traceback" not in done.stderr
    assert machine.json("list")["total"] == 1


def test_doctor_of_a_healthy_machine(machine: Machine) -> None:
    told = machine.json("doctor")
    assert told["healthy"] is True
    assert {"configuration", "data folder", "owner", "plugins", "store", "disk", "backup"} <= {each["check"] for each in told["findings"]}


def test_case_07_a_damaged_store_is_told_not_hidden(machine: Machine) -> None:
    machine.json("add", "One")
    machine.stop()
    (machine.data / "memory.duckdb").write_bytes(b"this is no database" * 1000)
    done = machine.run("list")
    assert done.returncode == 4
    assert done.stderr.startswith("engram: ")
    assert "Traceback" not in done.stderr
    doctor = machine.run("doctor")
    assert doctor.returncode == 1
    assert "error" in doctor.stdout
    assert (machine.data / "memory.duckdb").read_bytes().startswith(b"this is no database")


def test_tools_are_switched_while_the_owner_runs(machine: Machine) -> None:
    assert "delete_edge" in machine.run("tools", "--profile", "thoughts").stdout
    before = machine.json("tools")["visible"]
    done = machine.run("tools", "disable", "delete_edge")
    assert done.returncode == 0, done.stderr
    assert "It is in effect" in done.stdout
    assert machine.json("tools")["visible"] == before - 1


def test_a_wrong_setting_is_told_by_every_command(machine: Machine) -> None:
    file = machine.base / "config" / "engram" / "engram.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("owner:\n  workres: 1\n")
    for words in (["list"], ["config", "check"], ["config", "show"]):
        done = machine.run(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert "line 2" in done.stderr


@pytest.mark.parametrize("words", [["list"], ["restore", "."], ["serve"]])
def test_a_folder_that_cannot_be_used(machine: Machine, words: list[str]) -> None:
    machine.data.write_text("a file where the folder should be")
    done = machine.run(*words)
    assert done.returncode == 4
    assert "cannot be used: File exists." in done.stderr
    assert machine.run("doctor").returncode == 1
    assert machine.data.read_text() == "a file where the folder should be"


def test_case_34_nothing_is_left_behind(machine: Machine) -> None:
    quick = {"ENGRAM_OWNER_IDLE_SECONDS": "0.5"}
    pids = [json.loads(machine.run("status", "--json", env=quick).stdout)["owner"]["pid"] for _ in range(3)]
    end = time.monotonic() + 15
    while any(_alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(_alive(pid) for pid in pids)


def _alive(pid: int) -> bool:
    """Whether the process runs; one that has ended but was not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False

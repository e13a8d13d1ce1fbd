"""`engram demo` as a person runs it, only shorter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ENGRAM = str(Path(sys.executable).with_name("engram"))


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.run([ENGRAM, "demo", *arguments], env=environment, capture_output=True, text=True, check=False, timeout=110)


def test_the_demonstration_comes_true(tmp_path: Path) -> None:
    done = run(tmp_path, "--writes", "40", "--json")
    facts = json.loads(done.stdout)
    assert done.returncode == 0, facts
    assert facts["failures"] == []
    assert all(facts["checks"].values()) and len(facts["checks"]) >= 8
    assert facts["stored"] == facts["confirmed"] == 40
    assert (facts["kills"], facts["missing"], facts["doubled"]) == (3, 0, 0)
    assert Path(facts["folder"]).parent == tmp_path


def test_the_demonstration_refuses_a_burst_that_is_too_small(tmp_path: Path) -> None:
    done = run(tmp_path, "--writes", "1")
    assert done.returncode == 2
    assert "20<=x<=5000" in done.stderr
    assert list(tmp_path.iterdir()) == []

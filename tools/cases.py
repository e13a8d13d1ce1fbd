"""Write the table of field cases in docs/field-cases.md from the tests; with `--check`, say whether it is out of date.

A case is covered by every test whose name holds its number, as in `test_case_07_...`. A case without a test must have a
sentence in `docs/field-cases.yaml` saying why it cannot occur, or in which part of the work it comes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "field-cases.md"
TEXTS = ROOT / "docs" / "field-cases.yaml"
NAME = re.compile(r"test_case_(\d{2})_\w+")
MARK = "<!-- table: written by tools/cases.py, run `make docs` -->\n"


def tests() -> dict[str, list[str]]:
    """Case number to `file::test` of every test named after it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (match := NAME.fullmatch(node.name)):
                found[match[1]].append(f"{path.relative_to(ROOT)}::{node.name}")
    return found


def table(cases: dict[str, dict[str, str]], found: dict[str, list[str]]) -> str:
    lines = ["| Case | What users reported | Here |", "| --- | --- | --- |"]
    for number, case in cases.items():
        names = [
            f"`{name.rpartition('::')[2]}` ([{Path(name.partition('::')[0]).name}](../{name.partition('::')[0]}))" for name in found[number]
        ]
        where = "<br>".join([*names, *([case["note"]] if "note" in case else [])])
        lines.append(f"| {number} | {case['report']} | {where} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    cases: dict[str, dict[str, str]] = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    found = tests()
    old = PAGE.read_text(encoding="utf-8")
    new = old.partition(MARK)[0] + MARK + table(cases, found)
    missing = [number for number, case in cases.items() if not found[number] and "note" not in case]
    unknown = sorted(set(found) - set(cases))
    sys.stdout.write(f"{len(cases)} field cases, {sum(map(bool, found.values()))} with tests\n")
    if missing or unknown:
        sys.stdout.write(f"neither test nor note: {', '.join(missing)}; unknown numbers: {', '.join(unknown)}\n")
    if "--check" in sys.argv[1:]:
        if new != old:
            sys.stdout.write("docs/field-cases.md is out of date; run `make docs`\n")
        return bool(missing or unknown or new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Check that every relative link in the Markdown files points to a file, and every anchor to a heading."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SKIPPED = {".venv", "build", "dist", "node_modules", ".git"}
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """All Markdown files of the repository."""
    return [path for path in sorted(ROOT.rglob("*.md")) if not SKIPPED & set(path.relative_to(ROOT).parts)]


def prose(path: Path) -> str:
    """The text of a page without its fenced code."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path: Path) -> set[str]:
    """The anchors that a Markdown viewer makes of a page's headings."""
    found: set[str] = set()
    for heading in HEADING.findall(prose(path)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(next(unused for unused in _numbered(name) if unused not in found))
    return found


def _numbered(name: str) -> list[str]:
    return [name, *(f"{name}-{number}" for number in range(1, 100))]


def faults(path: Path) -> list[str]:
    """One line for each dead link of a page."""
    dead = []
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        place = (path.parent / file).resolve() if file else path
        if not place.exists():
            dead.append(f"{path.relative_to(ROOT)}: {target}: no such file")
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            dead.append(f"{path.relative_to(ROOT)}: {target}: no such heading")
    return dead


def main() -> int:
    dead = [fault for path in pages() for fault in faults(path)]
    sys.stdout.write("\n".join(dead) + "\n" if dead else f"links of {len(pages())} pages are good\n")
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())

"""Overlapping windows, so that every part of a long text is embedded and its end is found like its beginning.

A text of up to `SIZE` + `OVERLAP` characters is one window. A longer one is cut at the ends of paragraphs, lines,
sentences or words where there are any. There are never more than `MOST` windows: beyond about 200,000 characters they
grow instead, and no part is left out.
"""

from __future__ import annotations

import re

RULES = 1
"""Raised with every change that gives other windows: vectors made under other rules are made again."""
SIZE = 700
OVERLAP = 150
MOST = 512

_ENDS = (re.compile(r"\n\s*\n"), re.compile(r"\n"), re.compile(r"[.!?][\"')\]]*\s|[。！？]"), re.compile(r"\s"))
"""Where a window may end, best first."""
_SPACE = re.compile(r"\s")


def windows(text: str) -> list[str]:
    """The windows of a text in order; at least one."""
    if len(text) <= SIZE + OVERLAP:
        return [text]
    size = max(SIZE, len(text) // (MOST - 1) + 2 * OVERLAP + 1)
    cut: list[str] = []
    start = 0
    while start + size < len(text):
        end = _end(text, start + size)
        cut.append(text[start:end])
        start = _start(text, end)
    return [*cut, text[start:]]


def _end(text: str, latest: int) -> int:
    """The best place to stop within the last OVERLAP characters before `latest`."""
    for pattern in _ENDS:
        found = list(pattern.finditer(text, latest - OVERLAP, latest))
        if found:
            return found[-1].end()
    return latest


def _start(text: str, end: int) -> int:
    """The first word that begins within the OVERLAP characters before `end`."""
    space = _SPACE.search(text, end - OVERLAP, end - 1)
    return space.end() if space else end - OVERLAP

"""Windows, so that every part of a long text is embedded and its end is found like its beginning.

A text of up to `SIZE` + `OVERLAP` characters is one window. A longer one gets a window for each paragraph; short ones
are taken together with the next, and long ones are cut into overlapping windows at the ends of lines, sentences or
words where there are any. There are never more than `MOST` windows: from about 200,000 characters on they grow
instead, and no part is left out.
"""

from __future__ import annotations

import re

RULES = 1
"""Raised with every change that gives other windows: vectors made under other rules are made again."""
SIZE = 400
OVERLAP = 100
LEAST = 40
"""A shorter paragraph, such as a heading, does not stand alone."""
MOST = 512

_PARAGRAPH = re.compile(r"\n\s*\n")
_ENDS = (re.compile(r"\n"), re.compile(r"[.!?][\"')\]]*\s|[。！？]"), re.compile(r"\s"))
"""Where a paragraph may be cut, best first."""
_SPACE = re.compile(r"\s")


def windows(text: str) -> list[str]:
    """The windows of a text in order; at least one."""
    if len(text) <= SIZE + OVERLAP:
        return [text]
    least = max(LEAST, -(-len(text) // (MOST - 1)))
    size = max(SIZE, least + 2 * OVERLAP)
    cut: list[str] = []
    start = 0
    while start < len(text):
        paragraph = _PARAGRAPH.search(text, start + least, start + size)
        end = paragraph.end() if paragraph else _end(text, start + size)
        cut.append(text[start:end])
        start = end if paragraph or end == len(text) else _start(text, end)
    return cut


def _end(text: str, latest: int) -> int:
    """The best place to stop within the last OVERLAP characters before `latest`."""
    if latest >= len(text):
        return len(text)
    for pattern in _ENDS:
        found = list(pattern.finditer(text, latest - OVERLAP, latest))
        if found:
            return found[-1].end()
    return latest


def _start(text: str, end: int) -> int:
    """The first word that begins within the OVERLAP characters before `end`."""
    space = _SPACE.search(text, end - OVERLAP, end - 1)
    return space.end() if space else end - OVERLAP

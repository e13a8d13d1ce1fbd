"""Small pieces of presentation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_runtime.cli import output


@given(st.text())
def test_clean_text_holds_no_control_character(text: str) -> None:
    shown = output.clean(text)
    assert all(char.isprintable() or char in "\n\t" for char in shown)
    if text.isprintable():
        assert shown == text


@given(st.text(), st.integers(8, 200))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    line = output.one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (45_600_000, "45.6 MB"), (3e12, "3000.0 GB")])
def test_sizes(count: float, text: str) -> None:
    assert output.size(count) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (3600, "1 h"), (90_061, "1 d 1 h")])
def test_durations(seconds: float, text: str) -> None:
    assert output.duration(seconds) == text


@pytest.mark.parametrize(("share", "filled"), [(-1, 0), (0, 0), (0.5, 5), (1, 10), (7, 10)])
def test_bars(share: float, filled: int) -> None:
    assert output.bar(share).count("█") + output.bar(share).count("#") == filled
    assert len(output.bar(share)) == 10

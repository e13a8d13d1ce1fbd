"""Which dates a question names."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_rank.dates import Named, dates_in


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 8 May 2023", [(2023, 5, 8)]),
        ("on May 8th, 2023", [(2023, 5, 8)]),
        ("the 3rd of June", [(None, 6, 3)]),
        ("in May 2023", [(2023, 5, None)]),
        ("in August", [(None, 8, None)]),
        ("in May", [(None, 5, None)]),
        ("since Sep. 2021", [(2021, 9, None)]),
        ("2023-05-08", [(2023, 5, 8)]),
        ("2023-05", [(2023, 5, None)]),
        ("in 1999", [(1999, None, None)]),
        ("between 2 March 2020 and 4 April 2021", [(2020, 3, 2), (2021, 4, 4)]),
        ("may I march in", []),
        ("a decision about januaries", []),
        ("version 2023-99-01", [(2023, None, None)]),
        ("room 2105 and 1234", []),
        ("", []),
    ],
)
def test_dates(text: str, expected: list[tuple[int | None, int | None, int | None]]) -> None:
    assert [(date.year, date.month, date.day) for date in dates_in(text)] == expected


def test_a_named_day_fits_the_days_around_it_and_a_part_fits_all_of_it() -> None:
    moment = datetime(2023, 5, 8, tzinfo=UTC)
    assert Named(2023, 5, 5).fits(moment)
    assert not Named(2023, 5, 4).fits(moment)
    assert Named(None, 5).fits(moment)
    assert not Named(2022, 5).fits(moment)
    assert Named(2023).fits(moment)


@given(st.text(max_size=200))
def test_no_text_is_an_error(text: str) -> None:
    assert all(date.month is None or 1 <= date.month <= 12 for date in dates_in(text))

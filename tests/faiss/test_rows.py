"""Row owners against a plain model."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engram_faiss.arrays import Growing
from engram_faiss.rows import Rows

STEPS = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 4)), max_size=60)


@given(STEPS, st.booleans())
def test_rows_belong_to_whom_they_were_given(steps: list[tuple[int, int]], reload: bool) -> None:
    rows, owners, expected = Rows(), [], {}
    for number, count in steps:
        rows.drop(number)
        owners = [0 if owner == number else owner for owner in owners]
        expected.pop(number, None)
        if count:
            rows.add(number, count)
            expected[number] = list(range(len(owners), len(owners) + count))
            owners += [number] * count
    if reload:
        rows = Rows(rows.numbers.copy())
    assert rows.numbers.tolist() == owners
    assert (rows.dead, rows.memories) == (owners.count(0), len(expected))
    for number in range(-1, 40):
        assert rows.of_one(number).tolist() == expected.get(number, [])
    asked = np.array([29, 3, 0, -4, 12, 99, 1], np.int64)
    assert rows.of(asked).tolist() == [row for number in asked for row in expected.get(int(number), [])]
    assert rows.held(35).tolist() == [number in expected for number in range(35)]
    for size in (0, 1, 12, 50):
        mask = np.arange(size) % 3 == 0
        allowed = [0 < owner < size and owner % 3 == 0 for owner in owners]
        assert rows.allowed(mask).tolist() == allowed


def test_growing() -> None:
    array = Growing(np.empty(0, np.int64), fill=-1)
    array.reach(3)
    array.extend(np.arange(200))
    array.reach(2)
    assert array.view.tolist() == [-1, -1, -1, *range(200)]

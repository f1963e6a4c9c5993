"""Which representation the observed cells of a study get, by their number and their places."""

import numpy as np
import pytest

from argbest.core.arrays import IntArray
from argbest.core.landmarks import structured


def table(k: int, c: int) -> IntArray:
    """All cells of a table, each observed twice."""
    return np.full((k, c), 2)


@pytest.mark.parametrize(("k", "c", "expected"), [
    (30, 20, False), (20, 40, False), (30, 45, False),  # up to some 1,500 cells all is exact
    (40, 45, True), (100, 100, True), (3000, 1, True),
])  # fmt: skip
def test_with_coordinates_structure_begins_where_dense_algebra_takes_too_long(
    k: int, c: int, expected: bool
) -> None:
    assert structured(table(k, c), names=False) is expected


@pytest.mark.parametrize(("k", "c", "expected"), [
    (6, 8, False), (10, 20, False), (30, 20, True), (200, 50, True), (2, 400, True), (2, 200, False),
])  # fmt: skip
def test_with_names_it_is_used_wherever_it_is_cheaper(k: int, c: int, expected: bool) -> None:
    assert structured(table(k, c), names=True) is expected


def test_a_large_table_of_which_little_was_observed_stays_dense() -> None:
    count = np.zeros((3000, 20), np.int64)
    count[:: 3000 // 300, 3] = 2
    assert not structured(count, names=False)
    count[::3, 7] = 1  # a thousand more
    assert not structured(count, names=False)

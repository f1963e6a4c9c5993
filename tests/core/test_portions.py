"""Portions keep the order, miss nobody, and are short unless a single entry is long."""

import numpy as np
import pytest

from argbest.core.arrays import Array
from argbest.core.search import AT_ONCE, portions


@pytest.mark.parametrize("shape", [(7,), (3, 4), (0,), (2, 0)])
def test_every_entry_is_in_one_portion(shape: tuple[int, ...]) -> None:
    cost = np.random.default_rng(1).uniform(0, AT_ONCE, shape)
    seen = np.zeros(shape, int)
    for some in portions(cost):
        seen[some] += 1
        assert cost[some].sum() <= AT_ONCE or cost[some].size == 1
    np.testing.assert_array_equal(seen, np.ones(shape, int))


def test_what_is_quick_is_done_at_once_and_what_is_long_alone() -> None:
    def sizes(cost: Array) -> list[int]:
        return [cost[some].size for some in portions(cost)]

    assert sizes(np.full(1000, 1.0)) == [1000]
    assert sizes(np.array([1.0, 9e9, 1.0, 1.0])) == [1, 1, 2]

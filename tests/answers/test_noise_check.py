"""Bartlett's comparison of variances against SciPy, simulation, and by hand."""

import numpy as np
import pytest
from scipy import stats

from argbest.answers.discrepancies import bartlett, compared
from argbest.core.tally import Tally


def test_with_many_replications_it_is_the_test_of_the_textbooks() -> None:
    rng = np.random.default_rng(0)
    rows = [rng.normal(0, sd, n) for sd, n in ((1.0, 60), (1.2, 80), (0.9, 200), (1.1, 150))]
    freedom = np.array([len(row) - 1.0 for row in rows])
    squares = np.array([np.sum((row - row.mean()) ** 2) for row in rows])
    ratio, p_value = bartlett(squares, freedom, np.zeros(4, np.int64))
    assert p_value == pytest.approx(stats.bartlett(*rows).pvalue, rel=2e-3)
    np.testing.assert_allclose(ratio, squares / freedom / (squares.sum() / freedom.sum()))


@pytest.mark.parametrize(
    ("freedom", "group"),
    [
        (np.ones(10), np.zeros(10, np.int64)),
        (np.ones(60), np.repeat(np.arange(6), 10)),
        (np.array([1.0, 1, 2, 5, 9, 30]), np.array([0, 0, 0, 1, 1, 1])),
    ],
    ids=["two replications each", "six groups", "unequal counts"],
)
def test_equal_variances_are_doubted_as_often_as_stated(freedom: np.ndarray, group: np.ndarray) -> None:
    """3,000 draws: 1 % is met to within 0.6 %, three standard errors; the gamma tail may be a bit low."""
    rng = np.random.default_rng(1)
    found = np.array([bartlett(rng.chisquare(freedom), freedom, group)[1] for _ in range(3000)])
    assert np.mean(found < 0.01) == pytest.approx(0.0095, abs=0.006)
    assert np.mean(found < 0.5) == pytest.approx(0.5, abs=0.03)


def test_only_pairs_with_one_noise_level_are_compared() -> None:
    count, m2 = np.array([[3, 3, 1], [3, 3, 3]]), np.array([[2.0, 4.0, 0.0], [1.0, 1.0, 1.0]])
    noise = np.array([[1.0, 1.0, 1.0], [0.2, 0.3, 0.4]])
    found = compared(noise, Tally(count, np.zeros((2, 3)), m2))
    np.testing.assert_array_equal(found.freedom, [[2, 2, 0], [0, 0, 0]])
    np.testing.assert_allclose(found.ratio[0, :2], [2 / 3, 4 / 3])
    assert np.isnan(found.ratio[1]).all()
    apart = compared(np.arange(6.0).reshape(2, 3) + 1, Tally(count, np.zeros((2, 3)), m2))
    assert np.isnan(apart.p_value)


def test_known_noise_is_compared_in_its_own_unit() -> None:
    rng = np.random.default_rng(2)
    noise = np.exp(rng.normal(0, 2, (4, 5)))
    m2 = noise * rng.chisquare(3, (4, 5))
    tally = Tally(np.full((4, 5), 4), np.zeros((4, 5)), m2)
    assert compared(noise, tally, together=True).p_value > 0.01
    assert compared(np.ones((4, 5)), tally, together=True).p_value < 1e-6


def test_a_unit_changes_nothing_and_agreeing_replications_do_not_end_it() -> None:
    tally = Tally(np.full((2, 4), 2), np.zeros((2, 4)), np.array([[0.0, 1, 2, 3], [1, 1, 1, 0.5]]))
    one = compared(np.ones((2, 4)), tally).p_value
    other = compared(np.ones((2, 4)), Tally(tally.count, tally.mean, 1e8 * tally.m2)).p_value
    assert 0 < one == pytest.approx(other)
    constant = Tally(tally.count, tally.mean, np.zeros((2, 4)))
    assert np.isnan(compared(np.ones((2, 4)), constant).p_value)


def test_with_shared_noise_the_least_likely_alternative_speaks_for_all() -> None:
    rng = np.random.default_rng(3)
    m2 = np.repeat(rng.chisquare(3, (1, 6)), 5, axis=0)  # the same in all alternatives: one sample, not five
    tally = Tally(np.full((5, 6), 4), np.zeros((5, 6)), m2)
    shared = compared(np.ones((5, 6)), tally, shared=True)
    _, alone = bartlett(m2[0], np.full(6, 3.0), np.zeros(6, np.int64))
    assert shared.p_value == pytest.approx(min(1.0, 5 * alone))
    np.testing.assert_allclose(shared.ratio[0], m2[0] / m2[0].mean())

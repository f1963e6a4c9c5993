"""Even grids against adaptive quadrature, and what they hand back."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from argbest.core import certainty, normal
from argbest.core.arrays import Array, BoolArray


def chosen(mean: Array, index: int) -> BoolArray:
    return np.asarray(np.arange(mean.shape[1]) == np.full((len(mean), 1), index))


def literal(mean: Array, std: Array, b: int) -> float:
    """∫ f_b Π F_j by adaptive quadrature in pieces."""

    def integrand(x: float) -> float:
        z = (x - mean) / std
        return float(np.exp(-0.5 * z[b] ** 2) / np.sqrt(2 * np.pi) / std[b] * np.delete(ndtr(z), b).prod())

    ends = np.linspace(mean[b] - 9 * std[b], mean[b] + 9 * std[b], 60)
    return sum(quad(integrand, lo, hi, epsabs=1e-15)[0] for lo, hi in pairwise(ends))


@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_sums_equal_adaptive_quadrature(n: int) -> None:
    rng = np.random.default_rng(n)
    mean, std = rng.normal(0, 2, (30, n)), np.exp(rng.normal(0, 0.3, (30, n)))
    good, rest = normal.good_probability(mean, std, chosen(mean, 1))
    assert not rest.size
    expected = [literal(mean[i], std[i], 1) for i in range(30)]
    np.testing.assert_allclose(good, expected, atol=3e-13)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 8.0, 15.0])
def test_two_alternatives_follow_the_normal_difference(ratio: float) -> None:
    gap = np.linspace(-12, 12, 49)
    mean = np.stack([gap, np.zeros(49)], axis=1)
    std = np.broadcast_to([1.0, 1.0 / ratio], (49, 2))
    for b, sign in ((0, 1), (1, -1)):
        good, rest = normal.good_probability(mean, std, chosen(mean, b))
        exact = ndtr(sign * gap / np.hypot(1, 1 / ratio))
        kept = np.setdiff1d(np.arange(49), rest)
        np.testing.assert_allclose(good[kept], exact[kept], atol=3e-13)
        assert kept.size


def test_point_masses_and_very_unequal_beliefs_are_handed_back() -> None:
    mean = np.zeros((5, 2))
    std = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1e-6], [1.0, 1e-200]])
    _, rest = normal.good_probability(mean, std, chosen(mean, 0))
    assert rest.tolist() == [0, 1, 2, 3, 4]


def test_whichever_way_it_goes_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    mean, std = rng.normal(0, 2, (6, 5, 7)), np.exp(rng.normal(0, 1.0, (6, 5, 7)))
    selected = rng.integers(0, 5, (6, 7))
    mixed = certainty.good_probability(mean, std, selected, 0.3)
    monkeypatch.setattr(normal, "_LONGEST_GRID", 0)
    np.testing.assert_allclose(certainty.good_probability(mean, std, selected, 0.3), mixed, atol=3e-13)


def test_who_is_far_ahead_is_certain_and_who_is_far_behind_has_no_chance() -> None:
    mean, std = np.array([[0.0, 100.0, 0.0], [0.0, -100.0, 0.0]]), np.ones((2, 3))
    good, rest = normal.good_probability(mean, std, chosen(mean, 1))
    assert (good.tolist(), rest.size) == ([1.0, 0.0], 0)

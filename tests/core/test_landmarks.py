"""Landmarks: roots of correlation tables that never claim more than the table says."""

import numpy as np
import oracles
import pytest

from argbest.core import landmarks
from argbest.core.arrays import Array, IntArray


def table(seed: int, n: int = 30, length: float = 0.3) -> Array:
    x = np.random.default_rng(seed).random((n, 2))
    return oracles.kernel("matern52", x, x, np.array([length, 2 * length]), 1.0)


def greedy(full: Array, most: int, least: float = 0.0) -> tuple[IntArray, Array]:
    return landmarks._greedy(len(full), lambda i: full[i], most, least)


def test_what_is_missed_is_a_covariance_of_its_own_and_shrinks_with_every_landmark() -> None:
    full = table(1)
    chosen, missed = greedy(full, 12)
    assert len(set(chosen.tolist())) == 12
    assert np.all(np.diff(missed) < 0)
    for r in (1, 5, 12):
        found = landmarks.root_of(full[:, chosen[:r]], chosen[:r])
        rest = full - found.features @ found.features.T
        assert np.linalg.eigvalsh(rest).min() > -1e-12
        assert np.trace(rest) / len(full) == pytest.approx(missed[r - 1], rel=1e-6)
        solved = np.linalg.solve(full[np.ix_(chosen[:r], chosen[:r])], full[chosen[:r]])
        np.testing.assert_allclose(found.features @ found.features.T, full[:, chosen[:r]] @ solved, atol=1e-9)


def test_points_that_coincide_need_one_landmark_and_all_together_miss_nothing() -> None:
    full = np.asarray(np.kron(table(2, 6), np.ones((2, 2))), float)
    chosen, missed = greedy(full, 12, 1e-9)
    assert len(chosen) == 6
    assert missed[-1] < 1e-9
    found = landmarks.root_of(full, np.arange(12))  # singular, and solved all the same
    np.testing.assert_allclose(found.features @ found.features.T, full, atol=1e-11)


def test_the_pull_on_a_table_is_that_of_differences() -> None:
    full, rng = table(3, 9), np.random.default_rng(3)
    chosen = greedy(full, 4)[0]
    half = rng.normal(size=(9, 9))
    weight = half + half.T

    def value(whole: Array) -> float:
        f = landmarks.root_of(whole[:, chosen], chosen).features
        return float(np.sum(weight * (f @ f.T))) / 2

    found = landmarks.root_of(full[:, chosen], chosen)
    pull = found.pull(weight @ found.features)
    for _ in range(5):
        step = rng.normal(size=(9, 9))
        step = 1e-5 * (step + step.T)
        expected = (value(full + step) - value(full - step)) / 2
        assert float(np.sum(pull * step[:, chosen])) == pytest.approx(expected, rel=1e-6, abs=1e-10)


def test_two_factors_share_the_features_they_may_have() -> None:
    rough, smooth = table(4, 30, 0.1), table(4, 30, 2.0)
    first, second = greedy(rough, 30)[1], greedy(smooth, 30)[1]
    a, c = landmarks._shares(first, second, 60)
    assert a * c <= 60 < (a + 1) * (c + 1)
    assert a > 3 * c  # the rough one needs more
    missed = [
        1 - (1 - first[i - 1]) * (1 - second[j - 1])
        for i in range(1, 31)
        for j in range(1, 31)
        if i * j <= 60
    ]
    assert 1 - (1 - first[a - 1]) * (1 - second[c - 1]) < 1.2 * min(missed)


def test_the_news_of_a_point_is_its_variance_given_all_others() -> None:
    full = table(5, 12)
    news = landmarks.innovation(full[:10, :10], full[:10, 10:])
    for i, found in enumerate(news):
        across = full[:10, 10 + i]
        assert found == pytest.approx(1 - across @ np.linalg.solve(full[:10, :10], across), rel=1e-7)
    np.testing.assert_allclose(landmarks.innovation(full, full[:, :3]), 0.0, atol=1e-10)

"""Random counts of compiled code against their laws and against the library's own Philox."""

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import stats

from argbest.problems.covid import draws
from argbest.streams import Purpose, philox

N = 200_000


def _binomials(seed, n, p, size):  # type: ignore[no-untyped-def]
    state, out = draws.stream(seed, 0), np.empty(size, np.int64)
    for i in range(size):
        out[i] = draws.binomial(state, n, p)
    return out


def _poissons(seed, mean, size):  # type: ignore[no-untyped-def]
    state, out = draws.stream(seed, 0), np.empty(size, np.int64)
    for i in range(size):
        out[i] = draws.poisson(state, mean)
    return out


binomials: Any = njit(_binomials)
poissons: Any = njit(_poissons)


def p_value(values: np.ndarray, law: Any) -> float:
    """Of a chi-square test with neighbouring values merged until 20 are expected in each class."""
    low, high = int(law.ppf(1e-6)), int(law.ppf(1 - 1e-6))
    observed = np.bincount(np.clip(values, low, high) - low, minlength=high - low + 1)
    expected = np.diff([0.0, *law.cdf(np.arange(low, high)), 1.0]) * len(values)
    group = np.minimum(np.floor(np.cumsum(expected) / 20), np.floor(len(values) / 20) - 1).astype(int)
    classes = np.unique(group, return_inverse=True)[1]
    return float(stats.chisquare(np.bincount(classes, observed), np.bincount(classes, expected)).pvalue)


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 1, 2**40 + 5, 2**63 - 1])
def test_a_stream_reads_the_blocks_of_the_librarys_philox_in_order(seed: int) -> None:
    state = draws.stream(seed, 3)
    ours = [draws.uniform(state) for _ in range(150)]
    words = philox((np.arange(75), 3, 0, Purpose.NOISE), (seed & 0xFFFFFFFF, seed >> 32)).astype(np.int64)
    integers = (words[:, ::2] >> 6) * 2**26 + (words[:, 1::2] >> 6)
    assert ours == ((integers.ravel() + 0.5) / 2**52).tolist()


@pytest.mark.parametrize(
    ("n", "p"),
    [
        *((1, 0.3), (4, 0.5), (12, 0.03), (40, 0.8), (60, 0.16), (21, 0.5), (100, 0.1), (50, 0.75)),
        *((400, 0.97), (3_000, 0.5), (100_000, 1e-4), (100_000, 4e-4)),
    ],
)
def test_binomial_numbers_follow_their_law(n: int, p: float) -> None:
    # False-alarm rate 1e-5 for each of the twelve.
    assert p_value(binomials(20 + n, n, p, N), stats.binom(n, p)) > 1e-5


@pytest.mark.parametrize("mean", [0.01, 1.0, 9.99, 10.0, 17.3, 333.3])
def test_poisson_numbers_follow_their_law(mean: float) -> None:
    # False-alarm rate 1e-5 for each of the six.
    assert p_value(poissons(int(mean) + 5, mean, N), stats.poisson(mean)) > 1e-5


def test_certain_outcomes_are_certain() -> None:
    state = draws.stream(1, 0)
    assert [draws.binomial(state, 0, 0.5), draws.binomial(state, 9, 0.0), draws.binomial(state, 9, 1.0)] == [
        0,
        0,
        9,
    ]
    assert draws.poisson(state, 0.0) == 0
    assert state[3] == 0  # no number was used up


def test_streams_of_one_seed_are_independent_of_each_other() -> None:
    # 45 correlations of 4,000 numbers each: below 5 standard errors, false-alarm rate 3e-5.
    states = [draws.stream(9, number) for number in range(10)]
    numbers = np.array([[draws.uniform(state) for _ in range(4_000)] for state in states])
    correlation = np.corrcoef(numbers)[np.triu_indices(10, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(4_000)

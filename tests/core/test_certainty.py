import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import erfcx, log_ndtr, ndtr

from argbest.core import certainty
from argbest.core.arrays import Array, IntArray
from argbest.core.certainty import (
    best_probability,
    bonferroni_bound,
    expected_loss,
    good_probability,
    slepian_bound,
)


def column(*values: float) -> Array:
    return np.array(values, dtype=float)[:, None]


def beliefs(
    seed: int, shape: tuple[int, ...], ratio: float = 10.0, zeros: float = 0.0
) -> tuple[Array, Array]:
    """Stds log-uniform over the ratio; means equal, or spread like the widest std, or each like its own."""
    rng = np.random.default_rng(seed)
    std = ratio ** -rng.random(shape)
    spread = rng.choice([0.0, 1.0, 3.0], (*shape[:-2], 1, shape[-1]))
    mean = rng.normal(size=shape) * np.where(rng.random((*shape[:-2], 1, shape[-1])) < 0.5, spread, std)
    return mean, np.where(rng.random(shape) < zeros, 0.0, std)


def gaps(mean: Array, std: Array, selected: IntArray) -> tuple[Array, Array]:
    index = selected[..., None, :]
    gap = np.take_along_axis(mean, index, axis=-2) - mean
    return gap, np.hypot(std, np.take_along_axis(std, index, axis=-2))


def pair_loss(gap: Array, tau: Array) -> Array:
    """E[(f_k - f_b)^+] = τ φ(z) (1 - z Mills(z)), z = gap / τ >= 0."""
    z = gap / tau
    mills = np.sqrt(np.pi / 2) * erfcx(z / np.sqrt(2))
    value: Array = tau * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (1 - z * mills)
    return value


def quad_probability(mean: Array, std: Array, k: int) -> float:
    """∫ φ(z) Π_{j≠k} Φ((m_k + s_k z - m_j) / s_j) dz, broken at the features of all alternatives."""
    others = np.delete(np.arange(len(mean)), k)

    def integrand(z: float) -> float:
        cdf = ndtr((mean[k] + std[k] * z - mean[others]) / std[others])
        return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * cdf.prod())

    steps = np.array([-9.0, -6.0, -3.0, 0.0, 3.0, 6.0, 9.0])
    breaks = (mean[others, None] + std[others, None] * steps - mean[k]) / std[k]
    edges = np.unique(np.concatenate([steps, breaks[np.abs(breaks) < 9.0]]))
    return sum(integrate.quad(integrand, a, b, epsabs=1e-11)[0] for a, b in pairwise(edges))


@pytest.mark.parametrize("ratio", [1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("gap", [-3.0, 0.0, 0.2, 5.0])
def test_two_alternatives_follow_the_normal_difference(ratio: float, gap: float) -> None:
    tau = np.hypot(1.0, 1.0 / ratio)
    result = best_probability(column(gap, 0.0), column(1.0, 1.0 / ratio))
    np.testing.assert_allclose(result, column(ndtr(gap / tau), ndtr(-gap / tau)), atol=1e-12)


@pytest.mark.parametrize(("n_alternatives", "ratio"), [(2, 1e3), (3, 1.0), (3, 1e6), (5, 10.0), (5, 300.0)])
def test_probabilities_equal_adaptive_quadrature(n_alternatives: int, ratio: float) -> None:
    mean, std = beliefs(1, (n_alternatives, 4), ratio)
    oracle = [[quad_probability(mean[:, c], std[:, c], k) for c in range(4)] for k in range(n_alternatives)]
    np.testing.assert_allclose(best_probability(mean, std), oracle, atol=1e-9)


@pytest.mark.parametrize("n_alternatives", [2, 3, 10, 100])
@pytest.mark.parametrize("ratio", [1.0, 10.0, 1e3, 1e6])
@pytest.mark.parametrize("zeros", [0.0, 0.3, 1.0])
def test_probabilities_sum_to_one(n_alternatives: int, ratio: float, zeros: float) -> None:
    mean, std = beliefs(2, (n_alternatives, 60), ratio, zeros)
    np.testing.assert_allclose(best_probability(mean, std).sum(axis=0), 1.0, atol=1e-9)


@pytest.mark.parametrize("n_alternatives", [1, 2, 3, 10, 100])
def test_equal_beliefs_share_the_probability(n_alternatives: int) -> None:
    result = best_probability(np.full((n_alternatives, 1), 7.0), np.full((n_alternatives, 1), 0.3))
    np.testing.assert_allclose(result, 1 / n_alternatives, rtol=1e-10)


def test_monte_carlo_agrees_with_a_false_alarm_rate_of_one_in_ten_thousand() -> None:
    # 20 probabilities and 4 losses, each tested two-sided at 1e-4 / 24.
    mean, std = beliefs(3, (5, 4), 30.0)
    selected = np.array([0, 1, 2, 3])
    n = 40_000
    draws = mean + std * np.random.default_rng(4).normal(size=(n, 5, 4))
    level = 1e-4 / 24
    wins = (draws == draws.max(axis=1, keepdims=True)).sum(axis=0)
    chance = best_probability(mean, std)
    for count, p in zip(wins.ravel(), chance.ravel(), strict=True):
        assert stats.binomtest(int(count), n, min(1.0, p + 1e-12)).pvalue > level
    losses = draws.max(axis=1) - draws[:, selected, np.arange(4)]
    z = (losses.mean(axis=0) - expected_loss(mean, std, selected)) / (losses.std(axis=0) / np.sqrt(n))
    assert (2 * ndtr(-np.abs(z)) > level).all()


def test_point_masses_are_exact() -> None:
    mean, std = column(1.0, 0.0, 0.5), column(0.0, 1.0, 0.0)
    np.testing.assert_allclose(best_probability(mean, std), column(ndtr(1.0), ndtr(-1.0), 0.0), atol=1e-12)
    excess = pair_loss(np.array(1.0), np.array(1.0))
    np.testing.assert_allclose(expected_loss(mean, std, np.array([0])), excess, rtol=1e-10)
    np.testing.assert_allclose(expected_loss(mean, std, np.array([1])), 1.0 + excess, rtol=1e-10)
    np.testing.assert_allclose(expected_loss(mean, std, np.array([2])), 0.5 + excess, rtol=1e-10)


def test_known_ties_share_being_best_and_are_all_good() -> None:
    mean, std = column(1.0, 1.0, 0.0), column(0.0, 0.0, 1.0)
    half = ndtr(1.0) / 2
    np.testing.assert_allclose(best_probability(mean, std), column(half, half, ndtr(-1.0)), atol=1e-12)
    np.testing.assert_allclose(good_probability(mean, std, np.array([1])), ndtr(1.0), atol=1e-12)
    known = np.array([[2.0, 0.1], [2.0, 0.3], [-1.0, 0.2]])
    nothing = np.zeros_like(known)
    assert best_probability(known, nothing).tolist() == [[0.5, 0.0], [0.5, 1.0], [0.0, 0.0]]
    assert good_probability(known, nothing, np.array([1, 2])).tolist() == [1.0, 0.0]
    assert expected_loss(known, nothing, np.array([1, 1])).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(expected_loss(known, nothing, np.array([2, 0])), [3.0, 0.2], rtol=1e-14)


def test_a_narrow_pair_within_a_very_wide_belief_is_told_apart() -> None:
    tiny = 1e-12
    result = best_probability(column(0.0, tiny, 0.0), column(tiny, tiny, 1.0))
    expected = column(ndtr(-np.sqrt(0.5)) / 2, ndtr(np.sqrt(0.5)) / 2, 0.5)
    np.testing.assert_allclose(result, expected, atol=1e-9)


@pytest.mark.parametrize("ratio", [1e-6, 1e-2, 1.0, 50.0, 1e6])
def test_a_tiny_loss_is_accurate_in_relative_terms(ratio: float) -> None:
    z = np.linspace(0.0, 36.0, 73)
    std = np.stack([np.full_like(z, 2.0), np.full_like(z, 2.0 / ratio)])
    tau = np.hypot(*std)
    mean = np.stack([z * tau, np.zeros_like(z)])
    oracle = pair_loss(z * tau, tau)
    assert oracle.min() < 1e-270
    np.testing.assert_allclose(expected_loss(mean, std, np.zeros(73, dtype=int)), oracle, rtol=1e-9)


@pytest.mark.parametrize("side", [0, 1])
def test_a_tiny_loss_against_or_of_a_point_mass_is_accurate(side: int) -> None:
    z = np.linspace(0.0, 36.0, 73)
    std = np.zeros((2, 73))
    std[side] = 3.0
    oracle = pair_loss(3.0 * z, np.array(3.0))
    result = expected_loss(np.stack([3.0 * z, 0 * z]), std, np.zeros(73, dtype=int))
    np.testing.assert_allclose(result, oracle, rtol=1e-9)


@pytest.mark.parametrize("spread", [0.5, 1.5, 3.0, 5.0, 15.0])
def test_the_loss_against_several_equals_a_dense_sum(spread: float) -> None:
    rng = np.random.default_rng(16)
    std = rng.uniform(0.2, 1.0, 4)
    mean = rng.normal(size=4) * spread
    for b in (int(mean.argmax()), int(rng.integers(4))):
        step = 0.02 * std.min()
        x = np.arange((mean - 40 * std).min(), (mean + 40 * std).max(), step)
        logs = log_ndtr((x - mean[:, None]) / std[:, None])
        bracket = -np.expm1(np.delete(logs, b, axis=0).sum(axis=0))
        oracle = step * np.sum(np.exp(logs[b]) * bracket)
        result = expected_loss(mean[:, None], std[:, None], np.array([b]))
        np.testing.assert_allclose(result, oracle, rtol=1e-9)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("ratio", [3.0, 1e6])
def test_a_batch_equals_its_members_and_chunks_do_not_matter(
    ratio: float, zeros: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mean, std = beliefs(5, (6, 7, 5), ratio, zeros)
    selected = mean.argmax(axis=-2)
    best, loss = best_probability(mean, std), expected_loss(mean, std, selected)
    good = good_probability(mean, std, selected, 0.1)
    for r in range(6):
        np.testing.assert_allclose(best_probability(mean[r], std[r]), best[r], atol=1e-12)
        np.testing.assert_allclose(expected_loss(mean[r], std[r], selected[r]), loss[r], rtol=1e-10)
        np.testing.assert_allclose(good_probability(mean[r], std[r], selected[r], 0.1), good[r], atol=1e-12)
    monkeypatch.setattr(certainty, "_ELEMENTS", 200)
    monkeypatch.setattr(certainty, "_MESH_ELEMENTS", 3000)
    np.testing.assert_allclose(best_probability(mean, std), best, atol=1e-12)
    np.testing.assert_allclose(expected_loss(mean, std, selected), loss, rtol=1e-10)


def test_leading_axes_broadcast() -> None:
    mean, std = beliefs(6, (3, 4))
    selected = np.array([[0, 1, 2, 0], [2, 2, 1, 1]])
    best = best_probability(mean, np.stack([std, 2 * std]))
    assert best.shape == (2, 3, 4)
    np.testing.assert_allclose(best[1], best_probability(mean, 2 * std), atol=1e-12)
    good, loss = good_probability(mean, std, selected), expected_loss(mean, std, selected)
    slepian = slepian_bound(mean.max(axis=0) - mean, std, selected)
    assert good.shape == loss.shape == slepian.shape == (2, 4)
    for row in range(2):
        np.testing.assert_allclose(good[row], good_probability(mean, std, selected[row]), atol=1e-12)
        np.testing.assert_allclose(loss[row], expected_loss(mean, std, selected[row]), rtol=1e-10)
    assert best_probability(np.zeros((0, 3, 4)), std).shape == (0, 3, 4)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, -250.0])
def test_shift_scale_and_order_change_nothing(scale: float, shift: float) -> None:
    mean, std = beliefs(7, (8, 20), 100.0, zeros=0.1)
    selected = mean.argmax(axis=0)
    order = np.random.default_rng(8).permutation(8)
    moved, spread = ((mean + shift) * scale)[order], (std * scale)[order]
    place = np.argsort(order)[selected]
    np.testing.assert_allclose(
        best_probability(moved, spread), best_probability(mean, std)[order], atol=1e-10
    )
    loss = scale * expected_loss(mean, std, selected)
    np.testing.assert_allclose(expected_loss(moved, spread, place), loss, rtol=1e-6)


def test_good_probability_is_best_probability_without_an_allowance() -> None:
    mean, std = beliefs(9, (6, 30), 100.0)
    selected = np.random.default_rng(10).integers(0, 6, 30)
    best = np.take_along_axis(best_probability(mean, std), selected[None, :], axis=0)[0]
    np.testing.assert_allclose(good_probability(mean, std, selected), best, atol=1e-12)


def test_good_probability_of_two_follows_the_normal_difference_and_rises_to_one() -> None:
    mean, std = column(0.3, 1.0), column(0.5, 1.2)
    deltas = [0.0, 0.1, 0.5, 1.0, 3.0]
    values = [good_probability(mean, std, np.array([0]), delta).item() for delta in deltas]
    np.testing.assert_allclose(values, ndtr((np.array(deltas) - 0.7) / 1.3), atol=1e-12)
    assert good_probability(mean, std, np.array([0]), 1e12).item() == pytest.approx(1.0, abs=1e-12)


def test_good_probability_grows_with_the_allowance() -> None:
    mean, std = beliefs(11, (6, 30), 1e3, zeros=0.2)
    selected = np.random.default_rng(12).integers(0, 6, 30)
    values = np.array([good_probability(mean, std, selected, delta) for delta in (0.0, 0.3, 1.0, 4.0, 1e6)])
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert (values[3] > values[0] + 1e-3).any()
    np.testing.assert_allclose(values[-1], 1.0, atol=1e-12)


def test_bounds_have_their_textbook_values() -> None:
    gap, tau, selected = column(1.0, 0.0, 3.0), column(2.0, 9.0, 1.5), np.array([1])
    np.testing.assert_allclose(slepian_bound(gap, tau, selected), ndtr(0.5) * ndtr(2.0), rtol=1e-14)
    np.testing.assert_allclose(bonferroni_bound(gap, tau, selected), ndtr(0.5) + ndtr(2.0) - 1, rtol=1e-14)
    assert bonferroni_bound(column(0.0, 0.0, 0.0), tau, selected).item() == 0.0


@pytest.mark.parametrize(("gap", "expected"), [(0.0, 1.0), (2.0, 1.0), (-2.0, 0.0)])
def test_bounds_know_what_is_certain(gap: float, expected: float) -> None:
    for bound in (slepian_bound, bonferroni_bound):
        assert bound(column(0.0, gap), column(0.0, 0.0), np.array([0])).item() == expected


@pytest.mark.parametrize("shape", [(100, 100), (30, 1_500)])
def test_memory_stays_bounded(shape: tuple[int, int]) -> None:
    mean, std = np.zeros(shape), beliefs(13, shape, 30.0)[1]
    for call in (best_probability, lambda mean, std: expected_loss(mean, std, np.zeros(shape[1], dtype=int))):
        tracemalloc.start()
        try:
            call(mean, std)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 20e6


numbers = st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1e9, 1e9), st.floats(-1.0, 1.0))
spreads = st.one_of(st.just(0.0), st.floats(-9.0, 9.0).map(lambda power: 10.0**power))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(numbers, spreads), min_size=1, max_size=6), st.integers(0, 5))
def test_any_finite_belief_has_coherent_answers(cells: list[tuple[float, float]], choice: int) -> None:
    mean, std = column(*(m for m, _ in cells)), column(*(s for _, s in cells))
    selected = np.array([choice % len(cells)])
    best, good = best_probability(mean, std), good_probability(mean, std, selected)
    gap, tau = gaps(mean, std, selected)
    slepian, bonferroni = slepian_bound(gap, tau, selected), bonferroni_bound(gap, tau, selected)
    assert ((best >= 0) & (best <= 1)).all()
    assert best.sum() == pytest.approx(1.0, abs=1e-9)
    assert best[selected[0], 0] <= good[0] + 1e-12
    assert bonferroni[0] <= slepian[0] + 1e-12
    assert slepian[0] <= good[0] + 1e-9
    # Jensen: the mean of the largest is no smaller than the largest mean.
    assert expected_loss(mean, std, selected)[0] >= max(0.0, -gap.min()) * (1 - 1e-9)

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from argbest.core.arrays import Array
from argbest.core.false_selection import (
    balance,
    expected_pcs,
    optimal_allocation,
    rate_function,
    selection_probability,
    separated,
)
from argbest.errors import InputError

MEANS = -np.array([[1.2], [2.1], [3.4], [4.87], [6.05]])  # minimisation
VARIANCES = np.array([[3.3], [2.0], [4.5], [5.3], [6.9]])


def random_instance(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Array, Array]:
    return rng.normal(size=shape), np.exp(rng.normal(size=shape))


def eta(truth: Array, noise: Array, p: Array) -> list[float]:
    """The rates of all rivals in all contexts, one by one."""
    rates = []
    for k, c in np.ndindex(*truth.shape):
        b = int(np.argmax(truth[:, c]))
        if k != b:
            spread = noise[b, c] / p[b, c] + noise[k, c] / p[k, c]
            rates.append((truth[b, c] - truth[k, c]) ** 2 / spread)
    return rates


def maximin(truth: Array, noise: Array) -> Array:
    """The allocation of the largest least log η, by SLSQP in v = (log p, t)."""
    n_contexts, var = truth.shape[1], noise.ravel()
    cells = [(int(np.argmax(truth[:, c])), k, c) for k, c in np.ndindex(*truth.shape)]
    b, k, c = np.array([cell for cell in cells if cell[0] != cell[1]]).T
    i, j, rows = b * n_contexts + c, k * n_contexts + c, np.arange(len(c))
    gap = truth[b, c] - truth[k, c]

    def slack(v: Array) -> Array:
        spread: Array = var[i] * np.exp(-v[i]) + var[j] * np.exp(-v[j])
        return np.asarray(np.log(gap**2 / spread) - v[-1])

    def slope(v: Array) -> Array:
        table = np.zeros((len(c), len(v)))
        table[rows, i], table[rows, j] = var[i] * np.exp(-v[i]), var[j] * np.exp(-v[j])
        table /= table.sum(axis=1, keepdims=True)
        table[:, -1] = -1.0
        return table

    aim = np.append(np.zeros(truth.size), -1.0)
    start = np.append(np.full(truth.size, -np.log(truth.size)), -5.0)
    rules: Any = [
        {"type": "ineq", "fun": slack, "jac": slope},
        {"type": "eq", "fun": lambda v: logsumexp(v[:-1]), "jac": lambda v: np.append(softmax(v[:-1]), 0)},
    ]
    search: Any = minimize  # its stubs refuse this call
    found = search(lambda v: -v[-1], start, jac=lambda _: aim, constraints=rules, method="SLSQP", tol=1e-16)
    return np.asarray(np.exp(found.x[:-1]).reshape(truth.shape))


def exact(truth: Array, noise: Array) -> tuple[Array, float]:
    """One context by bisection with 60 digits, in the variable u of the textbook equation."""
    with localcontext() as context:
        context.prec = 60
        f, s = ([Decimal(float(x)) for x in column] for column in (truth, noise))
        b = f.index(max(f))
        rivals = [k for k in range(len(f)) if k != b]
        square = [(f[b] - x) ** 2 for x in f]
        low, high = Decimal(0), min(square[k] for k in rivals)
        for _ in range(170):
            u = (low + high) / 2
            over = s[b] / u**2 < sum(s[k] / (square[k] - u) ** 2 for k in rivals)
            low, high = (low, u) if over else (u, high)
        work = [s[b] / u if k == b else s[k] / (square[k] - u) for k in range(len(f))]
        return np.array([float(w / sum(work)) for w in work]), float(1 / sum(work))


def test_the_textbook_case() -> None:
    p, rate = optimal_allocation(MEANS, VARIANCES)
    np.testing.assert_allclose(p[:, 0], [0.49754, 0.38396, 0.07018, 0.02786, 0.02046], rtol=0, atol=5e-6)
    assert rate == pytest.approx(0.068404, abs=5e-7)


@pytest.mark.parametrize("seed", range(12))
def test_optimal_allocation_is_that_of_a_constrained_optimiser(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, noise = random_instance(rng, (int(rng.integers(2, 6)), int(rng.integers(1, 4))))
    p, rate = optimal_allocation(truth, noise)
    generic = maximin(truth, noise)
    np.testing.assert_allclose(p, generic, rtol=0, atol=1e-8)
    assert rate == pytest.approx(min(eta(truth, noise, generic)), rel=1e-8)


@pytest.mark.parametrize("n_alternatives", [2, 3, 10, 100])
def test_shares_keep_all_digits_for_gaps_and_noise_of_any_size(n_alternatives: int) -> None:
    rng = np.random.default_rng(n_alternatives)
    for _ in range(4):
        truth = -(10.0 ** rng.uniform(-6, 0, n_alternatives))
        truth[rng.integers(n_alternatives)] = 0.0
        noise = 10.0 ** rng.uniform(-3, 3, n_alternatives)
        p, rate = optimal_allocation(truth[:, None], noise[:, None])
        expected, best_rate = exact(truth, noise)
        np.testing.assert_allclose(p[:, 0], expected, rtol=1e-14)
        assert rate == pytest.approx(best_rate, rel=1e-14)


def test_the_root_is_found_where_the_farther_rivals_almost_suffice() -> None:
    # The nearest rival is all but free of noise: what balances the best is the sum over the others.
    for excess in (-1e-3, -1e-9, 0.0, 1e-9, 1e-3):
        truth = np.array([0.0, -1.0, -2.0])
        noise = np.array([1.0, 1e-8, 9.0 * (1.0 + excess)])
        p, rate = optimal_allocation(truth[:, None], noise[:, None])
        expected, best_rate = exact(truth, noise)
        np.testing.assert_allclose(p[:, 0], expected, rtol=1e-11)  # this root is ill-conditioned
        assert rate == pytest.approx(best_rate, rel=1e-13)


def test_the_optimality_conditions_hold() -> None:
    truth, noise = random_instance(np.random.default_rng(1), (50, 8, 6))
    p, rate = optimal_allocation(truth, noise)
    np.testing.assert_allclose(p.sum(axis=(-2, -1)), 1.0, rtol=1e-13)
    for i in range(50):
        np.testing.assert_allclose(eta(truth[i], noise[i], p[i]), rate[i], rtol=1e-12)
    off = balance(truth, noise, p)
    for residual in (off.balance, off.within, off.across):
        np.testing.assert_allclose(residual, 0.0, atol=1e-12)
    np.testing.assert_array_equal(off.distance, 0.0)
    np.testing.assert_allclose(off.efficiency, 1.0, rtol=1e-12)


def test_two_alternatives_share_as_their_standard_deviations() -> None:
    p, rate = optimal_allocation(np.array([[3.0], [1.0]]), np.array([[4.0], [0.25]]))
    np.testing.assert_allclose(p[:, 0], [0.8, 0.2], rtol=1e-15)
    assert rate == pytest.approx(2.0**2 / 2.5**2, rel=1e-15)


def test_work_is_at_least_four_variances_over_the_squared_gap() -> None:
    truth = np.random.default_rng(3).normal(size=(200, 6, 1))
    _, rate = optimal_allocation(truth, np.full_like(truth, 2.0))
    second, first = np.sort(truth[..., 0], axis=-1)[:, -2:].T
    assert np.all(1 / rate >= 4 * 2.0 / (first - second) ** 2 * (1 - 1e-12))


def test_contexts_decouple() -> None:
    truth, noise = random_instance(np.random.default_rng(4), (4, 5))
    p, rate = optimal_allocation(truth, noise)
    alone = [optimal_allocation(truth[:, [c]], noise[:, [c]]) for c in range(5)]
    work = np.array([1 / float(r) for _, r in alone])
    assert rate == pytest.approx(1 / work.sum(), rel=1e-13)
    for c, (inside, _) in enumerate(alone):
        np.testing.assert_allclose(p[:, [c]], inside * work[c] * rate, rtol=1e-13)


def test_units_shifts_and_the_order_of_alternatives_change_nothing() -> None:
    truth, noise = random_instance(np.random.default_rng(5), (4, 3))
    p, rate = optimal_allocation(truth, noise)
    for scale in (1e-120, 1e3, 1e120):
        scaled, same = optimal_allocation(scale * truth, scale * (scale * noise))
        np.testing.assert_allclose(scaled, p, rtol=1e-12)
        assert same == pytest.approx(float(rate), rel=1e-12)
    shifted, _ = optimal_allocation(truth + 5.0, noise)
    np.testing.assert_allclose(shifted, p, rtol=1e-10)
    louder, slower = optimal_allocation(truth, 7.0 * noise)
    np.testing.assert_allclose(louder, p, rtol=1e-12)
    assert slower == pytest.approx(rate / 7.0, rel=1e-12)
    turned, _ = optimal_allocation(truth[::-1], noise[::-1])
    np.testing.assert_allclose(turned[::-1], p, rtol=1e-12)
    np.testing.assert_allclose(rate_function(truth, noise, 3 * p), 3 * rate_function(truth, noise, p))


def test_ties_for_the_best_are_refused_and_can_be_set_apart() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 2.0]])
    with pytest.raises(InputError, match=r"in context 1 the alternatives \[1, 2\] are tied"):
        optimal_allocation(truth, np.ones((3, 2)))
    with pytest.raises(InputError, match=r"in context 1 of \(1,\) the alternatives \[1, 2\]"):
        optimal_allocation(np.stack([np.eye(3)[:, :2], truth]), np.ones((3, 2)))
    apart = separated(truth, 0.6)
    np.testing.assert_array_equal(apart, [[1.0, 0.0], [0.0, 2.0], [0.4, 1.4]])
    assert optimal_allocation(apart, np.ones((3, 2)))[1] > 0
    np.testing.assert_array_equal(separated(truth, 0.0), truth)


def test_a_pair_without_noise_needs_no_share() -> None:
    truth = np.array([[2.0], [1.0], [0.0]])
    p, rate = optimal_allocation(truth, np.array([[0.0], [1.0], [1.0]]))
    np.testing.assert_allclose(p[:, 0], [0.0, 0.8, 0.2], atol=1e-13)  # shares as σ²/d²
    assert rate == pytest.approx(0.8, rel=1e-13)
    p, rate = optimal_allocation(truth, np.array([[2.0], [0.0], [0.0]]))
    np.testing.assert_allclose(p[:, 0], [1.0, 0.0, 0.0], atol=1e-13)
    assert rate == pytest.approx(0.5, rel=1e-13)
    with pytest.raises(InputError, match="no pair has any noise"):
        optimal_allocation(truth, np.zeros((3, 1)))


def test_rates_by_hand() -> None:
    truth = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 1.0]])
    noise = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 1.0]])
    p = np.array([[0.5, 0.1], [0.25, 0.0], [0.125, 0.025]])
    expected = [[np.inf, 1 / 50], [0.4, 0.0], [0.1, np.inf]]
    np.testing.assert_allclose(rate_function(truth, noise, p), expected, rtol=1e-15)


def test_residuals_of_an_equal_allocation_by_hand() -> None:
    truth, noise = np.array([[2.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.ones((3, 2))
    off = balance(truth, noise, np.full((3, 2), 1 / 6))
    np.testing.assert_allclose(off.balance, [-1 / 3, -1 / 3])
    np.testing.assert_allclose(off.within, [0.75, 0.0], atol=1e-15)
    assert off.across == pytest.approx(1 - 1 / 16)
    p, rate = optimal_allocation(truth, noise)
    assert off.distance == pytest.approx(np.abs(p - 1 / 6).max())
    assert off.efficiency == pytest.approx((1 / 12) / rate)


def test_residuals_are_finite_where_nothing_was_sampled() -> None:
    truth = np.array([[2.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    off = balance(truth, np.ones((3, 2)), np.array([[0.5, 0.0], [0.5, 0.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(off.balance, [0.0, 0.0])
    np.testing.assert_array_equal(off.within, [1.0, 0.0])
    assert off.across == 1.0
    assert off.efficiency == 0.0


def test_what_is_within_delta_of_the_best_is_right() -> None:
    truth, p = np.array([[2.0], [2.0], [1.5], [0.0]]), np.full((4, 1), 0.25)
    chance = selection_probability(truth, np.ones((4, 1)), p, 8)[:, 0]
    assert expected_pcs(truth, np.ones((4, 1)), p, 8) == pytest.approx(chance[:2].sum())
    assert expected_pcs(truth, np.ones((4, 1)), p, 8, delta=0.5) == pytest.approx(chance[:3].sum())


def test_many_instances_at_once_are_many_single_ones() -> None:
    rng = np.random.default_rng(10)
    truth, noise = random_instance(rng, (2, 3, 4, 5))
    p, rate = optimal_allocation(truth, noise)
    trial = rng.dirichlet(np.ones(20), (2, 3)).reshape(2, 3, 4, 5)
    eta_all, off = rate_function(truth, noise, trial), balance(truth, noise, trial)
    n = rng.integers(10, 100, (2, 3))
    chance = selection_probability(truth, noise, trial, n)
    np.testing.assert_allclose(chance.sum(axis=-2), 1.0, atol=1e-10)
    for i in np.ndindex(2, 3):
        alone, alone_rate = optimal_allocation(truth[i], noise[i])
        np.testing.assert_allclose(p[i], alone, rtol=1e-13)
        np.testing.assert_allclose(rate[i], alone_rate, rtol=1e-13)
        np.testing.assert_array_equal(eta_all[i], rate_function(truth[i], noise[i], trial[i]))
        for together, single in zip(off, balance(truth[i], noise[i], trial[i]), strict=True):
            np.testing.assert_allclose(together[i], single, rtol=1e-12)
        single = selection_probability(truth[i], noise[i], trial[i], int(n[i]))
        np.testing.assert_allclose(chance[i], single, atol=1e-12)

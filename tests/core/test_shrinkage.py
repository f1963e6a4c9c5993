"""Variances that borrow strength from each other, against quadrature of the hierarchical model."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from scipy.stats import chi2, f, invgamma, kstest

from argbest.core import shrinkage
from argbest.core.arrays import Array
from argbest.core.shrinkage import agreement, draw_variances, shrunk


def slow_estimate(squares: Array, freedom: Array) -> Array:
    """The hierarchical model literally: F densities, a bounded search for s², an integral for every pair."""
    firms, weights, estimates = 2.0 ** np.arange(15), [], []
    for d in firms:

        def minus_log(log_s2: float, d: float = d) -> float:
            s2 = np.exp(log_s2)
            return -float(np.sum(f.logpdf(squares / freedom / s2, freedom, d) - log_s2))

        found = minimize_scalar(minus_log, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10})
        s2 = float(np.exp(found.x))
        weights.append(-found.fun)
        estimates.append(
            [_one_over_mean_precision(w, v, d, s2) for w, v in zip(squares, freedom, strict=True)]
        )
    share = np.exp(np.array(weights) - max(weights))
    average: Array = share @ np.array(estimates) / share.sum()
    return average


def _one_over_mean_precision(w: float, v: float, d: float, s2: float) -> float:
    """Return 1 / E[1/σ² | W] by integrating over log σ²."""

    def joint(log_var: float, power: float) -> float:
        var = np.exp(log_var)
        prior = invgamma.pdf(var, d / 2, scale=d * s2 / 2) * var
        return float(prior * chi2.pdf(w / var, v) / var * var**-power)

    middle = np.log((d * s2 + w) / (d + v))
    ends = middle - 12 / np.sqrt(d + v), middle + 40 / np.sqrt(d + v)
    below, above = (quad(joint, *ends, args=(p,), limit=400, epsabs=0.0, epsrel=1e-9)[0] for p in (0.0, 1.0))
    return float(below / above)


def test_shrinkage_is_the_hierarchical_model_by_quadrature() -> None:
    rng = np.random.default_rng(1)
    freedom = np.array([1.0, 2.0, 9.0])
    squares = np.exp(rng.normal(0, 1, 3)) * rng.chisquare(freedom)
    scaled = shrunk(squares, freedom) * squares.sum() / freedom.sum()
    np.testing.assert_allclose(scaled, slow_estimate(squares, freedom), rtol=2e-3)


def test_drawn_variances_are_scaled_inverse_chi_square_where_none_agree() -> None:
    """Variances that differ by orders of magnitude teach nothing of each other: d = 1, W_i dominates."""
    squares, freedom = 10.0 ** np.arange(0.0, 24.0, 2.0), np.full(12, 5.0)
    found = draw_variances(np.tile(squares, (4000, 1)), freedom, np.random.default_rng(22))
    agreed = agreement(squares, freedom)
    assert agreed.weight[0, 0] > 0.99
    law = invgamma(3.0, scale=(agreed.prior[0, 0] + (squares / agreed.pooled)[6]) / 2)
    assert kstest(found[:, 6], law.cdf).pvalue > 1e-3


def test_pairs_that_were_not_observed_tell_nothing_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    freedom = np.where(rng.random(300) < 0.2, rng.integers(1, 5, 300), 0).astype(float)
    squares = freedom * rng.gamma(2.0, 1.0, 300)
    expected = shrunk(squares, freedom)
    monkeypatch.setattr(shrinkage, "_MANY_VARIANCES", 10)
    np.testing.assert_allclose(shrunk(squares, freedom), expected, rtol=1e-12)


def literal(squares: Array, freedom: Array, firm: Array) -> tuple[Array, Array]:
    """The F density with broken degrees of freedom, written out: s² of every d, and the weights of all d."""
    scales, weights = [], []
    for d in firm.tolist():

        def minus_log(log_s2: float, d: float = d) -> float:
            each = gammaln((freedom + d) / 2) - gammaln(d / 2) + d / 2 * (np.log(d) + log_s2)
            return -float(np.sum(each - (freedom + d) / 2 * np.log(d * np.exp(log_s2) + squares)))

        middle = np.log(squares.sum() / freedom.sum())
        ends = (middle - 8.0, middle + 8.0)
        found = minimize_scalar(minus_log, bounds=ends, method="bounded", options={"xatol": 1e-11})
        scales.append(float(np.exp(found.x)))
        weights.append(-found.fun)
    share = np.exp(np.array(weights) - max(weights))
    return np.array(scales), share / share.sum()


@pytest.mark.parametrize("times", [1.0, 10.0, 1e3])
def test_fewer_degrees_of_freedom_keep_the_pooled_variance_and_follow_the_same_formula(times: float) -> None:
    """Squares and degrees of freedom divided alike, down to degrees of freedom that add up to less than 1."""
    rng = np.random.default_rng(2)
    freedom = np.array([1.0, 2.0, 2.0, 4.0, 0.0, 9.0]) / times
    squares = (
        np.exp(rng.normal(0, 1, 6)) * rng.chisquare(np.maximum(freedom * times, 1)) * (freedom > 0) / times
    )
    agreed = agreement(squares, freedom)
    assert agreed.pooled[0] == pytest.approx(squares.sum() / freedom.sum(), rel=1e-12)
    scales, share = literal(squares[freedom > 0], freedom[freedom > 0], np.exp2(np.arange(15.0)))
    np.testing.assert_allclose(agreed.weight[:, 0], share, atol=2e-3)
    firm = 2.0 ** np.arange(15)[:, None]
    expected = share @ ((firm * scales[:, None] + squares) / (firm + freedom))
    np.testing.assert_allclose(agreed.pooled * agreed.estimate(squares, freedom), expected, rtol=2e-3)
    np.testing.assert_array_equal(shrunk(squares, freedom), agreed.estimate(squares, freedom))


def test_what_is_divided_by_more_is_drawn_closer_to_the_pooled_variance() -> None:
    squares, freedom = np.array([0.1, 1.0, 3.0, 40.0]), np.array([2.0, 2.0, 2.0, 2.0])
    spread = [np.ptp(np.log(shrunk(squares / by, freedom / by))) for by in (1.0, 3.0, 10.0, 100.0)]
    assert spread[0] > spread[1] > spread[2] > spread[3]
    assert spread[3] < 0.5 * spread[0]


def test_the_agreement_of_some_variances_estimates_others_by_hand() -> None:
    """All weight on d = 2 with s² = 3 and a pooled variance of 4: (2 · 3 + 10)/(2 + 6) = 2, over 4."""
    weight = (2.0 ** np.arange(15.0) == 2.0).astype(float)[:, None]
    firm = 2.0 ** np.arange(15.0)[:, None]
    agreed = shrinkage.Agreement(np.array([True]), np.array([4.0]), firm, firm * 3.0 / 4.0, weight)
    assert agreed.estimate(np.array([10.0]), np.array([6.0])).item() == pytest.approx(2.0 / 4.0)
    unknown = agreed._replace(known=np.array([False]))
    assert unknown.estimate(np.array([10.0]), np.array([6.0])).item() == 1.0


def test_variances_of_which_nothing_is_known_are_1() -> None:
    for squares, freedom in ((np.zeros(3), np.zeros(3)), (np.zeros(3), np.full(3, 0.4))):
        np.testing.assert_array_equal(shrunk(squares, freedom), np.ones(3))

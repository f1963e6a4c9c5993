"""The compiled MAP search against an independent optimiser, and its behaviour at the edges."""

import numpy as np
import oracles
import pytest
from scipy.optimize import minimize

from argbest.core import fitting, priors
from argbest.core.arrays import Array
from argbest.core.search import CONVERGED, SearchResult
from argbest.core.tally import Tally

SLOW = pytest.mark.slow
STARTS = 4


def search(data: oracles.Data, prior: priors.Hyperprior, starts: Array | None = None) -> SearchResult:
    ones = np.ones(len(data.x))
    return fitting.fit_map(
        "matern52", data.separation, data.tally, ones, prior, prior.starts if starts is None else starts
    )


def independent_optimum(data: oracles.Data, prior: priors.Hyperprior, rng: np.random.Generator) -> float:
    """The best of several L-BFGS-B runs from the preset's start and from random ones."""
    ones = np.ones(len(data.x))
    low, high = prior.rules[:, 3], prior.rules[:, 4]

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient, _ = fitting.log_evidence("matern52", data.separation, data.tally, ones, prior, theta)
        return -float(value), -gradient

    best = -np.inf
    for i in range(STARTS):
        jump = rng.normal(0, 1.5, len(low)) if i else 0.0
        start = np.clip(prior.starts[0] + jump, low, high)
        found = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 2000},
        )
        best = max(best, -float(found.fun))
    return best


@pytest.mark.parametrize("sets", [50, pytest.param(200, marks=SLOW)])
@pytest.mark.parametrize(
    ("preset", "missed", "worst"), [("paper", 0.03, 0.3), ("modern", 0.04, 1.5), ("none", 0.15, 6.0)]
)
@pytest.mark.fast_cases("paper*")
def test_the_optimum_is_as_good_as_a_multi_start_search(
    preset: str, missed: float, worst: float, sets: int
) -> None:
    """Without priors the likelihood has many maxima; with the paper's few. `pytest -rP` shows the score."""
    rng = np.random.default_rng(9)
    margins = []
    for _ in range(sets):
        data = oracles.random_data(rng, standardised=True)
        prior = priors.hyperprior(preset, data.x.shape[1])
        found = search(data, prior)
        assert found.status == CONVERGED
        margins.append(float(found.value) - independent_optimum(data, prior, rng))
    ours, theirs = (np.array(margins) > 1e-6).sum(), (np.array(margins) < -1e-6).sum()
    level = sets - ours - theirs
    print(f"{preset}: better {ours}, level {level}, worse {theirs} of {sets}, at most {-min(margins):.2f}")
    assert theirs <= missed * sets
    assert min(margins) > -worst


@pytest.mark.parametrize("largest", [100, pytest.param(1000, marks=SLOW)])
def test_a_search_on_the_dense_objective_by_differences_finds_nothing_better_nearby(largest: int) -> None:
    """Neither our evidence nor our gradient: the n×n density and the priors, from beside our optimum."""
    rng = np.random.default_rng(30)
    for _ in range(15):
        data = oracles.random_data(rng, standardised=True)
        if len(data.y) > largest:
            continue
        d = data.x.shape[1]
        prior = priors.hyperprior("paper", d)
        found = search(data, prior)
        low, high = prior.rules[:, 3], prior.rules[:, 4]

        def objective(theta: Array, data: oracles.Data = data, prior: priors.Hyperprior = prior) -> float:
            lengths, scale, noise = np.exp(theta[:-2]), float(np.exp(theta[-2])), np.exp(theta[-1])
            matrix = oracles.kernel("matern52", data.x, data.x, lengths, scale)
            noises = np.full(len(data.x), noise)
            a = np.linalg.inv(matrix[np.ix_(data.where, data.where)] + np.diag(noises[data.where]))
            constant = float(np.sum(a @ data.y) / np.sum(a))
            density = oracles.log_likelihood(matrix, data, constant, noises)
            return -density - oracles.log_prior(prior.rules, theta)

        start = np.clip(found.theta + rng.normal(0, 0.1, d + 2), low, high)
        bounds = list(zip(low, high, strict=True))
        theirs = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options={"maxiter": 30})
        assert objective(found.theta) < theirs.fun + 1e-4


def test_the_end_is_a_stationary_point_inside_the_bounds() -> None:
    rng = np.random.default_rng(10)
    for _ in range(100):
        data = oracles.random_data(rng, standardised=True)
        prior = priors.hyperprior("paper", data.x.shape[1])
        found = search(data, prior)
        ones = np.ones(len(data.x))
        _, gradient, _ = fitting.log_evidence(
            "matern52", data.separation, data.tally, ones, prior, found.theta
        )
        low, high = prior.rules[:, 3], prior.rules[:, 4]
        assert np.all((found.theta >= low) & (found.theta <= high))
        inside = (found.theta > low) & (found.theta < high)
        assert np.all(np.abs(gradient[inside]) < 1e-3)
        assert np.all(gradient[found.theta == low] <= 0)


def test_a_warm_start_at_the_optimum_stays_there() -> None:
    rng = np.random.default_rng(11)
    data = oracles.random_data(rng, standardised=True)
    prior = priors.hyperprior("paper", data.x.shape[1])
    cold = search(data, prior)
    warm = search(data, prior, cold.theta[None])
    np.testing.assert_allclose(warm.theta, cold.theta, atol=1e-4)
    assert warm.value == pytest.approx(float(cold.value), abs=1e-9)


def test_a_row_of_nan_is_no_start() -> None:
    rng = np.random.default_rng(12)
    data = oracles.random_data(rng, standardised=True)
    prior = priors.hyperprior("paper", data.x.shape[1])
    padded = np.vstack([np.full((1, prior.starts.shape[1]), np.nan), prior.starts])
    np.testing.assert_array_equal(search(data, prior, padded).theta, search(data, prior).theta)


def test_many_searches_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(13)
    data = oracles.random_data(rng, standardised=True)
    prior = priors.hyperprior("paper", data.x.shape[1])
    means = data.tally.mean + np.where(data.tally.count > 0, rng.normal(0, 1, (7, len(data.x))), 0.0)
    wide = (7, len(data.x))
    tally = Tally(np.broadcast_to(data.tally.count, wide), means, np.broadcast_to(data.tally.m2, wide))
    ones = np.ones(wide)
    many = fitting.fit_map("matern52", data.separation, tally, ones, prior, prior.starts)
    for i in range(7):
        one = Tally(tally.count[i], means[i], tally.m2[i])
        single = fitting.fit_map("matern52", data.separation, one, ones[i], prior, prior.starts)
        np.testing.assert_array_equal(many.theta[i], single.theta)


def test_a_search_that_goes_on_with_what_it_learned_ends_where_a_blank_one_does() -> None:
    rng = np.random.default_rng(15)
    for _ in range(10):
        data = oracles.random_data(rng, standardised=True)
        prior, ones = priors.hyperprior("paper", data.x.shape[1]), np.ones(len(data.x))
        before = search(data, prior)
        assert np.all(np.linalg.eigvalsh(before.hessian) > 0)
        grown = Tally(
            2 * data.tally.count, data.tally.mean + 0.1 * rng.normal(size=len(data.x)), data.tally.m2
        )
        given = "matern52", data.separation, grown, ones, prior, before.theta[None]
        on, blank = fitting.fit_map(*given, before.hessian), fitting.fit_map(*given)
        assert on.status == blank.status == CONVERGED
        np.testing.assert_allclose(on.value, blank.value, rtol=1e-9, atol=1e-8)


def test_known_noise_stays_fixed() -> None:
    rng = np.random.default_rng(14)
    data = oracles.random_data(rng, standardised=True)
    prior = priors.with_known_noise(priors.hyperprior("paper", data.x.shape[1]))
    assert search(data, prior).theta[-1] == 0.0


def test_no_data_gives_the_mode_of_the_priors() -> None:
    prior = priors.hyperprior("paper", 1)
    empty = Tally(np.zeros(3, np.int64), np.zeros(3), np.zeros(3))
    found = fitting.fit_map("matern52", np.zeros((1, 3, 3)), empty, np.ones(3), prior, prior.starts)
    # Modes of Gamma(3, 6), Gamma(2, 0.15) and Gamma(1.1, 0.05) in the parameter itself.
    np.testing.assert_allclose(np.exp(found.theta), [2 / 6, 1 / 0.15, 0.1 / 0.05], rtol=1e-5)

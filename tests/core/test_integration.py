"""Plausible hyper-parameters: against brute-force quadrature, and the properties of weights and points."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from argbest.core import fitting, priors
from argbest.core.arrays import Array
from argbest.core.integration import Evaluate, annealed, latin, n_points, resampled, sample, truncated
from argbest.core.tally import Tally

RULES = np.array([priors.rule(priors.FLAT, 0, 0, (1e-3, 1e3))] * 2)


def bent(theta: Array) -> tuple[Array, Array]:
    """A curved log density, no Laplace approximation of itself: a ridge along y = x²/6, steep in y."""
    x, y = theta[..., 0], theta[..., 1]
    off = y - x**2 / 6
    gradient = np.stack([-x + 4.0 / 3.0 * off * x, -4.0 * off], axis=-1)
    return -0.5 * x**2 - 2.0 * off**2, gradient


def absent(theta: Array) -> tuple[Array, Array]:
    """Flat in the first parameter up to 0, where it falls: the scale of a part that the data do not need."""
    x, y = theta[..., 0], theta[..., 1]
    return -np.exp(x) - 2.0 * y**2, np.stack([-np.exp(x), -4.0 * y], axis=-1)


def by_quadrature(evaluate: Evaluate, what: str) -> tuple[float, float]:
    """Mean and standard deviation of one parameter over its bounds, by a fine grid."""
    line = np.linspace(RULES[0, -2], RULES[0, -1], 801)
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    weight = np.exp(evaluate(grid)[0])
    value = grid[..., "xy".index(what)]
    mean = np.sum(weight * value) / weight.sum()
    return float(mean), float(np.sqrt(np.sum(weight * (value - mean) ** 2) / weight.sum()))


@pytest.mark.parametrize("evaluate", [bent, absent])
@pytest.mark.parametrize("what", ["x", "y"])
def test_points_have_the_moments_that_quadrature_says(evaluate: Evaluate, what: str) -> None:
    mode = np.array([0.0, 0.0]) if evaluate is bent else np.array([RULES[0, -2], 0.0])
    found = sample(evaluate, mode, RULES, 4096, np.random.default_rng(0))
    values = found.theta[:, "xy".index(what)]
    mean, std = by_quadrature(evaluate, what)
    # Of 4,096 points worth at least 1,000: six standard errors, all of them fixed by the seed.
    assert found.effective > 1000
    assert values.mean() == pytest.approx(mean, abs=6 * std / np.sqrt(1000))
    assert values.std() == pytest.approx(std, rel=0.15)


def test_of_a_normal_density_the_points_are_normal() -> None:
    def evaluate(theta: Array) -> tuple[Array, Array]:
        return -8.0 * theta[..., 0] ** 2, -16.0 * theta

    found = sample(evaluate, np.array([0.3]), RULES[:1], 4000, np.random.default_rng(1))
    assert kstest(found.theta[:, 0], norm(0.0, 0.25).cdf).pvalue > 1e-3
    assert found.effective > 0.6 * 4000


def test_a_parameter_held_fixed_stays_and_alternatives_are_drawn_apart() -> None:
    rules = np.array([priors.fixed(2.0), RULES[0]])

    def evaluate(theta: Array) -> tuple[Array, Array]:
        return -8.0 * theta[..., 1] ** 2, np.stack([0 * theta[..., 1], -16.0 * theta[..., 1]], axis=-1)

    mode = np.tile([np.log(2.0), 0.0], (3, 1))
    theta, effective = sample(evaluate, mode, rules, 64, np.random.default_rng(2))
    assert theta.shape == (64, 3, 2)
    assert effective.shape == (3,)
    assert np.all(theta[..., 0] == np.log(2.0))
    together = np.asarray(np.corrcoef(theta[..., 1].T))
    assert np.abs(together[np.triu_indices(3, 1)]).max() < 0.4


def test_all_points_are_the_mode_where_nothing_is_free() -> None:
    mode = np.log([2.0])
    found = sample(bent, mode, np.array([priors.fixed(2.0)]), 8, np.random.default_rng(0))
    np.testing.assert_array_equal(found.theta, np.repeat(mode[None], 8, axis=0))
    assert found.effective == 8.0


def test_points_stay_within_the_bounds() -> None:
    theta = sample(absent, np.array([RULES[0, -2], 0.0]), RULES, 500, np.random.default_rng(3)).theta
    assert np.all((theta >= RULES[:, -2]) & (theta <= RULES[:, -1]))


def test_the_same_generator_gives_the_same_points() -> None:
    one, two = (sample(bent, np.zeros(2), RULES, 64, np.random.default_rng(5)).theta for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_weights_are_cut_at_one_over_the_root_and_their_worth_is_told() -> None:
    even, worth = truncated(np.zeros(16))
    np.testing.assert_allclose(even, 1 / 16)
    assert worth == 16.0
    single, worth = truncated(np.append(np.full(15, -800.0), 0.0))
    assert worth == pytest.approx(1.0)
    assert single[-1] == pytest.approx(1.0)  # nothing else has any weight
    cut, worth = truncated(np.log(np.append(np.full(15, 0.02), 0.7)))
    assert worth == pytest.approx(1 / (15 * 0.02**2 + 0.7**2))
    assert cut[-1] == pytest.approx(0.25 / 0.55)  # 1/√16 beside 15 × 0.02
    none, worth = truncated(np.full(4, -np.inf))
    np.testing.assert_allclose(none, 0.25)
    assert worth == 1.0


def test_systematic_resampling_keeps_every_share_to_within_one() -> None:
    weight = np.random.default_rng(6).dirichlet(np.ones(20), 3).T
    index = resampled(weight, 50, np.random.default_rng(7))
    for lane in range(3):
        count = np.bincount(index[:, lane], minlength=20)
        assert np.abs(count - 50 * weight[:, lane]).max() < 1.0 + 1e-9


def test_latin_numbers_take_every_stratum_once() -> None:
    drawn = latin(np.random.default_rng(8), (10, 4))
    np.testing.assert_allclose(
        np.sort(drawn, axis=0), np.repeat((np.arange(10) + 0.5)[:, None] / 10, 4, axis=1)
    )
    assert len({tuple(column) for column in drawn.T}) == 4


def test_fewer_points_where_cells_are_many() -> None:
    assert [n_points(cells) for cells in (1, 100, 400, 1600, 10_000, 10**6)] == [64, 64, 32, 16, 6, 5]


@pytest.mark.parametrize("preset", ["paper", "modern", "none"])
def test_the_prior_of_the_logarithms_is_that_of_the_parameters_times_them(preset: str) -> None:
    prior = priors.hyperprior(preset, 1)
    nothing = Tally(np.zeros((1, 2), np.int64), np.zeros((1, 2)), np.zeros((1, 2)))
    theta = np.random.default_rng(9).normal(size=(20, 1, 3))
    separation, noise = np.zeros((1, 2, 2)), np.ones((1, 2))

    def density(given: priors.Hyperprior) -> Array:
        return fitting.log_evidence("rbf", separation, nothing, noise, given, theta)[0][:, 0]

    jacobian = np.where(prior.rules[:, 0] == priors.FLAT, 0.0, theta[:, 0]).sum(axis=-1)
    change = density(priors.of_logarithms(prior)) - density(prior) - jacobian
    np.testing.assert_allclose(change, change[0], atol=1e-10)


def two_hills(theta: Array) -> tuple[Array, Array]:
    """Return the log of three parts of a narrow hill at (-3, 0) and one of a wide hill at (3, 0.5)."""
    spread = np.array([[0.2, 0.2], [0.8, 0.3]])
    middle = np.array([[-3.0, 0.0], [3.0, 0.5]])
    z = (theta[..., None, :2] - middle) / spread
    log = -0.5 * np.sum(z**2, axis=-1) - np.log(spread).sum(axis=-1) + np.log([0.75, 0.25])
    return np.logaddexp.reduce(log, axis=-1), np.zeros(theta.shape)


def test_annealed_points_find_all_hills_and_their_widths() -> None:
    rules = np.array([[0, 0, 0, -6.0, 6.0], [0, 0, 0, -4.0, 4.0], [0, 0, 0, 1.5, 1.5]])
    found = np.concatenate(
        [annealed(two_hills, rules, 64, np.random.default_rng(seed)).theta for seed in range(40)]
    )
    left = found[:, 0] < 0
    # The share of one run has a standard deviation of about 0.1: that of 40 of them 0.016.
    assert left.mean() == pytest.approx(0.75, abs=0.06)
    assert found[left].std(axis=0)[:2] == pytest.approx([0.2, 0.2], rel=0.15)  # the wide hill reaches here
    assert found[~left].std(axis=0)[:2] == pytest.approx([0.8, 0.3], rel=0.1)
    assert found[~left].mean(axis=0)[:2] == pytest.approx([3.0, 0.5], abs=0.1)
    assert np.all(found[:, 2] == 1.5)


def test_annealed_points_keep_within_bounds_and_away_from_where_there_is_no_density() -> None:
    def evaluate(theta: Array) -> tuple[Array, Array]:
        value = np.where(theta[..., 0] > 0.5, -np.inf, theta[..., 0])
        return value, np.zeros(theta.shape)

    rules = np.array([[0.0, 0.0, 0.0, -1.0, 1.0]])
    found = annealed(evaluate, rules, 512, np.random.default_rng(1)).theta[:, 0]
    assert found.min() >= -1.0
    assert found.max() <= 0.5
    # Of density e^x between -1 and 0.5 the mean is known.
    e, f = np.exp(-1.0), np.exp(0.5)
    assert found.mean() == pytest.approx((f * (0.5 - 1.0) - e * (-1.0 - 1.0)) / (f - e), abs=0.06)


@pytest.mark.parametrize("evaluate", [bent, absent])
@pytest.mark.parametrize("what", ["x", "y"])
def test_annealed_points_have_the_mean_and_spread_of_the_density(evaluate: Evaluate, what: str) -> None:
    mean, spread = by_quadrature(evaluate, what)
    rules = RULES
    found = np.concatenate(
        [annealed(evaluate, rules, 64, np.random.default_rng(seed)).theta for seed in range(20)]
    )[:, "xy".index(what)]
    assert found.mean() == pytest.approx(mean, abs=0.12 * spread)
    assert found.std() == pytest.approx(spread, rel=0.12)

"""Random problems: covariances as stated, each draw a function of its seed, every draw a whole problem."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from argbest.core.arrays import Array
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import RandomProblem, gp_draws, metric_draws, trend_draws
from argbest.streams import cell_seed

FAMILIES = {"gp-draws": gp_draws, "trend-draws": trend_draws, "metric-draws": metric_draws}


def correlation(axis: Axis, lengthscale: float) -> Array:
    points = np.array([[float(v) for v in row] for row in zip(*axis.columns.values(), strict=True)])
    return np.asarray(Matern(lengthscale, nu=2.5)(points))


def stated(family: RandomProblem) -> Array:
    """Return the covariance [k, c, k', c'] that each family promises."""
    across = correlation(family.contexts, 0.5)
    same = np.eye(10)
    if family.name == "gp-draws":
        return np.asarray(np.einsum("kl,cd->kcld", same, across))
    if family.name == "trend-draws":
        own = np.einsum("kl,cd->kcld", same, 0.5 * across + 0.25)
        return np.asarray(own + np.einsum("kl,cd->kcld", np.ones((10, 10)), 4.0 * across))
    return np.asarray(np.einsum("kl,cd->kcld", correlation(family.alternatives, 0.2), across))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_terms_have_the_stated_covariance(name: str) -> None:
    family = FAMILIES[name]()
    built = sum(np.einsum("ki,li,cj,dj->kcld", a, a, b, b) for a, b in family.terms)
    np.testing.assert_allclose(built, stated(family), atol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_many_draws_have_that_covariance_too(name: str) -> None:
    # Whitened draws: the mean square of N numbers is within 4 of its standard errors √(2/N), false-alarm rate
    # 6e-5; so is that of their sums over seeds.
    family = FAMILIES[name]()
    size = family.truth(0).size
    truths = np.stack([family.truth(seed).ravel() for seed in range(300)])
    white = np.linalg.solve(np.linalg.cholesky(stated(family).reshape(size, size)), truths.T)
    assert abs((white**2).mean() - 1) < 4 * np.sqrt(2 / white.size)
    assert abs((white.sum(axis=1) ** 2 / 300).mean() - 1) < 4 * np.sqrt(2 / size)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_draw_is_a_function_of_its_seed_alone(name: str) -> None:
    family = FAMILIES[name]()
    first, again, other = family.draw(2**62 + 5), FAMILIES[name]().draw(2**62 + 5), family.draw(2**62 + 6)
    assert first.truth is not None
    assert first.summary() == again.summary()
    np.testing.assert_array_equal(first.truth, family.truth(2**62 + 5))
    assert not np.isclose(first.truth, np.asarray(other.truth)).any()
    assert (first.alternatives, first.contexts, first.bounds) == (
        other.alternatives,
        other.contexts,
        other.bounds,
    )


def test_the_truth_does_not_repeat_the_noise_of_the_same_seed() -> None:
    # The correlation of 160 independent pairs has standard deviation 0.08: false-alarm rate 1e-5.
    problem = gp_draws().draw(5)
    assert problem.simulate is not None
    seeds = cell_seed(5, np.arange(160), 0, n_cells=160)
    k, c = np.unravel_index(np.arange(160), (10, 16))
    noise = (problem.simulate.many(k, c, seeds) - problem.truth[k, c]) / 0.5  # type: ignore[attr-defined, index]
    assert abs(np.corrcoef(noise, problem.truth[k, c])[0, 1]) < 0.35  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "shape"), [("gp-draws", (10, 16)), ("trend-draws", (10, 16)), ("metric-draws", (10, 10))]
)
def test_every_draw_is_a_whole_problem(name: str, shape: tuple[int, int]) -> None:
    family = FAMILIES[name]()
    assert family.name == name
    assert family.shape == shape
    problem = family.draw(0)
    assert problem.shape == shape
    assert problem.name == name
    assert problem.description == family.description
    assert problem.pcs_ceiling == pytest.approx(1.0)
    assert set(problem.bounds.values()) == {(0.0, 1.0)}
    metric = problem.setting.alternatives is not None
    assert metric == (name == "metric-draws")

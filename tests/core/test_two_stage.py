import numpy as np
import pytest
from scipy import integrate, stats

from argbest.core.arrays import Array
from argbest.core.tally import Tally
from argbest.core.two_stage import (
    Law,
    constant_h,
    coordinates,
    estimator,
    extreme_design,
    least_squares,
    leverage,
    pointwise_law,
    pooled_law,
    prediction,
    residuals,
)
from argbest.errors import InputError


def separation(rows: Array, columns: Array | None = None) -> Array:
    return np.moveaxis((rows[:, None] - (rows if columns is None else columns)) ** 2, -1, 0)


def column(*values: float) -> Array:
    return np.array(values)[:, None]


def uniform_covariates(n: int = 64) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes [n, 1] and weights [n] of the uniform law on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (nodes[:, None] + 1.0), 0.5 * weights


@pytest.mark.parametrize(
    ("design", "ts", "ts_plus", "tolerance"),
    [((0.0, 0.5), 4.6117, 4.9244, 5e-4), ((0.0, 1.0), 2.64, 2.82, 5e-3)],
)
def test_the_constants_are_the_published_ones(
    design: tuple[float, float], ts: float, ts_plus: float, tolerance: float
) -> None:
    x, weights = uniform_covariates()
    points = column(*design)
    found = constant_h(5, points, x, pooled_law(50, 2, 2), weights=weights, alpha=0.05)
    assert found == pytest.approx(ts, abs=tolerance)
    found = constant_h(5, points, x, pointwise_law(50, 2), weights=weights, alpha=0.05)
    assert found == pytest.approx(ts_plus, abs=tolerance)


@pytest.mark.parametrize("law", [pooled_law(2, 1, 1), pooled_law(50, 2, 2), pointwise_law(2, 4)])
def test_the_quadrature_carries_all_the_mass_and_the_mean(law: Law) -> None:
    assert law.weights.sum() == pytest.approx(1.0, abs=1e-9)
    number = 4 if law.freedom == 1 and law.nodes[-1] < 30 else 1
    chi2 = stats.chi2(law.freedom)
    mean = integrate.quad(lambda t: float(chi2.sf(t)) ** number, 0, np.inf, limit=200)[0]
    assert law.weights @ law.nodes == pytest.approx(mean, rel=1e-8)


@pytest.mark.parametrize(("law", "number"), [(pooled_law(6, 2, 2), 1), (pointwise_law(8, 2), 2)])
def test_at_h_the_equation_as_printed_holds(law: Law, number: int) -> None:
    """On an even grid in t and s, for 3 alternatives and a covariate at each of two leverages."""
    design, x, weights = column(0.0, 1.0), column(0.0, 0.5), np.array([0.3, 0.7])
    h = constant_h(3, design, x, law, weights=weights, alpha=0.1)
    t = np.linspace(1e-3, 90, 1500)
    chi2 = stats.chi2(law.freedom)
    g = number * chi2.pdf(t) * chi2.sf(t) ** (number - 1)
    total = 0.0
    for weight, lever in zip(weights, (1.0, 0.5), strict=True):
        phi = stats.norm.cdf(h / np.sqrt(law.freedom * (1 / t[:, None] + 1 / t) * lever))
        total += weight * np.trapezoid(np.trapezoid(phi * g, t, axis=-1) ** 2 * g, t)
    assert total == pytest.approx(0.9, abs=1e-6)


def test_h_grows_with_confidence_and_alternatives_and_the_worst_covariate_is_dearer() -> None:
    x, weights = uniform_covariates(16)
    design, law = column(0.0, 1.0), pooled_law(10, 2, 2)

    def h(k: int, alpha: float, w: Array = weights) -> float:
        return constant_h(k, design, x, law, weights=w, alpha=alpha)

    assert h(3, 0.05) < h(3, 0.01) < h(6, 0.01)
    worst = (np.arange(16) == np.argmax(leverage(design, x))).astype(float)
    assert h(3, 0.05, worst) > h(3, 0.05)
    assert h(3, 0.05, 7.0 * weights) == pytest.approx(h(3, 0.05))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, -0.1])
def test_an_alpha_without_meaning_is_refused(alpha: float) -> None:
    with pytest.raises(InputError, match="with 2 alternatives; expected a number above 0 and below 0.5"):
        constant_h(2, column(0.0, 1.0), column(0.5), pooled_law(5, 2, 2), weights=np.ones(1), alpha=alpha)


def test_a_first_stage_without_degrees_of_freedom_is_refused() -> None:
    with pytest.raises(InputError, match="leaves 0 degree.s. of freedom"):
        pooled_law(1, 2, 2)
    with pytest.raises(InputError, match="leaves 0 degree.s. of freedom"):
        pointwise_law(1, 2)


def test_an_h_beyond_reason_is_refused() -> None:
    law = pointwise_law(2, 2)
    with pytest.raises(InputError, match="needs a constant h beyond"):
        constant_h(5, column(0.0, 1.0), column(0.0), law, weights=np.ones(1), alpha=1e-13)


def test_leverage_is_the_quadratic_form_of_the_inverse() -> None:
    rng = np.random.default_rng(0)
    design, at = rng.random((5, 2)), rng.random((4, 2))
    z = np.column_stack([np.ones(5), design])
    inverse = np.linalg.inv(z.T @ z)
    expected = [np.r_[1.0, x] @ inverse @ np.r_[1.0, x] for x in at]
    np.testing.assert_allclose(leverage(design, at), expected)


def test_coordinates_are_recovered_up_to_sign_shift_and_unit() -> None:
    rng = np.random.default_rng(1)
    x, new = rng.normal(size=(9, 3)), 3 * rng.normal(size=(5, 3))
    found, found_new = coordinates(separation(x)), coordinates(separation(x), separation(new, x))
    for j in range(3):
        slope, start = np.polyfit(x[:, j], found[:, j], 1)
        np.testing.assert_allclose(found[:, j], start + slope * x[:, j], atol=1e-12)
        np.testing.assert_allclose(found_new[:, j], start + slope * new[:, j], atol=1e-12)
        assert sorted(found[:, j])[0::8] == pytest.approx([0.0, 1.0])


def test_coordinates_that_do_not_vary_are_left_out_and_two_categories_are_0_and_1() -> None:
    x = np.array([[2.0, 0.0], [2.0, 1.0], [2.0, 0.25]])
    assert coordinates(separation(x)).shape == (3, 1)
    assert coordinates(separation(x[:1])).shape == (1, 0)
    categories = 1.0 - np.equal.outer([0, 1, 1, 0], [0, 1, 1, 0])
    assert sorted(coordinates(categories[None])[:, 0]) == [0.0, 0.0, 1.0, 1.0]


def test_every_one_of_several_categories_has_an_effect_of_its_own() -> None:
    """Against means per category: the line goes through every one of them, whatever the order."""
    category = np.array([2, 0, 1, 1, 3, 2, 0])
    apart = (category[:, None] != category).astype(float)[None]
    x, truth = coordinates(apart), np.array([5.0, -3.0, 11.0, 0.5])
    assert x.shape == (7, 3)
    beta = least_squares(x, truth[category], np.ones(7, bool))
    np.testing.assert_allclose(np.column_stack([np.ones(7), x]) @ beta, truth[category], atol=1e-12)
    never_seen = coordinates(apart, np.ones((1, 1, 7)))
    np.testing.assert_allclose(np.append(1.0, never_seen) @ beta, truth.mean(), atol=1e-12)


def test_three_numbers_are_no_categories() -> None:
    assert coordinates(separation(column(0.0, 0.5, 1.0))).shape == (3, 1)
    assert coordinates(separation(column(0.0, 1.0, 2.0))).shape == (3, 1)


def test_the_extreme_design_is_two_ends_in_one_dimension() -> None:
    assert extreme_design(column(0.4, 0.9, 0.1, 0.5)).tolist() == [1, 2]
    assert extreme_design(np.zeros((1, 0))).tolist() == [0]
    assert extreme_design(np.zeros((3, 0))).tolist() == [0]


def test_corners_snap_to_the_nearest_contexts_in_two_dimensions() -> None:
    grid = np.stack(np.meshgrid([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], indexing="ij"), -1).reshape(-1, 2)
    assert extreme_design(grid).tolist() == [0, 2, 6, 8]
    assert extreme_design(grid * [1e-3, 1e5] + 7.0).tolist() == [0, 2, 6, 8]
    # Nothing at (1, 1): of the rest (0.5, 1) and (1, 0.5) are equally near, and the first is taken.
    assert extreme_design(grid[:-1]).tolist() == [0, 2, 5, 6]
    # Two corners snap to the same context, three distinct ones remain and do.
    triangle = np.array([[0.0, 0.0], [1.0, 0.9], [0.1, 0.1], [0.9, 1.0], [1.0, 0.0]])
    assert extreme_design(triangle[[0, 1, 4]]).tolist() == [0, 1, 2]


def test_corners_are_found_as_in_loops() -> None:
    rng = np.random.default_rng(2)
    for d in (1, 2, 3):
        x = rng.random((30, d))
        low, high = x.min(axis=0), x.max(axis=0)
        expected = set()
        for corner in np.ndindex(*(2,) * d):
            target = np.where(corner, high, low)
            expected.add(min(range(30), key=lambda c: sum(((x[c] - target) / (high - low)) ** 2)))
        assert extreme_design(x).tolist() == sorted(expected)


def test_designs_that_determine_nothing_are_refused() -> None:
    diagonal = np.stack([np.linspace(0, 1, 5)] * 2, axis=-1)
    with pytest.raises(InputError, match=r"do not determine a linear function of 2 coordinate.*Add contexts"):
        extreme_design(diagonal)
    with pytest.raises(InputError, match=r"box has 2\^13 corners"):
        extreme_design(np.eye(13))
    observed = np.array([[True, True, False], [True, False, False]])
    with pytest.raises(InputError, match=r"position \[1\] was observed at contexts \[0\] only"):
        estimator(column(0.0, 0.5, 1.0), observed)


def test_least_squares_prediction_and_residuals_are_those_of_loops() -> None:
    rng = np.random.default_rng(3)
    x, shape = rng.random((6, 2)), (3, 2, 6)
    count = rng.integers(1, 9, shape) * (rng.random(shape) < 0.8)
    count[..., :4] = np.maximum(count[..., :4], 1)
    tally = Tally(count, rng.normal(size=shape) * (count > 0), rng.chisquare(count + 1) * (count > 1))
    noise, at = rng.random(shape), rng.random((4, 2))
    beta = least_squares(x, tally.mean, count > 0)
    mean, cov = prediction(x, tally, noise, at)
    squares, freedom = residuals(x, tally, count > 0)
    for i in np.ndindex(3, 2):
        seen = [c for c in range(6) if count[i][c]]
        z = np.array([[1.0, *x[c]] for c in seen])
        solved = np.linalg.lstsq(z, tally.mean[i][seen], rcond=None)[0]
        np.testing.assert_allclose(beta[i], solved)
        rows = np.array([[1.0, *row] for row in at])
        weights = rows @ np.linalg.inv(z.T @ z) @ z.T
        np.testing.assert_allclose(mean[i], rows @ solved)
        np.testing.assert_allclose(cov[i], weights @ np.diag(noise[i][seen] / count[i][seen]) @ weights.T)
        left = sum(
            tally.m2[i][c] + count[i][c] * (tally.mean[i][c] - np.r_[1.0, x[c]] @ solved) ** 2 for c in seen
        )
        assert squares[i] == pytest.approx(left)
        assert freedom[i] == count[i].sum() - 3

import numpy as np
import oracles
import pytest

from argbest.core import priors

NAMES = list(priors.KERNELS)


@pytest.mark.parametrize("name", NAMES)
def test_the_covariance_is_the_textbook_one(name: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.random((6, 3))
    separation = np.moveaxis((x[:, None] - x) ** 2, -1, 0)
    lengthscale = np.array([0.3, 1.0, 4.0])
    ours = priors.covariance(name, separation, lengthscale, np.array(2.5))
    np.testing.assert_allclose(ours, oracles.kernel(name, x, x, lengthscale, 2.5), rtol=1e-12)


@pytest.mark.parametrize(("name", "expected"), [("rbf", np.exp(-0.5)), ("matern12", np.exp(-1.0))])
def test_correlation_at_distance_one_by_hand(name: str, expected: float) -> None:
    correlation, _ = priors.KERNELS[name]
    assert correlation(1.0) == pytest.approx(expected, rel=1e-15)
    assert correlation(0.0) == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_is_that_of_differences(name: str) -> None:
    correlation, slope = priors.KERNELS[name]
    r2 = np.random.default_rng(2).uniform(0.01, 9.0, 20)
    numeric = -2.0 * (correlation(r2 + 1e-6) - correlation(r2 - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope(r2), numeric, atol=1e-6)


def test_leading_axes_broadcast() -> None:
    rng = np.random.default_rng(3)
    separation = np.moveaxis((rng.random((4, 1, 2)) - rng.random((1, 5, 2))) ** 2, -1, 0)
    lengthscale, scale = rng.random((3, 2, 2)) + 0.1, rng.random((3, 2))
    many = priors.covariance("matern52", separation, lengthscale, scale)
    assert many.shape == (3, 2, 4, 5)
    for i in np.ndindex(3, 2):
        np.testing.assert_array_equal(
            many[i], priors.covariance("matern52", separation, lengthscale[i], scale[i])
        )

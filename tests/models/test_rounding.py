"""No answer hangs on the last bits: other CPUs round otherwise, and data that differ there stand for them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from argbest.core.arrays import Array
from argbest.core.search import CONVERGED
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP
from argbest.models.gp import GP

STUDIES = pytest.mark.parametrize("studies", [25, pytest.param(100, marks=pytest.mark.slow)])
CONTEXTS = np.linspace(0.0, 1.0, 10)[:, None]
WAVES = np.stack([np.sin(np.arange(10)), np.cos(np.arange(10))])
BOWLS = (
    CONTEXTS[:, 0] - np.array([[0.2], [0.6]])
) ** 2  # so smooth that one lengthscale is as good as another

PRECISIONS = [(1, 1e-8), (100, 1e-8), (10**5, 1e-6), (10**8, None), (3, 1e-3)]
MODELS: dict[str, Callable[..., Any]] = {
    "gp": GP,
    "gp, no prior": lambda **options: GP(prior="none", **options),
    "gp, modern prior": lambda **options: GP(prior="modern", **options),
    "additive": AdditiveGP,
    "additive, joint part": lambda **options: AdditiveGP(parts=("joint",), **options),
    "additive, of names": lambda **options: AdditiveGP(parts=("trend", "offset", "own"), **options),
}


def separation(x: Array) -> Array:
    return np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy()


def setting() -> Setting:
    c = len(CONTEXTS)
    places = Coordinates(np.array([[0.0], [1.0]]), np.array([False]))
    return Setting(np.full(c, 1 / c), separation(CONTEXTS), np.ones(c, bool), alternatives=places)


def rounded_otherwise(truth: Array, count: int, studies: int) -> Tally:
    """Several studies of exact data, each moved by up to four units in the last place."""
    moves = np.random.default_rng(0).integers(-4, 5, (studies, *truth.shape))
    mean = truth * (1.0 + moves * np.finfo(float).eps)
    return Tally(np.full(mean.shape, count), mean, np.zeros(mean.shape))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("truth", [WAVES, BOWLS], ids=["waves", "bowls"])
@pytest.mark.parametrize(("count", "noise_sd"), PRECISIONS)
@pytest.mark.parametrize("name", MODELS)
@STUDIES
def test_every_search_converges_however_the_data_are_rounded(
    studies: int, name: str, count: int, noise_sd: float | None, truth: Array, kernel: str
) -> None:
    options = {} if noise_sd is None else {"noise_sd": noise_sd}
    model = MODELS[name](kernel=kernel, **options)
    tally = rounded_otherwise(truth, count, studies)
    params = model.fit(tally, setting())
    belief = model.posterior(tally, setting(), params)
    np.testing.assert_array_equal(params.status, CONVERGED)
    np.testing.assert_allclose(belief.mean, tally.mean, atol=0.02 * np.ptp(truth))
    assert np.all(np.isfinite(belief.var))

"""Where searches for hyper-parameters start."""

import numpy as np
import pytest

from argbest.core import priors
from argbest.core.tally import from_observations
from argbest.models.searched import starts


@pytest.mark.parametrize("n", [2, 5])
def test_no_search_starts_with_less_noise_than_replications_show(n: int) -> None:
    rng, prior = np.random.default_rng(n), priors.hyperprior("paper", 1)
    y = rng.normal(size=(3, 4, n)) * np.array([1e-4, 0.3, 5.0])[:, None, None]
    where = np.repeat(np.indices((3, 4)).reshape(2, -1), n, axis=1)
    relative = rng.uniform(0.5, 2.0, (3, 4))
    tally = from_observations(tuple(where), y.ravel(), (3, 4))
    points, _ = starts(prior, tally, relative, np.ones(3, bool), None)
    noise = np.exp(prior.starts[:, -1])
    if n == 2:  # four degrees of freedom say too little
        np.testing.assert_array_equal(points, np.broadcast_to(prior.starts, points.shape))
    else:
        shown = (y.var(axis=-1, ddof=1) / relative).mean(axis=-1)
        np.testing.assert_allclose(np.exp(points[..., -1]), np.maximum(noise, shown[:, None]))
        np.testing.assert_array_equal(points[..., :-1], np.broadcast_to(prior.starts[:, :-1], (3, 3, 2)))

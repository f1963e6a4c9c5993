from dataclasses import replace

import numpy as np
import oracles
import pytest

from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import FitError, InputError
from argbest.models.gp import GP, GPParams
from argbest.models.shared_gp import SharedGP, SharedGPParams
from argbest.testing import assert_valid_model

CONTEXTS = np.linspace(0.0, 1.0, 6)[:, None]
TRUTH = 3.0 * np.sin(5 * CONTEXTS[:, 0]) + np.stack([0.5 * np.cos(3 * CONTEXTS[:, 0] + k) for k in range(4)])
K, C = TRUTH.shape


def setting(x: Array = CONTEXTS) -> Setting:
    c = len(x)
    return Setting(np.full(c, 1 / c), np.moveaxis((x[:, None] - x) ** 2, -1, 0).copy(), np.ones(c, bool))


def cells(*rows: tuple[int, int, float]) -> Tally:
    k, c, y = (np.array(v) for v in zip(*rows, strict=True))
    return tallies.from_observations((k, c), y, TRUTH.shape)


def observe(seed: int, per_cell: int = 3, noise: float = 0.5) -> Tally:
    rng = np.random.default_rng(seed)
    k, c = np.indices(TRUTH.shape).reshape(2, -1).repeat(per_cell, axis=1)
    return tallies.from_observations((k, c), TRUTH[k, c] + noise * rng.standard_normal(len(k)), TRUTH.shape)


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def dense(params: SharedGPParams, tally: Tally, points: Array) -> tuple[Array, Array]:
    """Mean [alternative · point] and covariance at any points, from the definition, in the rewards' units."""
    k = np.ones((K, K)), np.eye(K)

    def covariance(a: Array, b: Array) -> Array:
        shared = oracles.kernel("matern52", a, b, params.trend_lengthscale, float(params.trend_scale))
        own = oracles.kernel("matern52", a, b, params.lengthscale, float(params.scale)) + float(params.offset)
        return np.kron(k[0], shared) + np.kron(k[1], own)

    noisy = covariance(CONTEXTS, CONTEXTS) + np.diag(params.noise.ravel() / tally.count.ravel())
    cross = covariance(points, CONTEXTS)
    gain = cross @ np.linalg.inv(noisy)
    mean = float(params.constant) + gain @ (tally.mean.ravel() - float(params.constant))
    return mean, covariance(points, points) - gain @ cross.T


def per_alternative(params: SharedGPParams, scale: float) -> GPParams:
    """Separate GPs with the deviations' lengthscale, the common noise and mean, and this prior variance."""
    each, none = np.full(K, float(params.constant)), np.zeros(K, np.int64)
    return GPParams(
        lengthscale=np.tile(params.lengthscale, (K, 1)),
        scale=np.full(K, scale),
        noise=params.noise,
        constant=each,
        theta=np.zeros((K, 3)),
        shift=each,
        spread=np.ones(K),
        fitted=none,
        searched=none,
        status=none,
        changed=np.ones(K, bool),
    )


def test_it_is_a_valid_model() -> None:
    assert_valid_model(SharedGP())
    assert_valid_model(SharedGP(kernel="rbf"), shape=(2, 4))


def test_parameters_and_posterior_come_in_the_units_of_the_rewards() -> None:
    plain = observe(1)
    tally = Tally(plain.count, 1000.0 + 50.0 * plain.mean, 2500.0 * plain.m2)
    params = SharedGP().fit(tally, setting())
    belief = SharedGP().posterior(tally, setting(), params)
    mean, cov = dense(params, tally, CONTEXTS)
    np.testing.assert_allclose(belief.mean.ravel(), mean, rtol=1e-8)
    np.testing.assert_allclose(belief.var.ravel(), np.diag(cov), rtol=1e-7)
    for i in range(K * C):
        column = belief.cov_with(Decision(np.array(i // C), np.array(i % C)))
        np.testing.assert_allclose(column.ravel(), cov[:, i], rtol=1e-6, atol=1e-8 * cov.max())
    np.testing.assert_allclose(np.sqrt(params.noise), 25.0, rtol=0.2)


def test_predictions_are_the_dense_ones_and_covary() -> None:
    tally = observe(2)
    params = SharedGP().fit(tally, setting())
    points = np.array([[0.05], [0.4], [0.71], [1.3]])
    belief = SharedGP().predict(tally, setting(), params, ((points[:, None] - CONTEXTS) ** 2)[..., 0][None])
    assert belief.mean.shape == (4, K, 1)
    mean, cov = dense(params, tally, points)
    np.testing.assert_allclose(belief.mean[..., 0].T.ravel(), mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.var[..., 0].T.ravel(), np.diag(cov), rtol=1e-7)
    each = cov.reshape(K, 4, K, 4)
    for k in range(K):
        found = belief.cov_with(Decision(np.full(4, k), np.zeros(4, np.int64)))
        for x in range(4):
            np.testing.assert_allclose(found[x, :, 0], each[:, x, k, x], rtol=1e-6, atol=1e-9)
    assert belief.best_probability().shape == (4, K, 1)


def test_predictions_at_the_contexts_are_the_posterior_and_far_away_the_prior() -> None:
    tally = stack(observe(3), observe(4))
    params = SharedGP().fit(tally, setting())
    belief = SharedGP().posterior(tally, setting(), params)
    there = SharedGP().predict(tally, setting(), params, setting().separation)
    assert there.mean.shape == (C, 2, K, 1)
    np.testing.assert_allclose(np.moveaxis(there.mean[..., 0], 0, -1), belief.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.moveaxis(there.var[..., 0], 0, -1), belief.var, rtol=1e-6)
    chosen = best(belief)
    apart = there.difference_var(np.moveaxis(chosen, -1, 0)[..., None])
    expected = belief.difference_var(chosen)
    np.testing.assert_allclose(np.moveaxis(apart[..., 0], 0, -1), expected, rtol=1e-6, atol=1e-10)
    far = SharedGP().predict(tally, setting(), params, np.full((1, 1, C), 1e6))
    wide = params.trend_scale + params.scale + params.offset
    assert np.all(far.var[0, ..., 0] <= wide[:, None] * (1 + 1e-12))


def test_without_trend_and_offset_it_is_a_gp_per_alternative() -> None:
    tally = observe(5)
    params = SharedGP().fit(tally, setting())
    alone = replace(params, trend_scale=np.array(1e-14), offset=np.array(0.0))
    belief = SharedGP().posterior(tally, setting(), alone)
    common = per_alternative(alone, float(alone.scale))
    theirs = GP().posterior(tally, setting(), common)
    np.testing.assert_allclose(belief.mean, theirs.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(belief.var, theirs.var, rtol=1e-9)
    chosen = best(belief)
    np.testing.assert_allclose(belief.difference_var(chosen), theirs.difference_var(chosen), rtol=1e-8)


def test_a_common_trend_makes_differences_surer_than_the_rewards() -> None:
    """Contexts move all alternatives together: an unobserved cell's lag on the best is known all the same."""
    tally = observe(6)
    count = tally.count.copy()
    count[0, 3] = 0
    gone = Tally(count, np.where(count > 0, tally.mean, 0.0), np.where(count > 0, tally.m2, 0.0))
    params = SharedGP().fit(gone, setting())
    belief = SharedGP().posterior(gone, setting(), params)
    apart = GP().posterior(gone, setting(), per_alternative(params, float(params.trend_scale + params.scale)))
    first = np.ones(C, np.int64)
    assert belief.difference_var(first)[0, 3] < 0.5 * apart.difference_var(first)[0, 3]
    assert abs(belief.mean[0, 3] - TRUTH[0, 3]) < 0.5


def test_many_studies_at_once_equal_single_ones() -> None:
    single = [observe(seed, per_cell=2) for seed in range(4)]
    model, many = SharedGP(), stack(*single)
    params = model.fit(many, setting())
    belief = model.posterior(many, setting(), params)
    grown = [tallies.add(t, Decision(np.array(0), np.array(1)), np.array(0.3)) for t in single]
    later = model.fit(stack(*grown), setting(), params)
    for i, tally in enumerate(single):
        alone = model.fit(tally, setting())
        np.testing.assert_array_equal(params.theta[i], alone.theta)
        one = model.posterior(tally, setting(), alone)
        np.testing.assert_allclose(belief.mean[i], one.mean, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(belief.var[i], one.var, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(later.theta[i], model.fit(grown[i], setting(), alone).theta)


def test_only_studies_with_new_data_are_refitted() -> None:
    first = stack(observe(7), observe(8))
    params = SharedGP().fit(first, setting())
    before = SharedGP().posterior(first, setting(), params)
    where, value = Decision(np.array([1, 1]), np.array([2, 2])), np.array([0.3, 0.3])
    second = tallies.add(first, where, value, n=np.array([0, 1]))
    again = SharedGP().fit(second, setting(), params)
    assert again.changed.tolist() == [False, True]
    np.testing.assert_array_equal(again.theta[0], params.theta[0])
    known = before.update(where, value, np.array([0, 1]))
    partial = SharedGP().posterior(second, setting(), again, known)
    whole = SharedGP().posterior(second, setting(), again)
    np.testing.assert_allclose(partial.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(partial.trend, whole.trend, rtol=1e-12, atol=1e-14)
    same = SharedGP().fit(observe(7), setting(), SharedGP().fit(observe(7), setting()))
    assert not same.changed


def test_warm_fits_end_where_cold_ones_do() -> None:
    params, tally = None, observe(9, per_cell=1)
    for seed in range(10, 18):
        tally = tallies.merge(tally, observe(seed, per_cell=1))
        params = SharedGP().fit(tally, setting(), params)
    assert params is not None
    cold = SharedGP().fit(tally, setting())
    for name in ("noise", "scale", "trend_scale", "lengthscale"):
        np.testing.assert_allclose(getattr(params, name), getattr(cold, name), rtol=1e-3)
    stuck = replace(params, status=np.array(2))
    assert (
        SharedGP().fit(tallies.merge(tally, cells((0, 0, 1.0))), setting(), stuck).searched == 9 * K * C + 1
    )


@pytest.mark.parametrize(
    "tally",
    [
        tallies.empty(TRUTH.shape),
        cells((0, 0, 1.0)),
        cells((0, 0, 1.0), (1, 3, 2.0), (2, 5, 0.5)),
        cells(*[(k, c, 7.0) for k in range(K) for c in range(C)] * 2),
        cells(*[(0, 2, y) for y in (1.0, 2.0, 3.0)]),
    ],
    ids=["nothing", "one observation", "three alternatives", "all equal", "one cell"],
)
def test_the_smallest_data_give_a_usable_belief(tally: Tally) -> None:
    belief = SharedGP().posterior(tally, setting(), SharedGP().fit(tally, setting()))
    assert np.all(np.isfinite(belief.mean))
    assert np.all(belief.var > 0)
    assert np.all(belief.noise > 0)
    chosen = best(belief)
    assert np.all(np.isfinite(belief.expected_loss(chosen)))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("count", [100, 10**8])
def test_data_of_any_precision_give_finite_numbers(kernel: str, count: int) -> None:
    tally = Tally(np.full(TRUTH.shape, count), TRUTH, np.zeros(TRUTH.shape))
    model = SharedGP(kernel=kernel)
    belief = model.posterior(tally, setting(), model.fit(tally, setting()))
    np.testing.assert_allclose(belief.mean, TRUTH, atol=0.05)


def test_options_and_data_are_checked() -> None:
    with pytest.raises(InputError, match="unknown kernel 'matern5'.*Did you mean 'matern52'"):
        SharedGP(kernel="matern5")
    tally = observe(25)
    broken = Tally(tally.count, np.full(tally.shape, np.nan), tally.m2)
    with pytest.raises(FitError, match="the likelihood is not finite anywhere"):
        SharedGP().fit(broken, setting())


def test_known_noise_is_taken_as_it_is() -> None:
    tally = observe(3)
    table = np.exp(np.random.default_rng(4).normal(0, 0.5, TRUTH.shape))
    for known in (0.7, table):
        model = SharedGP(noise_sd=known)
        model.check((K, C), setting())
        params = model.fit(tally, setting())
        np.testing.assert_allclose(np.sqrt(params.noise), np.broadcast_to(known, TRUTH.shape), rtol=1e-12)
    with pytest.raises(InputError, match=r"noise_sd has shape \(2, 2\)"):
        SharedGP(noise_sd=np.ones((2, 2))).check((K, C), setting())


def test_noise_per_pair_follows_the_contexts() -> None:
    rng = np.random.default_rng(5)
    std = np.where(np.arange(C) < 2, 3.0, 0.3) * np.ones(TRUTH.shape)
    k, c = np.indices(TRUTH.shape).reshape(2, -1).repeat(6, axis=1)
    tally = tallies.from_observations(
        (k, c), TRUTH[k, c] + std[k, c] * rng.standard_normal(len(k)), TRUTH.shape
    )
    params = SharedGP(noise="pair").fit(tally, setting())
    assert np.abs(np.log(np.sqrt(params.noise) / std)).max() < np.log(2.0)
    assert_valid_model(SharedGP(noise="pair"))
    with pytest.raises(InputError, match="noise 'alternative'"):
        SharedGP(noise="alternative")

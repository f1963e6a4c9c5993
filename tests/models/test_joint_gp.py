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
from argbest.models.crossed import MAX_CELLS, MAX_CELLS_VECTORISED, CrossedParams
from argbest.models.gp import GP, GPParams
from argbest.models.joint_gp import JointGP
from argbest.testing import assert_valid_model

CONTEXTS = np.linspace(0.0, 1.0, 6)[:, None]
PLACES = np.linspace(0.0, 1.0, 4)[:, None]
TRUTH = 10.0 + 3.0 * np.sin(5 * CONTEXTS[:, 0] + 2 * PLACES)
K, C = TRUTH.shape


def squares(points: Array) -> Array:
    return np.moveaxis((points[:, None] - points) ** 2, -1, 0).copy()


def setting(x: Array = CONTEXTS, z: Array | None = PLACES) -> Setting:
    c = len(x)
    return Setting(np.full(c, 1 / c), squares(x), np.ones(c, bool), None if z is None else squares(z))


def cells(*rows: tuple[int, int, float]) -> Tally:
    k, c, y = (np.array(v) for v in zip(*rows, strict=True))
    return tallies.from_observations((k, c), y, TRUTH.shape)


def observe(seed: int, per_cell: int = 3, noise: float | Array = 0.5) -> Tally:
    rng = np.random.default_rng(seed)
    k, c = np.indices(TRUTH.shape).reshape(2, -1).repeat(per_cell, axis=1)
    sd = np.broadcast_to(noise, TRUTH.shape)[k, c]
    return tallies.from_observations((k, c), TRUTH[k, c] + sd * rng.standard_normal(len(k)), TRUTH.shape)


def stack(*single: Tally) -> Tally:
    return Tally(*(np.stack(v) for v in zip(*((t.count, t.mean, t.m2) for t in single), strict=True)))


def dense(params: CrossedParams, tally: Tally, points: Array) -> tuple[Array, Array]:
    """Mean [alternative · point] and covariance at any points, from the definition, in the rewards' units."""

    def covariance(a: Array, b: Array) -> Array:
        relation = oracles.kernel("matern52", PLACES, PLACES, params.alternative_lengthscale, 1.0)
        near = oracles.kernel("matern52", a, b, params.lengthscale, float(params.scale))
        return np.asarray(np.kron(relation, near), float)

    noisy = covariance(CONTEXTS, CONTEXTS) + np.diag(params.noise.ravel() / tally.count.ravel())
    cross = covariance(points, CONTEXTS)
    gain = cross @ np.linalg.inv(noisy)
    mean = float(params.constant) + gain @ (tally.mean.ravel() - float(params.constant))
    return mean, covariance(points, points) - gain @ cross.T


def test_it_is_a_valid_model() -> None:
    assert_valid_model(JointGP())
    assert_valid_model(JointGP(kernel="rbf"), shape=(2, 4))
    assert_valid_model(JointGP(noise="pair"))


@pytest.mark.parametrize("noise", ["pooled", "pair"])
def test_posterior_and_prediction_are_the_dense_ones(noise: str) -> None:
    tally = observe(1)
    model = JointGP(noise=noise)
    params = model.fit(tally, setting())
    belief = model.posterior(tally, setting(), params)
    mean, cov = dense(params, tally, CONTEXTS)
    np.testing.assert_allclose(belief.mean.ravel(), mean, rtol=1e-9)
    np.testing.assert_allclose(belief.cov.reshape(K * C, K * C), cov, rtol=1e-6, atol=1e-9)
    new = np.array([[0.33], [0.9]])
    there = model.predict(tally, setting(), params, ((new - CONTEXTS[:, 0]) ** 2)[None])
    assert there.mean.shape == (2, K, 1)
    mean, cov = dense(params, tally, new)
    np.testing.assert_allclose(there.mean[..., 0].T.ravel(), mean, rtol=1e-9)
    for i in range(2):
        expected = cov.reshape(K, 2, K, 2)[:, i, :, i]
        np.testing.assert_allclose(there.cov[i, :, 0, :, 0], expected, rtol=1e-6, atol=1e-9)


def test_predicting_at_a_known_context_gives_its_belief() -> None:
    tally = stack(observe(2), observe(3))
    params = JointGP().fit(tally, setting())
    belief = JointGP().posterior(tally, setting(), params)
    there = JointGP().predict(tally, setting(), params, setting().separation)
    assert there.mean.shape == (C, 2, K, 1)
    np.testing.assert_allclose(np.moveaxis(there.mean[..., 0], 0, -1), belief.mean, rtol=1e-9)
    chosen = best(belief)
    apart = there.difference_var(np.moveaxis(chosen, -1, 0)[..., None])
    expected = belief.difference_var(chosen)
    np.testing.assert_allclose(np.moveaxis(apart[..., 0], 0, -1), expected, rtol=1e-6, atol=1e-10)


def test_with_a_tiny_lengthscale_of_alternatives_it_is_a_gp_each() -> None:
    tally = observe(5)
    params = JointGP().fit(tally, setting())
    alone = replace(params, relation=JointGP()._relation(np.zeros((K, 0)), np.array([1e-3]), setting()))
    np.testing.assert_array_equal(alone.relation, np.eye(K))
    belief = JointGP().posterior(tally, setting(), alone)
    each, none = np.full(K, float(params.constant)), np.zeros(K, np.int64)
    separate = GPParams(
        lengthscale=np.tile(params.lengthscale, (K, 1)),
        scale=np.full(K, float(params.scale)),
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
    theirs = GP().posterior(tally, setting(), separate)
    np.testing.assert_allclose(belief.mean, theirs.mean, rtol=1e-10)
    np.testing.assert_allclose(belief.var, theirs.var, rtol=1e-9)
    np.testing.assert_allclose(
        belief.difference_var(best(belief)), theirs.difference_var(best(theirs)), rtol=1e-9
    )


def test_an_alternative_without_data_is_known_from_its_neighbours() -> None:
    tally = observe(6)
    count = tally.count.copy()
    count[1] = 0
    gone = Tally(count, np.where(count > 0, tally.mean, 0.0), np.where(count > 0, tally.m2, 0.0))
    belief = JointGP().posterior(gone, setting(), JointGP().fit(gone, setting()))
    assert np.all(np.abs(belief.mean[1] - TRUTH[1]) < 1.0)
    assert np.all(belief.var[1] > belief.var[0])


def test_many_studies_at_once_equal_single_ones() -> None:
    single = [observe(seed, per_cell=2) for seed in range(4)]
    model, many = JointGP(), stack(*single)
    params = model.fit(many, setting())
    belief = model.posterior(many, setting(), params)
    grown = [tallies.add(t, Decision(np.array(0), np.array(1)), np.array(9.0)) for t in single]
    later = model.fit(stack(*grown), setting(), params)
    for i, tally in enumerate(single):
        alone = model.fit(tally, setting())
        np.testing.assert_array_equal(params.theta[i], alone.theta)
        one = model.posterior(tally, setting(), alone)
        np.testing.assert_allclose(belief.mean[i], one.mean, rtol=1e-10)
        np.testing.assert_allclose(belief.cov[i], one.cov, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(later.theta[i], model.fit(grown[i], setting(), alone).theta)


def test_only_studies_with_new_data_are_refitted() -> None:
    first = stack(observe(7), observe(8))
    params = JointGP().fit(first, setting())
    before = JointGP().posterior(first, setting(), params)
    where, value = Decision(np.array([1, 1]), np.array([2, 2])), np.array([9.3, 9.3])
    second = tallies.add(first, where, value, n=np.array([0, 1]))
    again = JointGP().fit(second, setting(), params)
    assert again.changed.tolist() == [False, True]
    np.testing.assert_array_equal(again.theta[0], params.theta[0])
    known = before.update(where, value, np.array([0, 1]))
    partial = JointGP().posterior(second, setting(), again, known)
    whole = JointGP().posterior(second, setting(), again)
    np.testing.assert_allclose(partial.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(partial.cov, whole.cov, rtol=1e-12, atol=1e-13)
    same = JointGP().fit(observe(7), setting(), JointGP().fit(observe(7), setting()))
    assert not same.changed


def test_warm_fits_end_where_cold_ones_do() -> None:
    params, tally = None, observe(9, per_cell=1)
    for seed in range(10, 16):
        tally = tallies.merge(tally, observe(seed, per_cell=1))
        params = JointGP().fit(tally, setting(), params)
    assert params is not None
    cold = JointGP().fit(tally, setting())
    for name in ("noise", "scale", "alternative_lengthscale", "lengthscale"):
        np.testing.assert_allclose(getattr(params, name), getattr(cold, name), rtol=1e-3)


def test_known_noise_is_taken_as_it_is() -> None:
    sd = np.linspace(0.2, 1.0, K * C).reshape(K, C)
    params = JointGP(noise_sd=sd).fit(observe(17, noise=sd), setting())
    np.testing.assert_allclose(params.noise, sd**2, rtol=1e-12)
    number = JointGP(noise_sd=0.5).fit(stack(observe(17), observe(18)), setting())
    np.testing.assert_allclose(number.noise, np.full((2, K, C), 0.25), rtol=1e-12)


def test_noise_per_pair_follows_the_replications() -> None:
    sd = np.where(np.arange(C) < 3, 0.1, 2.0)
    params = JointGP(noise="pair").fit(observe(19, per_cell=20, noise=sd), setting())
    ratio = params.noise[:, 3:].mean() / params.noise[:, :3].mean()
    assert 100 < ratio < 1600  # the truth is 400
    pooled = JointGP().fit(observe(19, per_cell=20, noise=sd), setting())
    assert np.ptp(pooled.noise) == 0


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
    belief = JointGP().posterior(tally, setting(), JointGP().fit(tally, setting()))
    assert np.all(np.isfinite(belief.mean))
    assert np.all(belief.var > 0)
    assert np.all(belief.noise > 0)
    assert np.all(np.isfinite(belief.expected_loss(best(belief))))


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("count", [100, 10**8])
def test_data_of_any_precision_give_finite_numbers(kernel: str, count: int) -> None:
    tally = Tally(np.full(TRUTH.shape, count), TRUTH, np.zeros(TRUTH.shape))
    model = JointGP(kernel=kernel)
    belief = model.posterior(tally, setting(), model.fit(tally, setting()))
    np.testing.assert_allclose(belief.mean, TRUTH, atol=0.05)


def test_mere_names_are_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match="needs alternatives with coordinates.*'latent-gp'.*'shared-gp'"):
        JointGP().check((K, C), setting(z=None))
    with pytest.raises(InputError, match="needs alternatives with coordinates"):
        JointGP().fit(observe(1), setting(z=None))


def test_too_many_pairs_are_refused_with_what_to_do() -> None:
    assert (MAX_CELLS, MAX_CELLS_VECTORISED) == (1000, 200)
    JointGP().check((20, 50), setting())
    with pytest.raises(InputError, match="13 alternatives and 77 contexts, 1,001 pairs.*at most 1,000"):
        JointGP().check((13, 77), setting())
    with pytest.raises(InputError, match="2 studies at once.*201 pairs.*one at a time"):
        JointGP().fit(tallies.empty((2, 3, 67)), setting())
    wide = np.linspace(0, 1, 67)[:, None]
    one = JointGP().fit(tallies.empty((1, 3, 67)), setting(x=wide, z=PLACES[:3]))
    assert one.theta.shape == (1, 4)


def test_options_and_data_are_checked() -> None:
    with pytest.raises(InputError, match="unknown kernel 'matern5'.*Did you mean 'matern52'"):
        JointGP(kernel="matern5")
    with pytest.raises(InputError, match="unknown noise 'pairs'.*Did you mean 'pair'"):
        JointGP(noise="pairs")
    with pytest.raises(InputError, match=r"noise_sd has shape \(2, 2\)"):
        JointGP(noise_sd=np.ones((2, 2))).check((K, C), setting())
    tally = observe(25)
    broken = Tally(tally.count, np.full(tally.shape, np.nan), tally.m2)
    with pytest.raises(FitError, match="the likelihood is not finite anywhere"):
        JointGP().fit(broken, setting())

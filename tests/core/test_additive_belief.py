"""The additive belief against literal algebra over all cells and raw observations."""

import numpy as np
import pytest
from additive_cases import Case, Scales, case, random_theta
from oracles import DenseBelief

from argbest.core import belief as beliefs
from argbest.core import tally as tallies
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP, AdditiveGPParams
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.ikg import IKG
from argbest.policies.levi import LEVI
from argbest.streams import Draws, Purpose

MODEL = AdditiveGP()


def pair(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def params(one: Case, theta: Array) -> AdditiveGPParams:
    """The parameters at a point, taken for a fit to outcomes that need no standardisation."""
    scales, none = Scales.of(theta, one.x.shape[1]), np.array(0)
    return AdditiveGPParams(
        trend_lengthscale=scales.trend_lengths,
        alternative_lengthscale=scales.alternative_lengths,
        lengthscale=scales.lengths,
        trend=np.array(scales.trend),
        offset=np.array(scales.offset),
        joint=np.array(scales.joint),
        own=np.array(scales.own),
        noise=scales.noise * one.noise,
        constant=np.array(0.0),
        theta=theta,
        shift=np.array(0.3),
        spread=np.array(1.0),
        fitted=np.zeros(one.shape, np.int64),
        searched=none,
        status=none,
        changed=np.array(True),
    )


def dense(one: Case, theta: Array, tally: Tally, points: Array | None = None) -> tuple[Array, Array]:
    """Mean and covariance of all cells given the cells' means, the constant flat: universal kriging."""
    scales = Scales.of(theta, one.x.shape[1])
    seen = np.flatnonzero(tally.count.ravel())
    prior = one.covariance("matern52", scales)
    noisy = prior[np.ix_(seen, seen)] + np.diag(
        (scales.noise * one.noise / np.maximum(tally.count, 1)).ravel()[seen]
    )
    cross = (prior if points is None else one.covariance("matern52", scales, points))[:, seen]
    other = Case(one.z, one.x if points is None else points, one.shape, one.where, one.y, one.noise)
    own = prior if points is None else other.covariance("matern52", scales)
    precision, ones, y = np.linalg.inv(noisy), np.ones(len(seen)), tally.mean.ravel()[seen]
    below = ones @ precision @ ones
    constant = ones @ precision @ y / below
    gain = cross @ precision
    left = 1.0 - gain @ ones
    return constant + gain @ (y - constant), own - gain @ cross.T + np.outer(left, left) / below


def random_belief(seed: int, *, names: bool = False) -> tuple[AdditiveBelief, DenseBelief]:
    rng = np.random.default_rng(seed)
    one = case(rng, names=names)
    theta = random_theta(rng, one.prior())
    known = params(one, theta)
    mean, cov = dense(one, theta, one.tally)
    ours = MODEL.posterior(one.tally, one.setting, known)
    return ours, DenseBelief(mean.reshape(one.shape), cov, known.noise)


def whole(belief: AdditiveBelief) -> Array:
    k, c = np.indices(belief.mean.shape).reshape(2, -1)
    return belief.cov_rows(k, c).reshape(belief.mean.size, -1)


def assert_same(ours: AdditiveBelief, theirs: DenseBelief, tolerance: float = 1e-9) -> None:
    size = np.abs(theirs.cov).max()
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.var, theirs.var, rtol=tolerance, atol=tolerance * size)
    np.testing.assert_allclose(whole(ours), theirs.cov, rtol=tolerance, atol=tolerance * size)


@pytest.mark.parametrize("names", [False, True])
def test_the_posterior_is_that_of_the_observations(names: bool) -> None:
    for seed in range(10):
        ours, theirs = random_belief(seed, names=names)
        belief: Belief = ours
        assert belief.own_cov is None
        assert_same(ours, theirs)
        chosen = beliefs.best(ours)
        found = ours.difference_var(chosen)
        np.testing.assert_allclose(found, theirs.difference_var(chosen), rtol=1e-7, atol=1e-10)
        assert np.all(found[chosen, np.arange(len(chosen))] == 0)
        where = pair(1, 0)
        np.testing.assert_allclose(ours.cov_with(where), theirs.cov_with(where), rtol=1e-8, atol=1e-10)


def test_a_trend_that_dwarfs_all_differences_costs_them_no_digits() -> None:
    rng = np.random.default_rng(3)
    one = case(rng, names=True)
    theta = random_theta(rng, one.prior())
    theta[-5] = np.log(1e8)
    small = theta.copy()
    small[-5] = np.log(1e5)
    chosen = np.zeros(one.shape[1], np.int64)
    huge, large = (
        MODEL.posterior(one.tally, one.setting, params(one, t)).difference_var(chosen) for t in (theta, small)
    )
    np.testing.assert_allclose(huge, large, rtol=1e-3)


@pytest.mark.parametrize("n", [1, 3])
def test_updates_equal_dense_rank_one_updates(n: int) -> None:
    rng = np.random.default_rng(3)
    ours, theirs = random_belief(3)
    k, c = ours.mean.shape
    for _ in range(60):  # beyond the room made ahead
        where, value = pair(int(rng.integers(k)), int(rng.integers(c))), np.array(rng.normal())
        ours, theirs = ours.update(where, value, n), theirs.update(where, value, n)
    assert_same(ours, theirs, 1e-8)


def test_many_updates_equal_one_recomputation() -> None:
    rng = np.random.default_rng(4)
    one = case(rng)
    theta = random_theta(rng, one.prior())
    tally, known = one.tally, params(one, theta)
    belief = MODEL.posterior(tally, one.setting, known)
    for _ in range(300):
        where = pair(int(rng.integers(one.shape[0])), int(rng.integers(one.shape[1])))
        value = np.array(rng.normal())
        tally, belief = tallies.add(tally, where, value), belief.update(where, value)
    again = MODEL.posterior(tally, one.setting, known)
    np.testing.assert_allclose(belief.mean, again.mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(whole(belief), whole(again), rtol=1e-7, atol=1e-9)


def test_a_belief_is_a_value_whatever_grows_out_of_it() -> None:
    """Beliefs share their rows; none may see what another has added."""
    rng = np.random.default_rng(5)
    first, _ = random_belief(5)
    before = whole(first), first.mean.copy()
    k, c = first.mean.shape
    children = []
    for _ in range(6):
        grown = first
        cells = [pair(int(rng.integers(k)), int(rng.integers(c))) for _ in range(40)]
        for where in cells:
            grown = grown.update(where, np.array(1.0))
        children.append((grown, cells))
    np.testing.assert_array_equal(whole(first), before[0])
    np.testing.assert_array_equal(first.mean, before[1])
    for grown, cells in children:
        alone, _ = random_belief(5)
        for where in cells:
            alone = alone.update(where, np.array(1.0))
        np.testing.assert_array_equal(whole(grown), whole(alone))


def test_no_replication_teaches_nothing_and_anticipating_keeps_the_mean_exactly() -> None:
    belief, _ = random_belief(6)
    nothing = belief.update(pair(1, 1), np.array(9.0), 0)
    np.testing.assert_array_equal(nothing.mean, belief.mean)
    np.testing.assert_array_equal(whole(nothing), whole(belief))
    ahead = beliefs.anticipate(belief, pair(2, 1), 4)
    np.testing.assert_array_equal(ahead.mean, belief.mean)
    np.testing.assert_array_equal(ahead.var, belief.update(pair(2, 1), np.array(123.0), 4).var)


def test_draws_have_the_belief_s_mean_and_covariance() -> None:
    """`draw` is affine in the normals: unit vectors give the root of the covariance itself."""
    belief, theirs = random_belief(8)
    n = belief.mean.size
    basis = np.concatenate([np.zeros((1, n)), np.eye(n)]).reshape(-1, *belief.mean.shape)
    draws = belief.draw(basis).reshape(len(basis), -1)
    np.testing.assert_allclose(draws[0], belief.mean.ravel(), rtol=1e-14)
    root = (draws[1:] - draws[0]).T
    np.testing.assert_allclose(root @ root.T, theirs.cov, rtol=1e-7, atol=1e-8)


def test_certificates_agree_with_monte_carlo() -> None:
    """4,096 Sobol points against 200,000 draws, within five standard errors of 4,096 plain draws."""
    for seed in (10, 11):
        ours, theirs = random_belief(seed)
        chosen = beliefs.best(ours)
        p = theirs.good_probability(chosen, 0.1)
        assert np.all(
            np.abs(ours.good_probability(chosen, 0.1) - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096)
        )
        p, share = theirs.best_probability(), ours.best_probability()
        np.testing.assert_allclose(share.sum(axis=0), 1.0, rtol=1e-12)
        assert np.all(np.abs(share - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))


@pytest.mark.parametrize("policy", [DVR(), DVRM(), IKG(), LEVI(), GPCOCBA()])
def test_policies_decide_as_on_the_dense_belief(policy: Policy) -> None:
    for seed in range(4):
        ours, theirs = random_belief(20 + seed)
        one = case(np.random.default_rng(20 + seed))
        draws = Draws(7, Purpose.POLICY, step=seed)
        pending = np.zeros(one.shape, np.int64)
        pending[0, 0] = 2
        found = policy.propose(ours, one.tally, pending, one.setting, draws, 3)
        expected = policy.propose(theirs, one.tally, pending, one.setting, draws, 3)
        np.testing.assert_array_equal(found.alternative, expected.alternative)
        np.testing.assert_array_equal(found.context, expected.context)

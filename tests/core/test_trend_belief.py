"""The structured belief against the dense one over all cells, J ⊗ K_g + I ⊗ K_d."""

import numpy as np
import oracles
import pytest
from oracles import DenseBelief

from argbest.core import belief as beliefs
from argbest.core import conditioning, trend_belief
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.tally import Tally
from argbest.core.trend_belief import TrendBelief

K, C = 4, 6
CONSTANT, NOISE = 0.7, 0.3 * np.exp(np.random.default_rng(0).normal(0, 0.4, (K, C)))


def pair(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def covariances(rng: np.random.Generator, scale: float = 1.0) -> tuple[Array, Array]:
    x = rng.random((C, 2))
    shared = oracles.kernel("matern52", x, x, np.array([0.5, 0.8]), scale)
    own = oracles.kernel("matern52", x, x, np.array([0.3, 0.4]), 0.3) + 0.2
    return shared, own


def random_tally(rng: np.random.Generator, lead: tuple[int, ...] = ()) -> Tally:
    count = rng.integers(0, 4, (*lead, K, C))
    return Tally(count, np.where(count > 0, rng.normal(1, 1, count.shape), 0.0), np.zeros(count.shape))


def conditioned(shared: Array, own: Array, tally: Tally) -> TrendBelief:
    lead = tally.shape[:-2]
    shared, own = np.broadcast_to(shared, (*lead, C, C)), np.broadcast_to(own, (*lead, C, C))
    return trend_belief.condition(
        shared, own, np.full(lead, CONSTANT), np.broadcast_to(NOISE, tally.shape), tally
    )


def dense_posterior(shared: Array, own: Array, tally: Tally) -> DenseBelief:
    """One observation per cell, the mean of its replications, from the textbook formula."""
    cov = np.kron(np.ones((K, K)), shared) + np.kron(np.eye(K), own)
    seen = np.flatnonzero(tally.count.ravel())
    noisy = cov[np.ix_(seen, seen)] + np.diag((NOISE.ravel() / np.maximum(tally.count.ravel(), 1))[seen])
    gain = cov[:, seen] @ np.linalg.inv(noisy)
    mean = CONSTANT + gain @ (tally.mean.ravel()[seen] - CONSTANT)
    return DenseBelief(mean.reshape(K, C), cov - gain @ cov[seen], NOISE)


def random_belief(seed: int) -> tuple[TrendBelief, DenseBelief]:
    rng = np.random.default_rng(seed)
    shared, own = covariances(rng)
    tally = random_tally(rng)
    return conditioned(shared, own, tally), dense_posterior(shared, own, tally)


def covariance(belief: TrendBelief) -> Array:
    columns = [belief.cov_with(pair(k, c)).ravel() for k, c in np.ndindex(K, C)]
    return np.stack(columns, axis=1)


def assert_same(ours: TrendBelief, theirs: DenseBelief, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.var, theirs.var, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(covariance(ours), theirs.cov, rtol=tolerance, atol=tolerance)


def test_the_posterior_is_the_dense_one() -> None:
    for seed in range(10):
        ours, theirs = random_belief(seed)
        belief: Belief = ours
        assert belief.own_cov is None
        assert_same(ours, theirs)
        for reference in (np.zeros(C, np.int64), beliefs.best(ours)):
            np.testing.assert_allclose(
                ours.difference_var(reference), theirs.difference_var(reference), rtol=1e-9, atol=1e-12
            )


def test_without_observations_it_is_the_prior() -> None:
    shared, own = covariances(np.random.default_rng(1))
    belief = conditioned(shared, own, tallies.empty((K, C)))
    np.testing.assert_array_equal(belief.mean, np.full((K, C), CONSTANT))
    expected = np.kron(np.ones((K, K)), shared) + np.kron(np.eye(K), own)
    np.testing.assert_allclose(covariance(belief), expected, rtol=1e-14)


def test_without_a_trend_alternatives_are_independent() -> None:
    rng = np.random.default_rng(2)
    _, own = covariances(rng)
    tally = random_tally(rng)
    belief = conditioned(np.zeros((C, C)), own, tally)
    mean, cov = conditioning.posterior(np.broadcast_to(own, (K, C, C)), np.full(K, CONSTANT), NOISE, tally)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-12)
    block = beliefs.BlockBelief(mean, cov, NOISE)
    np.testing.assert_allclose(covariance(belief), oracles.dense(block).cov, rtol=1e-10, atol=1e-13)
    reference = beliefs.best(block)
    np.testing.assert_allclose(belief.difference_var(reference), block.difference_var(reference), rtol=1e-10)


@pytest.mark.parametrize("n", [1, 3])
def test_updates_equal_dense_rank_one_updates(n: int) -> None:
    rng = np.random.default_rng(3)
    ours, theirs = random_belief(3)
    for _ in range(30):
        where, value = pair(int(rng.integers(K)), int(rng.integers(C))), np.array(rng.normal())
        ours, theirs = ours.update(where, value, n), theirs.update(where, value, n)
        assert_same(ours, theirs)


def test_a_thousand_updates_equal_one_recomputation() -> None:
    rng = np.random.default_rng(4)
    shared, own = covariances(rng)
    tally = tallies.empty((K, C))
    belief = conditioned(shared, own, tally)
    for _ in range(1000):
        where, value = pair(int(rng.integers(K)), int(rng.integers(C))), np.array(rng.normal(0, 2))
        tally = tallies.add(tally, where, value)
        belief = belief.update(where, value)
    whole = conditioned(shared, own, tally)
    np.testing.assert_allclose(belief.mean, whole.mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(covariance(belief), covariance(whole), rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(belief.var, whole.var, rtol=1e-8)


def test_q_replicates_at_once_equal_q_updates_and_none_teaches_nothing() -> None:
    belief, _ = random_belief(5)
    values = np.random.default_rng(5).normal(size=5)
    one_by_one = belief
    for v in values:
        one_by_one = one_by_one.update(pair(1, 2), np.array(v))
    block = belief.update(pair(1, 2), np.array(values.mean()), 5)
    np.testing.assert_allclose(block.mean, one_by_one.mean, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(covariance(block), covariance(one_by_one), rtol=1e-11, atol=1e-13)
    nothing = belief.update(pair(1, 2), np.array(9.0), 0)
    np.testing.assert_array_equal(nothing.mean, belief.mean)
    np.testing.assert_array_equal(covariance(nothing), covariance(belief))


def test_anticipating_keeps_the_mean_exactly() -> None:
    belief, _ = random_belief(6)
    ahead = beliefs.anticipate(belief, pair(2, 1), 4)
    np.testing.assert_array_equal(ahead.mean, belief.mean)
    np.testing.assert_array_equal(ahead.var, belief.update(pair(2, 1), np.array(123.0), 4).var)


def test_the_variance_of_differences_survives_a_huge_trend() -> None:
    rng = np.random.default_rng(7)
    shared, own = covariances(rng, scale=1e8)
    belief = conditioned(shared, own, tallies.empty((K, C)))
    found = belief.difference_var(np.zeros(C, np.int64))
    np.testing.assert_allclose(found[1:], np.broadcast_to(2 * np.diag(own), (K - 1, C)), rtol=1e-6)


def test_draws_have_the_belief_s_mean_and_covariance() -> None:
    """`draw` is affine in the normals: unit vectors give the root of the covariance itself."""
    for seed in (8, 9):
        belief, theirs = random_belief(seed)
        basis = np.concatenate([np.zeros((1, K * C)), np.eye(K * C)]).reshape(-1, K, C)
        draws = belief.draw(basis).reshape(len(basis), -1)
        np.testing.assert_allclose(draws[0], belief.mean.ravel(), rtol=1e-14)
        root = (draws[1:] - draws[0]).T
        np.testing.assert_allclose(root @ root.T, theirs.cov, rtol=1e-7, atol=1e-9)


def test_certificates_agree_with_monte_carlo() -> None:
    """4,096 Sobol points against 200,000 draws, within five standard errors of 4,096 plain draws.

    Sobol points err less than plain ones, so all 84 comparisons together raise a false alarm below 5e-5. The
    variance of a maximum of normals is at most the largest of theirs, which bounds that of the regret.
    """
    for seed in (10, 11):
        ours, theirs = random_belief(seed)
        chosen = beliefs.best(ours)
        for delta in (0.0, 0.3):
            p = theirs.good_probability(chosen, delta)
            found = ours.good_probability(chosen, delta)
            assert np.all(np.abs(found - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))
            assert np.all(ours.lower_bound(chosen, delta) <= found)
        p = theirs.best_probability()
        share = ours.best_probability()
        np.testing.assert_allclose(share.sum(axis=0), 1.0, rtol=1e-12)
        assert np.all(np.abs(share - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))
        spread = np.sqrt(theirs.difference_var(chosen).max(axis=0))
        assert np.all(np.abs(ours.expected_loss(chosen) - theirs.expected_loss(chosen)) < 5 * spread / 64)


def test_two_alternatives_have_closed_forms() -> None:
    from scipy.stats import norm

    mean = np.array([[0.5], [0.0]])
    loading, trend = np.array([[[1.0]], [[0.4]]]), np.array([[2.0]])
    own = np.array([[[0.3]], [[0.1]]])
    var = loading[..., 0] ** 2 * 2.0 + own[..., 0]
    belief = TrendBelief(mean, var, np.ones((2, 1)), loading, own, trend)
    tau = np.sqrt(0.6**2 * 2.0 + 0.4)
    first = np.array([0])
    np.testing.assert_allclose(belief.difference_var(first), [[0.0], [tau**2]])
    assert belief.good_probability(first)[0] == pytest.approx(norm.cdf(0.5 / tau), abs=1e-14)
    expected = tau * norm.pdf(0.5 / tau) - 0.5 * norm.cdf(-0.5 / tau)
    assert belief.expected_loss(first)[0] == pytest.approx(expected, rel=1e-12)


def test_tails_beyond_the_points_are_still_ordered() -> None:
    belief, _ = random_belief(12)
    far = TrendBelief(
        belief.mean + 9.0 * (np.arange(K) == 1)[:, None],
        *(belief.var, belief.noise, belief.loading, belief.own, belief.trend),
    )
    chosen = np.ones(C, np.int64)
    assert np.all(far.expected_loss(chosen) > 0)
    assert np.all(far.good_probability(chosen) <= 1)
    np.testing.assert_array_equal(far.best_probability()[1], np.ones(C))


def test_a_trend_alone_leaves_known_ties_and_orders() -> None:
    trend = np.eye(1)
    loading = np.ones((3, 1, 1))
    belief = TrendBelief(
        np.array([[1.0], [1.0], [0.0]]), np.ones((3, 1)), np.ones((3, 1)), loading, np.zeros((3, 1, 1)), trend
    )
    assert belief.good_probability(np.array([0])).tolist() == [1.0]
    assert belief.expected_loss(np.array([2]))[0] == pytest.approx(1.0, rel=1e-14)


def test_many_studies_at_once_equal_single_ones() -> None:
    rng = np.random.default_rng(13)
    shared, own = covariances(rng)
    tally = random_tally(rng, (2, 3))
    many = conditioned(shared, own, tally)
    decision = Decision(rng.integers(0, K, (2, 3)), rng.integers(0, C, (2, 3)))
    value, n = rng.standard_normal((2, 3)), rng.integers(0, 4, (2, 3))
    after, chosen, normals = (
        many.update(decision, value, n),
        beliefs.best(many),
        rng.normal(size=(9, 2, 3, K, C)),
    )
    found = (many.cov_with(decision), many.difference_var(chosen), many.best_probability())
    sums = (many.good_probability(chosen, 0.1), many.expected_loss(chosen), many.lower_bound(chosen))
    for i in np.ndindex(2, 3):
        one = conditioned(shared, own, Tally(tally.count[i], tally.mean[i], tally.m2[i]))
        here = Decision(decision.alternative[i], decision.context[i])
        later = one.update(here, value[i], n[i])
        alone = (one.cov_with(here), one.difference_var(chosen[i]), one.best_probability())
        single = (
            one.good_probability(chosen[i], 0.1),
            one.expected_loss(chosen[i]),
            one.lower_bound(chosen[i]),
        )
        pairs = [
            (after.mean, later.mean),
            (after.var, later.var),
            *zip(found + sums, alone + single, strict=True),
        ]
        for batch, theirs in pairs:
            np.testing.assert_allclose(batch[i], theirs, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(many.draw(normals)[:, *i], one.draw(normals[:, *i]), rtol=1e-9, atol=1e-9)

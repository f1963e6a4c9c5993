"""The joint belief against literal algebra over all cells and raw observations."""

import numpy as np
import oracles
import pytest
from oracles import DenseBelief

from argbest.core import belief as beliefs
from argbest.core import conditioning, joint_belief
from argbest.core import knowledge_gradient as kg
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import Belief, BlockBelief
from argbest.core.decision import Decision
from argbest.core.joint_belief import JointBelief
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.gp_c_ocba import GPCOCBA
from argbest.policies.ikg import IKG, log_ikg
from argbest.policies.levi import LEVI
from argbest.policies.top_two import TopTwo
from argbest.streams import Draws, Purpose, roots

K, C = 4, 6
CONSTANT = 0.7
NOISE = np.exp(np.random.default_rng(99).normal(-1, 0.5, (K, C)))


def pair(k: int, c: int) -> Decision:
    return Decision(np.array(k), np.array(c))


def factors(rng: np.random.Generator, length: float = 0.4) -> tuple[Array, Array]:
    z, x = rng.random((K, 1)), rng.random((C, 2))
    relation = oracles.kernel("matern52", z, z, np.array([length]), 1.0)
    return relation, oracles.kernel("matern52", x, x, np.array([0.5, 0.8]), 1.7)


def random_tally(rng: np.random.Generator, lead: tuple[int, ...] = ()) -> Tally:
    count = rng.integers(0, 4, (*lead, K, C))
    return Tally(count, np.where(count > 0, rng.normal(1, 1, count.shape), 0.0), np.zeros(count.shape))


def conditioned(relation: Array, near: Array, tally: Tally, noise: Array = NOISE) -> JointBelief:
    lead = tally.shape[:-2]
    relation, near = np.broadcast_to(relation, (*lead, K, K)), np.broadcast_to(near, (*lead, C, C))
    noise = np.broadcast_to(noise, tally.shape)
    return joint_belief.condition(relation, near, np.full(lead, CONSTANT), noise, tally)


def raw(rng: np.random.Generator) -> oracles.Data:
    """Observations of flat cells, in rows."""
    where = np.repeat(np.arange(K * C), rng.integers(0, 4, K * C))
    return oracles.Data(np.zeros((K * C, 1)), where, rng.normal(1, 1, len(where)))


def table(data: oracles.Data) -> Tally:
    return tallies.from_observations(np.divmod(data.where, C), data.y, (K, C))


def random_belief(seed: int) -> tuple[JointBelief, DenseBelief]:
    rng = np.random.default_rng(seed)
    relation, near = factors(rng)
    data = raw(rng)
    mean, cov = oracles.posterior(np.asarray(np.kron(relation, near), float), data, CONSTANT, NOISE.ravel())
    return conditioned(relation, near, table(data)), DenseBelief(mean.reshape(K, C), cov, NOISE)


def flat(belief: JointBelief) -> Array:
    return belief.cov.reshape(K * C, K * C)


def assert_same(ours: JointBelief, theirs: DenseBelief, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.var, theirs.var, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(flat(ours), theirs.cov, rtol=tolerance, atol=tolerance)


def test_the_posterior_is_that_of_the_raw_observations() -> None:
    for seed in range(10):
        ours, theirs = random_belief(seed)
        belief: Belief = ours
        assert belief.own_cov is None
        assert_same(ours, theirs)
        for k, c in ((0, 0), (2, 5)):
            np.testing.assert_allclose(
                ours.cov_with(pair(k, c)), theirs.cov_with(pair(k, c)), rtol=1e-9, atol=1e-11
            )
        for reference in (np.zeros(C, np.int64), beliefs.best(ours)):
            found = ours.difference_var(reference)
            np.testing.assert_allclose(found, theirs.difference_var(reference), rtol=1e-9, atol=1e-12)
            assert np.all(found[reference, np.arange(C)] == 0)


def test_without_observations_it_is_the_prior() -> None:
    relation, near = factors(np.random.default_rng(1))
    belief = conditioned(relation, near, tallies.empty((K, C)))
    np.testing.assert_array_equal(belief.mean, np.full((K, C), CONSTANT))
    np.testing.assert_allclose(flat(belief), np.kron(relation, near), rtol=1e-14)


def unrelated(seed: int) -> tuple[JointBelief, BlockBelief]:
    """The same data under κ_A = I, and under a GP per alternative."""
    rng = np.random.default_rng(seed)
    _, near = factors(rng)
    tally = random_tally(rng)
    mean, cov = conditioning.posterior(np.broadcast_to(near, (K, C, C)), np.full(K, CONSTANT), NOISE, tally)
    return conditioned(np.eye(K), near, tally), BlockBelief(mean, cov, NOISE)


def test_alternatives_that_are_not_related_are_a_gp_each() -> None:
    for seed in range(5):
        ours, block = unrelated(seed)
        np.testing.assert_allclose(ours.mean, block.mean, rtol=1e-10)
        np.testing.assert_allclose(flat(ours), oracles.dense(block).cov, rtol=1e-9, atol=1e-13)
        reference = beliefs.best(block)
        np.testing.assert_allclose(ours.difference_var(reference), block.difference_var(reference), rtol=1e-9)


def test_the_envelope_is_the_closed_form_where_alternatives_are_not_related() -> None:
    weights = np.arange(1.0, C + 1) / np.arange(1.0, C + 1).sum()
    for seed in range(5):
        ours, block = unrelated(seed)
        here = kg.log_kg_here(ours)
        np.testing.assert_allclose(here, kg.log_kg_here(block), rtol=1e-6)
        every = np.ones((K, C), bool)
        envelope, closed = log_ikg(ours, weights, every), log_ikg(block, weights, every)
        known = np.isfinite(closed)  # the closed form leaves out what cannot be the largest
        assert known.any()
        np.testing.assert_allclose(envelope[known], closed[known], rtol=1e-7)
        assert np.argmax(envelope) == np.argmax(closed)


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
    relation, near = factors(rng)
    tally = tallies.empty((K, C))
    belief = conditioned(relation, near, tally)
    for _ in range(1000):
        where, value = pair(int(rng.integers(K)), int(rng.integers(C))), np.array(rng.normal(0, 2))
        tally = tallies.add(tally, where, value)
        belief = belief.update(where, value)
    whole = conditioned(relation, near, tally)
    np.testing.assert_allclose(belief.mean, whole.mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(belief.cov, whole.cov, rtol=1e-8, atol=1e-11)


def test_no_replication_teaches_nothing_and_anticipating_keeps_the_mean_exactly() -> None:
    belief, _ = random_belief(5)
    nothing = belief.update(pair(1, 2), np.array(9.0), 0)
    np.testing.assert_array_equal(nothing.mean, belief.mean)
    np.testing.assert_array_equal(nothing.cov, belief.cov)
    ahead = beliefs.anticipate(belief, pair(2, 1), 4)
    np.testing.assert_array_equal(ahead.mean, belief.mean)
    np.testing.assert_array_equal(ahead.var, belief.update(pair(2, 1), np.array(123.0), 4).var)


def test_draws_have_the_belief_s_mean_and_covariance() -> None:
    """`draw` is affine in the normals: unit vectors give the root of the covariance itself."""
    belief, theirs = random_belief(8)
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
        p, share = theirs.best_probability(), ours.best_probability()
        np.testing.assert_allclose(share.sum(axis=0), 1.0, rtol=1e-12)
        assert np.all(np.abs(share - p) < 5 * np.sqrt((p * (1 - p) + 1e-4) / 4096))
        spread = np.sqrt(theirs.difference_var(chosen).max(axis=0))
        assert np.all(np.abs(ours.expected_loss(chosen) - theirs.expected_loss(chosen)) < 5 * spread / 64)


def test_two_alternatives_have_closed_forms() -> None:
    from scipy.stats import norm

    cov = np.array([[2.0, 1.2], [1.2, 1.0]]).reshape(2, 1, 2, 1)
    belief = JointBelief(np.array([[0.5], [0.0]]), cov, np.ones((2, 1)))
    tau, first = np.sqrt(0.6), np.array([0])
    np.testing.assert_allclose(belief.difference_var(first), [[0.0], [0.6]])
    assert belief.good_probability(first)[0] == pytest.approx(norm.cdf(0.5 / tau), abs=1e-14)
    expected = tau * norm.pdf(0.5 / tau) - 0.5 * norm.cdf(-0.5 / tau)
    assert belief.expected_loss(first)[0] == pytest.approx(expected, rel=1e-12)


def test_alternatives_known_to_be_equal_tie() -> None:
    """κ_A = 1 everywhere: one function under four names."""
    rng = np.random.default_rng(12)
    _, near = factors(rng)
    belief = conditioned(np.ones((K, K)), near, random_tally(rng))
    first = np.zeros(C, np.int64)
    np.testing.assert_allclose(belief.difference_var(first), 0.0, atol=1e-12)
    np.testing.assert_allclose(belief.expected_loss(first), 0.0, atol=1e-5)


def test_many_studies_at_once_equal_single_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(13)
    relation, near = factors(rng)
    tally = random_tally(rng, (2, 3))
    many = conditioned(relation, near, tally)
    monkeypatch.setattr(joint_belief, "_ELEMENTS", 2 * (K * C) ** 2)
    chunked = conditioned(relation, near, tally)
    np.testing.assert_allclose(chunked.cov, many.cov, rtol=1e-12, atol=1e-14)
    decision = Decision(rng.integers(0, K, (2, 3)), rng.integers(0, C, (2, 3)))
    value, n = rng.standard_normal((2, 3)), rng.integers(0, 4, (2, 3))
    after, chosen = many.update(decision, value, n), beliefs.best(many)
    normals = rng.normal(size=(9, 2, 3, K, C))
    found = (
        after.mean, after.var, many.cov_with(decision), many.difference_var(chosen), many.best_probability(),
        many.good_probability(chosen, 0.1), many.expected_loss(chosen), many.lower_bound(chosen),
    )  # fmt: skip
    for i in np.ndindex(2, 3):
        one = conditioned(relation, near, Tally(tally.count[i], tally.mean[i], tally.m2[i]))
        here = Decision(decision.alternative[i], decision.context[i])
        later = one.update(here, value[i], n[i])
        alone = (
            later.mean, later.var, one.cov_with(here), one.difference_var(chosen[i]), one.best_probability(),
            one.good_probability(chosen[i], 0.1), one.expected_loss(chosen[i]), one.lower_bound(chosen[i]),
        )  # fmt: skip
        for batch, theirs in zip(found, alone, strict=True):
            np.testing.assert_allclose(batch[i], theirs, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(many.draw(normals)[:, *i], one.draw(normals[:, *i]), rtol=1e-7, atol=1e-7)


def test_predictions_are_those_of_the_raw_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(14)
    z, x, new = rng.random((K, 1)), rng.random((C, 2)), rng.random((5, 2))
    lengths = np.array([0.5, 0.8])
    relation = oracles.kernel("matern52", z, z, np.array([0.4]), 1.0)
    near = oracles.kernel("matern52", x, x, lengths, 1.7)
    cross = oracles.kernel("matern52", new, x, lengths, 1.7)
    data = raw(rng)
    arguments = (relation, near, cross, np.array(CONSTANT), NOISE, table(data))
    found = joint_belief.predict(*arguments)
    assert found.mean.shape == (5, K, 1)
    noisy = np.kron(relation, near)[np.ix_(data.where, data.where)] + np.diag(NOISE.ravel()[data.where])
    for i in range(5):
        toward = np.kron(relation, cross[i])[:, data.where]
        gain = toward @ np.linalg.inv(noisy)
        np.testing.assert_allclose(found.mean[i, :, 0], CONSTANT + gain @ (data.y - CONSTANT), rtol=1e-9)
        cov = 1.7 * relation - gain @ toward.T
        np.testing.assert_allclose(found.cov[i, :, 0, :, 0], cov, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.noise[2, :, 0], NOISE.mean(axis=1), rtol=1e-14)
    monkeypatch.setattr(joint_belief, "_ELEMENTS", 2 * K * K * C)
    np.testing.assert_allclose(joint_belief.predict(*arguments).cov, found.cov, rtol=1e-12)


@pytest.mark.parametrize(
    "policy", [GPCOCBA(), IKG(), DVR(), DVRM(), LEVI(), TopTwo()], ids=lambda p: type(p).__name__
)
def test_policies_decide_on_joint_beliefs(policy: Policy) -> None:
    """Two pairs each, all of them valid, in three studies at once as in each alone."""
    rng = np.random.default_rng(15)
    relation, near = factors(rng)
    tally = random_tally(rng, (3,))
    belief = conditioned(relation, near, tally)
    x = rng.random((C, 2))
    separation = np.moveaxis((x[:, None] - x) ** 2, -1, 0)
    setting = Setting(np.full(C, 1 / C), separation, np.ones(C, bool))
    pending = np.zeros(tally.shape, np.int64)
    pending[:, 1, 2] = 1
    root = roots(0, np.arange(3))
    draws = Draws(root, Purpose.POLICY, 7)
    found = policy.propose(belief, tally, pending, setting, draws, 2)
    assert found.alternative.shape == (3, 2)
    assert np.all((found.alternative >= 0) & (found.alternative < K))
    for i in range(3):
        one = Tally(tally.count[i], tally.mean[i], tally.m2[i])
        alone = policy.propose(
            conditioned(relation, near, one), one, pending[i], setting, Draws(root[i], Purpose.POLICY, 7), 2
        )
        np.testing.assert_array_equal(found.alternative[i], alone.alternative)
        np.testing.assert_array_equal(found.context[i], alone.context)


def test_rounding_does_not_move_the_certificate_where_alternatives_are_exchangeable() -> None:
    """Eigenvectors of equal eigenvalues are anybody's choice; probabilities must not depend on it."""
    rng = np.random.default_rng(9)
    k = 10
    mean = rng.normal(0, 0.5, (k, 1))
    plain = np.eye(k) + 0.3
    found = []
    for _ in range(10):
        noise = 1e-13 * rng.standard_normal((k, k))
        cov = (plain + noise + noise.T).reshape(k, 1, k, 1)
        belief = JointBelief(mean, cov, np.ones((k, 1)))
        found.append(float(belief.good_probability(np.argmax(mean, axis=0))[0]))
    assert np.ptp(found) < 1e-3

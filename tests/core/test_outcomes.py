"""Several outcomes of one replication: joint draws, what ties them, and everything done to each of them."""

from dataclasses import replace

import numpy as np
import oracles
import pytest

from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import (
    BlockBelief,
    CellBelief,
    SeveralOutcomes,
    anticipate,
    expecting,
    take_in,
)
from argbest.core.decision import Decision
from argbest.core.outcomes import (
    Basis,
    Follows,
    Outcomes,
    SharedNoise,
    kept_probability,
    known_exactly,
    means_of,
    noise_correlation,
    precision_root,
    standardised,
)
from argbest.core.replications import Replications, shocks
from argbest.core.setting import among_the_rest
from argbest.core.tally import Tally

K, C = 2, 3
COUNT = np.array([[3, 0, 1], [2, 5, 4]])


def prior(rng: np.random.Generator) -> Array:
    root = rng.standard_normal((K, C, C))
    return root @ np.swapaxes(root, -1, -2)


def posterior(cov: Array, noise: Array, count: IntArray = COUNT) -> BlockBelief:
    """Return the belief after so many replications, by inverting precisions."""
    after = np.linalg.inv(np.linalg.inv(cov) + np.eye(C) * (count / noise)[..., None, :])
    return BlockBelief(np.zeros((K, C)), np.asarray(after, float), noise)


def beliefs(seed: int = 3, n: int = 3) -> tuple[list[Array], list[BlockBelief]]:
    rng = np.random.default_rng(seed)
    priors = [prior(rng) for _ in range(n)]
    return priors, [posterior(each, rng.random((K, C)) + 0.3) for each in priors]


def covariance_of_draws(belief: Outcomes) -> Array:
    """Draws are linear in the normals: one draw from every unit vector shows their covariance exactly."""
    size = belief.layers * K * C
    moved = belief.draw(np.eye(size).reshape(size, belief.layers, K, C)) - means_of(belief)
    root = moved.reshape(size, -1)
    return np.asarray(root.T @ root)


def dense(belief: BlockBelief) -> Array:
    return oracles.dense(belief).cov


CORRELATION = np.array([[1.0, 0.7, -0.4], [0.7, 1.0, 0.2], [-0.4, 0.2, 1.0]])


def test_draws_of_outcomes_have_the_covariance_that_the_noise_they_share_gives_them() -> None:
    _, (goal, *slacks) = beliefs()
    found = covariance_of_draws(Outcomes.of(goal, tuple(slacks), SharedNoise(CORRELATION, COUNT)))
    n = K * C
    for i, one in enumerate((goal, *slacks)):
        for j, other in enumerate((goal, *slacks)):
            told = COUNT / np.sqrt(one.noise * other.noise)
            tied = CORRELATION[i, j] * dense(one) @ np.diag(told.ravel()) @ dense(other)
            block = found[i * n : (i + 1) * n, j * n : (j + 1) * n]
            np.testing.assert_allclose(block, dense(one) if i == j else tied, atol=1e-9)


def test_covariances_that_are_made_some_at_a_time_give_the_same_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, (goal, *slacks) = beliefs()
    shared, normals = SharedNoise(CORRELATION, COUNT), np.random.default_rng(1).normal(size=(7, 6, K, C))
    at_once = Outcomes.of(goal, tuple(slacks), shared).draw(normals)
    asked: list[int] = []

    def counted(self: BlockBelief, alternative: IntArray, context: IntArray) -> Array:
        asked.append(alternative.shape[-1])
        return whole(self, alternative, context)

    whole = BlockBelief.cov_rows
    monkeypatch.setattr(BlockBelief, "cov_rows", counted)
    monkeypatch.setattr("argbest.core.outcomes._ROWS_AT_ONCE", 2 * K * C)
    np.testing.assert_allclose(
        Outcomes.of(goal, tuple(slacks), shared).draw(normals), at_once, rtol=0, atol=1e-12
    )
    assert max(asked) == 2 < (COUNT > 0).sum()


def test_outcomes_that_share_no_noise_are_drawn_apart() -> None:
    _, (goal, *slacks) = beliefs()
    for shared in (None, SharedNoise(np.eye(3), COUNT), SharedNoise(CORRELATION, np.zeros_like(COUNT))):
        found = covariance_of_draws(Outcomes.of(goal, tuple(slacks), shared))
        expected = np.zeros_like(found)
        for i, each in enumerate((goal, *slacks)):
            expected[i * 6 : i * 6 + 6, i * 6 : i * 6 + 6] = dense(each)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def exact(priors: list[Array], noise: list[Array], rho: float) -> Array:
    """The joint posterior covariance of two outcomes whose noise has the correlation rho."""
    flat = [oracles.dense(BlockBelief(np.zeros((K, C)), each, np.ones((K, C)))).cov for each in priors]
    n, precision = K * C, np.zeros((2 * K * C, 2 * K * C))
    told = COUNT.ravel() / (1.0 - rho**2)
    sd = [np.sqrt(each.ravel()) for each in noise]
    for i in range(2):
        for j in range(2):
            part = np.diag(told / (sd[i] * sd[j])) * (1.0 if i == j else -rho)
            precision[i * n : i * n + n, j * n : j * n + n] = part + (
                np.linalg.inv(flat[i]) if i == j else 0.0
            )
    return np.asarray(np.linalg.inv(precision))


def test_to_first_order_it_is_the_posterior_of_both_together() -> None:
    priors, (goal, slack) = beliefs(n=2)
    n = K * C
    errors = []
    for rho in (0.02, 0.04):
        shared = SharedNoise(np.array([[1.0, rho], [rho, 1.0]]), COUNT)
        found = covariance_of_draws(Outcomes.of(goal, (slack,), shared))[:n, n:]
        expected = exact(priors, [goal.noise, slack.noise], rho)[:n, n:]
        errors.append(np.abs(found - expected).max() / np.abs(expected).max())
    assert errors[1] < 0.01  # of the size of rho²
    assert errors[1] / errors[0] == pytest.approx(4.0, rel=0.1)


def test_outcomes_of_many_studies_at_once_are_drawn_as_those_of_each() -> None:
    pairs = [beliefs(seed)[1] for seed in range(4)]
    shared = SharedNoise(CORRELATION, COUNT)
    normals = np.random.default_rng(0).standard_normal((5, 4, 6, K, C))
    several = [
        BlockBelief(
            *(np.stack([getattr(each[i], name) for each in pairs]) for name in ("mean", "cov", "noise"))
        )
        for i in range(3)
    ]
    at_once = Outcomes.of(several[0], tuple(several[1:]), shared).draw(normals)
    assert at_once.shape == (5, 4, 3, K, C)
    for run, (goal, *slacks) in enumerate(pairs):
        alone = Outcomes.of(goal, tuple(slacks), shared).draw(normals[:, run])
        np.testing.assert_allclose(at_once[:, run], alone, atol=1e-10)


def test_where_alternatives_share_random_numbers_the_precision_is_that_of_all_replications_together() -> None:
    noise = np.array([[1.0, 4.0], [2.0, 0.5], [0.3, 1.0]])
    rho = np.array([0.6, 0.2])
    told = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 1), (2, 0, 1), (1, 0, 2), (0, 1, 0), (1, 1, 0)]
    alone = [(2, 1), (0, 0)]  # replications whose numbers nobody shares
    k, c, number = (np.array(each) for each in zip(*told, strict=True))
    shown = Replications(k, c, number, np.zeros(len(k)))
    count = np.zeros((3, 2), np.int64)
    for pair in [(a, b) for a, b, _ in told] + alone:
        count[pair] += 1
    k_told, c_told = np.nonzero(count)
    pairs = np.asarray(k_told, np.int64), np.asarray(c_told, np.int64)
    every = [*told, *((a, b, -1 - i) for i, (a, b) in enumerate(alone))]
    cov = np.zeros((len(every), len(every)))
    for i, (a, b, r) in enumerate(every):
        for j, (a2, b2, r2) in enumerate(every):
            if b == b2 and r == r2:
                share = 1.0 if i == j else rho[b]
                cov[i, j] = share * np.sqrt(noise[a, b] * noise[a2, b2])
    which = np.array([[(a, b) == pair for pair in zip(*pairs, strict=True)] for a, b, _ in every], float)
    expected = which.T @ np.linalg.solve(cov, which)
    root = precision_root(noise, count, shocks(shown, noise, rho), pairs)
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-9)
    first, later = shown[:-1], told[-1]  # one that the belief took in after it was made counts alike
    where = Decision(np.array(later[0]), np.array(later[1]))
    grown = shocks(first, noise, rho).add(where, np.array(later[2]), np.array(0.0))
    np.testing.assert_allclose(precision_root(noise, count, grown, pairs), root, atol=1e-12)
    plain = precision_root(noise, count, None, pairs)
    np.testing.assert_allclose(plain @ plain.T, np.diag((count / noise)[pairs]))


def test_the_correlation_of_the_noise_is_pooled_over_pairs_in_units_of_their_noise() -> None:
    rng = np.random.default_rng(8)
    sd = np.exp(rng.standard_normal((3, K, C)))
    root = np.linalg.cholesky(CORRELATION)
    values = np.einsum("ij,rjkc->rikc", root, rng.standard_normal((4000, 3, K, C))) * sd
    apart = values - values.mean(axis=0)
    products = np.einsum("rikc,rjkc->ijkc", apart, apart)
    found = noise_correlation(products, sd**2)
    flat = (apart / sd).transpose(0, 2, 3, 1).reshape(-1, 3)
    np.testing.assert_allclose(found, np.corrcoef(flat.T), atol=1e-4)
    np.testing.assert_allclose(found, CORRELATION, atol=0.03)  # 24,000 values: 4 standard errors


def test_outcomes_that_always_move_together_or_never_move_have_the_correlations_that_this_means() -> None:
    x = np.array([1.0, -1.0, 2.0, -2.0])
    values = np.stack([x, -3 * x, 0 * x])
    products = (values @ values.T)[..., None, None]
    noise = np.array([2.0, 18.0, 0.0])[:, None, None]
    assert noise_correlation(products, noise).tolist() == [[1, -1, 0], [-1, 1, 0], [0, 0, 1]]
    nothing = noise_correlation(
        np.zeros((2, 2, 1, 1)), np.ones((2, 1, 1))
    )  # single replications tell nothing
    assert nothing.tolist() == [[1, 0], [0, 1]]


def test_outcomes_that_are_copies_of_each_other_are_drawn_as_copies() -> None:
    """The goal is profit and the limit is on the same profit: after many replications they move together."""
    rng = np.random.default_rng(5)
    cov = prior(rng) * 1e6
    many = np.full((K, C), 50)
    goal = posterior(cov, np.ones((K, C)), many)
    shared = SharedNoise(np.ones((2, 2)), many)
    draws = Outcomes.of(goal, (goal,), shared).draw(rng.standard_normal((50, 4, K, C)))
    np.testing.assert_allclose(draws[:, 0], draws[:, 1], atol=5e-3 * np.sqrt(goal.var.max()))


def test_a_replication_changes_every_outcome_and_one_under_way_shrinks_all_variances() -> None:
    _, (goal, slack) = beliefs(n=2)
    both, where = Outcomes.of(goal, (slack,)), Decision(np.array(1), np.array(2))
    told = both.update(where, np.array([1.0, -2.0]))
    later = take_in(both, where, np.array([1.0, -2.0]), np.array(0))
    assert offers(later, SeveralOutcomes)
    np.testing.assert_allclose(later.goal.mean, goal.update(where, np.array(1.0)).mean)
    np.testing.assert_allclose(later.slacks[0].mean, slack.update(where, np.array(-2.0)).mean)
    np.testing.assert_allclose(told.slacks[0].var, later.slacks[0].var)
    pending = np.zeros((K, C), np.int64)
    pending[1, 2] = 2
    for expected in (expecting(both, pending), anticipate(both, where, 2)):
        assert offers(expected, SeveralOutcomes)
        np.testing.assert_allclose(
            expected.slacks[0].var, slack.update(where, np.array(0.0), 2).var, atol=1e-12
        )
        np.testing.assert_allclose(expected.goal.var, goal.update(where, np.array(0.0), 2).var, atol=1e-12)
        np.testing.assert_allclose(means_of(expected), means_of(both))


def test_pairs_that_are_ruled_out_surely_break_a_limit_unless_nothing_else_is_left() -> None:
    slack = CellBelief(np.array([[5.0, 5.0], [1.0, -1.0]]), np.ones((2, 2)), np.ones((2, 2)))
    both = Outcomes.of(replace(slack, mean=np.zeros((2, 2))), (slack, slack))
    out = np.array([[True, True], [False, True]])
    left = among_the_rest(both, out)
    chance = kept_probability(left)
    assert chance[0, 0] == 0.0
    assert chance[1, 0] == kept_probability(both)[1, 0]
    assert chance[:, 1].tolist() == kept_probability(both)[:, 1].tolist()
    assert left.mean.tolist() == both.mean.tolist()


def test_a_slack_that_is_known_keeps_its_limit_or_does_not() -> None:
    known = CellBelief(np.array([[0.0], [1e-300], [-1e-300]]), np.zeros((3, 1)), np.ones((3, 1)))
    assert standardised(known)[:, 0].tolist() == [np.inf, np.inf, -np.inf]
    assert kept_probability(Outcomes.of(known, (known,)))[:, 0].tolist() == [1.0, 1.0, 0.0]


def test_a_sum_without_noise_is_known_where_it_was_simulated_and_a_rate_never() -> None:
    count, still = np.array([[2, 1], [3, 0]]), np.zeros((2, 2))
    staff = Tally(count, np.array([[4.0, 5.0], [0.1 + 0.2, 0.0]]), still)
    moves = Tally(count, staff.mean, np.array([[0.0, 0.0], [1e-9, 0.0]]))
    rate = Tally(count, np.array([[0.0, 1.0], [1.0, 0.0]]), still)
    once = Tally(np.minimum(count, 1), staff.mean, still)
    found = known_exactly([staff, moves, rate, once])
    assert found is not None
    np.testing.assert_array_equal(found[0], [[4.0, 5.0], [0.1 + 0.2, np.nan]])
    assert np.isnan(found[1:]).all()
    assert known_exactly([moves, rate, once]) is None
    assert known_exactly([replace(rate, mean=-rate.mean)]) is None  # of a goal that is to be small
    m2 = np.stack([staff.m2, moves.m2])
    several = known_exactly([Tally(np.stack([count, count]), np.stack([staff.mean, moves.mean]), m2)])
    assert several is not None
    np.testing.assert_array_equal(several[0], found[:1])
    assert np.isnan(several[1]).all()


def test_a_limit_that_a_known_sum_just_meets_is_kept() -> None:
    basis = Basis(((1.0, 0.0), (0.0, 1.0)), (Follows(0, 1.0, 0.0), Follows(1, -1.0, 0.3)))
    wide = CellBelief(np.array([[1.0], [2.0], [3.0]]), np.ones((3, 1)), np.ones((3, 1)))
    sums = [wide, replace(wide, mean=np.full((3, 1), 0.3))]
    exact = np.array([[[np.nan]] * 3, [[0.1 + 0.2], [0.31], [np.nan]]])
    belief = Outcomes(tuple(sums), basis, exact=exact)
    np.testing.assert_allclose(kept_probability(belief), [[1.0], [0.0], [0.5]], atol=1e-12)
    slack = belief.draw(np.random.default_rng(1).normal(size=(50, belief.layers, 3, 1)))[:, 1, :, 0]
    np.testing.assert_allclose(slack[:, :2], np.tile([0.0, -0.01], (50, 1)), atol=1e-12)
    assert (slack[:, 0] >= 0).all()
    assert 5 < (slack[:, 2] >= 0).sum() < 45

import math

import numpy as np
import oracles
import pytest
from scipy.special import log_ndtr
from scipy.stats import norm

from argbest.core.arrays import Array
from argbest.core.belief import Belief, BlockBelief, CellBelief, anticipate, best
from argbest.core.decision import Decision
from argbest.core.question import BEST, Contrasts
from argbest.core.setting import Setting
from argbest.core.tally import empty
from argbest.errors import InputError
from argbest.policies import dvr
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM, DVRLoss, log_false_selection, log_reduction, log_tie_density
from argbest.streams import Purpose, StepDraws


def decide(policy: Policy, belief: Belief, weights: Array, allowed: Array | None = None) -> tuple[int, int]:
    shape = belief.mean.shape
    may = np.ones(shape[1], bool) if allowed is None else allowed.astype(bool)
    where = Setting(weights, np.zeros((1, shape[1], shape[1])), may)
    found = policy.propose(belief, empty(shape), np.zeros(shape, int), where, StepDraws(0, Purpose.POLICY))
    return int(found.alternative[0]), int(found.context[0])


def leads(belief: Belief) -> Contrasts:
    return BEST.contrasts(belief, BEST.choice(belief))


def surface(belief: Belief, weights: Array) -> Array:
    with np.errstate(divide="ignore"):
        return log_reduction(leads(belief), log_tie_density(leads(belief)) + np.log(weights))


def literal(belief: BlockBelief, weights: Array) -> Array:
    """a(k, c) of independent alternatives, in loops."""
    n_alternatives, n_contexts = belief.mean.shape
    density = np.zeros((n_alternatives, n_contexts))
    for c in range(n_contexts):
        b = int(np.argmax(belief.mean[:, c]))
        for k in range(n_alternatives):
            if k != b:
                tau2 = belief.var[b, c] + belief.var[k, c]
                density[k, c] = norm.pdf((belief.mean[b, c] - belief.mean[k, c]) / math.sqrt(tau2)) / tau2
                density[b, c] += density[k, c]
    out = np.zeros((n_alternatives, n_contexts))
    for k, c in np.ndindex(n_alternatives, n_contexts):
        for x in range(n_contexts):
            out[k, c] += weights[x] * density[k, x] * belief.cov[k, x, c] ** 2
        out[k, c] /= belief.var[k, c] + belief.noise[k, c]
    return out


@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_bounds_rule_out_no_largest_value(spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dvr, "_SMALL_TABLE", 0)
    rng = np.random.default_rng(5)
    some = oracles.random_belief(rng, (30,), (6, 5))
    belief = BlockBelief(spread * some.mean, some.cov, some.noise)
    candidates = rng.random((30, 6, 5)) < 0.6
    cost = rng.random((6, 5)) + 0.5
    density = log_tie_density(leads(belief))
    every = np.where(candidates, log_reduction(leads(belief), density, cost=cost), -np.inf)
    some_of_them = np.where(candidates, log_reduction(leads(belief), density, candidates, cost), -np.inf)
    np.testing.assert_array_equal(some_of_them.max(axis=(1, 2)), every.max(axis=(1, 2)))
    looked_at = some_of_them > -np.inf
    np.testing.assert_array_equal(some_of_them[looked_at], every[looked_at])
    assert spread < 100 or looked_at.mean() < 0.5  # where differences are clear most are out


def by_updating(belief: Belief, weights: Array) -> Array:
    """Σ w g (τ² now − τ² after one more sample), with the variances of differences before and after."""
    selected, before = best(belief), belief.difference_var(best(belief))
    out = np.zeros(belief.mean.shape)
    for j, c in np.ndindex(*belief.mean.shape):
        after = anticipate(belief, Decision(np.array(j), np.array(c))).difference_var(selected)
        for k, x in np.ndindex(*belief.mean.shape):
            if k != selected[x]:
                gap = belief.mean[selected[x], x] - belief.mean[k, x]
                density = norm.pdf(gap / math.sqrt(before[k, x])) / before[k, x]
                out[j, c] += weights[x] * density * (before[k, x] - after[k, x])
    return out


def test_it_is_the_weighted_sum_in_loops() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 6)))
        belief, weights = oracles.random_belief(rng, (), shape), rng.random(shape[1])
        expected = literal(belief, weights)
        ratio = np.exp(surface(belief, weights)) / expected
        np.testing.assert_allclose(ratio, math.sqrt(2 * math.pi), rtol=1e-10)  # the constant of φ is left out
        assert decide(DVR(), belief, weights) == divmod(int(np.argmax(expected)), shape[1])


def test_it_is_the_variance_that_an_update_removes_from_the_differences() -> None:
    rng = np.random.default_rng(1)
    block, weights = oracles.random_belief(rng, (), (3, 2)), np.array([0.3, 0.7])
    root = rng.standard_normal((6, 6))
    for belief in (block, oracles.dense(block), oracles.DenseBelief(block.mean, root @ root.T, block.noise)):
        ratio = np.exp(surface(belief, weights)) / by_updating(belief, weights)
        np.testing.assert_allclose(ratio, math.sqrt(2 * math.pi), rtol=1e-9)


def expected_loss(belief: Belief, var: Array, weights: Array) -> float:
    """Σ w τ (φ(z) − z Φ(−z)) over the differences to the best, τ² as given."""
    total = 0.0
    for k, c in np.ndindex(*belief.mean.shape):
        b = int(np.argmax(belief.mean[:, c]))
        if k != b:
            tau = math.sqrt(var[k, c])
            z = (belief.mean[b, c] - belief.mean[k, c]) / tau
            total += weights[c] * tau * (norm.pdf(z) - z * norm.cdf(-z))
    return total


def test_dvr_for_the_loss_removes_most_expected_loss_by_a_small_sample() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        block, weights = oracles.random_belief(rng, (), (3, 4)), rng.random(4)
        faint = BlockBelief(block.mean, block.cov, np.full((3, 4), 1e5))  # first order is all there is
        selected = best(faint)
        now = expected_loss(faint, faint.difference_var(selected), weights)
        removed = np.zeros((3, 4))
        for j, c in np.ndindex(3, 4):
            after = anticipate(faint, Decision(np.array(j), np.array(c))).difference_var(selected)
            removed[j, c] = now - expected_loss(faint, after, weights)
        density = log_tie_density(leads(faint), power=0.5) + np.log(weights)
        ratio = np.exp(log_reduction(leads(faint), density)) / removed
        np.testing.assert_allclose(ratio, 2 * math.sqrt(2 * math.pi), rtol=1e-3)
        assert decide(DVRLoss(), faint, weights) == divmod(int(np.argmax(removed)), 4)


def test_dvr_for_the_loss_leaves_a_narrow_tie_alone_sooner() -> None:
    # Context 0: a tie known to a hair; context 1: a wide one, not quite level.
    belief = CellBelief(
        np.array([[0.0, 1.0], [0.0, 0.0]]),
        np.array([[0.02, 1.0], [0.02, 1.0]]),
        np.array([[0.1, 9.0], [0.1, 9.0]]),
    )
    even = np.array([0.5, 0.5])
    assert decide(DVR(), belief, even)[1] == 0
    assert decide(DVRLoss(), belief, even)[1] == 1


def test_independent_dense_and_cell_beliefs_agree() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        block, weights = oracles.random_belief(rng), np.array([0.0, 0.2, 0.3, 0.5])
        np.testing.assert_allclose(
            surface(oracles.dense(block), weights), surface(block, weights), rtol=1e-10, atol=1e-10
        )
        cells = CellBelief(block.mean, block.var, block.noise)
        apart = BlockBelief(block.mean, block.var[..., None] * np.eye(4), block.noise)
        np.testing.assert_allclose(surface(cells, weights), surface(apart, weights), rtol=1e-12)


def test_what_alternatives_share_is_not_worth_learning() -> None:
    # Context 0: both uncertain but together, the difference is known well; context 1: each its own.
    cov = np.diag([4.0, 1.0, 4.0, 1.0])
    cov[0, 2] = cov[2, 0] = 3.999
    belief = oracles.DenseBelief(np.array([[1.0, 1.0], [0.0, 0.0]]), cov, np.ones((2, 2)))
    for policy in (DVR(), DVRLoss(), DVRM()):
        assert decide(policy, belief, np.array([0.5, 0.5]))[1] == 1


def test_densities_of_ties_keep_their_order_where_they_underflow() -> None:
    gap = np.array([100.0, 80.0, 90.0])
    belief = CellBelief(np.stack([gap, np.zeros(3)]), np.ones((2, 3)), np.ones((2, 3)))
    value = surface(belief, np.full(3, 1 / 3))
    expected = (
        -0.25 * gap**2 - np.log(2.0) - np.log(2.0) + np.log(1 / 3)
    )  # z² = gap²/2, τ² = 2, V²/(V + σ²) = ½
    np.testing.assert_allclose(value, np.stack([expected, expected]), rtol=1e-12)
    assert decide(DVR(), belief, np.full(3, 1 / 3))[1] == 1
    # Also when the dominating context may not be sampled and nothing else teaches about it.
    assert decide(DVR(), belief, np.full(3, 1 / 3), np.array([1, 0, 1]))[1] == 2
    assert decide(DVRM(), belief, np.full(3, 1 / 3), np.array([1, 0, 1]))[1] == 2


def test_a_known_difference_asks_for_nothing() -> None:
    # In context 0 both rewards are known and tie; in context 1 there is still something to learn.
    belief = CellBelief(
        np.array([[1.0, 9.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]]), np.ones((2, 2))
    )
    for policy in (DVR(), DVRLoss(), DVRM()):
        assert decide(policy, belief, np.array([0.5, 0.5]))[1] == 1


def test_the_best_is_sampled_when_it_is_part_of_many_close_differences() -> None:
    belief = CellBelief(np.array([[0.1]] + [[0.0]] * 5), np.ones((6, 1)), np.ones((6, 1)))
    for policy in (DVR(), DVRLoss(), DVRM()):
        assert decide(policy, belief, np.ones(1)) == (0, 0)


def test_the_weights_of_dvr_m_are_powers_of_the_false_selection_bound() -> None:
    rng = np.random.default_rng(3)
    for power in (0.5, 3.0, 50.0):
        belief = oracles.random_belief(rng, (), (4, 5))
        selected = best(belief)
        bound = np.zeros(5)
        for k, c in np.ndindex(4, 5):
            if k != selected[c]:
                tau = math.sqrt(belief.var[selected[c], c] + belief.var[k, c])
                bound[c] += norm.cdf(-(belief.mean[selected[c], c] - belief.mean[k, c]) / tau)
        bound = np.minimum(bound, 1.0)
        np.testing.assert_allclose(np.exp(log_false_selection(leads(belief))), bound, rtol=1e-12)
        expected = divmod(int(np.argmax(literal(belief, bound**power))), 5)
        for weights in (np.full(5, 0.2), np.array([1.0, 0, 0, 0, 0])):  # the problem's weights do not enter
            assert decide(DVRM(power=power), belief, weights) == expected


def test_the_false_selection_bound_is_at_most_one() -> None:
    belief = CellBelief(np.zeros((6, 1)), np.ones((6, 1)), np.ones((6, 1)))  # five rivals with Φ(0) = ½ each
    assert log_false_selection(leads(belief)) == 0.0


def test_a_high_power_looks_at_the_worst_context() -> None:
    # Context 0 has the larger density of a tie through its small variance, context 1 the larger bound.
    belief = CellBelief(
        np.array([[0.3, 1.0], [0.0, 0.0]]), np.array([[0.02] * 2, [2.0] * 2]).T, np.ones((2, 2))
    )
    even = np.array([0.5, 0.5])
    tail = log_ndtr(-np.array([0.3 / math.sqrt(0.04), 1.0 / 2.0]))
    assert tail[0] < tail[1]
    assert decide(DVRM(power=100.0), belief, even)[1] == 1
    assert decide(DVRM(power=1e-6), belief, even)[1] == decide(DVR(), belief, even)[1]


def test_a_wrong_power_is_refused() -> None:
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="power must be a number finite and above 0"):
            DVRM(power=wrong)

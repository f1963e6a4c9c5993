"""IKG, and the properties it shares with the other policies that maximise a value of information."""

import math

import numpy as np
import oracles
import pytest
from scipy.stats import norm

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, BlockBelief, CellBelief, anticipate
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Policy
from argbest.policies.dvr import DVR, DVRM
from argbest.policies.ikg import IKG, LEVI, log_ikg
from argbest.streams import Purpose, StepDraws

POLICIES: list[Policy] = [IKG(), IKG(lookahead=math.inf), LEVI(), DVR(), DVRM()]


def setting(n_contexts: int, weights: Array | None = None, allowed: Array | None = None) -> Setting:
    return Setting(
        np.full(n_contexts, 1 / n_contexts) if weights is None else weights,
        np.zeros((1, n_contexts, n_contexts)),
        np.ones(n_contexts, bool) if allowed is None else allowed.astype(bool),
    )


def decide(
    policy: Policy,
    belief: Belief,
    where: Setting | None = None,
    *,
    n: int = 1,
    step: int = 0,
    runs: IntArray | int = 0,
    pending: IntArray | None = None,
) -> Decision:
    shape = belief.mean.shape
    nothing = np.zeros(shape, int)
    tally = Tally(nothing, np.zeros(shape), np.zeros(shape))
    draws = StepDraws(runs, Purpose.POLICY, step)
    pending = nothing if pending is None else pending
    return policy.propose(belief, tally, pending, where or setting(shape[-1]), draws, n)


def pairs(decision: Decision) -> list[tuple[int, int]]:
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def literal_ikg(belief: Belief, weights: Array, noise_share: float = 1.0) -> Array:
    """IKG in loops: for every pair and context a gain s φ(d/s) − d Φ(−d/s), from covariances one by one."""
    n_alternatives, n_contexts = belief.mean.shape
    out = np.zeros((n_alternatives, n_contexts))
    for k, c in np.ndindex(n_alternatives, n_contexts):
        cov = belief.cov_with(Decision(np.array(k), np.array(c)))
        for x in range(n_contexts):
            s = abs(cov[k, x]) / math.sqrt(belief.var[k, c] + noise_share * belief.noise[k, c])
            d = abs(belief.mean[k, x] - max(belief.mean[j, x] for j in range(n_alternatives) if j != k))
            out[k, c] += weights[x] * (s * norm.pdf(d / s) - d * norm.cdf(-d / s))
    return out


def every_value(belief: Belief, weights: Array, lookahead: float = 1.0) -> Array:
    """Log IKG of each pair: as the only candidate none is ruled out by the bound."""
    out = np.empty(belief.mean.shape)
    for pair in np.ndindex(*belief.mean.shape):
        only = np.zeros(belief.mean.shape, bool)
        only[pair] = True
        out[pair] = log_ikg(belief, weights, only, lookahead=lookahead)[pair]
    return out


@pytest.mark.parametrize("lookahead", [1.0, 7.0, math.inf])
def test_it_is_the_sum_over_contexts_in_loops(lookahead: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 6)))
        belief, weights = oracles.random_belief(rng, (), shape), rng.random(shape[1])
        expected = literal_ikg(belief, weights, 1 / lookahead)
        np.testing.assert_allclose(np.exp(every_value(belief, weights, lookahead)), expected, rtol=1e-9)
        [pair] = pairs(decide(IKG(lookahead=lookahead), belief, setting(shape[1], weights)))
        assert pair == divmod(int(np.argmax(expected)), shape[1])


def test_it_is_the_expected_rise_of_the_best_means_when_beliefs_are_updated() -> None:
    rng = np.random.default_rng(1)
    block = oracles.random_belief(rng, (), (3, 2))
    root = rng.standard_normal((6, 6))
    weights = np.array([0.3, 0.7])
    z = np.linspace(-9, 9, 4001)
    for belief in (block, oracles.DenseBelief(block.mean, root @ root.T, block.noise)):
        now = weights @ belief.mean.max(axis=0)
        for (k, c), value in np.ndenumerate(every_value(belief, weights)):
            where, sd = Decision(np.array(k), np.array(c)), np.sqrt(belief.var[k, c] + belief.noise[k, c])
            later = [
                weights @ belief.update(where, np.array(belief.mean[k, c] + sd * x)).mean.max(axis=0)
                for x in z
            ]
            rise = np.trapezoid((np.array(later) - now) * norm.pdf(z), z)
            assert math.exp(value) == pytest.approx(rise, rel=1e-4)


def test_a_belief_held_densely_or_by_cells_gives_the_same() -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        block, weights = oracles.random_belief(rng), rng.random(4)
        np.testing.assert_allclose(
            every_value(oracles.dense(block), weights), every_value(block, weights), rtol=1e-11
        )
        cells = CellBelief(block.mean, block.var, block.noise)
        apart = BlockBelief(block.mean, block.var[..., None] * np.eye(4), block.noise)
        np.testing.assert_allclose(every_value(cells, weights), every_value(apart, weights), rtol=1e-12)
        assert pairs(decide(LEVI(), cells)) == pairs(decide(IKG(), cells))


def test_the_noise_free_look_ahead_is_the_limit_of_long_ones() -> None:
    rng = np.random.default_rng(3)
    belief, weights = oracles.random_belief(rng), np.full(4, 0.25)
    limit = every_value(belief, weights, math.inf)
    np.testing.assert_allclose(every_value(belief, weights, 1e12), limit, rtol=1e-9)
    assert np.all(every_value(belief, weights, 1.0) < limit)


def test_it_credits_what_a_sample_teaches_elsewhere() -> None:
    # Context 0 teaches about 1 and 2 as well; context 3 is a little less certain but stands alone.
    cov = np.full((4, 4), 0.9)
    cov[3], cov[:, 3] = 0.0, 0.0
    np.fill_diagonal(cov, [1.0, 1.0, 1.0, 1.1])
    belief = BlockBelief(np.zeros((2, 4)), np.stack([cov, cov]), np.ones((2, 4)))
    assert pairs(decide(LEVI(), belief))[0][1] == 3
    assert pairs(decide(IKG(), belief))[0][1] != 3


def test_it_orders_values_far_below_the_smallest_number() -> None:
    # Gaps of 50 and more deviations of what a sample can move: every value underflows, the order does not.
    gap = np.array([60.0, 50.0, 55.0])
    belief = CellBelief(
        np.stack([np.zeros(3), -gap]), np.full((2, 3), 1.0), np.array([[9.0] * 3, [1e-12] * 3])
    )
    values = every_value(belief, np.full(3, 1 / 3))
    assert np.all(values < -1200)
    for policy in POLICIES:
        assert pairs(decide(policy, belief))[0][1] == 1
        draws = {pairs(decide(policy, belief, step=step))[0] for step in range(20)}
        assert len(draws) <= 2  # a tie of the two alternatives at most, where noise does not enter
        for c in range(3):
            only = setting(3, allowed=np.arange(3) == c)
            assert pairs(decide(policy, belief, only))[0][1] == c
    # Correlated contexts, blocks: the same order from the sum over contexts.
    prior = 0.5 * np.eye(3) + 0.5
    block = BlockBelief(belief.mean, np.stack([prior, prior]), np.full((2, 3), 0.1))
    assert pairs(decide(IKG(), block)) == pairs(decide(IKG(), oracles.dense(block)))
    assert pairs(decide(IKG(), block))[0][1] == 1
    assert pairs(decide(DVR(), block))[0][1] == 1


def test_the_bound_rules_out_no_largest_value() -> None:
    rng = np.random.default_rng(4)
    for scale in (0.01, 1.0, 30.0, 1e4):
        belief = oracles.random_belief(rng, (20,), (4, 6))
        belief = BlockBelief(scale * belief.mean, belief.cov, belief.noise)
        weights = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.0])
        score = log_ikg(belief, weights, np.ones((20, 4, 6), bool))
        for i in range(20):
            alone = BlockBelief(belief.mean[i], belief.cov[i], belief.noise[i])
            assert score[i].max() == every_value(alone, weights).max()


def test_a_context_without_weight_counts_for_nothing_but_may_be_sampled() -> None:
    rng = np.random.default_rng(5)
    belief = oracles.random_belief(rng, (), (3, 4))
    weights = np.array([0.5, 0.0, 0.5, 0.0])
    moved = belief.mean.copy()
    moved[:, [1, 3]] += rng.standard_normal((3, 2))
    other = BlockBelief(moved, belief.cov, belief.noise)
    np.testing.assert_allclose(every_value(other, weights), every_value(belief, weights), rtol=1e-12)
    only = setting(4, weights, np.array([0, 1, 0, 1]))
    assert pairs(decide(IKG(), belief, only))[0][1] in (1, 3)


def test_a_wrong_lookahead_is_refused() -> None:
    for wrong in (0, -1.0, math.nan, "one", True):
        with pytest.raises(InputError, match="lookahead must be a number of replications above 0"):
            IKG(lookahead=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_permuting_alternatives_and_contexts_permutes_the_decision(policy: Policy) -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        belief, weights = oracles.random_belief(rng, (), (4, 5)), rng.random(5)
        rows, columns = rng.permutation(4), rng.permutation(5)
        mixed = np.ix_(rows, columns)
        cov = belief.cov[np.ix_(rows, columns, columns)]
        shuffled = BlockBelief(belief.mean[mixed], cov, belief.noise[mixed])
        [(k, c)] = pairs(decide(policy, belief, setting(5, weights)))
        [(i, j)] = pairs(decide(policy, shuffled, setting(5, weights[columns])))
        assert (rows[i], columns[j]) == (k, c)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_shift_and_unit_change_nothing(policy: Policy, unit: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(10):
        belief = oracles.random_belief(rng, (), (4, 5))
        level = rng.standard_normal(5)  # a level per context: only differences inside a context count
        other = BlockBelief((belief.mean + level) * unit, belief.cov * unit**2, belief.noise * unit**2)
        assert pairs(decide(policy, other)) == pairs(decide(policy, belief))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shape", [(2, 1), (2, 4), (5, 1), (3, 4)])
def test_many_studies_at_once_equal_single_ones(policy: Policy, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(8)
    belief = oracles.random_belief(rng, (30,), shape)
    mean = rng.integers(0, 2, (30, *shape)).astype(float)
    noise = np.ones((30, *shape))
    cov = belief.cov.copy()
    cov[:15] = np.eye(shape[1])  # whole numbers in half of them: many ties
    pending = rng.integers(0, 2, (30, *shape))
    belief = BlockBelief(mean, cov, noise)
    many = decide(policy, belief, n=3, runs=np.arange(30), pending=pending)
    assert many.alternative.shape == (30, 3)
    for i in range(30):
        alone = BlockBelief(mean[i], cov[i], noise[i])
        one = decide(policy, alone, n=3, runs=i, pending=pending[i])
        assert pairs(one) == pairs(Decision(many.alternative[i], many.context[i]))


@pytest.mark.parametrize("policy", POLICIES)
def test_a_batch_conditions_on_its_earlier_decisions(policy: Policy) -> None:
    rng = np.random.default_rng(9)
    belief: Belief = oracles.random_belief(rng, (), (4, 5))
    full: Belief = oracles.dense(oracles.random_belief(rng, (), (3, 2)))
    for current in (belief, full):
        batch = pairs(decide(policy, current, n=4))
        for k, c in batch:
            assert pairs(decide(policy, current)) == [(k, c)]
            current = anticipate(current, Decision(np.array(k), np.array(c)))


@pytest.mark.parametrize("policy", POLICIES)
def test_independent_and_dense_beliefs_lead_to_the_same_decisions(policy: Policy) -> None:
    rng = np.random.default_rng(10)
    for _ in range(20):
        shape = (int(rng.integers(2, 5)), int(rng.integers(1, 5)))
        belief, where = oracles.random_belief(rng, (), shape), setting(shape[1], rng.random(shape[1]))
        assert pairs(decide(policy, belief, where)) == pairs(decide(policy, oracles.dense(belief), where))


@pytest.mark.parametrize("policy", POLICIES)
def test_ties_are_broken_evenly_and_reproducibly(policy: Policy) -> None:
    belief = CellBelief(np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2)))
    drawn = [pairs(decide(policy, belief, step=step))[0] for step in range(800)]
    assert drawn[:50] == [pairs(decide(policy, belief, step=step))[0] for step in range(50)]
    chances = np.array([drawn.count((k, c)) for k, c in np.ndindex(2, 2)]) / 800
    assert np.all(np.abs(chances - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 800))  # false alarm 3e-6


@pytest.mark.parametrize("policy", POLICIES)
def test_only_allowed_contexts_are_simulated(policy: Policy) -> None:
    belief = oracles.random_belief(np.random.default_rng(11), (2,), (4, 5))
    allowed = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 0]])
    found = decide(policy, belief, setting(5, allowed=allowed), n=6, runs=np.arange(2))
    assert set(found.context[0].tolist()) <= {0, 3}
    assert set(found.context[1].tolist()) == {2}


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_left_to_learn_still_gives_a_valid_pair(policy: Policy) -> None:
    known = CellBelief(np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros((2, 2)), np.zeros((2, 2)))
    [(k, c)] = pairs(decide(policy, known, setting(2, allowed=np.array([0, 1]))))
    assert k in (0, 1)
    assert c == 1

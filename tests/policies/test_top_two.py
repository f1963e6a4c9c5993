import math
from dataclasses import dataclass, field

import numpy as np
import oracles
import pytest
from scipy.special import ndtri

from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, BlockBelief, CellBelief, anticipate
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import empty
from argbest.errors import InputError
from argbest.policies.top_two import TopTwo
from argbest.streams import Purpose, StepDraws

REDRAWS = 8


def setting(n_contexts: int, weights: Array | None = None, allowed: Array | None = None) -> Setting:
    return Setting(
        np.full(n_contexts, 1 / n_contexts) if weights is None else weights,
        np.zeros((1, n_contexts, n_contexts)),
        np.ones(n_contexts, bool) if allowed is None else allowed.astype(bool),
    )


def decide(
    belief: Belief,
    where: Setting | None = None,
    *,
    policy: TopTwo = TopTwo(),  # noqa: B008
    n: int = 1,
    step: int = 0,
    runs: IntArray | int = 0,
    pending: IntArray | None = None,
) -> Decision:
    shape = belief.mean.shape
    draws = StepDraws(3 + runs, Purpose.POLICY, step)
    pending = np.zeros(shape, int) if pending is None else pending
    return policy.propose(belief, empty(shape), pending, where or setting(shape[-1]), draws, n)


def pairs(decision: Decision) -> list[tuple[int, int]]:
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def literal(belief: Belief, weights: Array, beta: float, step: int) -> tuple[tuple[int, int], bool]:
    """The rule in loops for a single study, and whether it had to fall back on the closest pair."""
    n_alternatives, n_contexts = belief.mean.shape
    draws = StepDraws(3, Purpose.POLICY, step)
    size = n_alternatives * n_contexts

    def leaders(number: int) -> list[int]:
        uniform = [float(draws.uniform(2 + number * size + i)) for i in range(size)]
        table = belief.draw(ndtri(np.array(uniform)).reshape(1, n_alternatives, n_contexts))[0]
        return [int(np.argmax(table[:, c])) for c in range(n_contexts)]

    side = 0 if float(draws.uniform(0)) < beta else 1
    first = leaders(0)
    for number in range(1, 1 + REDRAWS):
        second = leaders(number)
        disputed = [c for c in range(n_contexts) if first[c] != second[c] and weights[c] > 0]
        if disputed:
            left = float(draws.uniform(1)) * sum(weights[c] for c in disputed)
            for c in disputed:
                left -= weights[c]
                if left < 0:
                    return ((first, second)[side][c], c), False
    cost = {}
    spread = belief.difference_var(np.array(first))
    for k, c in np.ndindex(n_alternatives, n_contexts):
        if k != first[c] and weights[c] > 0:
            cost[k, c] = max(0.0, belief.mean[first[c], c] - belief.mean[k, c]) ** 2 / spread[k, c]
    k, c = min(cost, key=lambda pair: cost[pair])
    return ((first[c], k)[side], c), True


def test_it_takes_the_decisions_of_the_rule_in_loops() -> None:
    rng = np.random.default_rng(0)
    fallbacks = 0
    for step in range(120):
        shape = (int(rng.integers(2, 5)), int(rng.integers(1, 5)))
        block = oracles.random_belief(rng, (), shape)
        block = BlockBelief(block.mean * rng.choice([0.3, 3.0, 12.0]), block.cov, block.noise)
        belief: Belief = oracles.dense(block) if step % 2 else block
        weights = rng.random(shape[1])
        if shape[1] > 1:
            weights[0] = 0.0
        expected, fell_back = literal(belief, weights, 0.3, step)
        fallbacks += fell_back
        assert pairs(decide(belief, setting(shape[1], weights), policy=TopTwo(beta=0.3), step=step)) == [
            expected
        ]
    assert 20 < fallbacks < 100  # both ways were walked


def test_two_draws_that_never_disagree_lead_to_the_closest_call() -> None:
    # Gaps of 20 to 60 deviations; the closest in units of its deviation is alternative 2 in context 1.
    mean = np.array([[60.0, 40.0], [0.0, 0.0], [10.0, 20.0]])
    belief = CellBelief(mean, np.full((3, 2), 0.5), np.ones((3, 2)))
    drawn = [pairs(decide(belief, step=step))[0] for step in range(600)]
    assert set(drawn) == {(0, 1), (2, 1)}
    assert abs(drawn.count((0, 1)) / 600 - 0.5) < 5 * 0.5 / math.sqrt(600)  # false alarm 6e-7
    often = [pairs(decide(belief, policy=TopTwo(beta=0.9), step=step))[0] for step in range(600)]
    assert abs(often.count((0, 1)) / 600 - 0.9) < 5 * math.sqrt(0.9 * 0.1 / 600)


def test_disputed_contexts_are_chosen_in_proportion_to_their_weights() -> None:
    # With fifty equal alternatives two draws disagree practically everywhere.
    belief = CellBelief(np.zeros((50, 3)), np.ones((50, 3)), np.ones((50, 3)))
    weights = np.array([0.7, 0.3, 0.0])
    runs = np.arange(2000)
    wide = CellBelief(*(np.broadcast_to(a, (2000, 50, 3)) for a in (belief.mean, belief.var, belief.noise)))
    found = decide(wide, setting(3, weights), runs=runs)
    chances = np.bincount(found.context[:, 0], minlength=3) / 2000
    assert chances[2] == 0.0
    assert abs(chances[0] - 0.7) < 5 * math.sqrt(0.7 * 0.3 / 2000) + 0.01  # two draws may agree
    times = np.bincount(found.alternative[:, 0], minlength=50)
    assert np.sum((times - 40.0) ** 2 / 40.0) < 120  # chi-square, 49 degrees of freedom: false alarm 1e-7


def test_only_allowed_contexts_are_simulated_also_when_they_have_no_weight() -> None:
    belief = oracles.random_belief(np.random.default_rng(1), (2,), (4, 5))
    allowed = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 0]])
    for weights in (np.full(5, 0.2), np.array([0.0, 1.0, 0.0, 0.0, 0.0])):
        found = decide(belief, setting(5, weights, allowed), n=6, runs=np.arange(2))
        assert set(found.context[0].tolist()) <= {0, 3}
        assert set(found.context[1].tolist()) == {2}


@pytest.mark.parametrize("shape", [(2, 1), (3, 4)])
def test_many_studies_at_once_equal_single_ones(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    belief = oracles.random_belief(rng, (30,), shape)
    mean = belief.mean * np.geomspace(0.1, 30, 30)[:, None, None]
    pending = rng.integers(0, 2, (30, *shape))
    many = decide(
        BlockBelief(mean, belief.cov, belief.noise), n=3, runs=np.arange(30), step=4, pending=pending
    )
    assert many.alternative.shape == (30, 3)
    for i in range(30):
        alone = BlockBelief(mean[i], belief.cov[i], belief.noise[i])
        one = decide(alone, n=3, runs=i, step=4, pending=pending[i])
        assert pairs(one) == pairs(Decision(many.alternative[i], many.context[i]))


def test_chances_under_pending_trials_are_those_of_the_belief_given_them() -> None:
    """Against the rule in loops on NumPy's own draws from the covariance given the pending trials."""
    rng, runs = np.random.default_rng(6), 3000
    belief = oracles.random_belief(rng, (), (3, 2))
    belief = BlockBelief(0.1 * belief.mean, 4.0 * belief.cov, belief.noise)  # draws nearly always disagree
    pending, weights = np.array([[3, 1], [0, 2], [1, 0]]), np.array([0.3, 0.7])
    given = []
    for k in range(3):
        seen = np.diag(np.divide(pending[k], belief.noise[k]))
        given.append(np.linalg.inv(np.linalg.inv(belief.cov[k]) + seen))
    chances = np.zeros((3, 2))
    for _ in range(runs):
        first, *others = np.argmax(
            [rng.multivariate_normal(m, cov, 1 + REDRAWS) for m, cov in zip(belief.mean, given, strict=True)],
            axis=0,
        )
        disputes = [(second, np.flatnonzero(second != first)) for second in others]
        second, open_ = next(each for each in disputes if len(each[1]))  # the closest pair is not needed
        c = rng.choice(open_, p=weights[open_] / weights[open_].sum())
        chances[(first if rng.random() < 0.5 else second)[c], c] += 1 / runs
    wide = BlockBelief(
        *(np.broadcast_to(a, (runs, *a.shape)) for a in (belief.mean, belief.cov, belief.noise))
    )
    many = np.broadcast_to(pending, (runs, 3, 2))
    found = decide(wide, setting(2, weights), runs=np.arange(runs), pending=many)
    drawn = np.bincount(found.alternative[:, 0] * 2 + found.context[:, 0], minlength=6).reshape(3, 2) / runs
    assert np.all(np.abs(drawn - chances) < 5 * np.sqrt(2 * 0.25 / runs))  # false alarm below 4e-6


@dataclass
class Recorder:
    """Random numbers that remember which lanes were asked for."""

    lanes: list[int] = field(default_factory=list)

    def uniform(self, lane: int | IntArray = 0) -> Array:
        self.lanes += np.ravel(lane).tolist()
        return StepDraws(0, Purpose.POLICY).uniform(lane)


def test_no_random_number_is_used_twice_in_a_batch() -> None:
    belief = CellBelief(np.array([[30.0, 0.1], [0.0, 0.0]]), np.ones((2, 2)), np.ones((2, 2)))
    draws = Recorder()
    batch = TopTwo().propose(belief, empty((2, 2)), np.zeros((2, 2), int), setting(2), draws, 5)
    assert len(pairs(batch)) == 5
    assert len(draws.lanes) == len(set(draws.lanes))


def test_a_batch_conditions_on_its_earlier_decisions() -> None:
    """A second decision is taken from the narrower belief: with no noise, the first pair is settled."""
    mean = np.array([[0.0], [0.0], [-40.0]])
    belief = CellBelief(mean, np.ones((3, 1)), np.full((3, 1), 1e-12))
    for step in range(20):
        [(k, _), (j, _)] = pairs(decide(belief, n=2, step=step))
        narrow = anticipate(belief, Decision(np.array(k), np.array(0)))
        assert narrow.var[k, 0] < 1e-11
        assert j in (0, 1)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_shift_and_unit_change_nothing(unit: float) -> None:
    rng = np.random.default_rng(3)
    for step in range(30):
        belief = oracles.random_belief(rng, (), (3, 4))
        level = rng.standard_normal(4)
        other = BlockBelief((belief.mean + level) * unit, belief.cov * unit**2, belief.noise * unit**2)
        assert pairs(decide(other, step=step)) == pairs(decide(belief, step=step))


def test_alternatives_are_treated_alike() -> None:
    """Draws go by position, so a permutation permutes the chances, not the single decision."""
    rng = np.random.default_rng(4)
    belief = oracles.random_belief(rng, (), (3, 2))
    order = np.array([2, 0, 1])
    runs = np.arange(3000)
    chances = []
    for rows in (np.arange(3), order):
        wide = BlockBelief(
            *(np.broadcast_to(a[rows], (3000, *a.shape)) for a in (belief.mean, belief.cov, belief.noise))
        )
        found = decide(wide, runs=runs, step=int(rows[0]))
        cells = np.bincount(rows[found.alternative[:, 0]] * 2 + found.context[:, 0], minlength=6)
        chances.append(cells / 3000)
    assert np.all(np.abs(chances[0] - chances[1]) < 5 * math.sqrt(2 * 0.25 / 3000))  # false alarm 1e-5


def test_nothing_left_to_learn_still_gives_a_valid_pair() -> None:
    known = CellBelief(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)))
    drawn = {
        pairs(decide(known, setting(3, allowed=np.array([0, 1, 1])), step=step))[0] for step in range(60)
    }
    assert drawn == {(0, 1), (1, 1), (0, 2), (1, 2)}


@dataclass(frozen=True)
class Watchful(CellBelief):
    """A belief that refuses infinite draws."""

    def draw(self, normals: Array) -> Array:
        assert np.all(np.isfinite(normals))
        return super().draw(normals)


class Fixed:
    """The same table in every draw: the second of two alternatives always far up, the first far down."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def uniform(self, lane: int | IntArray = 0) -> Array:
        return np.where((np.asarray(lane) - 2) % 4 >= 2, self.high, self.low)


def test_the_smallest_uniform_number_is_no_infinite_draw() -> None:
    belief = Watchful(np.zeros((2, 2)), np.ones((2, 2)), np.ones((2, 2)))
    found = TopTwo().propose(belief, empty((2, 2)), np.zeros((2, 2), int), setting(2), Fixed(0.0, 0.0))
    assert pairs(found)


def test_a_leader_whose_mean_is_lower_than_its_rivals_is_the_closest_call() -> None:
    # The draws make alternative 1 lead; by the means it is far behind in context 0, just ahead in context 1.
    belief = CellBelief(np.array([[1.0, 0.0], [0.0, 0.1]]), np.ones((2, 2)), np.ones((2, 2)))
    found = TopTwo().propose(belief, empty((2, 2)), np.zeros((2, 2), int), setting(2), Fixed(0.01, 0.99))
    assert pairs(found)[0][1] == 0


def test_a_wrong_beta_is_refused() -> None:
    for wrong in (0.0, 1.0, -0.5, math.nan):
        with pytest.raises(InputError, match="beta must be a number between 0 and 1"):
            TopTwo(beta=wrong)

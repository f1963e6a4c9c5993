import math

import numpy as np
import oracles
from scipy.stats import norm

from argbest.core.arrays import Array
from argbest.core.belief import Belief, CellBelief
from argbest.core.decision import Decision
from argbest.core.knowledge_gradient import log_kg_in_own_context
from argbest.core.setting import Setting
from argbest.core.tally import empty
from argbest.policies.ikg import LEVI
from argbest.streams import Purpose, StepDraws


def decide(belief: Belief, weights: Array) -> tuple[int, int]:
    shape = belief.mean.shape
    where = Setting(weights, np.zeros((1, shape[1], shape[1])), np.ones(shape[1], bool))
    found = LEVI().propose(belief, empty(shape), np.zeros(shape, int), where, StepDraws(0, Purpose.POLICY))
    return int(found.alternative[0]), int(found.context[0])


def test_it_takes_the_decisions_of_the_formula_in_loops() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        shape = (int(rng.integers(2, 6)), int(rng.integers(1, 6)))
        belief, weights = oracles.random_belief(rng, (), shape), rng.random(shape[1])
        weights[0] = 0.0 if shape[1] > 1 else 1.0
        largest, expected = -1.0, (0, 0)
        for k, c in np.ndindex(*shape):
            v, mean = belief.var[k, c], belief.mean[:, c]
            s, d = v / math.sqrt(v + belief.noise[k, c]), abs(float(mean[k] - np.delete(mean, k).max()))
            gain = float(weights[c] * (s * norm.pdf(d / s) - d * norm.cdf(-d / s)))
            if gain > largest:
                largest, expected = gain, (k, c)
        assert decide(belief, weights) == expected


def test_a_weight_outweighs_a_closer_call() -> None:
    belief = CellBelief(
        np.array([[0.5, 1.0], [0.0, 0.0]]), np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones((2, 2))
    )
    assert decide(belief, np.array([0.5, 0.5])) == (1, 0)
    assert decide(belief, np.array([0.1, 0.9])) == (1, 1)
    assert decide(belief, np.array([0.0, 1.0])) == (1, 1)


def test_a_sample_that_moves_all_alternatives_together_is_worth_little() -> None:
    # Context 0: large variance, but common to both; context 1: smaller, each its own.
    cov = np.diag([4.0, 1.0, 4.0, 1.0])
    cov[0, 2] = cov[2, 0] = 3.999
    belief = oracles.DenseBelief(np.zeros((2, 2)), cov, np.ones((2, 2)))
    even = np.array([0.5, 0.5])
    assert decide(belief, even)[1] == 1
    assert decide(CellBelief(belief.mean, belief.var, belief.noise), even)[1] == 0
    # Two lines that cross at 0 gain E[(Δs Z)⁺], Δs the difference of the slopes of one sample.
    column = belief.cov_with(Decision(np.array(0), np.array(0)))[:, 0] / math.sqrt(5.0)
    expected = abs(column[0] - column[1]) / math.sqrt(2 * math.pi)
    assert math.isclose(math.exp(log_kg_in_own_context(belief)[0, 0]), expected, rel_tol=1e-9)

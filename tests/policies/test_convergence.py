"""Theorem "optimal rate": with an independent diffuse prior GP-C-OCBA's allocation converges to p*."""

import itertools

import numpy as np

from argbest.core import tally as tallies
from argbest.core.arrays import IntArray
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.core.false_selection import balance
from argbest.core.setting import Setting
from argbest.policies.ocba import GPCOCBA
from argbest.streams import Purpose, StepDraws

TRUTH = np.array([[1.0, 0.0], [0.4, 1.0], [0.0, 0.3]])
NOISE = np.array([[1.0, 0.5], [0.6, 1.0], [1.5, 0.8]])
RUNS = 20
CHECKPOINTS = (100, 400, 1600, 6400)


def counts_at_checkpoints() -> list[IntArray]:
    """Sample means with known variances, two replications of every pair, then the policy."""
    rng = np.random.default_rng(0)
    shape = (RUNS, *TRUTH.shape)
    tally = tallies.Tally(
        np.full(shape, 2), TRUTH + np.sqrt(NOISE / 2) * rng.standard_normal(shape), np.zeros(shape)
    )
    setting = Setting(np.array([0.5, 0.5]), np.zeros((1, 2, 2)), np.ones(2, bool))
    policy, nothing, kept = GPCOCBA(), np.zeros(shape, np.int64), []
    for n in range(int(tally.count[0].sum()), CHECKPOINTS[-1] + 1):
        if n in CHECKPOINTS:
            kept.append(tally.count)
        belief = CellBelief(tally.mean, NOISE / tally.count, np.broadcast_to(NOISE, shape))
        draws = StepDraws(np.arange(RUNS), Purpose.POLICY, n)
        found = policy.propose(belief, tally, nothing, setting, draws)
        decision = Decision(found.alternative[:, 0], found.context[:, 0])
        cell = (decision.alternative, decision.context)
        tally = tallies.add(tally, decision, TRUTH[cell] + np.sqrt(NOISE[cell]) * rng.standard_normal(RUNS))
    return kept


def test_the_allocation_converges_to_the_optimal_one_and_every_pair_keeps_being_sampled() -> None:
    kept = counts_at_checkpoints()
    states = [balance(TRUTH, NOISE, count / count.sum(axis=(-2, -1), keepdims=True)) for count in kept]
    distance = np.array([np.median(state.distance) for state in states])
    unbalance = np.array([np.median(np.abs(state.balance)) for state in states])
    efficiency = np.array([np.median(state.efficiency) for state in states])
    for n, d, b, e in zip(CHECKPOINTS, distance, unbalance, efficiency, strict=True):
        print(f"n = {n}: max |p - p*| {d:.3f}, balance residual {b:.3f}, min η/η* {e:.3f}")
    assert np.all(np.diff(distance) < 0)
    assert np.all(np.diff(unbalance) < 0)
    assert distance[-1] < 0.02
    assert efficiency[-1] > 0.9
    # Consistency: however seldom, every pair of every run is sampled again and again.
    for before, after in itertools.pairwise(kept[1:]):
        assert np.all(after > before)

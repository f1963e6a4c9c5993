"""What the tests of policies that decide from the tally alone have in common."""

import numpy as np
from scipy.optimize import brentq

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Policy
from argbest.streams import Draws, Purpose


def a_tally(rng: np.random.Generator, shape: tuple[int, ...]) -> Tally:
    count = rng.integers(2, 12, shape)
    return Tally(count, rng.standard_normal(shape), rng.chisquare(count - 1) * rng.choice([0.3, 1, 3], shape))


def variance(tally: Tally) -> Array:
    return np.asarray(tally.m2 / (tally.count - 1))


def filled(tally: Tally) -> Array:
    """Sample variances with a share of the pooled one where values tie, or a trace of the range of means."""
    tied, pooled = tally.m2 == 0.0, tally.m2.sum() / (tally.count - 1).sum()
    if tied.all():
        return np.full(tally.shape, (1e-12 * np.ptp(tally.mean)) ** 2)
    q = brentq(lambda q: float(np.sum((1 - q) ** (tally.count - 1.0))) - tied.sum(), 0.0, 1.0, xtol=1e-14)
    share = np.minimum(1.0, 0.5 / (tally.count + 1) / max(q, 1e-300))
    return np.where(tied, share * pooled, variance(tally))


def pairs(decision: Decision) -> list[tuple[int, int]]:
    return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))


def propose_by(
    policy: Policy,
    tally: Tally,
    n: int = 1,
    pending: IntArray | None = None,
    allowed: BoolArray | None = None,
) -> Decision:
    n_contexts = tally.shape[-1]
    everywhere = np.ones(n_contexts, bool) if allowed is None else allowed
    setting = Setting(np.full(n_contexts, 1 / n_contexts), np.zeros((1, n_contexts, n_contexts)), everywhere)
    # A belief that says the opposite of the data: these policies must not look at it.
    belief = CellBelief(-tally.mean, np.ones(tally.shape), np.ones(tally.shape))
    draws = Draws(np.zeros(tally.shape[:-2], int), Purpose.POLICY)
    under_way = np.zeros_like(tally.count) if pending is None else pending
    return policy.propose(belief, tally, under_way, setting, draws, n)

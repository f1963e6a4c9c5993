"""What the tests of policies that decide from the tally alone have in common."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import CellBelief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.policies.base import Policy
from argbest.streams import Purpose, StepDraws

Propose = Callable[..., Decision]  # tally, n, pending, allowed
Rule = Callable[[Array, Array, IntArray], tuple[int, int]]  # mean, variance, count: the rule in loops


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
    draws = StepDraws(np.zeros(tally.shape[:-2], int), Purpose.POLICY)
    under_way = np.zeros_like(tally.count) if pending is None else pending
    return policy.propose(belief, tally, under_way, setting, draws, n)


def assert_batches_count_earlier_decisions_and_what_is_pending(
    propose: Propose, rule: Rule, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        tally = a_tally(rng, shape)
        pending = rng.integers(0, 3, shape)
        count = tally.count + pending
        for k, c in pairs(propose(tally, 6, pending)):
            assert (k, c) == rule(tally.mean, variance(tally), count)  # means and variances as they were
            count[k, c] += 1


def assert_many_studies_at_once_equal_single_ones(
    propose: Propose, shape: tuple[int, int], *, ties: bool = True
) -> None:
    """Whole numbers, if ``ties`` are wanted, give ties at the top; only some contexts are allowed."""
    rng = np.random.default_rng(3)
    tally = a_tally(rng, (5, 10, *shape))
    tally = Tally(tally.count, np.round(tally.mean) if ties else tally.mean, tally.m2)
    pending = rng.integers(0, 2, tally.shape)
    allowed = rng.random((5, 10, shape[1])) < 0.5
    allowed[..., shape[1] // 2] = True
    many = propose(tally, 3, pending, allowed)
    assert many.alternative.shape == many.context.shape == (5, 10, 3)
    for i in np.ndindex(5, 10):
        one = propose(Tally(tally.count[i], tally.mean[i], tally.m2[i]), 3, pending[i], allowed[i])
        assert pairs(one) == pairs(Decision(many.alternative[i], many.context[i]))
        assert allowed[i][one.context].all()


def assert_defined_where_pairs_have_no_spread(
    propose: Propose, rule: Rule, shape: tuple[int, int], noisy: int
) -> None:
    """All but so many ``noisy`` pairs have values that agree."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        tally = a_tally(rng, shape)
        tally.m2.flat[rng.permutation(tally.m2.size)[noisy:]] = 0.0
        assert pairs(propose(tally)) == [rule(tally.mean, filled(tally), tally.count)]


def assert_one_replication_of_a_pair_is_refused(propose: Propose, shape: tuple[int, int]) -> None:
    tally, c = a_tally(np.random.default_rng(9), shape), shape[1] // 2
    tally.count[1, c] = 1
    with pytest.raises(InputError, match=rf"alternative 1 and context {c} .*has 1 rep.*initial=2"):
        propose(tally, pending=np.full(shape, 5))  # trials under way have no variance yet

"""Rates at which P(false selection) falls: under a belief, and of static allocations under a known truth.

ζ and ψ are those of Algorithm 1 (Cakmak, Gao and Zhou), η that of their Theorem 1: the only copies. Arrays
are [..., alternative, context] and larger is better. An allocation p holds the share of all replications that
each pair gets; all shares together sum to 1. ``noise`` is the variance of one replication.
"""

from typing import NamedTuple

import numpy as np

from argbest.core import certainty
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, CellBelief, gaps, of_selected
from argbest.core.decision import leading, of_each_context
from argbest.errors import InputError


def zeta(belief: Belief, selected: IntArray, closed: BoolArray | None = None) -> Array:
    """Return ζ(k, c) = (μ_b − μ_k)² / Var(f_b − f_k), [..., alternative, context].

    With independent alternatives the denominator is V_b + V_k. A difference known exactly has nothing left
    to learn, as that of b from itself: ζ is infinite there. ``closed`` is as in `open_var`.
    """
    gap = gaps(belief, selected)
    spread = open_var(belief, selected, closed)
    rate = np.empty(gap.shape)
    rate.fill(np.inf)
    gap *= gap
    return np.divide(gap, spread, out=rate, where=spread > 0)


def open_var(belief: Belief, selected: IntArray, closed: BoolArray | None = None) -> Array:
    """Return Var(f_b − f_k) with closed pairs taken for known, [..., alternative, context].

    What replications of (b, c) and (k, c) can remove, ``closed`` [alternative, context] being pairs that
    are never simulated: V_b where k is closed, V_k where b is, 0 where both are. With their variances left
    in, rates would stay below a bound, and all replications would go where they no longer help.
    """
    spread = belief.difference_var(selected)
    if closed is None:
        return spread
    closed = np.broadcast_to(closed, spread.shape)
    best_closed = closed[of_each_context(selected)][..., None, :]
    of_best = of_selected(belief.var, selected)[..., None, :]
    alone = np.where(best_closed, 0.0, of_best)
    return np.where(closed, alone, np.where(best_closed, belief.var, spread))


def psi(count: AnyArray, var: Array, selected: IntArray) -> tuple[Array, Array]:
    """Return ψ1 = N_b/V_b and ψ2 = Σ_{k≠b} N_k/V_k of a context with b ``selected``, each [...].

    ``count`` and ``var`` are [..., alternative]. Counts stand for the fractions p: only ψ1 < ψ2 inside one
    context is ever asked, so the divisor cancels. Where replications differ in cost, hand in what was spent
    on each pair, c N, in place of its count.
    """
    if var.min() > 0:  # by far the most common
        ratio = count / var
    else:
        ratio = np.where(count > 0, np.inf, 0.0)
        np.divide(count, var, out=ratio, where=var > 0)
    where = (*leading(selected.shape), selected)
    of_best = ratio[where]
    ratio[where] = 0.0
    # One after the other: rounding is then the same however many studies lie side by side.
    return of_best, np.add.accumulate(ratio, axis=-1)[..., -1]


_NEXT_TO_NO_REPLICATIONS = 1e-20  # of a pair that got none: its mean may come out as anything
_LEAST_NOISE = 1e-30  # least noise relative to the largest: shares go with its root, below 1e-14
_STEPS = 100  # Newton needs some 5, and 20 in the worst cases found


class Convergence(NamedTuple):
    """How far an allocation is from the optimal one; all but the efficiency vanish there."""

    balance: Array  # [..., context]: (p_b²/σ_b² − Σ p_k²/σ_k²) over the sum of the two, −1 to 1
    within: Array  # [..., context]: 1 − min_k η / max_k η, over the context's rivals
    across: Array  # [...]: the same over the rivals of all contexts
    distance: Array  # [...]: max |p − p*|
    efficiency: Array  # [...]: min η / η*, the share of the replications that p* needs for the same rate


def rate_function(truth: Array, noise: Array, allocation: Array) -> Array:
    """Return η(k, c) = (F_b − F_k)² / (σ_b²/p_b + σ_k²/p_k), infinite for k = b, 0 where p_k or p_b is 0.

    P(false selection) falls as exp(−n min η / 2) with n replications of a fixed allocation (Theorem 1,
    Cakmak, Gao and Zhou). It is ζ of Algorithm 1 at the truth, with σ²/p for the posterior variance.
    """
    truth, noise, allocation = np.broadcast_arrays(truth, noise, allocation)
    with np.errstate(over="ignore"):
        var = np.divide(noise, allocation, out=np.full(truth.shape, np.inf), where=allocation > 0)
    return zeta(CellBelief(truth, var, noise), _best(truth))


def optimal_allocation(truth: Array, noise: Array, *, cost: Array | None = None) -> tuple[Array, Array]:
    """Return the allocation p* [..., alternative, context] with the largest min η, and that rate η* [...].

    η is homogeneous in p, so contexts decouple: with d_k = F_b − F_k and u = σ_b²/p_b the least work for rate
    1 is T_c = σ_b²/u + Σ σ_k²/(d_k² − u), where σ_b²/u² = Σ σ_k²/(d_k² − u)², 0 < u < min d²; η* = 1/Σ_c T_c.
    All η are equal then and p_b²/σ_b² = Σ p_k²/σ_k² in every context (Lemma 1 of Gao, Du and Chen, 2019).

    A pair without noise gets a share of nearly 0: one replication of it says all. Tied best alternatives are
    refused, for no allocation has a positive rate; `separated` sets them apart by what one cares about.

    With a ``cost`` κ of a replication, the p* with the largest min η/Σκp, and that rate per unit of cost.
    Counted in money s = κp a mean has the variance κσ²/s: the same problem with the noise κσ².
    """
    if cost is not None:
        spent, rate = optimal_allocation(truth, noise * cost)
        share = spent / cost
        return share / share.sum(axis=(-2, -1), keepdims=True), rate
    truth, noise = np.broadcast_arrays(truth, noise)
    best = _best(truth)
    is_best = np.arange(truth.shape[-2])[:, None] == best[..., None, :]
    gap = of_selected(truth, best)[..., None, :] - truth
    nearest = np.where(is_best, np.inf, gap).min(axis=-2, keepdims=True)
    _refuse_ties(truth, nearest[..., 0, :])
    noise = _with_least_noise(noise)
    of_best = of_selected(noise, best)[..., None, :]
    gap = np.where(is_best, nearest, gap)
    weight = np.where(is_best, 0.0, noise / of_best) * (nearest / gap) ** 2
    # Everything in units of the nearest gap, with u = min d² / (1 + z): sums of positive terms alone, so that
    # no digit is lost however close u is to either end.
    shift = (gap - nearest) / gap * (1.0 + nearest / gap)
    z = _secular_root(np.sqrt(weight) * (nearest / gap), shift)[..., None, :]
    work = np.where(is_best, 1.0, weight / (z + shift)) * (1.0 + z)
    unit = np.sqrt(of_best) / nearest
    largest = unit.max(axis=-1, keepdims=True)
    work = work * (unit / largest) ** 2
    total = work.sum(axis=(-2, -1), keepdims=True)
    with np.errstate(over="ignore"):  # beyond all floats: one replication says all
        rate = (1.0 / largest) ** 2 / total
    return work / total, rate[..., 0, 0]


def separated(truth: Array, delta: float) -> Array:
    """Return the truth with every rival lowered until it is at least delta below the best of its context.

    The indifference zone in rates and allocations: d_k becomes max(d_k, δ). The best is the lowest index.
    """
    best = _best(truth)
    top = of_selected(truth, best)[..., None, :]
    is_best = np.arange(truth.shape[-2])[:, None] == best[..., None, :]
    return np.where(is_best, truth, np.minimum(truth, top - delta))


def balance(truth: Array, noise: Array, allocation: Array) -> Convergence:
    """Return how far an allocation is from p*: the residuals of Theorem "optimal rate", and what they cost.

    Cakmak, Gao and Zhou show that under GP-C-OCBA with an independent prior all residuals go to 0.
    """
    truth, noise, allocation = np.broadcast_arrays(truth, noise, allocation)
    best = _best(truth)
    optimum, rate = optimal_allocation(truth, noise)
    eta = rate_function(truth, noise, allocation)
    load = (allocation / np.sqrt(_with_least_noise(noise))) ** 2
    of_best = of_selected(load, best)
    total = load.sum(axis=-2)
    least = eta.min(axis=-2)
    most = np.where(np.arange(truth.shape[-2])[:, None] == best[..., None, :], -np.inf, eta).max(axis=-2)
    return Convergence(
        balance=_ratio(of_best - (total - of_best), total),
        within=1.0 - _ratio(least, most, 1.0),
        across=1.0 - _ratio(least.min(axis=-1), most.max(axis=-1), 1.0),
        distance=np.abs(allocation - optimum).max(axis=(-2, -1)),
        efficiency=least.min(axis=-1) / rate,
    )


def expected_pcs(
    truth: Array, noise: Array, allocation: Array, n: AnyArray | float, *, delta: float = 0.0
) -> Array:
    """Return PCS(c), the probability that the selection after n replications is right, [..., context].

    Right is within ``delta`` of the best: with 0 the best and what is tied with it. The rest is as in
    `selection_probability`.
    """
    chance = selection_probability(truth, noise, allocation, n)
    right = np.max(truth, axis=-2, keepdims=True) - truth <= delta
    return np.asarray(np.where(right, chance, 0.0).sum(axis=-2))


def selection_probability(truth: Array, noise: Array, allocation: Array, n: AnyArray | float) -> Array:
    """Return P(each has the largest sample mean after n replications), [..., alternative, context].

    Exact for a fixed allocation, whose counts N = n p may be fractional; n is a number or [...]. The sample
    means are independent N(F, σ²/N). A pair without replications is taken as one with next to none: it is
    above any simulated one with probability 1/2, in keeping with its rate of 0.
    """
    truth, noise, allocation = np.broadcast_arrays(truth, noise, allocation)
    count = np.asarray(n, float)[..., None, None] * allocation
    return certainty.best_probability(truth, np.sqrt(noise / np.maximum(count, _NEXT_TO_NO_REPLICATIONS)))


def _secular_root(a: Array, shift: Array) -> Array:
    """Return the z > 0 with Σ_k a_k²/(z + shift_k)² = 1, [..., context]; the least shift is 0.

    Newton's method on (Σ ...)^(−1/2), which is concave and increasing: from the left it rises to the root and
    never passes it (as in trust-region methods). At the start no term exceeds 1.
    """
    z: Array = (a - shift).max(axis=-2)
    for _ in range(_STEPS):
        at = z[..., None, :] + shift
        terms = np.divide(a, at, out=np.zeros_like(at), where=at > 0) ** 2
        value = terms.sum(axis=-2)
        slope = np.divide(terms, at, out=np.zeros_like(at), where=at > 0).sum(axis=-2)
        step = (np.sqrt(value) - 1.0) * value / slope
        moving = step > 1e-16 * z
        if not moving.any():
            break
        z = np.where(moving, z + step, z)
    return z


def _best(truth: Array) -> IntArray:
    return np.asarray(np.argmax(truth, axis=-2))


def _with_least_noise(noise: Array) -> Array:
    """Return the noise with a floor under pairs that have none."""
    largest_noise = noise.max(axis=(-2, -1), keepdims=True)
    if not np.all(largest_noise > 0):
        raise InputError(
            "no pair has any noise, so there is nothing to allocate: one replication of each is enough. "
            "Give the variance of a replication."
        )
    return np.asarray(np.maximum(noise, _LEAST_NOISE * largest_noise))


def _ratio(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """Return part / whole, and what is given where the whole is 0."""
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0))


def _refuse_ties(truth: Array, nearest: Array) -> None:
    tied: BoolArray = nearest <= 0
    if tied.any():
        *batch, c = map(int, np.argwhere(tied)[0])
        column = np.moveaxis(truth, -2, -1)[tied][0]
        where = f"context {c}" + (f" of {tuple(batch)}" if batch else "")
        raise InputError(
            f"in {where} the alternatives {np.flatnonzero(column == column.max()).tolist()} are tied for the "
            "best, so no allocation has a positive rate. Set them apart by an indifference zone "
            "(`separated(truth, delta)`), or leave the context out."
        )

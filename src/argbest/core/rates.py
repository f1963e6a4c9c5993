"""The large-deviations terms ζ and ψ of Algorithm 1 (Cakmak, Gao and Zhou), the only copy."""

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, gaps, of_selected
from argbest.core.decision import leading, of_each_context


def zeta(belief: Belief, selected: IntArray, closed: BoolArray | None = None) -> Array:
    """Return ζ(k, c) = (μ_b − μ_k)² / Var(f_b − f_k), infinite for k = b, [..., alternative, context].

    With independent alternatives the denominator is V_b + V_k. A difference known exactly has nothing left
    to learn: ζ is infinite there as well. ``closed`` is as in `open_var`.
    """
    gap = gaps(belief, selected)
    spread = open_var(belief, selected, closed)
    rate = np.full_like(gap, np.inf)
    np.divide(gap * gap, spread, out=rate, where=spread > 0)
    rate[of_each_context(selected)] = np.inf
    return rate


def open_var(belief: Belief, selected: IntArray, closed: BoolArray | None = None) -> Array:
    """Return Var(f_b − f_k) with closed pairs taken for known, [..., alternative, context].

    What samples of (b, c) and (k, c) can remove, ``closed`` [alternative, context] being pairs that are never
    simulated: V_b where k is closed, V_k where b is, 0 where both are. With their variances left in, rates
    would stay below a bound, and all samples would go where they no longer help.
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
    ratio = np.where(count > 0, np.inf, 0.0)
    np.divide(count, var, out=ratio, where=var > 0)
    where = (*leading(selected.shape), selected)
    of_best = ratio[where]
    ratio[where] = 0.0
    # One after the other: rounding is then the same however many studies lie side by side.
    return of_best, np.add.accumulate(ratio, axis=-1)[..., -1]

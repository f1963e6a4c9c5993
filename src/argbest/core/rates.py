"""The large-deviations terms ζ and ψ of Algorithm 1 (Cakmak, Gao and Zhou), the only copy."""

import numpy as np

from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.belief import Belief, gaps
from argbest.core.decision import of_each_context


def zeta(belief: Belief, selected: IntArray) -> Array:
    """Return ζ(k, c) = (μ_b − μ_k)² / Var(f_b − f_k), infinite for k = b, [..., alternative, context].

    With independent alternatives the denominator is V_b + V_k. A difference known exactly has nothing left
    to learn: ζ is infinite there as well.
    """
    gap = gaps(belief, selected)
    spread = belief.difference_var(selected)
    rate = np.full_like(gap, np.inf)
    np.divide(gap**2, spread, out=rate, where=spread > 0)
    rate[of_each_context(selected)] = np.inf
    return rate


def psi(count: AnyArray, var: Array, selected: IntArray) -> tuple[Array, Array]:
    """Return ψ1 = N_b/V_b and ψ2 = Σ_{k≠b} N_k/V_k, each [..., context].

    Counts stand for the fractions p: only ψ1 < ψ2 inside one context is ever asked, so the divisor cancels.
    """
    ratio = np.where(count > 0, np.inf, 0.0)
    np.divide(count, var, out=ratio, where=var > 0)
    where = of_each_context(selected)
    of_best = ratio[where]
    ratio[where] = 0.0
    return of_best, ratio.sum(axis=-2)

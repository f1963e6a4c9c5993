"""DSCO: the sample that would raise the smallest rate of false selection most."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core import rates
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import CellBelief, best
from argbest.core.decision import Decision, of_each_context
from argbest.policies.base import Moment
from argbest.policies.ocba import ByTally


@dataclass(frozen=True)
class DSCO(ByTally):
    """Like c-ocba, but look one sample ahead.

    The pair whose next sample, means and variances as they are, leaves the largest minimum of the rates.

    Li, Lam, Liang and Peng (2020), with sample statistics in place of known variances:
    value(k, c) = min over c' and k' ≠ b(c') of (Ȳ_b − Ȳ_k')² / (v_b/Ñ_b + v_k'/Ñ_k'), Ñ = N with 1 more at
    (k, c). Ties go to the first pair, alternative by alternative. Works from the tally, whatever the model;
    needs two observations of every pair that is not set aside. Contexts that may not be simulated now do not
    enter the minimum, and pairs set aside count as known.

    Where replications differ in cost, what the same money buys is compared, (least cost)/cost replications in
    place of 1: the rule without costs for noise cost·v and money in place of N, with steps of the least cost.
    """

    weighs_cost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair of largest value; trials under way count in N."""
        cost, n_contexts = now.setting.cost, now.count.shape[-1]
        step = 1 if cost is None else cost.min() / cost
        seen = np.maximum(now.count, 1)  # none but of pairs set aside, whose noise is 0
        index = np.argmax(_score(now.belief.mean, now.belief.noise, seen, now.candidates, step), axis=-1)
        return Decision(index // n_contexts, index % n_contexts)


def look_ahead(
    mean: Array, noise: Array, count: IntArray, allowed: BoolArray, *, step: AnyArray | int = 1
) -> tuple[Array, Array]:
    """Return value(k, c) after ``step`` more samples there, and the present rates.

    Both [..., alternative, context]; ``allowed`` [..., context] are the contexts of the minimum. A sample of
    the best moves all rates of its context, any other only its own, and none those of other contexts: with
    the two smallest of each row and column at hand, O(K·C) for all pairs together.
    """
    now, more = noise / count, noise / (count + step)
    belief = CellBelief(mean, now, noise)
    selected = best(belief)
    where = of_each_context(selected)
    best_more, rivals_more = now.copy(), more.copy()
    best_more[where], rivals_more[where] = more[where], now[where]
    rate = rates.zeta(belief, selected)
    own = rates.zeta(CellBelief(mean, rivals_more, noise), selected)
    after = np.minimum(own, _least_of_others(rate, -2))
    after[where] = rates.zeta(CellBelief(mean, best_more, noise), selected).min(axis=-2)
    elsewhere = _least_of_others(np.where(allowed, rate.min(axis=-2), np.inf), -1)
    return np.minimum(after, elsewhere[..., None, :]), rate


def _score(mean: Array, noise: Array, count: IntArray, candidates: BoolArray, step: AnyArray | int) -> Array:
    """Return what the decision maximises: the value, −∞ for pairs out of the question, [..., pair].

    When no single sample raises the minimum (two alternatives tied at the top, or two contexts at the
    minimum), all pairs have the same value, and the first one would be sampled for ever without breaking the
    tie. Then only pairs that the minimum depends on are in question.
    """
    open_contexts = np.asarray(candidates.any(axis=-2))
    value, rate = look_ahead(mean, noise, count, open_contexts, step=step)
    allowed = np.broadcast_to(open_contexts[..., None, :], value.shape)
    lowest = np.min(rate, axis=(-2, -1), keepdims=True, where=allowed, initial=np.inf)
    stuck = np.max(value, axis=(-2, -1), keepdims=True, where=candidates, initial=-np.inf) <= lowest
    critical = rate == lowest
    of_best = np.arange(mean.shape[-2])[:, None] == np.argmax(mean, axis=-2)[..., None, :]
    critical |= of_best & critical.any(axis=-2, keepdims=True)
    score = np.where(candidates & (critical | ~stuck), value, -np.inf)
    return score.reshape(*score.shape[:-2], -1)


def _least_of_others(values: Array, axis: int) -> Array:
    """Return for every entry the minimum of all others along ``axis``, infinite where there is none."""
    index = np.argmin(values, axis=axis, keepdims=True)
    rest = values.copy()
    np.put_along_axis(rest, index, np.inf, axis)
    least = np.broadcast_to(values.min(axis=axis, keepdims=True), values.shape).copy()
    np.put_along_axis(least, index, rest.min(axis=axis, keepdims=True), axis)
    return least

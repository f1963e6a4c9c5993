"""IKG and LEVI: simulate where one replication is expected to gain most, over all contexts or in its own."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np

from argbest.core import knowledge_gradient as kg
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, next_replications
from argbest.core.decision import Decision
from argbest.core.replications import NextReplications
from argbest.errors import InputError
from argbest.policies.base import Moment, OneByOne, largest

_AT_ONCE = 2**20  # covariances looked at together


@dataclass(frozen=True, kw_only=True)
class IKG(OneByOne):
    """Simulate where a replication should help most.

    The pair whose replication is expected to raise the weighted mean of the best rewards most.

    IKG(k, c) = Σ_c′ w_c′ KG(k, c; c′) (Ding, Hong, Shen and Zhang 2022), exact for finitely many contexts, in
    logarithms; ties at random. Where replications differ in cost: the largest IKG / cost, as in the knowledge
    gradient per unit of cost. With common random numbers that is the next replication of its pair, whose
    noise others may have shown; other look-aheads than 1 count noise as if it were not shared.

    Args:
        lookahead: The number of replications looked ahead, noise σ²/lookahead; ``math.inf`` is the noise-free
            look-ahead behind the published curves of Cakmak, Gao and Zhou.
    """

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True
    lookahead: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.lookahead, Real) or isinstance(self.lookahead, bool) or not self.lookahead > 0:
            raise InputError(
                f"lookahead must be a number of replications above 0, or math.inf, got {self.lookahead!r}."
            )

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the largest integrated knowledge gradient."""
        candidates = now.candidates
        score = log_ikg(
            now.belief, now.setting.weights, candidates, lookahead=self.lookahead, cost=now.setting.cost
        )
        return now.pick(largest(score, candidates))


def log_ikg(
    belief: Belief,
    weights: Array,
    candidates: BoolArray,
    *,
    lookahead: float = 1.0,
    cost: Array | None = None,
) -> Array:
    """Return log(IKG / cost) where it is largest among the candidates, [..., alternative, context].

    Elsewhere it is the value as well, or −∞ if an upper bound showed that it is not the largest. ``cost`` is
    [alternative, context], 1 unless given.
    """
    log_weights = kg.log(weights)
    root = kg.precision_root(belief, lookahead)
    log_cost = np.zeros(()) if cost is None else np.log(cost)
    ahead = next_replications(belief) if lookahead == 1.0 else None
    if ahead is not None:
        return np.where(candidates, _of_replications(belief, ahead, log_weights) - log_cost, -np.inf)
    if kg.covary(belief):
        return np.where(candidates, _correlated(belief, root, log_weights) - log_cost, -np.inf)
    return _independent(belief, root, log_weights, candidates, log_cost)


def _of_replications(belief: Belief, ahead: NextReplications, log_weights: Array) -> Array:
    """Return log IKG of every pair's next replication, where alternatives share noise."""
    total = np.full(belief.mean.shape, -np.inf)
    for context in np.flatnonzero(np.isfinite(log_weights)).tolist():
        value = kg.log_kg_of_replications(belief, ahead, context) + log_weights[context]
        total = np.logaddexp(total, value)
    return total


def _correlated(belief: Belief, root: Array, log_weights: Array) -> Array:
    """Return log IKG of every pair from the upper envelope of all alternatives in each context."""
    lines = np.swapaxes(belief.mean, -1, -2)[..., None, None, :, :]  # [..., 1, 1, context′, alternative]
    values = []
    for some in kg.alternatives_at_once(belief):
        slope = np.swapaxes(kg.columns(belief, some) * root[..., some, :, None, None], -1, -2)
        values.append(kg.log_sum(kg.envelope_kg(lines, slope) + log_weights))
    return np.concatenate(values, axis=-2)


class _Pairs(NamedTuple):
    """What IKG needs of independent alternatives; all broadcast to [run · alternative, context, context′]."""

    cov: Array
    root: Array
    gap: Array
    log_weights: Array

    def at(self, row: IntArray, context: IntArray) -> "_Pairs":
        """Return the listed pairs, [pair, context′]."""
        return _Pairs(*(np.broadcast_to(a, self.cov.shape)[row, context] for a in self))


def _independent(
    belief: Belief, root: Array, log_weights: Array, candidates: BoolArray, log_cost: Array
) -> Array:
    """Return log(IKG / cost) by the closed form, O(C²), of the pairs that upper bounds do not rule out.

    A replication of (k, c) moves the mean at c′ by at most √(V_c′ V_c) times its root, by Cauchy and
    Schwarz: that bounds an alternative without a look at its covariances. Per run the one with the largest
    bound is worked out first, then those whose bound reaches its value; of each likewise the pairs.
    """
    n_alternatives, n_contexts = candidates.shape[-2:]
    flat = (-1, n_contexts)
    # A context without weight adds nothing; its call, however close, must not loosen the bound.
    gap = np.where(np.isfinite(log_weights), kg.gap_to_rival(belief.mean), np.inf).reshape(flat)
    open_, root, std = candidates.reshape(flat), root.reshape(flat), np.sqrt(belief.var).reshape(flat)
    log_cost = np.broadcast_to(log_cost, candidates.shape).reshape(flat)
    value = np.full(open_.shape, -np.inf)

    def work_out(rows: IntArray, attained: Array | None) -> Array:
        cov = kg.own_cov(belief, rows)
        pairs = _Pairs(
            cov, root[rows][..., None], kg.beside(gap[rows], cov), kg.beside(log_weights, cov)[None]
        )
        bound = np.where(open_[rows], _bound(pairs) - log_cost[rows], -np.inf)
        if attained is None:
            every, best = np.arange(len(rows)), np.argmax(bound, axis=-1)
            attained = _value(pairs, every, best) - log_cost[rows, best]
        place, context = np.nonzero((bound > -np.inf) & (bound >= _just_below(attained)[:, None]))
        value[rows[place], context] = _value(pairs, place, context) - log_cost[rows[place], context]
        return attained

    most = np.max(std * root, axis=-1, where=open_, initial=0.0)[:, None, None]
    bound = _bound(_Pairs(std[:, None], most, gap[:, None], log_weights[None, None]))[:, 0]
    bound -= np.min(log_cost, axis=-1, where=open_, initial=np.inf)
    bound = bound.reshape(-1, n_alternatives)
    runs = np.arange(len(bound))
    first = np.argmax(bound, axis=-1)
    attained = work_out(runs * n_alternatives + first, None)
    bound[runs, first] = -np.inf
    run, others = np.nonzero((bound > -np.inf) & (bound >= _just_below(attained)[:, None]))
    for some in kg.blocks(len(run), n_contexts**2, _AT_ONCE):
        work_out(run[some] * n_alternatives + others[some], attained[run[some]])
    return value.reshape(candidates.shape)


def _just_below(attained: Array) -> Array:
    """Return a little less: by far more than the rounding of values and bounds."""
    return attained - 1e-9 * np.maximum(1.0, np.abs(attained))


def _value(pairs: _Pairs, row: IntArray, context: IntArray) -> Array:
    """Return log Σ_c′ w_c′ s h(d/s) of the listed pairs, [pair]."""
    value = np.empty(len(row))
    for some in kg.blocks(len(row), pairs.cov.shape[-1]):
        own = pairs.at(row[some], context[some])
        value[some] = kg.log_sum(kg.log_kg(own.gap, own.cov * own.root) + own.log_weights)
    return value


def _bound(pairs: _Pairs) -> Array:
    """Return an upper bound of log IKG, [run · alternative, context]."""
    cov, root, gap, log_weights = pairs
    weights = np.exp(log_weights)
    if cov.shape[-1] == 1:  # independent contexts: each by itself, and `root`, `gap` are columns too
        return kg.log_kg_bound(cov[..., None], root, gap, np.broadcast_to(weights, gap.shape))[..., 0]
    return kg.log_kg_bound(cov, root[..., 0], gap[..., 0, :], weights[..., 0, :])


@dataclass(frozen=True)
class LEVI(OneByOne):
    """Simulate the largest expected improvement within a context.

    The pair with the largest w_c EI(k, c), the term c′ = c of IKG; ties at random.

    EI = s h(d/s) with s = V/√(V + σ²) and d = |μ_kc − max_{j≠k} μ_jc| (local expected value of information,
    Pearce and Branke 2017). Where alternatives covary, a replication moves the rivals too: EI is then KG(k,
    c; c). Where replications differ in cost: the largest w_c EI / cost. With common random numbers a sample
    is the next replication of its pair, as in IKG.
    """

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the largest weighted expected improvement."""
        score = now.setting.per_cost(kg.log_kg_in_own_context(now.belief) + kg.log(now.setting.weights))
        return now.pick(largest(score, now.candidates))

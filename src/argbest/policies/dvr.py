"""DVR and DVR-M: simulate where most variance is removed from the differences that may be ties."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from argbest.checks import finite
from argbest.core import knowledge_gradient as kg
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray, log_ndtr
from argbest.core.belief import Belief, next_replications
from argbest.core.decision import Decision, leading
from argbest.core.question import BEST, Contrasts, HasLimits, Quantities
from argbest.core.questions.contexts import NamesContrastsByDraws, of_table
from argbest.core.replications import NextReplications
from argbest.core.setting import Setting
from argbest.policies.base import Moment, OneByOne, largest

_NEGLIGIBLE = 40.0  # nats below the largest
_AT_ONCE = 2**20  # entries of covariance rows worked out at once: matrix products are the quicker the larger
_IN_CACHE = 2**16  # of these, what is done with them one by one
_SMALL_TABLE = 2**14  # covariances in a table so small that to look for bounds would take longer
_SLACK = 1e-9  # far above the rounding of bounds and values
_MOST_DIFFERENCES = 256  # where alternatives covary: what their rows cost grows with the table


class _Reduction(OneByOne):
    """Policies that remove variance from the contrasts of a question, each weighed by how much it matters."""

    weighs_cost: ClassVar[bool] = True
    follows_the_foremost: ClassVar[bool] = True
    takes_questions: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the largest weighted reduction of variance."""
        score = self._score(now)
        if of_table(now.setting.question) is not now.setting.question:
            nothing_open = np.isneginf(np.max(score, axis=(-2, -1), where=now.candidates, initial=-np.inf))
            if nothing_open.any():  # nothing more to learn for this question: then for the usual one
                usual = self._score(replace(now, setting=replace(now.setting, question=BEST)))
                score = np.where(nothing_open[..., None, None], usual, score)
        return now.pick(largest(score, now.candidates))

    def _score(self, now: Moment) -> Array:
        """Return the logarithm of the weighted reduction of variance by each pair."""
        contrasts = self._contrasts(now)
        weight = self._weigh(contrasts, now.setting)
        return log_reduction(contrasts, weight, now.candidates, now.setting.cost)

    def _contrasts(self, now: Moment) -> Contrasts:
        """Return the differences to learn about, by the choice of the belief or by joint draws from it."""
        question = now.setting.question
        if offers(question, NamesContrastsByDraws):
            return question.drawn_contrasts(now.belief)
        return question.contrasts(now.belief, now.choice)

    def _weigh(self, contrasts: Contrasts, setting: Setting) -> Array:
        """Return the logarithm of every contrast's weight, [..., contrast, part]."""
        raise NotImplementedError


def _log_parts(setting: Setting) -> Array:
    """Return the logarithm of how much every part of the question counts, [part]."""
    return kg.log(setting.question.parts(setting.weights))


@dataclass(frozen=True)
class DVR(_Reduction):
    """Simulate what says most about the differences from the best.

    The pair that removes most variance from the differences to the best, each by its density of a tie.

    Density-weighted variance reduction: with f_b − f_k ~ N(d, τ²) in context c′, z = d/τ and g_kc′ = φ(z)/τ²,
    a(j, c) = Σ_c′ w_c′ Σ_{k≠b} g_kc′ Cov(f_b(c′) − f_k(c′), f_j(c))² / (V_jc + σ²). If alternatives are
    independent that is Σ_c′ w_c′ G_jc′ S_j(c′, c)² / (V_jc + σ²), with G = g for j ≠ b and Σ_k g_k for j = b.
    In logarithms; ties at random. Where replications differ in cost: the largest a(j, c) / cost. Pairs set
    aside count as known in τ, as in GP-C-OCBA.
    """

    def _weigh(self, contrasts: Contrasts, setting: Setting) -> Array:
        return log_tie_density(contrasts, setting.excluded) + _log_parts(setting)


@dataclass(frozen=True)
class DVRLoss(_Reduction):
    """The default: simulate what removes most of the expected loss.

    DVR for the loss: the pair that removes most of the weighted expected loss, to first order.

    Selecting b where k may be better loses τ (φ(z) − z Φ(−z)) on average, of which the derivative by τ² is
    φ(z)/(2τ): that is g in the place of DVR's φ(z)/τ². A tie that has become narrow loses little whichever
    way it is decided, so it is left alone sooner. Costs and pairs set aside as in DVR.

    With limits a replication removes variance from the slacks, too; what that is worth is in
    `argbest.core.limits`. One replication shows all outcomes, so what it gains in each adds up.
    """

    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair that removes most of the expected loss."""
        setting, question = now.setting, now.setting.question
        if not offers(question, HasLimits):
            return super().decide(now)
        terms = [
            log_reduction(quantities, log_weight + _log_parts(setting), cost=setting.cost)
            for quantities, log_weight in question.weighed(now.belief, setting.excluded)
        ]
        return now.pick(largest(np.logaddexp.reduce(terms), now.candidates))

    def _weigh(self, contrasts: Contrasts, setting: Setting) -> Array:
        return log_tie_density(contrasts, setting.excluded, power=0.5) + _log_parts(setting)


@dataclass(frozen=True, kw_only=True)
class DVRM(_Reduction):
    """DVR for the worst context: simulate where errors are likely.

    DVR for the worst context: the weights are PFS(c)^power, whatever weights the problem has.

    PFS(c) = min(1, Σ_{k≠b} Φ(−z_kc)) bounds the probability of a false selection. Costs and pairs set aside
    as in DVR.

    Args:
        power: The larger it is, the more the worst context counts.
    """

    power: float = 3.0

    def __post_init__(self) -> None:
        finite("power", self.power, above=0.0)

    def _weigh(self, contrasts: Contrasts, setting: Setting) -> Array:
        weights = self.power * log_false_selection(contrasts, setting.excluded)
        return log_tie_density(contrasts, setting.excluded) + weights[..., None, :]


def log_tie_density(contrasts: Contrasts, closed: BoolArray | None = None, *, power: float = 1.0) -> Array:
    """Return log(φ(z)/τ^(2 power)) up to a constant, [..., contrast, part]; −∞ where τ = 0."""
    z, spread = contrasts.standardised(closed)
    with np.errstate(over="ignore"):
        density: Array = -0.5 * z * z - power * np.log(np.where(spread > 0, spread, 1.0))
    return density


def log_false_selection(contrasts: Contrasts, closed: BoolArray | None = None) -> Array:
    """Return log min(1, Σ Φ(−z)) over a part's contrasts, Bonferroni's bound of a wrong choice, [..., part].

    A contrast that is known has nothing left to learn and does not count.
    """
    z, _ = contrasts.standardised(closed)
    return np.minimum(0.0, kg.log_sum(log_ndtr(-z), axis=-2))


def log_reduction(
    contrasts: Quantities,
    log_density: Array,
    candidates: BoolArray | None = None,
    cost: Array | None = None,
) -> Array:
    """Return log Σ density (reduction of a contrast's variance by a replication of each pair), per cost.

    The sum is over all contrasts; ``log_density`` is [..., contrast, part], −∞ for entries that stand for
    none. The result is [..., alternative, context]. With ``candidates`` it is that where it is largest among
    these, and elsewhere that or −∞.
    """
    belief = contrasts.belief
    ahead = next_replications(belief)
    # Where alternatives share noise, a replication is about a difference, rather than about a pair.
    factor = 2.0 * kg.log(kg.precision_root(belief)) if ahead is None else -np.log(ahead.var)
    factor = factor if cost is None else factor - np.log(cost)
    shares = contrasts.log_shares(log_density) if ahead is None and not kg.covary(belief) else None
    if shares is not None:
        return _independent(belief, shares, factor, candidates)
    return _correlated(contrasts, log_density, ahead) + factor


def _independent(belief: Belief, shares: Array, factor: Array, candidates: BoolArray | None) -> Array:
    """Return log Σ_c′ G_jc′ S_j(c′, c)² + factor, log G being the ``shares`` of the pairs in all contrasts.

    By Cauchy and Schwarz S(c′, c)² is at most V_c′ V_c. In large tables that rules out most alternatives
    without a look at their covariances: per run the one with the largest bound is worked out first, then
    those whose bound reaches its value.
    """
    shape, (n_alternatives, n_contexts) = shares.shape, shares.shape[-2:]
    share, factor = shares.reshape(-1, n_contexts), np.broadcast_to(factor, shape)
    value = np.full(share.shape, -np.inf)

    def work_out(which: IntArray) -> None:
        for some in kg.blocks(len(which), n_contexts**2):
            rows = which[some]
            own = kg.own_cov(belief, rows)
            terms = 2.0 * kg.log(np.abs(own))
            terms += kg.beside(share[rows], own)
            value[rows] = kg.log_sum(terms) + factor.reshape(-1, n_contexts)[rows]

    if candidates is None or n_alternatives * n_contexts**2 <= _SMALL_TABLE:
        work_out(np.arange(len(share)))
        return value.reshape(shape)
    log_var = kg.log(belief.var)
    within = kg.log_sum(shares + log_var)
    bound = np.max(log_var + factor, axis=-1, where=candidates, initial=-np.inf) + within
    bound = bound.reshape(-1, n_alternatives)
    first = np.arange(len(bound)) * n_alternatives + np.argmax(bound, axis=-1)
    work_out(first)
    open_ = np.broadcast_to(candidates, shape).reshape(-1, n_contexts)
    attained = np.max(value[first], axis=-1, where=open_[first], initial=-np.inf)
    slack = _SLACK * np.maximum(1.0, np.abs(np.nan_to_num(attained, neginf=0.0)))
    bound.reshape(-1)[first] = -np.inf
    work_out(np.flatnonzero((bound > -np.inf) & (bound >= (attained - slack)[:, None])))
    return value.reshape(shape)


def _correlated(contrasts: Quantities, log_density: Array, ahead: NextReplications | None = None) -> Array:
    """Return log Σ g Cov(contrast, f_j(c))² over the contrasts that count most.

    With ``ahead`` the covariances are those with what the next replication of each pair observes.

    Those are the `_MOST_DIFFERENCES` largest densities; what is below e⁻⁴⁰ of the largest is left out, as
    rounding would take it.
    Covariances are counted in a power of two near the largest variance, so that their squares are numbers.
    """
    belief, lead = contrasts.belief, log_density.shape[:-2]
    flat = log_density.reshape(*lead, -1)
    top = flat.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    weight = np.where(flat > top - _NEGLIGIBLE, np.exp(flat - top), 0.0)
    crowd = min(_MOST_DIFFERENCES, int((weight > 0).sum(axis=-1).max()))
    order = np.argsort(-weight, axis=-1, kind="stable")[..., :crowd]
    weight = weight[(*leading(order.shape)[:-1], order)]
    _, size = np.frexp(belief.var.max(axis=(-2, -1), keepdims=True))
    unit = np.ldexp(1.0, -size)[..., None, :, :]
    total = np.zeros((*lead, *belief.mean.shape[-2:]))
    for some in kg.blocks(crowd, total.size, _AT_ONCE):
        covariances = contrasts.covariances(order[..., some])
        for few in kg.blocks(covariances.shape[-3], total.size, _IN_CACHE):
            part, own = covariances[..., few, :, :], weight[..., some][..., few]
            part *= unit
            if ahead is None:
                total += np.einsum("...m,...mkc->...kc", own, np.square(part, out=part))
                continue
            of_next = ahead.covariances(part)
            by_context = own[..., None, None, :] @ np.square(of_next, out=of_next)
            total += by_context[..., 0, :].swapaxes(-1, -2)
    return np.asarray(kg.log(total) + top[..., None] + 2.0 * np.log(2.0) * size)

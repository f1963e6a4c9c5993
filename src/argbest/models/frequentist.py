"""Models from sample statistics alone: every pair by itself, or a straight line per alternative."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from argbest.core import common_noise
from argbest.core.abilities import offers
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.arrays import Array, BoolArray, IntArray, gammaincinv
from argbest.core.belief import BlockBelief, CellBelief, RelatesAlternatives
from argbest.core.common_noise import blocks
from argbest.core.findings import Findings
from argbest.core.foundations import ByContext, Stack
from argbest.core.integration import latin, n_points
from argbest.core.landmarks import affords_blocks
from argbest.core.noise import lent_variances, observed_once, sample_variance
from argbest.core.replications import Replications, shocks
from argbest.core.setting import Setting
from argbest.core.tally import Tally, check_spread
from argbest.core.two_stage import completed, coordinates, prediction, residuals
from argbest.errors import InputError, TooFewDataError
from argbest.models.base import Plausible
from argbest.models.searched import shares_noise

_MOST_POINTS = 128  # points: they cost little here
_NUMBERS = 1 << 16  # variances drawn, where that leaves enough points


@dataclass(frozen=True)
class IndependentParams:
    """What is learned: the sample variances, in the squared unit of the rewards."""

    noise: Array  # [..., alternative, context]: variance of one replication
    correlation: Array | None = None  # [..., context]: of noise that is shared; None: stored by 0.1


@dataclass(frozen=True)
class Independent:
    """The mean of every pair by itself, nothing shared.

    Sample mean and variance of every pair by itself, nothing borrowed: the model of C-OCBA and DSCO.

    F(k, c) ~ N(Ȳ, v/N) with v = W / (N − 1), all pairs independent. Needs two replications of every pair but
    those set aside; one of these without any is never selected. From a thousand pairs on one will do, with v
    from pairs that have more (`argbest.core.noise.observed_once`). Here every replication moves a
    hyper-parameter, v, and learning costs no more than conditioning: refit at every replication
    (``refit_every=1``). Between refits v is frozen, while means and counts go on. Where alternatives share
    random numbers, their noise is correlated within each context, and means are those of generalised least
    squares; of more than about a thousand alternatives noise counts as independent.
    """

    knows_new_contexts: ClassVar[bool] = False
    weighs_common_noise: ClassVar[bool] = True
    lends_noise: ClassVar[bool] = True

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Return nothing: a table of any shape will do."""

    def fit(
        self, tally: Tally, setting: Setting, params: IndependentParams | None = None
    ) -> IndependentParams:
        """Return the sample variances; see `sample_variance` for those that come out as zero."""
        noise = sample_variance(tally, setting.excluded)
        known = tally if affords_blocks(tally.shape) else tally.unshared
        return IndependentParams(noise, common_noise.estimate(known, noise))

    def posterior(
        self,
        tally: Tally,
        setting: Setting,
        params: IndependentParams,
        known: CellBelief | AdditiveBelief | None = None,
    ) -> CellBelief | AdditiveBelief:
        """Return N(Ȳ, v/N) per pair; so cheap that ``known`` saves nothing."""
        empty = (tally.count == 0) & (setting.excluded if setting.excluded is not None else False)
        if tally.common is not None and params.correlation is not None and params.correlation.any():
            joint = context_by_context(tally, tally.common, params.noise, params.correlation)
            return replace(joint, mean=_with_stand_ins(joint.mean, empty))
        if not empty.any():
            # A copy: the tables of a running study may change.
            return CellBelief(tally.mean.copy(), params.noise / tally.count, params.noise)
        var = np.where(empty, 0.0, params.noise / np.maximum(tally.count, 1))
        return CellBelief(_with_stand_ins(tally.mean, empty), var, params.noise)

    def kinds(self, tally: Tally, setting: Setting, params: IndependentParams) -> IntArray:
        """Return [...] whether alternatives share noise: then they covary."""
        return shares_noise(params.correlation, tally.shape)

    def plausible(
        self,
        tally: Tally,
        setting: Setting,
        params: IndependentParams,
        generator: np.random.Generator,
    ) -> Plausible[IndependentParams]:
        """Return variances v (N − 1) / χ²_{N−1}: together they make every mean a Student-t of N − 1 degrees.

        A pair with one replication has those that others leave possible: of d degrees, as firmly as these
        agree.

        Each variance takes the midpoints of equally likely strata, so the outermost part of its tail is left
        out; the expected loss after two replications would be infinite with it.
        """
        n, shared = n_points(tally.count.size), params.correlation
        if shared is None or not shared.any():  # then every point is cheap
            n, shared = max(n, min(_MOST_POINTS, _NUMBERS // tally.count.size)), np.zeros(tally.shape[-1:])
        freedom = np.maximum(tally.count - 1, 1)
        chance = 2.0 * gammaincinv(freedom / 2, latin(generator, (n, *tally.shape)))
        noise = sample_variance(tally, setting.excluded) * freedom / chance
        if (alone := observed_once(tally)).any():
            noise = np.where(alone, lent_variances(tally, n, generator), noise)
        every = np.broadcast_to(shared, (n, *shared.shape))
        return Plausible(IndependentParams(noise, every), n, np.asarray(float(n)))

    def predict(
        self, tally: Tally, setting: Setting, params: IndependentParams, separation: Array
    ) -> CellBelief | AdditiveBelief:
        """Return the belief at contexts that are known ones; of any other this model can say nothing."""
        same = np.all(separation == 0, axis=0)
        strange = ~same.any(axis=-1)
        if strange.any():
            raise InputError(
                f"context {int(np.argmax(strange))} of those asked for (by position) is none of the "
                "simulated contexts, and the independent model learns nothing of one context from another. "
                "Ask for simulated contexts, or use a model that joins them, such as 'gp'."
            )
        belief, which = self.posterior(tally, setting, params), np.argmax(same, axis=-1)
        if offers(belief, RelatesAlternatives):
            return at_contexts(belief, which)
        mean, var, noise = (
            np.moveaxis(values[..., which], -1, 0)[..., None]
            for values in (belief.mean, belief.var, belief.noise)
        )
        return CellBelief(mean, var, noise)

    def findings(self, setting: Setting, params: IndependentParams) -> Findings:
        """Return the noise: there is nothing else to learn."""
        return Findings(
            "Every pair is judged by its own replications alone; no pair says anything about another.",
            params.noise,
        )


def _with_stand_ins(mean: Array, empty: BoolArray) -> Array:
    """Return the means with those of pairs that were never observed beneath all others."""
    if not empty.any():
        return mean
    seen = np.where(empty, np.nan, mean)
    low, high = (fold(seen, axis=(-2, -1), keepdims=True) for fold in (np.nanmin, np.nanmax))
    return np.where(empty, low - np.where(high > low, high - low, 1.0), mean)


def context_by_context(tally: Tally, shown: Replications, noise: Array, correlation: Array) -> AdditiveBelief:
    """Return the belief that follows from the data alone; what was never observed has mean and variance 0.

    Means are generalised least squares: a replication tells of others of its number, too. ``shown`` are the
    replications of the tally.
    """
    *lead, k, c = tally.shape
    mean, cov = np.zeros(tally.shape), np.zeros((*lead, c, k, k))
    for study in np.ndindex(*lead):
        for block in blocks(tally[study], noise[study], correlation[study]):
            mean[study][block.alternative, block.context] = block.mean
            at = block.context[:, None], block.alternative[:, :, None], block.alternative[:, None]
            cov[study][at] = np.linalg.inv(block.precision)
    return _belief(mean, cov, noise, shown, correlation)


def _belief(
    mean: Array, cov: Array, noise: Array, shown: Replications | None, correlation: Array
) -> AdditiveBelief:
    """Return a belief with covariances within contexts [..., context, alternative, alternative′] alone."""
    var = np.swapaxes(np.einsum("...ckk->...ck", cov), -1, -2).copy()
    stack = Stack(np.zeros((*mean.shape[:-2], 0, *mean.shape[-2:])))
    ahead = np.maximum(correlation, 0.0)  # what goes against each other is not shared any more
    shared = None if shown is None or not ahead.any() else shocks(shown, noise, ahead)
    return AdditiveBelief(mean, var, noise, ByContext(cov), stack, 0, shocks=shared)


def at_contexts(belief: RelatesAlternatives, which: IntArray) -> AdditiveBelief:
    """Return the belief at some of the contexts, each by itself: arrays [X, ..., alternative, 1]."""
    cov = belief.within_contexts()[..., which, :, :]
    mean, noise = (
        np.moveaxis(values[..., which], -1, 0)[..., None] for values in (belief.mean, belief.noise)
    )
    return _belief(mean, np.moveaxis(cov, -3, 0)[..., None, :, :], noise, None, np.zeros(1))


_NONE = 1e-12  # a variance below this share of the pooled one is taken for none
_STAND_IN = 1e-2  # the share of the pooled variance that stands in for none
_UNDERFLOWN = 1e-290  # what lies below has underflowed


@dataclass(frozen=True)
class LinearParams:
    """What is learned: the residual variance of each alternative, in the squared unit of the rewards."""

    noise: Array  # [..., alternative]: variance of one replication


@dataclass(frozen=True)
class Linear:
    """A straight line over the contexts for every alternative.

    A straight line over the contexts per alternative, by least squares: the model of TS and TS+.

    F(k, c) = (1, x_c)ᵀβ_k, β_k from the averages of the contexts that were observed. Unweighted, however
    the counts differ (Shen, Hong and Zhang 2021): meant for few design contexts, as `TS` and `TSPlus`
    choose them. The belief is the sampling distribution of the prediction, which equals the posterior
    under a flat prior where there are as many design contexts as coefficients (two in one dimension).
    With more of them, or on a replication at a new context, ``update`` of the belief is only
    approximate: conditioning weighs replications by their precision, least squares here does not.
    Refitting costs no more than that: refit at every replication (``refit_every=1``). An alternative without
    data, all of whose pairs are set aside, is left alone.
    """

    family: ClassVar[str] = "linear"
    weighs_replications: ClassVar[bool] = False

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Return nothing: whether the contexts determine a line, only the replications can tell."""

    def fit(self, tally: Tally, setting: Setting, params: LinearParams | None = None) -> LinearParams:
        """Return the residual variances Σ(Y − zᵀβ)² / (N − p), always positive.

        An alternative without degrees of freedom gets the pooled variance of the study, one without any
        residual a hundredth of that. Where nothing varies at all it is (1e-12 times the range of the means)²,
        and 1 where these are all equal, too.
        """
        check_spread(tally)
        observed = tally.count > 0
        every, lost = completed(tally, setting.excluded)
        squares, freedom = residuals(coordinates(setting.separation), every, every.count > 0)
        freedom = np.where(lost, 0, freedom)
        total = freedom.sum(axis=-1, keepdims=True)
        if np.any(total < 1):
            raise TooFewDataError(
                "there are no more replications than coefficients of the linear model, which leaves none for "
                "the variance. Start with two or more replications of every alternative at the same contexts."
            )
        pooled = squares.sum(axis=-1, keepdims=True) / total
        own = np.where(freedom > 0, squares / np.maximum(freedom, 1), pooled)
        top = np.max(tally.mean, axis=(-2, -1), where=observed, initial=-np.inf)
        span = top - np.min(tally.mean, axis=(-2, -1), where=observed, initial=np.inf)
        none = (_NONE * span[..., None]) ** 2  # residuals of this size are rounding
        stand_in = np.where(pooled > none, _STAND_IN * pooled, none)
        stand_in = np.where(stand_in > _UNDERFLOWN, stand_in, 1.0)
        return LinearParams(np.where(own > np.maximum(_NONE * pooled, none + _UNDERFLOWN), own, stand_in))

    def posterior(
        self, tally: Tally, setting: Setting, params: LinearParams, known: BlockBelief | None = None
    ) -> BlockBelief:
        """Return N(zᵀβ, zᵀA diag(v/N) Aᵀz') over the contexts; so cheap that ``known`` saves nothing."""
        x = coordinates(setting.separation)
        noise = np.broadcast_to(params.noise[..., None], tally.shape)
        mean, cov = prediction(x, completed(tally, setting.excluded)[0], noise, x)
        return BlockBelief(mean, cov, noise)

    def predict(self, tally: Tally, setting: Setting, params: LinearParams, separation: Array) -> BlockBelief:
        """Return the line at other contexts, also beyond the known ones, each by itself."""
        x = coordinates(setting.separation)
        at = coordinates(setting.separation, separation)
        noise = np.broadcast_to(params.noise[..., None], tally.shape)
        # A row at a time, as [X, 1, ..., 1, 1, d]: covariances between the new contexts are not wanted.
        one_by_one = at.reshape(len(at), *(1,) * len(tally.shape), at.shape[-1])
        mean, cov = prediction(x, completed(tally, setting.excluded)[0], noise, one_by_one)
        return BlockBelief(mean, cov, np.broadcast_to(params.noise[..., None], mean.shape))

    def findings(self, setting: Setting, params: LinearParams) -> Findings:
        """Return the residual noise; the lines themselves follow from the averages."""
        return Findings(
            "Each alternative follows a straight line over the contexts; nothing is shared between them.",
            params.noise[..., None],
        )

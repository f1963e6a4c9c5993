"""A linear function of the contexts' coordinates per alternative: the model of TS and TS+."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core.arrays import Array
from argbest.core.belief import BlockBelief
from argbest.core.findings import Findings
from argbest.core.setting import Setting
from argbest.core.tally import Tally, check_spread
from argbest.core.two_stage import completed, coordinates, prediction, residuals
from argbest.errors import TooFewDataError

_NONE = 1e-12  # a variance below this share of the pooled one is taken for none
_STAND_IN = 1e-2  # the share of the pooled variance that stands in for none
_LEAST = 1e-290  # what lies below has underflowed


@dataclass(frozen=True)
class LinearParams:
    """What is learned: the residual variance of each alternative, in the squared unit of the rewards."""

    noise: Array  # [..., alternative]: variance of one observation


@dataclass(frozen=True)
class Linear:
    """A straight line over the contexts for every alternative.

    A straight line over the contexts per alternative, by least squares: the model of TS and TS+.

    F(k, c) = (1, x_c)ᵀβ_k, β_k from the averages of the contexts that were observed. Unweighted, however
    the counts differ (Shen, Hong and Zhang 2021): meant for few design contexts, as `TS` and `TSPlus`
    choose them. The belief is the sampling distribution of the prediction, which equals the posterior
    under a flat prior where there are as many design contexts as coefficients (two in one dimension).
    With more of them, or on an observation at a new context, ``update`` of the belief is only
    approximate: conditioning weighs observations by their precision, least squares here does not.
    Refitting costs no more than that: refit at every sample (``refit_every=1``). An alternative without
    data, all of whose pairs are set aside, is left alone.
    """

    family: ClassVar[str] = "linear"
    weighs_replications: ClassVar[bool] = False

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Return nothing: whether the contexts determine a line, only the observations can tell."""

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
                "there are no more observations than coefficients of the linear model, which leaves none for "
                "the variance. Start with two or more replications of every alternative at the same contexts."
            )
        pooled = squares.sum(axis=-1, keepdims=True) / total
        own = np.where(freedom > 0, squares / np.maximum(freedom, 1), pooled)
        top = np.max(tally.mean, axis=(-2, -1), where=observed, initial=-np.inf)
        span = top - np.min(tally.mean, axis=(-2, -1), where=observed, initial=np.inf)
        none = (_NONE * span[..., None]) ** 2  # residuals of this size are rounding
        stand_in = np.where(pooled > none, _STAND_IN * pooled, none)
        stand_in = np.where(stand_in > _LEAST, stand_in, 1.0)
        return LinearParams(np.where(own > np.maximum(_NONE * pooled, none + _LEAST), own, stand_in))

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
        apart = at.reshape(len(at), *(1,) * len(tally.shape), at.shape[-1])
        mean, cov = prediction(x, completed(tally, setting.excluded)[0], noise, apart)
        return BlockBelief(mean, cov, np.broadcast_to(params.noise[..., None], mean.shape))

    def findings(self, setting: Setting, params: LinearParams) -> Findings:
        """Return the residual noise; the lines themselves follow from the averages."""
        return Findings(
            "Each alternative follows a straight line over the contexts; nothing is shared between them.",
            params.noise[..., None],
        )

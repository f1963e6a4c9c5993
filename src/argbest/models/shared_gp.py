"""A trend that all alternatives share, plus a deviation of each: for alternatives that are mere names."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from argbest.core import kernels, priors, scaling, trend_belief
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.priors import Hyperprior
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.core.trend_belief import TrendBelief
from argbest.models.options import STUDY_NOISES, check_kernel, check_noise_shape, checked_noise, noise_table
from argbest.models.refitting import check_fit, scattered, starts, study_changed

if TYPE_CHECKING:
    from argbest.core.fitting import Fit


@dataclass(frozen=True)
class SharedGPParams:
    """Hyper-parameters of a study, in the units of the rewards; leading axes [...]."""

    trend_lengthscale: Array  # [..., coordinate], contexts scaled by their bounds
    trend_scale: Array  # [...]: prior variance of the trend
    lengthscale: Array  # [..., coordinate]: of the deviations
    scale: Array  # [...]: prior variance of the deviations' varying part
    offset: Array  # [...]: prior variance of the deviations' constant part
    noise: Array  # [..., alternative, context]: variance of one observation
    constant: Array  # [...]: prior mean of the trend
    theta: Array  # [..., 2 coordinates + 4]: where the search ended, on standardised outcomes
    shift: Array  # [...]: of the standardisation
    spread: Array  # [...]: of the standardisation
    fitted: IntArray  # [..., alternative, context]: observations at the last fit
    searched: IntArray  # [...]: observations at the last full search
    status: IntArray  # [...]: how the search ended
    changed: BoolArray  # [...]: whether the last fit was of this study


@dataclass(frozen=True, eq=False)
class SharedGP:
    """f_k = g + δ_k, g ~ GP(m, κ_g), δ_k ~ GP(0, κ_δ + offset) independent, normal noise.

    MAP hyper-parameters on outcomes standardised over the whole study. ``kernel`` is rbf, matern12, matern32
    or matern52. ``noise`` is learned: one level for all ("pooled"), or one per "pair" by shrinkage
    (`argbest.core.noise`). ``noise_sd`` is its standard deviation where it is known, a number or a table.
    """

    kernel: str = "matern52"
    noise: str = "pooled"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        object.__setattr__(self, "noise_sd", checked_noise(self.noise, self.noise_sd, STUDY_NOISES))

    def check(self, shape: tuple[int, int], setting: Setting) -> None:  # noqa: ARG002
        """Raise an InputError if the known noise is a table of another shape."""
        check_noise_shape(self.noise_sd, shape)

    def fit(self, tally: Tally, setting: Setting, params: SharedGPParams | None = None) -> SharedGPParams:
        """Return MAP hyper-parameters, searched from the usual starts or from ``params``.

        A study is searched again when it has new data.
        """
        from argbest.core import trend  # imports Numba, so not before it is needed

        scale = scaling.standardisation_of_study(tally)
        chosen = study_changed(tally, scale, params)
        whole = scaling.standardise(tally, scale)
        data = whole[chosen]
        prior, noise = noise_table(self, hyperprior(len(setting.separation)), tally, scale)
        points, searched = starts(prior, data.count.sum(axis=(-2, -1)), chosen, params)
        found = trend.fit_map(self.kernel, setting.separation, data, noise[chosen], prior, points)
        check_fit(found)
        shift, spread = scale.shift[..., 0][chosen], scale.spread[..., 0][chosen]
        fresh = _in_units(found, data.count, searched, noise[chosen], shift, spread)
        kept = None if params is None else replace(params, changed=np.zeros_like(chosen))
        return scattered(fresh, chosen, kept)

    def posterior(
        self, tally: Tally, setting: Setting, params: SharedGPParams, known: TrendBelief | None = None
    ) -> TrendBelief:
        """Return the exact posterior at the contexts."""
        chosen = np.ones(tally.shape[:-2], bool) if known is None else params.changed
        data = tally[chosen]
        trend, deviation = (each[chosen] for each in self._covariances(setting.separation, params))
        belief = trend_belief.condition(trend, deviation, params.constant[chosen], params.noise[chosen], data)
        return scattered(belief, chosen, known)

    def predict(
        self, tally: Tally, setting: Setting, params: SharedGPParams, separation: Array
    ) -> TrendBelief:
        """Return the exact posterior at new contexts, correlated across alternatives."""
        prior = self._covariances(setting.separation, params)
        trend, deviation = (np.moveaxis(each, -2, 0) for each in self._covariances(separation, params))
        return trend_belief.predict(prior, (trend, deviation), params.constant, params.noise, tally)

    def _covariances(self, separation: Array, params: SharedGPParams) -> tuple[Array, Array]:
        """Return K_g and K_d, offset included, [..., X, C]."""
        trend = kernels.covariance(self.kernel, separation, params.trend_lengthscale, params.trend_scale)
        own = kernels.covariance(self.kernel, separation, params.lengthscale, params.scale)
        return trend, own + params.offset[..., None, None]


def hyperprior(d: int) -> Hyperprior:
    """Return the priors on standardised outcomes: the paper's on lengths and noise, exponential on scales."""
    length, scale, noise = priors.STUDY_LENGTH, priors.STUDY_SCALE, priors.STUDY_NOISE
    # In turn: a bit of everything, mostly trend, mostly deviations.
    starts = [
        [*[0.5] * d, 0.5, *[0.5] * d, 0.3, 0.2, 0.3],
        [*[1.0] * d, 1.0, *[0.5] * d, 0.05, 0.05, 0.01],
        [*[0.5] * d, 0.05, *[0.3] * d, 1.0, 0.3, 0.01],
    ]
    rules = [*[length] * d, scale, *[length] * d, scale, scale, noise]
    return Hyperprior(np.array(rules), np.log(starts))


def _in_units(
    found: "Fit", fitted: IntArray, searched: IntArray, noise: Array, shift: Array, spread: Array
) -> SharedGPParams:
    """Return the parameters found on standardised outcomes in the units of the rewards."""
    value, d = np.exp(found.theta), found.theta.shape[-1] // 2 - 2
    return SharedGPParams(
        trend_lengthscale=value[..., :d],
        trend_scale=spread**2 * value[..., d],
        lengthscale=value[..., d + 1 : 2 * d + 1],
        scale=spread**2 * value[..., -3],
        offset=spread**2 * value[..., -2],
        noise=(spread**2 * value[..., -1])[..., None, None] * noise,
        constant=shift + spread * found.constant,
        theta=found.theta,
        shift=shift,
        spread=spread,
        fitted=fitted,
        searched=searched,
        status=found.status,
        changed=np.ones(shift.shape, bool),
    )

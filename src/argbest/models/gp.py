"""One Gaussian process over the contexts per alternative: the paper's model."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from argbest.core import conditioning, kernels, priors, scaling
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import BlockBelief
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError, unknown_name
from argbest.models.refitting import check_fit, scattered, starts

if TYPE_CHECKING:
    from argbest.core.fitting import Fit


@dataclass(frozen=True)
class GPParams:
    """Hyper-parameters of every alternative, in the units of the rewards; leading axes [..., alternative]."""

    lengthscale: Array  # [..., alternative, coordinate], contexts scaled by their bounds
    scale: Array  # [..., alternative]: prior variance of the reward
    noise: Array  # [..., alternative, context]: variance of one observation
    constant: Array  # [..., alternative]: prior mean of the reward
    theta: Array  # [..., alternative, coordinate + 2]: where the search ended, on standardised outcomes
    shift: Array  # [..., alternative]: of the standardisation
    spread: Array  # [..., alternative]: of the standardisation
    fitted: IntArray  # [..., alternative]: observations at the last fit
    searched: IntArray  # [..., alternative]: observations at the last full search
    status: IntArray  # [..., alternative]: how the search ended
    changed: BoolArray  # [..., alternative]: whether the last fit was of this alternative


@dataclass(frozen=True, eq=False)
class GP:
    """f_k ~ GP(m_k, scale_k · correlation), normal noise, MAP hyper-parameters on standardised outcomes.

    ``kernel`` is rbf, matern12, matern32 or matern52; ``prior`` is paper, modern or none (see
    `argbest.core.priors`). ``noise_sd`` is None to learn one noise level per alternative, or the known
    standard deviation of one observation: a number, or a table [alternative, context].
    BoTorch's model since 0.12 is ``GP(kernel="rbf", prior="modern")``.
    """

    kernel: str = "matern52"
    prior: str = "paper"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        if self.kernel not in kernels.KERNELS:
            raise unknown_name("kernel", self.kernel, kernels.KERNELS)
        priors.hyperprior(self.prior, 1)
        if self.noise_sd is not None:
            try:
                sd = np.array(self.noise_sd, float)
            except (TypeError, ValueError):
                sd = np.array(np.nan)
            if not (np.all(np.isfinite(sd)) and np.all(sd > 0)):
                raise InputError(
                    f"noise_sd must be positive and finite, got {self.noise_sd!r}; "
                    "leave it out to learn the noise."
                )
            sd.flags.writeable = False
            object.__setattr__(self, "noise_sd", sd)

    def check(self, shape: tuple[int, int], setting: Setting) -> None:  # noqa: ARG002
        """Raise an InputError if the known noise is a table of another shape."""
        given = np.shape(self.noise_sd) if self.noise_sd is not None else ()
        if given not in ((), shape):
            raise InputError(f"noise_sd has shape {given}, expected a number or a table {shape}.")

    def fit(self, tally: Tally, setting: Setting, params: GPParams | None = None) -> GPParams:
        """Return MAP hyper-parameters, searched from the preset's starts or from ``params``.

        An alternative is searched again when it has new data, or when the spread it borrows has changed.
        """
        from argbest.core import fitting  # imports Numba, so not before it is needed

        scale = scaling.standardisation(tally)
        chosen = _changed(tally, scale, params)
        whole = scaling.standardise(tally, scale)
        data = Tally(whole.count[chosen], whole.mean[chosen], whole.m2[chosen])
        scale = scaling.Scaling(scale.shift[chosen], scale.spread[chosen])
        prior, noise = self._noise(tally.shape, setting, chosen, scale)
        points, searched = starts(prior, data.count.sum(axis=-1), chosen, params)
        found = fitting.fit_map(self.kernel, setting.separation, data, noise, prior, points)
        check_fit(found)
        fresh = _in_units(found, data.count.sum(axis=-1), searched, noise, scale)
        kept = None if params is None else replace(params, changed=np.zeros_like(chosen))
        return scattered(fresh, chosen, kept)

    def posterior(
        self, tally: Tally, setting: Setting, params: GPParams, known: BlockBelief | None = None
    ) -> BlockBelief:
        """Return the exact posterior at the contexts."""
        chosen = np.ones(tally.shape[:-1], bool) if known is None else params.changed
        data = Tally(tally.count[chosen], tally.mean[chosen], tally.m2[chosen])
        noise, constant = params.noise[chosen], params.constant[chosen]
        prior = kernels.covariance(
            self.kernel, setting.separation, params.lengthscale[chosen], params.scale[chosen]
        )
        mean, cov = conditioning.posterior(prior, constant, noise, data)
        return scattered(BlockBelief(mean, cov, noise), chosen, known)

    def predict(self, tally: Tally, setting: Setting, params: GPParams, separation: Array) -> BlockBelief:
        """Return the exact posterior at new contexts; their noise is the alternative's average."""
        prior = kernels.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
        cross = kernels.covariance(self.kernel, separation, params.lengthscale, params.scale)
        variance = np.broadcast_to(params.scale[..., None], (*params.scale.shape, separation.shape[1]))
        mean, var = conditioning.predict(
            prior, np.swapaxes(cross, -1, -2), variance, params.constant, params.noise, tally
        )
        noise = np.broadcast_to(params.noise.mean(axis=-1, keepdims=True), mean.shape)
        mean, var, noise = (np.moveaxis(v, -1, 0)[..., None] for v in (mean, var, noise))
        return BlockBelief(mean, var[..., None], noise)

    def _noise(
        self, shape: tuple[int, ...], setting: Setting, chosen: BoolArray, scale: scaling.Scaling
    ) -> tuple[priors.Hyperprior, Array]:
        """Return the hyper-prior and what multiplies its noise parameter, [chosen, context]."""
        prior = priors.hyperprior(self.prior, len(setting.separation))
        if self.noise_sd is None:
            return prior, np.ones((len(scale.spread), shape[-1]))
        known = np.broadcast_to(np.asarray(self.noise_sd, float), shape)[chosen] / scale.spread[:, None]
        return priors.with_known_noise(prior), known**2


def _changed(tally: Tally, scale: scaling.Scaling, params: GPParams | None) -> BoolArray:
    """Return [..., alternative] whether data or standardisation differ from those of the last fit."""
    if params is None:
        return np.ones(tally.shape[:-1], bool)
    moved = (scale.shift != params.shift) | (scale.spread != params.spread)
    return np.asarray(moved | (tally.count.sum(axis=-1) != params.fitted))


def _in_units(
    found: "Fit", fitted: IntArray, searched: IntArray, noise: Array, scale: scaling.Scaling
) -> GPParams:
    """Return the parameters found on standardised outcomes in the units of the rewards."""
    shift, spread = scale
    theta = found.theta
    return GPParams(
        lengthscale=np.exp(theta[..., :-2]),
        scale=spread**2 * np.exp(theta[..., -2]),
        noise=spread[..., None] ** 2 * np.exp(theta[..., -1:]) * noise,
        constant=shift + spread * found.constant,
        theta=theta,
        shift=shift,
        spread=spread,
        fitted=fitted,
        searched=searched,
        status=found.status,
        changed=np.ones(fitted.shape, bool),
    )

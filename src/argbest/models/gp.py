"""One Gaussian process over the contexts per alternative: the paper's model."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from argbest.checks import one_of
from argbest.core import common_noise, conditioning, priors
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import BlockBelief, HasBlocks
from argbest.core.conditioning import joined, joined_at
from argbest.core.findings import Findings, Lengthscales
from argbest.core.integration import n_points, sample
from argbest.core.noise import plausible_noise, relative_noise
from argbest.core.seen_cells import Data
from argbest.core.setting import Setting
from argbest.core.tally import Scaling, Tally, standardisation, standardise
from argbest.models.base import Plausible, entries
from argbest.models.searched import (
    affordable_correlation,
    check_fit,
    check_kernel,
    check_noise_shape,
    checked_noise,
    repeated,
    scattered,
    search_troubles,
    shares_noise,
    starts,
    told_noise,
    unwrap_options,
)

if TYPE_CHECKING:
    from argbest.core.search import SearchResult

NOISES = ("alternative", "pair")
_WORTH_A_WORD = 0.01  # of the variation of curves
_MOVED = (
    ", except what moves the rewards of a context as the noise that they share does "
    "(standard deviation {:.3g})"
)


@dataclass(frozen=True)
class GPParams:
    """Hyper-parameters of every alternative, in the units of the rewards; leading axes [..., alternative]."""

    lengthscale: Array  # [..., alternative, coordinate], contexts scaled by their bounds
    scale: Array  # [..., alternative]: prior variance of the reward
    noise: Array  # [..., alternative, context]: variance of one replication
    constant: Array  # [..., alternative]: prior mean of the reward
    theta: Array  # [..., alternative, coordinate + 2]: where the search ended, on standardised outcomes
    shift: Array  # [..., alternative]: of the standardisation
    spread: Array  # [..., alternative]: of the standardisation
    fitted: IntArray  # [..., alternative]: replications at the last fit
    searched: IntArray  # [..., alternative]: replications at the last full search
    status: IntArray  # [..., alternative]: how the search ended
    changed: BoolArray  # [..., alternative]: whether the last fit was of this alternative
    correlation: Array | None = None  # [..., context]: of noise that is shared; None: stored by 0.1
    hessian: Array | None = None  # [..., alternative, parameter, parameter]: what the search has learned
    noise_like: Array | None = None  # [...]: of what is like the noise, over the noise that is common


@dataclass(frozen=True, eq=False)
class GP:
    """The paper's model: one Gaussian process per alternative.

    f_k ~ GP(m_k, scale_k · correlation), normal noise, MAP hyper-parameters on outcomes that are standardised
    per alternative. BoTorch's model since 0.12 is ``GP(kernel="rbf", prior="modern")``.

    Args:
        kernel: How alike near contexts are: rbf, matern12, matern32 or matern52.
        prior: What is expected of the hyper-parameters: paper, modern or none (`argbest.core.priors`).
        noise: What has a noise level of its own to learn: "alternative", or "pair" by shrinkage
            (`argbest.core.noise`).
        noise_sd: The standard deviation of one replication where it is known: a number, or a table
            [alternative, context].
    """

    family: ClassVar[str] = "gp"  # of its predictions, see `argbest.answers.predicting`
    weighs_common_noise: ClassVar[bool] = True

    kernel: str = "matern52"
    prior: str = "paper"
    noise: str = "alternative"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        unwrap_options(self)
        check_kernel(self.kernel)
        one_of("prior", self.prior, priors.PRIORS)
        object.__setattr__(self, "noise_sd", checked_noise(self.noise, self.noise_sd, NOISES))

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if the known noise is a table of another shape."""
        check_noise_shape(self.noise_sd, shape)

    def fit(self, tally: Tally, setting: Setting, params: GPParams | None = None) -> GPParams:
        """Return MAP hyper-parameters, searched from the preset's starts or from ``params``.

        An alternative is searched again when it has new data, or when it borrows the spread of the study and
        that has changed. A noise level of every pair depends on those of all others: then new data anywhere
        make all alternatives of the study be searched again.
        """
        from argbest.core import fitting  # imports Numba, so not before it is needed

        if tally.common is not None:
            alone = self.fit(tally.unshared, setting, params)  # an alternative shares nothing
            joined_by = replace(alone, correlation=affordable_correlation(tally, alone.noise))
            return replace(joined_by, noise_like=self._noise_like(tally, setting, joined_by))
        scale = standardisation(tally)
        chosen = _changed(tally, scale, params)
        if self.noise == "pair":
            chosen = np.repeat(chosen.any(axis=-1, keepdims=True), chosen.shape[-1], axis=-1)
        data = standardise(tally, scale)[chosen]
        preset = priors.hyperprior(self.prior, len(setting.separation))
        prior, noise = self._noise_table(preset, tally, scale)
        own, noise = Scaling(scale.shift[chosen], scale.spread[chosen]), noise[chosen]
        points, searched = starts(prior, data, noise, chosen, params)
        known_hessian = None if params is None or params.hessian is None else params.hessian[chosen]
        found = fitting.fit_map(self.kernel, setting.separation, data, noise, prior, points, known_hessian)
        check_fit(found)
        fresh = _in_units(found, data.count.sum(axis=-1), searched, noise, own)
        none = np.zeros((*tally.shape[:-2], tally.shape[-1]))
        unshared = {"correlation": none, "noise_like": np.zeros(tally.shape[:-2])}
        return scattered(fresh, chosen, params, changed=chosen, **unshared)

    def _noise_like(self, tally: Tally, setting: Setting, params: GPParams) -> Array:
        """Return the likeliest scale of what is like the noise, [...], given what was learned of each."""
        found = np.zeros(tally.shape[:-2])
        for study in np.ndindex(found.shape):
            evidence = self._evidence_of_noise_like(tally[study], setting, _study(params, study))
            if evidence is not None:
                found[study] = priors.NOISE_LIKE_GRID[np.argmax(evidence)]
        return found

    def _evidence_of_noise_like(self, tally: Tally, setting: Setting, params: GPParams) -> Array | None:
        """Return the log evidence on the grid of scales, of one study; None where no noise is shared."""
        data = _joint(tally, params)
        if params.correlation is None or not np.any(params.correlation > 0.0):
            return None
        prior = priors.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
        loadings = np.sqrt(np.maximum(params.correlation, 0.0) * params.noise)
        return conditioning.evidence_of_noise_like(
            prior, params.constant, data, loadings, priors.NOISE_LIKE_GRID
        )

    def posterior(
        self, tally: Tally, setting: Setting, params: GPParams, known: Any = None
    ) -> Any:  # a BlockBelief, or an AdditiveBelief where alternatives share noise
        """Return the exact posterior at the contexts; noise in common makes alternatives covary."""
        if tally.common is not None and (data := _joint(tally, params)).shares_noise:
            prior = priors.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
            return joined(prior, params.constant, data, _loadings(params))
        known = known if known is not None and offers(known, HasBlocks) else None
        chosen = np.ones(tally.shape[:-1], bool) if known is None else params.changed
        own = tally.statistics_alone[chosen]
        noise, constant = params.noise[chosen], params.constant[chosen]
        shape = params.lengthscale[chosen], params.scale[chosen]
        if known is None and chosen.ndim == 1:  # a study is opened: loading compiled code would take longer
            prior = priors.covariance(self.kernel, setting.separation, *shape)
            mean, cov = conditioning.posterior(prior, constant, noise, own)
        else:
            from argbest.core import fitting

            mean, cov = fitting.posterior(self.kernel, setting.separation, own, noise, *shape, constant)
        fresh = BlockBelief(mean, cov, noise)
        if known is None or chosen.ndim > 1 or chosen.all():
            return scattered(fresh, chosen, known)
        return known.replaced(np.flatnonzero(chosen), fresh)

    def kinds(self, tally: Tally, setting: Setting, params: GPParams) -> IntArray:
        """Return [...] whether alternatives share noise: then they covary."""
        return shares_noise(params.correlation, tally.shape)

    def plausible(
        self, tally: Tally, setting: Setting, params: GPParams, generator: np.random.Generator
    ) -> Plausible[GPParams]:
        """Return hyper-parameters and noise tables as likely as the data leave them, of one study.

        Every alternative has points of its own; the i-th points of all are taken together. How much noise is
        shared, and what is like it, is drawn for every point too.
        """
        from argbest.core import fitting

        numbered, tally, scale = tally, tally.unshared, Scaling(params.shift, params.spread)
        preset = priors.of_logarithms(priors.hyperprior(self.prior, len(setting.separation)))
        prior, table = self._noise_table(preset, tally, scale)
        data = standardise(tally, scale)

        known = self.kernel, setting.separation, data, table, prior
        n = n_points(int((tally.count > 0).sum()))
        # No part can be absent here, so nothing is flat, and looking for it would cost more than all else.
        points = sample(
            lambda theta: fitting.log_evidence(*known, theta)[:2],
            params.theta,
            prior.rules,
            n,
            generator,
            flat_below=0.0,
            density=lambda theta: fitting.log_density(*known, theta)[0],
        )
        tables = np.broadcast_to(table, (n, *table.shape))
        if self._learns_pairs:
            tables = plausible_noise(tally, n, generator, per_alternative=True)
        several = repeated(params, n)
        _, constant = fitting.log_density(*known, points.theta)
        found = _in_units_of_rewards(points.theta, constant, tables, several)
        several = replace(several, theta=points.theta, **found)
        evidence = self._evidence_of_noise_like(numbered, setting, params)
        if evidence is not None and params.correlation is not None:
            shared = common_noise.plausible(numbered, several.noise, generator)
            chance = np.exp(evidence - evidence.max())
            like = generator.choice(priors.NOISE_LIKE_GRID, n, p=chance / chance.sum())
            shared = np.where(params.correlation > 0.0, shared, params.correlation)
            several = replace(several, correlation=shared, noise_like=like)
        return Plausible(several, n, points.effective)

    @property
    def _learns_pairs(self) -> bool:
        return self.noise == "pair" and self.noise_sd is None

    def _noise_table(
        self, prior: priors.Hyperprior, tally: Tally, scale: Scaling
    ) -> tuple[priors.Hyperprior, Array]:
        """Return the hyper-prior and what multiplies its noise parameter, [..., alternative, context].

        The level of every alternative is learned, unless the noise is known.
        """
        if self.noise_sd is not None:
            variance = told_noise(self, tally.shape).variance
            return priors.with_known_noise(prior), variance / scale.spread[..., None] ** 2
        table = relative_noise(tally, per_alternative=True) if self._learns_pairs else np.ones(tally.shape)
        return prior, table

    def predict(
        self, tally: Tally, setting: Setting, params: GPParams, separation: Array
    ) -> Any:  # a BlockBelief, or an AdditiveBelief where alternatives share noise
        """Return the exact posterior at new contexts; their noise is the alternative's average."""
        prior = priors.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
        cross = priors.covariance(self.kernel, separation, params.lengthscale, params.scale)
        data = _joint(tally, params)
        if data.shares_noise:
            like = _loadings(params), np.all(separation == 0.0, axis=0).T
            return joined_at(prior, np.swapaxes(cross, -1, -2), params.scale, params.constant, data, like)
        variance = np.broadcast_to(params.scale[..., None], (*params.scale.shape, separation.shape[1]))
        mean, var = conditioning.predict(
            prior, np.swapaxes(cross, -1, -2), variance, params.constant, params.noise, tally
        )
        noise = np.broadcast_to(params.noise.mean(axis=-1, keepdims=True), mean.shape)
        mean, var, noise = (np.moveaxis(v, -1, 0)[..., None] for v in (mean, var, noise))
        return BlockBelief(mean, var[..., None], noise)

    def findings(self, setting: Setting, params: GPParams) -> Findings:
        """Return how much the curve of each alternative varies over the contexts, and over what distances."""
        cov = priors.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
        curves, loadings = params.scale - cov.mean(axis=(-2, -1)), _loadings(params)
        moved = 0.0 if loadings is None else float(np.mean(loadings**2))
        besides = "" if moved < _WORTH_A_WORD * curves.mean() else _MOVED.format(np.sqrt(moved))
        return Findings(
            "Each alternative has a curve of its own over the contexts; nothing is shared between "
            f"them{besides}.",
            params.noise,
            self.kernel,
            curves=curves,
            lengthscales=(Lengthscales(("curve",), "context", params.lengthscale),),
        )

    def troubles(self, setting: Setting, params: GPParams) -> tuple[str, ...]:
        """Return how the search ended, in sentences, where that is worth knowing."""
        d = len(setting.separation)
        rules = priors.hyperprior(self.prior, d).rules.copy()
        if self.noise_sd is not None:
            rules[-1] = priors.fixed(1.0)
        kinds = [*["distance"] * d, "variation", "noise"]
        return tuple(search_troubles(params.theta, params.status, rules, kinds))


def _joint(tally: Tally, params: GPParams) -> Data:
    """Return what the posterior of all alternatives at once follows from."""
    return Data(tally, params.noise, np.zeros(tally.shape[:-2]), params.correlation)


def _loadings(params: GPParams) -> Array | None:
    """Return the loadings of what is like the noise, [..., alternative, context]; None where none is."""
    if params.noise_like is None or params.correlation is None or not np.any(params.noise_like):
        return None
    common = params.noise_like[..., None] * np.maximum(params.correlation, 0.0)
    return np.asarray(np.sqrt(common[..., None, :] * params.noise))


def _study(params: GPParams, index: tuple[int, ...]) -> GPParams:
    """Return the parameters of one of several studies."""
    return params if index == () else entries(params, index)


def _changed(tally: Tally, scale: Scaling, params: GPParams | None) -> BoolArray:
    """Return [..., alternative] whether data or standardisation differ from those of the last fit."""
    if params is None:
        return np.ones(tally.shape[:-1], bool)
    moved = (scale.shift != params.shift) | (scale.spread != params.spread)
    return np.asarray(moved | (tally.count.sum(axis=-1) != params.fitted))


def _in_units(
    found: "SearchResult", fitted: IntArray, searched: IntArray, noise: Array, scale: Scaling
) -> GPParams:
    """Return the parameters found on standardised outcomes in the units of the rewards."""
    return GPParams(
        **_in_units_of_rewards(found.theta, found.constant, noise, scale),
        theta=found.theta,
        shift=scale.shift,
        spread=scale.spread,
        fitted=fitted,
        searched=searched,
        status=found.status,
        changed=np.ones(fitted.shape, bool),
        hessian=found.hessian,
    )


def _in_units_of_rewards(
    theta: Array, constant: Array, noise: Array, scale: Scaling | GPParams
) -> dict[str, Any]:
    """Return lengthscales, scales, noise and constants, by their names, of θ on standardised outcomes."""
    return {
        "lengthscale": np.exp(theta[..., :-2]),
        "scale": scale.spread**2 * np.exp(theta[..., -2]),
        "noise": scale.spread[..., None] ** 2 * np.exp(theta[..., -1:]) * noise,
        "constant": scale.shift + scale.spread * constant,
    }

"""The additive Gaussian process: one model for alternatives with or without coordinates."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from argbest.core import additive_conditioning, common_noise, priors
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_conditioning import expected, squared_misses
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.binomial import Expected
from argbest.core.earlier import widened
from argbest.core.findings import Findings, Lengthscales, variation
from argbest.core.integration import n_points, sample
from argbest.core.landmarks import follows_all, one_by_one, too_large
from argbest.core.noise import (
    PairNoise,
    enough_within,
    pair_noise,
    plausible_pair_noise,
    shown_events,
    taken_for_rate,
)
from argbest.core.priors import Hyperprior, additive, fixed, with_known_noise
from argbest.core.seen_cells import Data
from argbest.core.setting import Setting
from argbest.core.tally import Scaling, Tally, standardisation_of_study, standardise
from argbest.errors import FitError, InputError
from argbest.models.base import ALONE, Plausible, entries
from argbest.models.searched import (
    check_fit,
    check_kernel,
    check_noise_shape,
    checked_noise,
    checked_parts,
    rates_sharing,
    repeated,
    scattered,
    search_troubles,
    shared_noise,
    shares_noise,
    shown_share,
    stacked,
    starts,
    study_changed,
    told_noise,
    unwrap_options,
)

if TYPE_CHECKING:
    from argbest.core.search import SearchResult

PARTS = ("trend", "offset", "joint", "own")
NOISES = ("pair", "pooled")
FIRST_STEPS = 25  # of every start; only the best goes on
# Numbers in the tables of all points that a certificate averages over, and the fewest of these points:
# beyond the first it takes long, beyond the second it takes much memory.
_NUMBERS, _FEWEST_POINTS = (2**18, 2**22), (8, 4)
_DISTANCES = 64  # distances between contexts that take as long as one of those numbers
_VANISHED = 1e-3  # the scale below which a part's distances mean nothing
_SIDE_BY_SIDE = 128  # pairs of studies whose beliefs are held in the same arrays
_ROUNDS = 2  # of a first fit: each goes on from the one before, with the noise that follows from it


@dataclass(frozen=True)
class AdditiveGPParams:
    """Hyper-parameters of a study, in the units of the rewards; leading axes [...]."""

    trend_lengthscale: Array  # [..., coordinate of contexts], scaled by their bounds
    alternative_lengthscale: Array  # [..., coordinate of alternatives]
    lengthscale: Array  # [..., coordinate of contexts]: of joint and own part
    trend: Array  # [...]: prior variance of what all alternatives have in common
    offset: Array  # [...]: of an alternative's level
    joint: Array  # [...]: of what alternatives near each other have in common, context by context
    own: Array  # [...]: of what an alternative has of its own, context by context
    noise: Array  # [..., alternative, context]: variance of one replication
    correlation: Array  # [..., context]: of the noise of replications that share random numbers
    constant: Array  # [...]: estimate of the constant
    theta: Array  # [..., parameter]: where the search ended, on standardised outcomes
    hessian: Array  # [..., parameter, parameter]: what the search has learned of the curvature there
    shift: Array  # [...]: of the standardisation
    spread: Array  # [...]: of the standardisation
    fitted: IntArray  # [..., alternative, context]: replications at the last fit
    searched: IntArray  # [...]: replications at the last full search
    status: IntArray  # [...]: how the search ended
    changed: BoolArray  # [...]: whether the last fit was of this study
    uneven: Array | None = None  # [...]: what noise that is not common is multiplied by; None: 1
    noise_like: Array | None = None  # [...]: of what is like the noise, over the noise that is common

    def __post_init__(self) -> None:
        if self.noise_like is None:  # version 0.2 had no such part: its studies learn one with their next fit
            theta = np.insert(self.theta, -1, np.log(priors.UNSHARED), axis=-1)
            unknown = np.full((*theta.shape, theta.shape[-1]), np.nan)
            added = {"noise_like": np.zeros(self.own.shape), "theta": theta, "hessian": unknown}
            for name, value in added.items():
                object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class AdditiveGP:
    """The default: learns from the data what pairs have in common.

    A common trend, levels, likeness of neighbours, own deviations: each as large as the data say.

    f_k(c) = m + trend(c) + offset_k + joint(k, c) + own_k(c), each part a Gaussian process, normal noise.
    Trend: common to all alternatives. Offset: an alternative's level. Joint: alternatives near each other
    behave alike. Own: the rest. Where alternatives are names without coordinates there is no joint part.
    Scales are learned, and a part that the data do not support vanishes.

    Args:
        parts: The parts to learn; what is not named is left out beforehand.
        kernel: How alike near contexts and near alternatives are: rbf, matern12, matern32 or matern52.
        noise: What has a noise level of its own to learn: "pair" by shrinkage (`argbest.core.noise`), or
            "pooled" for one level.
        noise_sd: The standard deviation of one replication where it is known: a number, or a table
            [alternative, context].
    """

    family: ClassVar[str] = "additive"
    refit_growth: ClassVar[float] = 0.1
    weighs_common_noise: ClassVar[bool] = True

    parts: tuple[str, ...] = PARTS
    kernel: str = "matern52"
    noise: str = "pair"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        unwrap_options(self)
        object.__setattr__(self, "parts", checked_parts(self.parts, PARTS))
        check_kernel(self.kernel)
        noise = "pooled" if self.noise == "pair" and self.noise_sd is not None else self.noise
        object.__setattr__(self, "noise_sd", checked_noise(noise, self.noise_sd, NOISES))

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if no part is left for this table, or the known noise has another shape."""
        check_noise_shape(self.noise_sd, shape)
        if not self.active(shape, setting):
            raise InputError(
                f"additive-gp got parts={list(self.parts)}; none of them says anything about a table of "
                f"{shape[0]} alternatives and {shape[1]} contexts like this one. Add 'own'."
            )

    def check_earlier(self, shape: tuple[int, int]) -> None:
        """Raise an InputError if the table is so large that only the foremost alternatives are followed.

        Args:
            shape: The numbers of alternatives and contexts.
        """
        if not follows_all(shape):
            raise InputError(
                f"prior runs were given for {shape[0]:,} alternatives; of so many, additive-gp follows only "
                "the foremost, and does not learn from other sources. Leave the prior runs out, or give "
                "fewer alternatives."
            )

    def active(self, shape: tuple[int, ...], setting: Setting) -> tuple[str, ...]:
        """Return the parts that can be told apart: with one context, or names, some say the same.

        Args:
            shape: The size of the table, (..., alternatives, contexts).
            setting: What is known of the problem.
        """
        n_alternatives, n_contexts = shape[-2:]
        names = setting.alternatives is None
        idle = set()
        if names:
            idle.add("joint")  # equals the own part
        if n_contexts == 1:  # the trend is a constant, the joint part an offset
            idle |= {"trend", "joint"} | ({"own"} if names and "offset" in self.parts else set())
        if n_alternatives == 1:  # only one function is there, and a constant
            idle |= {"trend", "offset", "joint"} if "own" in self.parts else set()
        return tuple(part for part in self.parts if part not in idle)

    def n_parameters(self, shape: tuple[int, int], setting: Setting) -> int:
        """Return the number of hyper-parameters to learn.

        Args:
            shape: The size of the table, (alternatives, contexts).
            setting: What is known of the problem.
        """
        rules = self._hyperprior(shape, setting).rules
        return int(np.sum(rules[:, -2] < rules[:, -1]))

    def fit(self, tally: Tally, setting: Setting, params: AdditiveGPParams | None = None) -> AdditiveGPParams:
        """Return MAP hyper-parameters, searched from the usual starts or from ``params``.

        A study is searched again when it has new data. The noise of rates, and of few replications, follows
        from a belief; the first fit of a study has none, so it is repeated with the belief that it found.
        Where a study without noise gets more data, these may be impossible under ``params``: it is then
        searched as if it was new.
        """
        tally, setting = widened(tally, setting)
        if tally.count.ndim > 2 and one_by_one(tally.shape):
            return self._fit_apart(tally, setting, params)
        try:
            return self._fit_together(tally, setting, params)
        except FitError:
            if params is None:
                raise
            alone = tally.count.ndim == 2
            return self.fit(tally, setting) if alone else self._fit_apart(tally, setting, params)

    def _fit_apart(self, tally: Tally, setting: Setting, params: AdditiveGPParams | None) -> AdditiveGPParams:
        """Return what `fit` does, one study after the other."""
        before = [None if params is None else entries(params, i) for i in range(len(tally.count))]
        return stacked([self.fit(tally[i], setting, own) for i, own in enumerate(before)])

    def _fit_together(
        self, tally: Tally, setting: Setting, params: AdditiveGPParams | None
    ) -> AdditiveGPParams:
        """Return what `fit` does, all studies at once."""
        scale = standardisation_of_study(tally)
        chosen = study_changed(tally, scale, params)
        known, by_belief = self._kinds_of_noise(tally)
        kinds, whole = known + 2 * by_belief, params
        for kind in np.unique(kinds[chosen]).tolist():  # studies side by side are fitted as each by itself
            some, own = chosen & (kinds == kind), params
            for _ in range(_ROUNDS if params is None and kind >= 2 else 0):
                own = self._fit(tally, setting, scale, some, own, own)
            whole = self._fit(tally, setting, scale, some, own, whole)
        return whole if whole is None else replace(whole, changed=chosen)  # type: ignore[return-value]

    def _fit(
        self,
        tally: Tally,
        setting: Setting,
        scale: Scaling,
        chosen: BoolArray,
        params: AdditiveGPParams | None,
        whole: AdditiveGPParams | None,
    ) -> AdditiveGPParams:
        """Return the ``whole`` with the chosen studies searched anew from ``params``.

        The noise of all of them is of one kind (`_kinds_of_noise`).
        """
        from argbest.core import additive  # imports Numba, so not before it is needed

        data = standardise(tally, scale)[chosen]
        own = Scaling(scale.shift[..., 0][chosen], scale.spread[..., 0][chosen])
        learned = self._noise_of(tally, setting, params, chosen)
        alone, relative = _is_earlier(setting), _relative(learned, own.spread)
        noise, shared = shared_noise(data, relative, learned, alone)
        prior = self._hyperprior(tally.shape, setting, known_noise=learned.known, correlation=shared)
        points, searched = starts(prior, data, noise, chosen, params)
        inputs = additive.Inputs(self.kernel, setting.alternatives, setting.separation, setting.n_sources)
        search = additive.search_from(points, FIRST_STEPS, None if params is None else params.hessian[chosen])
        found = additive.fit_map(inputs, data, noise, prior, search, shared)
        check_fit(found)
        fresh = _in_units(found, data.count, searched, (noise, shared), own, len(setting.separation))
        fresh = replace(fresh, uneven=common_noise.unevenness(data, noise, shared))
        return scattered(fresh, chosen, whole, changed=chosen)

    def posterior(
        self,
        tally: Tally,
        setting: Setting,
        params: AdditiveGPParams,
        known: Any = None,
    ) -> Any:  # an AdditiveBelief, or a FocusedBelief
        """Return the exact posterior at the contexts; of very many alternatives, about the foremost."""
        wide, setting = widened(tally, setting)
        prior = self._prior(setting, params, setting.separation)
        return additive_conditioning.conditioned(prior, _data(wide, params, tally), known)

    def kinds(self, tally: Tally, setting: Setting, params: AdditiveGPParams) -> IntArray:
        """Return [...] whether alternatives share noise; `ALONE` where only the foremost are followed.

        Studies of more than a few pairs are alone, too: one by itself keeps a table of its covariances.
        """
        names, found = setting.alternatives is None, shares_noise(params.correlation, tally.shape)
        for study in np.ndindex(found.shape):
            count = tally.count[study]
            if count.size > _SIDE_BY_SIDE or too_large(count, names=names):
                found[study] = ALONE
        return found

    def plausible(
        self, tally: Tally, setting: Setting, params: AdditiveGPParams, generator: np.random.Generator
    ) -> Plausible[AdditiveGPParams]:
        """Return hyper-parameters and noise tables as likely as the data leave them, of one study.

        The prior is that of the fit, a density of the logarithms. Weights rest on the estimated noise table;
        every point then has a table of its own.
        """
        from argbest.core import additive

        tally, setting = widened(tally, setting)
        scale = Scaling(params.shift[..., None], params.spread[..., None])
        belief = self._belief_behind_noise(tally, setting, params)
        learned = self._learned_noise(tally, setting, belief)
        data, relative = standardise(tally, scale), _relative(learned, params.spread)
        alone = _is_earlier(setting)
        rates = rates_sharing(data, relative, learned.events, alone)
        table = relative * rates.level
        weighed = params.correlation if additive.weighs_common_noise(tally.count) else None
        prior = self._hyperprior(tally.shape, setting, known_noise=learned.known, correlation=weighed)
        rules = prior.rules.copy()
        if rules[-2, -2] == rules[-2, -1]:
            rules[-2, -2:] = params.theta[-2]  # nothing is learned of it here: it stays where it is
        inputs = additive.Inputs(self.kernel, setting.alternatives, setting.separation, setting.n_sources)
        evaluate, density = additive.evaluator(inputs, data, table, prior, params.theta, params.correlation)
        limits = zip(_NUMBERS, _FEWEST_POINTS, strict=True)
        size = max(tally.count.size, tally.shape[1] ** 2 // _DISTANCES)
        most = min(max(fewest, numbers // size) for numbers, fewest in limits)
        n = min(n_points(int((tally.count > 0).sum())), most)
        points = sample(evaluate, params.theta, rules, n, generator, density=density)
        tables = np.broadcast_to(table, (n, *table.shape))
        if self._learns_noise:
            missed, expected = belief or (None, None)
            tables = plausible_pair_noise(tally, n, generator, squared_misses=missed, expected=expected)
            tables = tables / params.spread**2 if learned.known else tables
        several, correlation = repeated(params, n), np.broadcast_to(params.correlation, (n, table.shape[1]))
        if rates.rates:
            own = common_noise.plausible_of_rates(data, tables, generator, rates, float(learned.events))
            own = own.without(alone)
            tables, correlation = tables * own.level, own.correlation
        elif np.any(params.correlation > 0.0):
            variances = np.exp(points.theta[:, -1])[:, None, None] * tables
            shown = shown_share(tally, learned)
            drawn = common_noise.plausible(data, variances, generator, divisor=learned.divisor, shown=shown)
            correlation = np.where(params.correlation > 0.0, drawn, correlation)
        found = _in_units_of_rewards(points.theta, tables, several.spread, len(setting.separation))
        several = replace(several, theta=points.theta, correlation=correlation, **found)
        return Plausible(several, n, points.effective)

    def predict(
        self, tally: Tally, setting: Setting, params: AdditiveGPParams, separation: Array
    ) -> AdditiveBelief:
        """Return the exact posterior at new contexts, correlated across alternatives."""
        narrow, (tally, setting) = tally, widened(tally, setting)
        if narrow.earlier is None:
            separation = separation[..., : tally.shape[-1]]  # there may be earlier runs of other responses
        else:
            separation = narrow.earlier.from_points(separation)
        prior = self._prior(setting, params, setting.separation)
        across = np.swapaxes(separation, -1, -2)
        cross = replace(self._prior(setting, params, across), same=np.all(across == 0.0, axis=0))
        return additive_conditioning.predict(prior, cross, _data(tally, params, narrow))

    @property
    def _learns_noise(self) -> bool:
        return self.noise == "pair" and self.noise_sd is None

    def _kinds_of_noise(self, tally: Tally) -> tuple[BoolArray, BoolArray]:
        """Return [...] whether its level is known beforehand, and whether it follows from a belief."""
        if not self._learns_noise:
            lead = tally.shape[:-2]
            return np.full(lead, self.noise_sd is not None), np.zeros(lead, bool)
        rates, within = taken_for_rate(tally), enough_within(tally)
        return rates | within, rates | ~within

    def _noise_of(
        self, tally: Tally, setting: Setting, params: AdditiveGPParams | None, chosen: BoolArray
    ) -> PairNoise:
        """Return the noise of the chosen studies, arrays [chosen, ...]."""
        if tally.count.ndim > 2:
            own = None if params is None else entries(params, chosen)
            some = tally[chosen]
            return self._learned_noise(some, setting, self._belief_behind_noise(some, setting, own))
        found = self._learned_noise(tally, setting, self._belief_behind_noise(tally, setting, params))
        return PairNoise._make(each[None] for each in found)

    def _learned_noise(
        self, tally: Tally, setting: Setting, belief: tuple[Array, Expected] | None
    ) -> PairNoise:
        """Return what the data say of the noise, or what was given of it."""
        if not self._learns_noise:
            return told_noise(self, tally.shape)
        missed, expected = belief or (None, None)
        found = pair_noise(tally, squared_misses=missed, expected=expected)
        return found._replace(events=_own_events(tally, setting)) if setting.n_sources else found

    def _belief_behind_noise(
        self, tally: Tally, setting: Setting, params: AdditiveGPParams | None
    ) -> tuple[Array, Expected] | None:
        """Return how far pairs are from the belief under ``params``, and that belief; None if not needed."""
        if params is None or not np.any(self._kinds_of_noise(tally)[1]):
            return None
        prior = self._prior(setting, params, setting.separation)
        belief = expected(prior, Data(tally, params.noise, params.shift, params.correlation))
        missed, events = squared_misses(prior, tally, belief), _own_events(tally, setting)
        shared = rates_sharing(tally, params.noise, events, _is_earlier(setting))
        return missed, belief._replace(noise=params.noise / shared.level)

    def findings(self, setting: Setting, params: AdditiveGPParams) -> Findings:
        """Return how much each part varies over the table, and over what distances."""
        alike, _ = priors.KERNELS[self.kernel]
        sources = alike(params.lengthscale[len(setting.separation) :] ** -2.0)
        params = _of_study(params, setting)
        shape = params.noise.shape
        found = variation(self._prior(setting, params, setting.separation), shape[0])
        lengths = [Lengthscales(("trend",), "context", params.trend_lengthscale)]
        if setting.alternatives is not None:
            lengths.append(Lengthscales(("offset", "joint"), "alternative", params.alternative_lengthscale))
        lengths.append(Lengthscales(("joint", "own"), "context", params.lengthscale))
        active = self.active(shape, setting)
        parts = {part: found[part] if part in active else 0.0 for part in PARTS}
        parts |= {part: found[part] for part in found if part not in PARTS}
        correlations = tuple(sources.tolist())
        return Findings(
            "", params.noise, self.kernel, parts, lengthscales=tuple(lengths), sources=correlations
        )

    def _prior(self, setting: Setting, params: AdditiveGPParams, separation: Array) -> AdditivePrior:
        """Return the prior covariance under these parameters, for tables of these separations."""
        one, like = np.ones(params.own.shape), None
        if params.noise_like is not None and np.any(params.correlation > 0.0):
            common = params.noise_like[..., None] * np.maximum(params.correlation, 0.0)
            like = np.sqrt(common[..., None, :] * params.noise)
        return AdditivePrior(
            kernel=self.kernel,
            alternatives=setting.alternatives,
            alternative_lengthscale=params.alternative_lengthscale,
            trend=priors.covariance(self.kernel, separation, params.trend_lengthscale, params.trend),
            nearness=priors.covariance(self.kernel, separation, params.lengthscale, one),
            offset=params.offset,
            joint=params.joint,
            own=params.own,
            noise_like=like,
            level=priors.level_of(self.kernel, separation, params.lengthscale, setting.n_sources),
        )

    def troubles(self, setting: Setting, params: AdditiveGPParams) -> tuple[str, ...]:
        """Return how the search ended, in sentences, where that is worth knowing."""
        d, a = params.trend_lengthscale.shape[-1], params.alternative_lengthscale.shape[-1]
        sources = d - len(setting.separation)
        setting = replace(setting, separation=np.empty((d, 0, 0)), n_sources=sources)
        rules = self._hyperprior(params.fitted.shape, setting).rules.copy()
        if self.noise_sd is not None:
            rules[-1] = fixed(1.0)
        scales = {
            "trend": params.trend,
            "alternative": params.offset + params.joint,
            "own": params.joint + params.own,
        }
        present = {name: bool(scale > _VANISHED * params.spread**2) for name, scale in scales.items()}
        of_contexts = d - sources
        lengths = [*["trend"] * of_contexts, *[""] * sources, *["alternative"] * a]
        lengths += [*["own"] * of_contexts, *[""] * sources]  # at whatever distance sources are, it is well
        kinds = ["distance" if present.get(part) else "" for part in lengths] + ["part"] * len(PARTS)
        kinds += ["", "noise"]  # of what is like the noise any share is well
        return tuple(search_troubles(params.theta[None], params.status[None], rules, kinds))

    def _hyperprior(
        self,
        shape: tuple[int, ...],
        setting: Setting,
        *,
        known_noise: BoolArray | bool = False,
        correlation: Array | None = None,
    ) -> Hyperprior:
        """Return the prior of all parameters; those of parts left out are held fixed.

        Noise whose level is known leaves nothing to learn, nor does what is like the noise where alternatives
        share none.
        """
        d = len(setting.separation)
        a = 1 if setting.alternatives is None else setting.alternatives.dimension
        parts = self.active(shape, setting)
        near = "joint" in parts or "own" in parts
        related = setting.alternatives is not None and ("offset" in parts or "joint" in parts)
        lengths = [*["trend" in parts] * d, *[related] * a, *[near] * d]
        of_sources = slice(len(lengths) - setting.n_sources, None)
        lengths[of_sources] = [True] * setting.n_sources  # the offset depends on them, too
        shares = correlation is not None and bool(np.any(correlation > 0.0))
        found = additive(
            lengths,
            [part in parts for part in PARTS],
            (d, a, d),
            shares_noise=shares,
            n_sources=setting.n_sources,
        )
        return with_known_noise(found) if np.any(known_noise) else found


def _is_earlier(setting: Setting) -> BoolArray:
    """Return whether a context is one of earlier runs, which share no seeds with others; [context]."""
    sources = setting.separation[len(setting.separation) - setting.n_sources :, 0]
    return np.asarray(np.any(sources > 0.0, axis=0))


def _own_events(tally: Tally, setting: Setting) -> Array:
    """Return what `shown_events` does of the study's own runs: earlier ones share no seeds."""
    found = shown_events(tally)
    if not setting.n_sources:
        return found
    n = int(np.sum(~_is_earlier(setting)))
    tables = tally.count[..., :n], tally.mean[..., :n], tally.m2[..., :n]
    own = shown_events(Tally(*tables, replications=tally.replications))
    return np.where(np.isnan(found), np.nan, own)


def _of_study(params: AdditiveGPParams, setting: Setting) -> AdditiveGPParams:
    """Return the parameters without those of earlier runs."""
    d, n = len(setting.separation), setting.separation.shape[-1]
    return replace(
        params,
        trend_lengthscale=params.trend_lengthscale[..., :d],
        lengthscale=params.lengthscale[..., :d],
        noise=params.noise[..., :n],
        correlation=params.correlation[..., :n],
        fitted=params.fitted[..., :n],
    )


def _relative(learned: PairNoise, spread: Array) -> Array:
    """Return what multiplies the noise parameter, of studies of one kind of noise.

    ``spread`` [...] is that of the outcomes; noise whose level is not known is over its average.
    """
    return learned.variance / spread[..., None, None] ** 2 if np.any(learned.known) else learned.variance


def _data(wide: Tally, params: AdditiveGPParams, tally: Tally) -> Data:
    """Return the data with their noise, in which what alternatives do not share is made larger where uneven.

    See `argbest.core.common_noise.unevenness`. ``wide`` holds the earlier runs, too, which nobody asks about.
    """
    level, rho = common_noise.counted(params.correlation, params.uneven)
    wanted = None if tally.earlier is None else tally.shape[-1]
    return Data(wide, params.noise * level[..., None, :], params.shift, rho, wanted)


def _in_units(
    found: "SearchResult",
    fitted: IntArray,
    searched: IntArray,
    shared: tuple[Array, Array],
    scale: Scaling,
    d: int,
) -> AdditiveGPParams:
    """Return the parameters found on standardised outcomes in the units of the rewards.

    ``shared`` are the noise table and the correlations that went into the search.
    """
    (noise, correlation), (shift, spread) = shared, scale
    return AdditiveGPParams(
        **_in_units_of_rewards(found.theta, noise, spread, d),
        correlation=correlation,
        constant=shift + spread * found.constant,
        theta=found.theta,
        hessian=found.hessian,
        shift=shift,
        spread=spread,
        fitted=fitted,
        searched=searched,
        status=found.status,
        changed=np.ones(shift.shape, bool),
    )


def _in_units_of_rewards(theta: Array, noise: Array, spread: Array, d: int) -> dict[str, Any]:
    """Return lengthscales, scales and noise, by their names, of θ on standardised outcomes."""
    value = np.exp(theta)
    last = value.shape[-1] - len(PARTS) - 2
    return {
        "trend_lengthscale": value[..., :d],
        "alternative_lengthscale": value[..., d : last - d],
        "lengthscale": value[..., last - d : last],
        **{part: spread**2 * value[..., last + i] for i, part in enumerate(PARTS)},
        "noise_like": value[..., -2],
        "noise": (spread**2 * value[..., -1])[..., None, None] * noise,
    }

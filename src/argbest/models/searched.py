"""What models with searched hyper-parameters share: options, where a search starts, and how it ended."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from argbest.core import common_noise, priors
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.landmarks import affords_common_noise
from argbest.core.noise import PairNoise
from argbest.core.priors import Hyperprior
from argbest.core.tally import Scaling, Tally
from argbest.errors import FitError, InputError, unknown_name

if TYPE_CHECKING:
    from argbest.core.search import SearchResult


class NoiseOptions(Protocol):
    """What a model says of its noise."""

    @property
    def noise(self) -> str:
        """How it is learned."""

    @property
    def noise_sd(self) -> float | Array | None:
        """Its standard deviation, where it is known."""


def unwrap_options(model: object) -> None:
    """Put the entry of an array without dimensions in its place, as an option of the model."""
    for each in fields(model):  # type: ignore[arg-type]
        value = getattr(model, each.name)
        if isinstance(value, np.ndarray) and value.shape == ():
            object.__setattr__(model, each.name, value.item())


def check_kernel(name: str) -> None:
    """Raise an InputError unless there is such a kernel."""
    if not isinstance(name, str) or name not in priors.KERNELS:
        raise unknown_name("kernel", name, priors.KERNELS)


def checked_noise(noise: str, noise_sd: object, noises: Collection[str]) -> Array | None:
    """Return the known standard deviation of the noise, read-only, or None where the noise is learned."""
    if not isinstance(noise, str) or noise not in noises:
        raise unknown_name("noise", noise, noises)
    if noise_sd is None:
        return None
    if noise == "pair":
        raise InputError(
            'got noise_sd together with noise="pair"; noise is either known or learned. Leave one out.'
        )
    try:
        sd = np.array(noise_sd, float)
    except (TypeError, ValueError):
        sd = np.array(np.nan)
    if not (np.all(np.isfinite(sd)) and np.all(sd > 0)):
        raise InputError(
            f"noise_sd must be positive and finite, got {noise_sd!r}; leave it out to learn the noise."
        )
    sd.flags.writeable = False
    return sd


def checked_parts(given: object, parts: Collection[str]) -> tuple[str, ...]:
    """Return the parts given, in their usual order."""
    named = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
    if not named:
        raise InputError(f"got parts={given!r}; expected one or more of {', '.join(parts)}.")
    for part in named:
        if part not in parts:
            raise unknown_name("part", str(part), parts)
    return tuple(part for part in parts if part in named)


def check_noise_shape(noise_sd: object, shape: tuple[int, int]) -> None:
    """Raise an InputError if the known noise is a table of another shape."""
    given = np.shape(np.asarray(noise_sd)) if noise_sd is not None else ()
    if given not in ((), shape):
        raise InputError(f"noise_sd has shape {given}, expected a number or a table {shape}.")


def told_noise(model: NoiseOptions, shape: tuple[int, ...]) -> PairNoise:
    """Return noise that no data tell: as the model was given it, or the same everywhere."""
    given = model.noise_sd is not None
    variance = np.broadcast_to(np.asarray(model.noise_sd, float) ** 2 if given else 1.0, shape)
    lead = shape[:-2]
    return PairNoise(variance, np.full(lead, given), np.zeros(shape), np.ones(lead), np.full(lead, np.nan))


T = TypeVar("T")
_TELLING = 8  # replications beyond the first of a cell that tell how large the noise is


class Searched(Protocol):
    """Parameters that remember their search."""

    @property
    def theta(self) -> Array:
        """Where the search ended, [..., parameter]."""

    @property
    def searched(self) -> IntArray:
        """Replications at the last full search, [...]."""

    @property
    def status(self) -> IntArray:
        """How the search ended, [...]."""


class Fitted(Protocol):
    """Parameters of whole studies that remember the data they were fitted to."""

    @property
    def shift(self) -> Array:
        """Of the standardisation, [...]."""

    @property
    def spread(self) -> Array:
        """Of the standardisation, [...]."""

    @property
    def fitted(self) -> IntArray:
        """Replications at the last fit, [..., alternative, context]."""


def starts(
    prior: Hyperprior, data: Tally, noise: Array, chosen: BoolArray, params: Searched | None
) -> tuple[Array, IntArray]:
    """Return where each search starts, [chosen, s, parameter], and the counts at its last full search.

    ``data`` and ``noise``, which multiplies the noise parameter, are those of the chosen, standardised. A
    full search tries all of the preset's starts. Later ones go on from the last optimum, and become full
    again whenever the replications have grown by half or the last one did not converge: no poor optimum is
    kept.
    """
    n = data.count.sum(axis=tuple(range(1, data.count.ndim)))
    if params is None:
        return _presets(prior, data, noise), n
    searched, last = params.searched[chosen], params.theta[chosen][:, None, :]
    if prior.rules[-1, -2] == prior.rules[-1, -1]:  # the noise is known, and may not have been before
        last = np.concatenate([last[..., :-1], np.zeros((len(last), 1, 1))], axis=-1)
    full = (n >= 1.5 * searched) | (params.status[chosen] != 0)
    if not full.any():  # by far the most common
        return last, searched
    presets = np.where(full[:, None, None], _presets(prior, data, noise), np.nan)
    return np.concatenate([last, presets], axis=1), np.where(full, n, searched)


def _presets(prior: Hyperprior, data: Tally, noise: Array) -> Array:
    """Return the preset's starts, none with less noise than replications show: the way up is long."""
    axes = tuple(range(1, data.count.ndim))
    spare = np.maximum(data.count - 1, 0).sum(axis=axes)
    shown = np.sum(data.m2 / noise, axis=axes) / np.maximum(spare, 1)
    least = np.log(shown, out=np.full(shown.shape, -np.inf), where=(shown > 0) & (spare >= _TELLING))
    points = np.repeat(prior.starts[None], len(shown), axis=0)
    points[..., -1] = np.maximum(points[..., -1], least[:, None])
    return points


def study_changed(tally: Tally, scale: Scaling, params: Fitted | None) -> BoolArray:
    """Return [...] whether a study's data or standardisation differ from those of the last fit."""
    if params is None:
        return np.ones(tally.shape[:-2], bool)
    moved = (scale.shift[..., 0] != params.shift) | (scale.spread[..., 0] != params.spread)
    return np.asarray(moved | np.any(tally.count != params.fitted, axis=(-2, -1)))


def affordable_correlation(tally: Tally, noise: Array, learned: PairNoise | None = None) -> Array:
    """Return the correlation of replications that share random numbers; 0 where tables are too large.

    ``learned`` says which share of the ``noise`` no replication has shown: nobody knows that to be shared.
    """
    if learned is None:
        found = common_noise.estimate(tally, noise)
    else:
        found = common_noise.estimate(tally, noise, learned.divisor) * shown_share(tally, learned)
    for study in np.ndindex(tally.shape[:-2]):
        if not affords_common_noise(tally.count[study]):
            found[study] = 0.0
    return found


def shared_noise(tally: Tally, noise: Array, learned: PairNoise, alone: BoolArray) -> tuple[Array, Array]:
    """Return the ``noise`` as it counts, and the correlation of replications that share random numbers.

    Those of contexts that are ``alone`` [context] share none.
    """
    correlation, known = (
        np.where(alone, 0.0, affordable_correlation(tally, noise, learned)),
        rates_sharing(tally, noise, learned.events, alone),
    )
    return noise * known.level, np.where(known.rates[..., None], known.correlation, correlation)


def rates_sharing(tally: Tally, noise: Array, events: Array, alone: BoolArray) -> common_noise.OfRates:
    """Return how often the noise of rates counts as long as few seeds have shown ``events`` [...].

    Large tables do not know noise that is shared, and that which goes against each other is known well. In
    contexts that are ``alone`` [context] none is shared.
    """
    told = events.copy()
    against = common_noise.goes_against(tally, noise)
    for study in zip(*np.nonzero(np.atleast_1d(~np.isnan(events))), strict=True):
        at = study if events.ndim else ()
        if against[at] or not affords_common_noise(tally.count[at]):
            told[at] = np.nan
    return common_noise.of_rates(tally, noise, told).without(alone)


def shown_share(tally: Tally, learned: PairNoise) -> Array:
    """Return the share of the noise that replications have shown, [..., context]: 1 but for rare events."""
    seen = np.where(tally.count > 0, 1.0 - learned.unseen, 0.0).sum(axis=-2)
    return np.asarray(seen / np.maximum((tally.count > 0).sum(axis=-2), 1))


def shares_noise(correlation: Array | None, shape: tuple[int, ...]) -> IntArray:
    """Return [...] 1 where alternatives of a study share noise and 0 elsewhere, by the correlations."""
    none = np.zeros(shape[:-2], np.int64)
    return none if correlation is None else np.any(correlation != 0, axis=-1).astype(np.int64)


def check_fit(found: "SearchResult") -> None:
    """Raise a FitError if some search found no point with a finite likelihood."""
    if not np.isfinite(found.value).all():
        raise FitError(
            "no hyper-parameters fit the data: the likelihood is not finite anywhere. "
            "Are all replications finite numbers of ordinary size?"
        )


def scattered(fresh: T, chosen: BoolArray, old: T | None, **whole_fields: AnyArray) -> T:
    """Return ``fresh``, a dataclass of arrays [chosen, ...], put in the chosen places, ``old`` elsewhere.

    Fields that are given are taken as they are.
    """
    merged: dict[str, AnyArray | None] = {**vars(fresh), **whole_fields}
    every = bool(chosen.all())
    for name, part in merged.items():
        if part is None or name in whole_fields:
            continue
        known = getattr(old, name, None)
        if every:
            merged[name] = part.reshape((*chosen.shape, *part.shape[1:]))
            continue
        if known is None:  # nor has an older version kept it, if it is a number
            unknown = np.nan if part.dtype.kind == "f" else 0
            whole = np.full((*chosen.shape, *part.shape[1:]), unknown, part.dtype)
        else:
            whole = known.copy()
        whole[chosen] = part
        merged[name] = whole
    return type(fresh)(**merged)


def stacked(each: Sequence[T]) -> T:
    """Return dataclasses of arrays, one of each study, as one of all, on a first axis."""
    found = [vars(one) for one in each]
    known = [name for name, part in found[0].items() if part is not None]
    return type(each[0])(**{name: np.stack([one[name] for one in found]) for name in known})


def repeated(params: T, n: int) -> T:
    """Return a dataclass of arrays n times over, on a first axis."""
    found = {each.name: getattr(params, each.name) for each in fields(params)}  # type: ignore[arg-type]
    known = {name: part for name, part in found.items() if part is not None}
    return type(params)(**{name: np.broadcast_to(part, (n, *part.shape)) for name, part in known.items()})


_TOUCHING = 1e-9  # in logarithms
_LIMITS = {  # what a parameter at its least and at its most means; a long distance is told as such elsewhere
    "distance": ("rewards change over shorter distances than it can follow", ""),
    "variation": ("rewards hardly vary", "rewards vary more than it can follow"),
    "part": ("", "rewards vary more than it can follow"),  # at its least a part is absent, which is told too
    "noise": ("replications hardly differ", "noise hides everything else"),
}


def search_troubles(theta: Array, status: IntArray, rules: Array, kinds: Sequence[str]) -> Iterator[str]:
    """Yield a sentence if searches ended early, and one if they ended at limits of the model.

    ``theta`` [search, parameter] are the ends of one or more searches, ``status`` [search] is how they came
    about, ``rules`` those of the prior, and ``kinds`` what each parameter is.
    """
    from argbest.core.search import STALLED  # imports Numba, which a search has done before

    for stalled, word in ((True, "stalled before it had converged"), (False, "ran out of steps")):
        ended = (status == STALLED) if stalled else (status != 0) & (status != STALLED)
        if ended.any():
            yield (
                f"The search for hyper-parameters {word}{_how_many(ended)}: certificates may be wrong. The "
                "next fit starts it again; simulate a few more replications."
            )
    found = list(_at_limits(theta, rules, np.array(kinds)))
    if found:
        yield (
            f"The fit ended at a limit of the model: {'; '.join(found)}. Look at the model check before you "
            "rely on certificates."
        )


def _at_limits(theta: Array, rules: Array, kinds: AnyArray) -> Iterator[str]:
    """Yield what it means that searches ended at a limit, for each kind of parameter."""
    low, high = rules[:, -2], rules[:, -1]
    ends = (theta <= low + _TOUCHING) & (low < high), (theta >= high - _TOUCHING) & (low < high)
    for kind, words in _LIMITS.items():
        for meaning, touching in zip(words, ends, strict=True):
            some = np.asarray(touching[:, kinds == kind].any(axis=1))
            if meaning and some.any():
                yield f"{meaning}{_how_many(some)}"


def _how_many(some: BoolArray) -> str:
    """Return of how many alternatives that is so, "" where there is one search for all."""
    return "" if len(some) == 1 else f" for {int(some.sum())} of {len(some)} alternatives"

"""Kernels, and the priors and bounds of their hyper-parameters on standardised outcomes, as named presets.

Stationary correlations of the squared scaled distance r²; the paper's default is Matérn 5/2. Every formula is
written once, for scalars and arrays alike: NumPy calls it here and the compiled search too. ``slope``
is -2 d(correlation)/d(r²), so that with ARD lengths d(correlation)/d(log l_j) = slope(r²) · (Δ_j / l_j)².

Parameters are held as logarithms in the order log l_1 … log l_d, log scale, log noise. A prior is a density
in the parameter itself, not in its logarithm. Each row of ``rules`` is (family, a, b, low, high), the bounds
in logarithms; equal bounds hold a parameter fixed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from argbest.core.arrays import Array
from argbest.errors import unknown_name

# Among m rewards none is known more exactly than to m times this share of its prior variance. Smooth kernels
# are singular to rounding: what exact data could say beyond it, doubles do not hold.
NUGGET = 1e-14


def rbf(r2: Any) -> Any:
    """Return exp(-r²/2)."""
    return np.exp(-0.5 * r2)


def matern12(r2: Any) -> Any:
    """Return exp(-r)."""
    return np.exp(-np.sqrt(r2))


def matern32(r2: Any) -> Any:
    """Return (1 + a) exp(-a), a = √3 r."""
    a = np.sqrt(3.0 * r2)
    return (1.0 + a) * np.exp(-a)


def matern52(r2: Any) -> Any:
    """Return (1 + a + a²/3) exp(-a), a = √5 r."""
    a = np.sqrt(5.0 * r2)
    return (1.0 + a + a * a / 3.0) * np.exp(-a)


def rbf_slope(r2: Any) -> Any:
    """Return -2 d/d(r²) of the RBF correlation."""
    return np.exp(-0.5 * r2)


def matern12_slope(r2: Any) -> Any:
    """Return -2 d/d(r²) of the Matérn 1/2 correlation; finite at 0, where it is only used times 0."""
    r = np.sqrt(r2)
    return np.exp(-r) / np.maximum(r, 1e-300)


def matern32_slope(r2: Any) -> Any:
    """Return -2 d/d(r²) of the Matérn 3/2 correlation."""
    return 3.0 * np.exp(-np.sqrt(3.0 * r2))


def matern52_slope(r2: Any) -> Any:
    """Return -2 d/d(r²) of the Matérn 5/2 correlation."""
    a = np.sqrt(5.0 * r2)
    return 5.0 / 3.0 * (1.0 + a) * np.exp(-a)


# The position in this table is the code by which the compiled search knows a kernel.
KERNELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "rbf": (rbf, rbf_slope),
    "matern12": (matern12, matern12_slope),
    "matern32": (matern32, matern32_slope),
    "matern52": (matern52, matern52_slope),
}


def scaled(separation: Array, lengthscale: Array) -> Array:
    """Return r² [..., X, C] from squared separations [d, X, C] and lengthscales [..., d]."""
    return np.asarray(np.einsum("...j,jxc->...xc", 1.0 / lengthscale**2, separation))


def covariance(kernel: str, separation: Array, lengthscale: Array, scale: Array) -> Array:
    """Return scale · correlation(r²), [..., X, C]; scale (the prior variance) is [...]."""
    correlation, _ = KERNELS[kernel]
    return np.asarray(scale[..., None, None] * correlation(scaled(separation, lengthscale)))


def level_of(kernel: str, separation: Array, lengthscale: Array, n_sources: int) -> Array | None:
    """Return the correlation of an alternative's level in two contexts, [..., X, C]; None: 1.

    It follows from the last coordinates, those of sources, of separations [d, X, C] and lengths [..., d].
    """
    if not n_sources:
        return None
    lengths = lengthscale[..., -n_sources:]
    return covariance(kernel, separation[-n_sources:], lengths, np.ones(lengths.shape[:-1]))


FLAT, GAMMA, LOGNORMAL = 0.0, 1.0, 2.0  # Gamma(shape a, rate b); LogNormal(location a, scale b)

LENGTH_RANGE = (1e-3, 1e4)
SCALE_RANGE = (1e-6, 1e6)
NOISE_RANGE = (1e-4, 1e4)

# Further starting points (lengthscale, scale, noise): the posterior may have several maxima, some of which
# call the data noise and some of which follow them closely.
SMOOTH = (1.0, 1.0, 0.01)
CLOSE = (0.3, 1.0, 0.001)


@dataclass(frozen=True)
class Hyperprior:
    """What the search for the hyper-parameters starts from and respects."""

    rules: Array  # [d + 2, 5]
    starts: Array  # [s, d + 2], logarithms; the first is the preset's own


def _starts(d: int, *points: tuple[float, float, float]) -> Array:
    """Return starting points given as (lengthscale, scale, noise)."""
    return np.log([[length] * d + [scale, noise] for length, scale, noise in points])


def rule(family: float, a: float, b: float, bounds: tuple[float, float]) -> list[float]:
    """Return one row of the rules."""
    return [family, a, b, float(np.log(bounds[0])), float(np.log(bounds[1]))]


def fixed(value: float) -> list[float]:
    """Return the rule that holds a parameter at this value."""
    return rule(FLAT, 0.0, 0.0, (value, value))


def _paper(d: int) -> Hyperprior:
    """Return the 2021 BoTorch defaults with which the paper's experiments were run."""
    rules = [rule(GAMMA, 3.0, 6.0, LENGTH_RANGE)] * d
    rules += [rule(GAMMA, 2.0, 0.15, SCALE_RANGE), rule(GAMMA, 1.1, 0.05, NOISE_RANGE)]
    softplus_of_zero = float(np.log(2.0))
    return Hyperprior(np.array(rules), _starts(d, (softplus_of_zero, softplus_of_zero, 2.0), SMOOTH, CLOSE))


def _modern(d: int) -> Hyperprior:
    """Return the dimension-scaled LogNormal priors of BoTorch 0.12 and later; the scale is fixed at 1."""
    location = float(np.sqrt(2.0) + 0.5 * np.log(d))
    rules = [rule(LOGNORMAL, location, np.sqrt(3.0), (0.025, LENGTH_RANGE[1]))] * d
    rules += [rule(FLAT, 0.0, 0.0, (1.0, 1.0)), rule(LOGNORMAL, -4.0, 1.0, NOISE_RANGE)]
    return Hyperprior(np.array(rules), _starts(d, (np.exp(location - 3.0), 1.0, np.exp(-5.0)), SMOOTH, CLOSE))


def _none(d: int) -> Hyperprior:
    """Return flat priors: pure maximum likelihood inside wide bounds."""
    rules = [rule(FLAT, 0.0, 0.0, LENGTH_RANGE)] * d
    rules += [rule(FLAT, 0.0, 0.0, SCALE_RANGE), rule(FLAT, 0.0, 0.0, NOISE_RANGE)]
    return Hyperprior(np.array(rules), _starts(d, (0.5, 1.0, 0.1), SMOOTH, CLOSE))


PRIORS = {"paper": _paper, "modern": _modern, "none": _none}


@lru_cache(maxsize=64)
def hyperprior(name: str, d: int) -> Hyperprior:
    """Return the preset ``paper``, ``modern`` or ``none`` for d context coordinates, read only."""
    if name not in PRIORS:
        raise unknown_name("prior", name, PRIORS)
    found = PRIORS[name](d)
    found.rules.flags.writeable = found.starts.flags.writeable = False  # others get the same ones
    return found


def of_logarithms(prior: Hyperprior) -> Hyperprior:
    """Return the prior as a density of the logarithms: that of each parameter times the parameter.

    Flat rules become log-uniform: a density flat in the parameter itself would have all its mass at the upper
    bound. Gamma(a, b) becomes a + 1, LogNormal(a, b) the location a + b².
    """
    rules = prior.rules.copy()
    family = rules[:, 0]
    rules[family == GAMMA, 1] += 1.0
    rules[family == LOGNORMAL, 1] += rules[family == LOGNORMAL, 2] ** 2
    return Hyperprior(rules, prior.starts)


def with_known_noise(prior: Hyperprior) -> Hyperprior:
    """Return the prior with the noise factor fixed at 1: the noise variances given are then exact."""
    rules, starts = prior.rules.copy(), prior.starts.copy()
    rules[-1] = fixed(1.0)
    starts[:, -1] = 0.0
    return Hyperprior(rules, starts)


# Densities of the logarithms, on outcomes standardised over the study: parts may vanish.
_LENGTH = rule(GAMMA, 4.0, 4.0, (0.05, 20.0))  # l³ e^(−4l)
_SCALE = rule(GAMMA, 1.0, 1.0, (1e-4, 50.0))  # e^(−s)
_NOISE = rule(GAMMA, 2.1, 0.1, (1e-8, 1e3))  # v^1.1 e^(−0.1v)
# Of a coordinate that says which source a run is from, log-uniform: from all but unrelated, a correlation of
# 0.005 by the usual kernel, to all but the same, 0.9999.
_SOURCE = rule(FLAT, 0.0, 0.0, (0.25, 100.0))
_SOURCE_STARTS = (3.0, 1.0, 3.0, 1.0)
_NOISE_LIKE = rule(FLAT, 0.0, 0.0, (1e-4, 1e3))  # log-uniform: in shares of the noise that is common
_ABSENT = 1e-300  # the scale of a part that is left out
NOISE_LIKE_GRID: Array = np.exp(np.linspace(_NOISE_LIKE[-2], _NOISE_LIKE[-1], 64))  # where searched alone
UNSHARED = 0.1  # where the scale of what is like the noise waits until alternatives share some

# Lengths of trend, alternatives, contexts; scales of trend, offset, joint, own; of what is like the noise;
# noise. In turn: a bit of everything, mostly trend, mostly joint, mostly own. What is like the noise is the
# same in all: studies side by side that share none must be searched as each would be alone.
_STARTS = (
    (0.5, 0.5, 0.5, 0.3, 0.3, 0.3, 0.1, UNSHARED, 0.3),
    (1.0, 1.0, 0.5, 1.0, 0.05, 0.1, 0.01, UNSHARED, 0.01),
    (0.7, 0.7, 0.7, 0.05, 0.05, 1.0, 0.01, UNSHARED, 0.01),
    (0.5, 0.3, 0.3, 0.05, 0.3, 0.01, 1.0, UNSHARED, 0.01),
)


def additive(
    lengths: Sequence[bool],
    parts: Sequence[bool],
    sizes: tuple[int, int, int],
    *,
    shares_noise: bool = False,
    n_sources: int = 0,
) -> Hyperprior:
    """Return the prior of the additive GP: what is not among the ``lengths`` and ``parts`` is held fixed.

    ``sizes`` is how many lengths belong to the trend, the alternatives and the contexts; the last
    ``n_sources`` of the trend and of the contexts say which source a run is from. What is like the noise has
    a scale to learn where alternatives share noise.
    """
    d, a, c = sizes
    sources = np.zeros(sum(sizes), bool)
    sources[d - n_sources : d] = sources[d + a + c - n_sources :] = n_sources > 0
    rules = [
        (_SOURCE if source else _LENGTH) if free else fixed(1.0)
        for free, source in zip(lengths, sources, strict=True)
    ]
    rules += [_SCALE if free else fixed(_ABSENT) for free in parts]
    rules += [_NOISE_LIKE if shares_noise else fixed(UNSHARED), _NOISE]
    points = np.array([[*np.repeat(start[:3], sizes), *start[3:]] for start in _STARTS])
    points[:, np.flatnonzero(sources)] = np.array(_SOURCE_STARTS)[:, None]
    return Hyperprior(np.array(rules), np.log(points))

"""Options that models have in common, checked."""

from collections.abc import Collection, Iterable
from typing import Protocol

import numpy as np

from argbest.core import priors
from argbest.core.arrays import Array
from argbest.core.noise import plausible_noise, relative_noise
from argbest.core.scaling import Scaling
from argbest.core.tally import Tally
from argbest.errors import InputError, unknown_name


class NoiseOptions(Protocol):
    """What a model says of its noise."""

    @property
    def noise(self) -> str:
        """How it is learned."""

    @property
    def noise_sd(self) -> float | Array | None:
        """Its standard deviation, where it is known."""


def check_kernel(name: str) -> None:
    """Raise an InputError unless there is such a kernel."""
    if not isinstance(name, str) or name not in priors.KERNELS:
        raise unknown_name("kernel", str(name), priors.KERNELS)


def checked_noise(noise: str, noise_sd: object, noises: Collection[str]) -> Array | None:
    """Return the known standard deviation of the noise, read-only, or None where the noise is learned."""
    if not isinstance(noise, str) or noise not in noises:
        raise unknown_name("noise", str(noise), noises)
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


def noise_table(
    model: NoiseOptions,
    prior: priors.Hyperprior,
    tally: Tally,
    scale: Scaling,
    *,
    missed: Array | None = None,
    per_alternative: bool = False,
) -> tuple[priors.Hyperprior, Array]:
    """Return the hyper-prior and what multiplies its noise parameter, [..., alternative, context].

    ``scale`` is that of the outcomes, [..., alternative] or [..., 1]. Known noise leaves nothing to learn.
    """
    if model.noise_sd is not None:
        known = np.asarray(model.noise_sd, float) / scale.spread[..., None]
        return priors.with_known_noise(prior), np.broadcast_to(known**2, tally.shape)
    if model.noise == "pair":
        return prior, relative_noise(tally, missed=missed, per_alternative=per_alternative)
    return prior, np.ones(tally.shape)


def plausible_tables(
    model: NoiseOptions,
    table: Array,
    tally: Tally,
    n: int,
    generator: np.random.Generator,
    *,
    missed: Array | None = None,
    per_alternative: bool = False,
) -> Array:
    """Return n tables that may be what multiplies the noise parameter, [n, alternative, context]."""
    if model.noise == "pair" and model.noise_sd is None:
        return plausible_noise(tally, n, generator, missed=missed, per_alternative=per_alternative)
    return np.broadcast_to(table, (n, *table.shape))

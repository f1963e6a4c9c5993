"""Options that models have in common, checked."""

from collections.abc import Collection

import numpy as np

from argbest.core import kernels
from argbest.core.arrays import Array
from argbest.errors import InputError, unknown_name


def check_kernel(name: str) -> None:
    """Raise an InputError unless there is such a kernel."""
    if name not in kernels.KERNELS:
        raise unknown_name("kernel", name, kernels.KERNELS)


def checked_noise(noise: str, noise_sd: object, noises: Collection[str]) -> Array | None:
    """Return the known standard deviation of the noise, read-only, or None where the noise is learned."""
    if noise not in noises:
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


def check_noise_shape(noise_sd: object, shape: tuple[int, int]) -> None:
    """Raise an InputError if the known noise is a table of another shape."""
    given = np.shape(np.asarray(noise_sd)) if noise_sd is not None else ()
    if given not in ((), shape):
        raise InputError(f"noise_sd has shape {given}, expected a number or a table {shape}.")

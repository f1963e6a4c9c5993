"""Stationary correlation functions of the squared scaled distance r², and the covariance built from them.

The paper's default is Matérn 5/2. Every formula is written once, for scalars and arrays alike: NumPy calls
it here and the compiled search calls it too. ``slope`` is -2 d(correlation)/d(r²), so that with ARD lengths
d(correlation)/d(log l_j) = slope(r²) · (Δ_j / l_j)².
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.core.arrays import Array

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
    r2: Array = np.einsum("...j,jxc->...xc", 1.0 / lengthscale**2, separation)
    return r2


def covariance(kernel: str, separation: Array, lengthscale: Array, scale: Array) -> Array:
    """Return scale · correlation(r²), [..., X, C]; scale (the prior variance) is [...]."""
    correlation, _ = KERNELS[kernel]
    product: Array = scale[..., None, None] * correlation(scaled(separation, lengthscale))
    return product

"""The standard normal loss function h, stable in its tails."""

import numpy as np

from argbest.core.arrays import Array
from argbest.core.scipys import erfcx, ndtr

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)


def loss(v: Array) -> Array:
    """Return h(v) = E[(Z − v)⁺] = φ(v) − v Φ(−v), without cancellation for v > 0."""
    density = np.exp(-0.5 * v * v - _LOG_ROOT_2PI)
    mills = np.sqrt(np.pi / 2) * erfcx(np.maximum(v, 0.0) / np.sqrt(2))
    value: Array = np.where(v > 0, density * (1 - v * mills), density - v * ndtr(-v))
    return value


def log_loss(v: Array) -> Array:
    """Return log h(v) for v ≥ 0, also where h itself underflows.

    −v²/2 − log √2π + log(1 − v m(v)) with Mills' ratio m; beyond 1e4, where the bracket is v⁻² to all digits
    but no longer to be had by subtraction, −2 log v takes its place.
    """
    near = np.minimum(v, 1e4)
    mills = np.sqrt(np.pi / 2) * erfcx(near / np.sqrt(2))
    bracket = np.log1p(-near * mills)
    far = -2.0 * np.log(np.maximum(v, 1.0))
    value: Array = -0.5 * v * v - _LOG_ROOT_2PI + np.where(v > 1e4, far, bracket)
    return value

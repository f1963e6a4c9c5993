"""MAP search of the shared-trend GP's hyper-parameters: one compiled ufunc over studies.

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core.arrays import Array
from argbest.core.fitting import Fit, kernel_code
from argbest.core.priors import Hyperprior
from argbest.core.search import MAX_STEPS, search_for
from argbest.core.tally import Tally
from argbest.core.trend_evidence import log_posterior, prepare


def fit_map(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, starts: Array
) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, 2d + 4], a row of NaN being none.

    The tally holds outcomes [..., alternative, context] standardised over the whole study; ``noise`` of that
    shape multiplies the noise parameter: 1 where it is learned, the known variances where that is fixed.
    """
    *found, _ = _climb(kernel, separation, tally, noise, prior, starts, MAX_STEPS)
    return Fit(*found)


def log_evidence(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at ``theta`` [..., 2d + 4]."""
    _, constant, value, _, gradient = _climb(kernel, separation, tally, noise, prior, theta[..., None, :], 0)
    return value, gradient, constant


def _climb(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, starts: Array, steps: int
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    count = tally.count.astype(float)
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = _search()(
            separation, count, tally.mean, tally.m2, noise, prior.rules, kernel_code(kernel), steps, starts
        )
    return outputs


_maximise = search_for(log_posterior)


def _search_body(  # type: ignore[no-untyped-def]
    separation, count, mean, m2, noise, rules, code, steps, starts, theta, constant, value, status, gradient
):
    """Fill the best of the points reached from the starts in so many steps, and the gradient there."""
    data = prepare(separation, count, mean, m2, noise)
    spare = data[3][0] - data[3][2]
    value[0], constant[0], status[0] = _maximise(starts, code, data, rules, spare, steps, theta, gradient)


@functools.cache
def _search() -> Callable[..., Any]:
    tables, row = "float64[:,:,:]" + 5 * ", float64[:,:]", "float64[:]"
    signature = f"void({tables}, int64, int64, float64[:,:], {row}, {row}, {row}, int64[:], {row})"
    return compile_ufunc(
        _search_body, signature, "(d,c,c),(k,c),(k,c),(k,c),(k,c),(p,q),(),(),(s,p)->(p),(),(),(),(p)"
    )

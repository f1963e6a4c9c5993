"""MAP search of the shared-trend GP's hyper-parameters: one compiled ufunc over studies.

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core import fitting
from argbest.core.arrays import Array
from argbest.core.evidence import compiled
from argbest.core.fitting import LONGEST_STEP, MAX_STEPS, TOLERANCE, Fit, bend, direction, kernel_code
from argbest.core.priors import Hyperprior
from argbest.core.tally import Tally
from argbest.core.trend_evidence import log_posterior, prepare


def fit_map(kernel: str, separation: Array, tally: Tally, prior: Hyperprior, starts: Array) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, 2d + 4], a row of NaN being none.

    The tally holds outcomes [..., alternative, context] standardised over the whole study.
    """
    *found, _ = _climb(kernel, separation, tally, prior, starts, MAX_STEPS)
    return Fit(*found)


def log_evidence(
    kernel: str, separation: Array, tally: Tally, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at ``theta`` [..., 2d + 4]."""
    _, constant, value, _, gradient = _climb(kernel, separation, tally, prior, theta[..., None, :], 0)
    return value, gradient, constant


def _climb(
    kernel: str, separation: Array, tally: Tally, prior: Hyperprior, starts: Array, steps: int
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    count = tally.count.astype(float)
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = _search()(
            separation, count, tally.mean, tally.m2, prior.rules, kernel_code(kernel), steps, starts
        )
    return outputs


@compiled
def _line_search(theta, step, value, gradient, code, data, rules, trial, trial_gradient):  # type: ignore[no-untyped-def]
    """Fill the first point along the step that improves enough; return (value, constant, found)."""
    longest = 0.0
    for i in range(step.size):
        longest = max(longest, abs(step[i]))
    length = min(1.0, LONGEST_STEP / longest)
    for _ in range(40):
        promise = 0.0
        for i in range(step.size):
            trial[i] = min(max(theta[i] + length * step[i], rules[i, 3]), rules[i, 4])
            promise += gradient[i] * (trial[i] - theta[i])
        reached, constant = log_posterior(trial, code, data, rules, trial_gradient)
        if reached >= value + 1e-4 * promise:
            return reached, constant, True
        length *= 0.3
    return value, 0.0, False


@compiled
def _maximise(theta, code, data, rules, steps, gradient):  # type: ignore[no-untyped-def]
    """Move ``theta`` to a maximum inside its bounds, as `fitting` does; return (value, constant, status)."""
    p, low, high = theta.size, rules[:, 3], rules[:, 4]
    trial, trial_gradient, step = np.empty(p), np.empty(p), np.empty(p)
    for i in range(p):
        theta[i] = min(max(theta[i], low[i]), high[i])
    value, constant = log_posterior(theta, code, data, rules, gradient)
    hessian = np.eye(p)
    hessian[p - 1, p - 1] += 0.5 * (data[3] - data[5])
    for _ in range(steps):
        gain = direction(hessian, gradient, low, high, theta, step)
        if gain <= TOLERANCE * (1.0 + 1e-3 * abs(value)):
            return value, constant, fitting.CONVERGED
        reached, new_constant, found = _line_search(
            theta, step, value, gradient, code, data, rules, trial, trial_gradient
        )
        if not found:
            return value, constant, fitting.STALLED
        for i in range(p):
            step[i] = trial[i] - theta[i]
            theta[i] = trial[i]
            trial[i] = gradient[i] - trial_gradient[i]
            gradient[i] = trial_gradient[i]
        bend(hessian, step, trial)
        value, constant = reached, new_constant
    return value, constant, fitting.STEP_LIMIT


def _search_body(  # type: ignore[no-untyped-def]
    separation, count, mean, m2, rules, code, steps, starts, theta, constant, value, status, gradient
):
    """Fill the best of the points reached from the starts in so many steps, and the gradient there."""
    data = prepare(separation, count, mean, m2)
    value[0], constant[0], status[0] = -np.inf, np.nan, fitting.STALLED
    slopes = np.empty(theta.size)
    for i in range(theta.size):
        theta[i], gradient[i] = np.nan, np.nan
    for s in range(starts.shape[0]):
        if np.isnan(starts[s, 0]):
            continue
        point = starts[s].copy()
        reached, mean_there, ended = _maximise(point, code, data, rules.copy(), steps, slopes)
        if reached > value[0]:
            value[0], constant[0], status[0] = reached, mean_there, ended
            for i in range(theta.size):
                theta[i], gradient[i] = point[i], slopes[i]


@functools.cache
def _search() -> Callable[..., Any]:
    tables, row = "float64[:,:,:]" + 4 * ", float64[:,:]", "float64[:]"
    signature = f"void({tables}, int64, int64, float64[:,:], {row}, {row}, {row}, int64[:], {row})"
    return compile_ufunc(
        _search_body, signature, "(d,c,c),(k,c),(k,c),(k,c),(p,q),(),(),(s,p)->(p),(),(),(),(p)"
    )

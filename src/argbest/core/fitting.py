"""MAP search of the GP's hyper-parameters: one compiled ufunc over (macro-replication, alternative).

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core.arrays import Array, IntArray
from argbest.core.evidence import compiled, factorise, log_posterior, observed, workspace
from argbest.core.kernels import KERNELS
from argbest.core.priors import Hyperprior
from argbest.core.tally import Tally

CONVERGED, STEP_LIMIT, STALLED = 0, 1, 2
MAX_STEPS = 200
TOLERANCE = 1e-11  # the gain in log posterior (nats) that a further step still promises
LONGEST_STEP = 2.0  # in logarithms: no parameter changes by more than a factor e² at once


class Fit(NamedTuple):
    """Where the search ended, per leading index."""

    theta: Array  # [..., d + 2]: log lengthscales, log scale, log noise
    constant: Array  # [...]: the profiled mean
    value: Array  # [...]: log evidence + log prior
    status: IntArray  # [...]: CONVERGED, STEP_LIMIT or STALLED


def fit_map(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, starts: Array
) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, d + 2], a row of NaN being none.

    The tally holds standardised outcomes [..., alternative, context]; ``noise`` [..., alternative, context]
    multiplies the noise parameter: 1 where it is learned, the known variances where that is fixed.
    """
    return Fit(*_call(_search(), kernel, separation, tally, noise, prior, starts))


def log_evidence(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at ``theta`` [..., d + 2]."""
    value, gradient, constant = _call(_evaluate(), kernel, separation, tally, noise, prior, theta)
    return value, gradient, constant


def _call(
    ufunc: Callable[..., Any],
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    points: Array,
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    count = tally.count.astype(float)
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = ufunc(
            separation, count, tally.mean, tally.m2, noise, prior.rules, kernel_code(kernel), points
        )
    return outputs


def kernel_code(kernel: str) -> int:
    """Return the number by which compiled code knows a kernel."""
    return list(KERNELS).index(kernel)


@compiled
def direction(hessian, gradient, low, high, theta, step):  # type: ignore[no-untyped-def]
    """Fill the ascent step H⁻¹g, 0 for parameters at a bound and pushed outwards; return its gain."""
    p = theta.size
    free = np.empty(p, np.int64)
    m = 0
    for i in range(p):
        step[i] = 0.0
        if not ((theta[i] <= low[i] and gradient[i] <= 0.0) or (theta[i] >= high[i] and gradient[i] >= 0.0)):
            free[m] = i
            m += 1
    reduced, upper, inverse = np.empty((m, m)), np.empty((m, m)), np.empty((m, m))
    for i in range(m):
        for j in range(m):
            reduced[i, j] = hessian[free[i], free[j]]
    factorise(reduced, upper, inverse, 1e-300)
    gain = 0.0
    for i in range(m):
        for j in range(m):
            step[free[i]] += inverse[i, j] * gradient[free[j]]
        gain += step[free[i]] * gradient[free[i]]
    return gain


@compiled
def bend(hessian, move, change):  # type: ignore[no-untyped-def]
    """Update the Hessian of −f by BFGS, damped after Powell so that it stays positive definite."""
    p = move.size
    product = np.zeros(p)
    for i in range(p):
        for j in range(p):
            product[i] += hessian[i, j] * move[j]
    curvature, agreement = 0.0, 0.0
    for i in range(p):
        curvature += move[i] * product[i]
        agreement += move[i] * change[i]
    if curvature <= 0.0:
        return
    blend = 1.0 if agreement >= 0.2 * curvature else 0.8 * curvature / (curvature - agreement)
    agreement = blend * agreement + (1.0 - blend) * curvature
    for i in range(p):
        change[i] = blend * change[i] + (1.0 - blend) * product[i]
    for i in range(p):
        for j in range(p):
            hessian[i, j] += change[i] * change[j] / agreement - product[i] * product[j] / curvature


@compiled
def _line_search(theta, step, value, gradient, code, data, rules, work, trial, trial_gradient):  # type: ignore[no-untyped-def]
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
        reached, constant = log_posterior(trial, code, data, rules, work, trial_gradient)
        if reached >= value + 1e-4 * promise:
            return reached, constant, True
        length *= 0.3
    return value, 0.0, False


@compiled
def _maximise(theta, code, data, rules, work):  # type: ignore[no-untyped-def]
    """Move ``theta`` to a maximum of the log posterior inside its bounds; return (value, constant, status).

    Projected quasi-Newton. The first Hessian knows that replications beyond the first fix the noise.
    """
    p = theta.size
    low, high = rules[:, 3], rules[:, 4]
    trial, gradient, trial_gradient, step = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    for i in range(p):
        theta[i] = min(max(theta[i], low[i]), high[i])
    value, constant = log_posterior(theta, code, data, rules, work, gradient)
    hessian = np.eye(p)
    hessian[p - 1, p - 1] += 0.5 * (data[4][0] - data[1].size)
    for _ in range(MAX_STEPS):
        gain = direction(hessian, gradient, low, high, theta, step)
        if gain <= TOLERANCE * (1.0 + 1e-3 * abs(value)):
            return value, constant, CONVERGED
        reached, new_constant, found = _line_search(
            theta, step, value, gradient, code, data, rules, work, trial, trial_gradient
        )
        if not found:
            return value, constant, STALLED
        for i in range(p):
            step[i] = trial[i] - theta[i]
            theta[i] = trial[i]
            trial[i] = gradient[i] - trial_gradient[i]
            gradient[i] = trial_gradient[i]
        bend(hessian, step, trial)
        value, constant = reached, new_constant
    return value, constant, STEP_LIMIT


_DATA = "float64[:,:,:], float64[:], float64[:], float64[:], float64[:], float64[:,:], int64"
_LAYOUT = "(d,c,c),(c),(c),(c),(c),(p,q),()"


def _search_body(separation, count, mean, m2, noise, rules, code, starts, theta, constant, value, status):  # type: ignore[no-untyped-def]
    """Fill the best of the maxima reached from the starts."""
    data = observed(separation, count, mean, m2, noise)
    work = workspace(data[1].size)
    value[0], constant[0], status[0] = -np.inf, np.nan, STALLED
    theta[:] = np.nan
    point = np.empty(theta.size)
    for s in range(starts.shape[0]):
        if np.isnan(starts[s, 0]):
            continue
        for i in range(theta.size):
            point[i] = starts[s, i]
        reached, mean_there, ended = _maximise(point, code, data, rules, work)
        if reached > value[0]:
            value[0], constant[0], status[0] = reached, mean_there, ended
            for i in range(theta.size):
                theta[i] = point[i]


def _evaluate_body(separation, count, mean, m2, noise, rules, code, theta, value, gradient, constant):  # type: ignore[no-untyped-def]
    """Fill the log posterior and its gradient at one point."""
    data = observed(separation, count, mean, m2, noise)
    value[0], constant[0] = log_posterior(theta, code, data, rules, workspace(data[1].size), gradient)


@functools.cache
def _search() -> Callable[..., Any]:
    signature = f"void({_DATA}, float64[:,:], float64[:], float64[:], float64[:], int64[:])"
    return compile_ufunc(_search_body, signature, f"{_LAYOUT},(s,p)->(p),(),(),()")


@functools.cache
def _evaluate() -> Callable[..., Any]:
    signature = f"void({_DATA}, float64[:], float64[:], float64[:], float64[:])"
    return compile_ufunc(_evaluate_body, signature, f"{_LAYOUT},(p)->(),(p),()")

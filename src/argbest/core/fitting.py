"""MAP search of the GP's hyper-parameters: one compiled generalized ufunc over (macro-replication, alternative).

Importing this module imports Numba and compiles nothing. The first call compiles (seconds) or loads the cache.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import guvectorize

from argbest.core.arrays import Array, IntArray
from argbest.core.evidence import compiled, log_posterior, observed, workspace
from argbest.core.kernels import KERNELS
from argbest.core.priors import Hyperprior
from argbest.core.tally import Tally

CONVERGED, STEP_LIMIT, STALLED = 0, 1, 2
MAX_STEPS = 200
LONGEST_STEP = 2.0  # in logarithms: no parameter changes by more than a factor e² at once


class CompilationNotice(UserWarning):
    """The search is being compiled, or cannot be cached."""


class Fit(NamedTuple):
    """Where the search ended, per leading index."""

    theta: Array  # [..., d + 2]: log lengthscales, log scale, log noise
    constant: Array  # [...]: the profiled mean
    value: Array  # [...]: log evidence + log prior
    status: IntArray  # [...]: CONVERGED, STEP_LIMIT or STALLED


def fit_map(kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, start: Array) -> Fit:
    """Return the MAP hyper-parameters of every alternative, found from ``start`` [..., d + 2].

    The tally holds standardised outcomes [..., alternative, context]; ``noise`` [..., alternative, context]
    multiplies the noise parameter: 1 where it is learned, the known variances where that is fixed.
    """
    search = _search()
    outcome = search(
        separation, tally.count.astype(float), tally.mean, tally.m2, noise, prior.rules, _code(kernel), start
    )
    return Fit(*outcome)


def log_evidence(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at ``theta`` [..., d + 2]."""
    value, gradient, constant = _evaluate()(
        separation, tally.count.astype(float), tally.mean, tally.m2, noise, prior.rules, _code(kernel), theta
    )
    return value, gradient, constant


def _code(kernel: str) -> int:
    return list(KERNELS).index(kernel)


@compiled
def _direction(hessian, gradient, free):  # type: ignore[no-untyped-def]
    """Return the quasi-Newton step −H⁻¹g in the free parameters, 0 in the others."""
    index = np.flatnonzero(free)
    step = np.zeros(gradient.size)
    if index.size:
        reduced = np.empty((index.size, index.size))
        for i in range(index.size):
            for j in range(index.size):
                reduced[i, j] = hessian[index[i], index[j]]
        step[index] = -np.linalg.solve(reduced, gradient[index])
    return step


@compiled
def _curve(hessian, move, change):  # type: ignore[no-untyped-def]
    """Update the Hessian by BFGS, damped after Powell so that it stays positive definite."""
    product = np.dot(hessian, move)
    bend = np.dot(move, product)
    if bend <= 0.0:
        return
    agreement = np.dot(move, change)
    if agreement < 0.2 * bend:
        blend = 0.8 * bend / (bend - agreement)
        change = blend * change + (1.0 - blend) * product
        agreement = np.dot(move, change)
    hessian += np.outer(change, change) / agreement - np.outer(product, product) / bend


@compiled
def _first_hessian(theta, data):  # type: ignore[no-untyped-def]
    """Return a diagonal guess of the curvature: replications fix the noise, contexts the other parameters."""
    n, m = data[4][0], data[1].size
    hessian = np.eye(theta.size)
    hessian[-1, -1] = 1.0 + 0.5 * (n - m)
    return hessian


@compiled
def _maximise(theta, code, data, rules):  # type: ignore[no-untyped-def]
    """Move ``theta`` to a maximum of the log posterior inside its bounds; return (value, constant, status).

    Projected quasi-Newton with a backtracking line search; parameters at a bound and pushed outwards rest.
    """
    low, high = rules[:, 3], rules[:, 4]
    theta[:] = np.minimum(np.maximum(theta, low), high)
    work = workspace(data[1].size)
    gradient, trial_gradient = np.empty(theta.size), np.empty(theta.size)
    value, constant = log_posterior(theta, code, data, rules, work, gradient)
    hessian = _first_hessian(theta, data)
    for _ in range(MAX_STEPS):
        free = ~(((theta <= low) & (gradient <= 0.0)) | ((theta >= high) & (gradient >= 0.0)))
        step = _direction(hessian, -gradient, free)
        gain = np.dot(gradient, step)
        if gain <= 1e-11 * (1.0 + abs(value) * 1e-3):
            return value, constant, CONVERGED
        length = min(1.0, LONGEST_STEP / np.max(np.abs(step)))
        improved = False
        for _ in range(40):
            trial = np.minimum(np.maximum(theta + length * step, low), high)
            move = trial - theta
            trial_value, trial_constant = log_posterior(trial, code, data, rules, work, trial_gradient)
            if trial_value >= value + 1e-4 * np.dot(gradient, move):
                improved = True
                break
            length *= 0.3
        if not improved:
            return value, constant, STALLED
        _curve(hessian, move, gradient - trial_gradient)
        theta[:], gradient[:] = trial, trial_gradient
        value, constant = trial_value, trial_constant
    return value, constant, STEP_LIMIT


_DATA = "float64[:,:,:], float64[:], float64[:], float64[:], float64[:], float64[:,:], int64"
_LAYOUT = "(d,c,c),(c),(c),(c),(c),(p,q),()"


def _search_body(separation, count, mean, m2, noise, rules, code, start, theta, constant, value, status):  # type: ignore[no-untyped-def]
    data = observed(separation, count, mean, m2, noise)
    theta[:] = start
    value[0], constant[0], status[0] = _maximise(theta, code, data, rules)


def _evaluate_body(separation, count, mean, m2, noise, rules, code, theta, value, gradient, constant):  # type: ignore[no-untyped-def]
    data = observed(separation, count, mean, m2, noise)
    value[0], constant[0] = log_posterior(theta, code, data, rules, workspace(data[1].size), gradient)


@functools.cache
def _search() -> Callable[..., tuple[Any, ...]]:
    outputs = "float64[:], float64[:], float64[:], int64[:]"
    return _build(_search_body, f"void({_DATA}, float64[:], {outputs})", f"{_LAYOUT},(p)->(p),(),(),()")


@functools.cache
def _evaluate() -> Callable[..., tuple[Any, ...]]:
    outputs = "float64[:], float64[:], float64[:]"
    return _build(_evaluate_body, f"void({_DATA}, float64[:], {outputs})", f"{_LAYOUT},(p)->(),(p),()")


def _build(body: Callable[..., None], signature: str, layout: str) -> Callable[..., tuple[Any, ...]]:
    """Return the compiled ufunc, from the cache where there is one, uncached where none can be written."""
    try:
        built = guvectorize([signature], layout, nopython=True, cache=True)(body)
    except RuntimeError as reason:
        if "cannot cache" not in str(reason):
            raise
        warnings.warn(f"compiling without a cache: {reason}", CompilationNotice, stacklevel=3)
        built = guvectorize([signature], layout, nopython=True)(body)
    compiled_ufunc: Callable[..., tuple[Any, ...]] = built
    return compiled_ufunc

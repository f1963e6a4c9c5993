"""MAP search of the GP's hyper-parameters: one compiled ufunc over (macro-replication, alternative).

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core.arrays import Array, IntArray
from argbest.core.evidence import log_posterior, observed
from argbest.core.kernels import KERNELS
from argbest.core.priors import Hyperprior
from argbest.core.search import MAX_STEPS, portions, search_for
from argbest.core.tally import Tally


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
    lead, p = tally.shape[:-1], starts.shape[-1]
    if not lead:
        return Fit(*_call(_search(), kernel, separation, tally, noise, prior, starts))
    noise, starts = np.broadcast_to(noise, tally.shape), np.broadcast_to(starts, (*lead, *starts.shape[-2:]))
    found = Fit(np.empty((*lead, p)), np.empty(lead), np.empty(lead), np.empty(lead, np.int64))
    for some in portions((tally.count > 0).sum(axis=-1).astype(float) ** 3):
        parts = _call(_search(), kernel, separation, tally[some], noise[some], prior, starts[some])
        for whole, part in zip(found, parts, strict=True):
            whole[some] = part
    return found


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


_maximise = search_for(log_posterior)

_DATA = "float64[:,:,:], float64[:], float64[:], float64[:], float64[:], float64[:,:], int64"
_LAYOUT = "(d,c,c),(c),(c),(c),(c),(p,q),()"


def _search_body(separation, count, mean, m2, noise, rules, code, starts, theta, constant, value, status):  # type: ignore[no-untyped-def]
    """Fill the best of the maxima reached from the starts."""
    data = observed(separation, count, mean, m2, noise)
    spare = data[4][0] - data[1].size
    blank = np.full((theta.size, theta.size), np.nan)
    value[0], constant[0], _, status[0] = _maximise(
        starts, code, data, rules, spare, MAX_STEPS, theta, np.empty(theta.size), blank
    )


def _evaluate_body(separation, count, mean, m2, noise, rules, code, theta, value, gradient, constant):  # type: ignore[no-untyped-def]
    """Fill the log posterior and its gradient at one point."""
    data = observed(separation, count, mean, m2, noise)
    value[0], constant[0], _ = log_posterior(theta, code, data, rules, gradient)


@functools.cache
def _search() -> Callable[..., Any]:
    signature = f"void({_DATA}, float64[:,:], float64[:], float64[:], float64[:], int64[:])"
    return compile_ufunc(_search_body, signature, f"{_LAYOUT},(s,p)->(p),(),(),()")


@functools.cache
def _evaluate() -> Callable[..., Any]:
    signature = f"void({_DATA}, float64[:], float64[:], float64[:], float64[:])"
    return compile_ufunc(_evaluate_body, signature, f"{_LAYOUT},(p)->(),(p),()")

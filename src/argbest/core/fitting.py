"""MAP search of the GP's hyper-parameters, and posteriors: compiled ufuncs over (study, alternative).

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from argbest.compilation import compile_function, compile_ufunc, one_notice
from argbest.core.arrays import Array, IntArray
from argbest.core.by_address import OBJECTIVE, call, keep
from argbest.core.cholesky import compiled, invert_root, product, transposed
from argbest.core.evidence import (
    add_identity,
    correlate,
    evaluate,
    halve_both_sides,
    inverse_squares,
    inverting,
    lend,
    log_value,
    observed,
)
from argbest.core.priors import KERNELS, NUGGET, Hyperprior
from argbest.core.search import AT_ONCE, MAX_STEPS, SearchResult, portions, searched, searching
from argbest.core.tally import Tally


def fit_map(
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    starts: Array,
    hessian: Array | None = None,
) -> SearchResult:
    """Return the best maximum found from ``starts`` [..., s, d + 2], a row of NaN being none.

    θ are the log lengthscales, the log scale and the log noise; the constant is profiled.

    ``hessian`` [..., d + 2, d + 2] is what an earlier search has learned at the first start, or NaN.

    The tally holds standardised outcomes [..., alternative, context]; ``noise`` [..., alternative, context]
    multiplies the noise parameter: 1 where it is learned, the known variances where that is fixed.
    """
    lead, p = tally.shape[:-1], starts.shape[-1]
    known_hessian = np.full((*lead, p, p), np.nan) if hessian is None else hessian
    search, addresses = _searching()
    if tally.count.size * tally.shape[-1] ** 2 <= AT_ONCE or not lead:  # at most so many operations
        return SearchResult(
            *_call(search, kernel, separation, tally, noise, prior, starts, known_hessian, addresses)
        )
    noise, starts = np.broadcast_to(noise, tally.shape), np.broadcast_to(starts, (*lead, *starts.shape[-2:]))
    tables = np.empty((*lead, p)), np.empty(lead), np.empty(lead), np.empty(lead, np.int64)
    found = SearchResult(*tables, np.empty(known_hessian.shape))
    for some in portions((tally.count > 0).sum(axis=-1).astype(float) ** 3):
        own = tally[some], noise[some], prior, starts[some], known_hessian[some], addresses
        parts = _call(search, kernel, separation, *own)
        for whole, part in zip(found, parts, strict=True):
            whole[some] = part
    return found


def log_evidence(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at ``theta`` [..., d + 2]."""
    ufunc, addresses = _evaluating()
    value, gradient, constant = _call(ufunc, kernel, separation, tally, noise, prior, theta, addresses)
    return value, gradient, constant


def log_density(
    kernel: str, separation: Array, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array]:
    """Return (log evidence + log prior, the profiled mean): what `log_evidence` does, in half of its time."""
    value, constant = _call(_value(), kernel, separation, tally, noise, prior, theta)
    return value, constant


def posterior(
    kernel: str, separation: Array, tally: Tally, noise: Array, lengthscale: Array, scale: Array, mean: Array
) -> tuple[Array, Array]:
    """Return what `conditioning.posterior` does of that kernel about ``mean`` [...], much quicker for many.

    Only contexts with replications enter. ``lengthscale`` is [..., d], ``scale`` [...], the tally [..., C].
    """
    given = separation, tally.count.astype(float), tally.mean, noise
    centre, cov = _condition()(*given, kernel_code(kernel), lengthscale, scale, mean)
    return centre, cov


def _call(
    ufunc: Callable[..., Any],
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    *points: Array | IntArray,
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    count = tally.count.astype(float)
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = ufunc(
            separation, count, tally.mean, tally.m2, noise, prior.rules, kernel_code(kernel), *points
        )
    return outputs


def kernel_code(kernel: str) -> int:
    """Return the number by which compiled code knows a kernel."""
    return list(KERNELS).index(kernel)


SECONDS = 8  # about how long a first fit compiles
_DATA = "float64[:,:,:], float64[:], float64[:], float64[:], float64[:], float64[:,:], int64"
_LAYOUT = "(d,c,c),(c),(c),(c),(c),(p,q),()"


def _search_body(  # type: ignore[no-untyped-def]
    separation, count, mean, m2, noise, rules, code, starts, hessian, addresses,
    theta, constant, value, status, learned,
):  # fmt: skip
    """Fill the best of the maxima reached from the starts."""
    data = observed(separation, count, mean, m2, noise)
    given, slopes = ((code, addresses[2]), data, rules.copy()), np.empty(theta.size)
    for i in range(theta.size):
        for j in range(theta.size):
            learned[i, j] = hessian[i, j]
    value[0], constant[0], _, status[0] = searched(
        (addresses[0], addresses[1]),
        lend(given),
        starts,
        given[2],
        data[2][0] - data[1].shape[1],
        MAX_STEPS,
        theta,
        slopes,
        learned,
    )
    keep(given)


def _evaluate_body(  # type: ignore[no-untyped-def]
    separation, count, mean, m2, noise, rules, code, theta, addresses, value, gradient, constant
):
    """Fill the log posterior and its gradient at one point."""
    given = ((code, addresses[2]), observed(separation, count, mean, m2, noise), rules.copy())
    slopes, found = np.empty(theta.size), np.empty(2)
    value[0] = call(addresses[1], lend(given), theta.copy(), slopes, found)
    constant[0] = found[0]
    for i in range(theta.size):
        gradient[i] = slopes[i]
    keep(given)


def _value_body(separation, count, mean, m2, noise, rules, code, theta, value, constant):  # type: ignore[no-untyped-def]
    data = observed(separation, count, mean, m2, noise)
    value[0], constant[0] = log_value(theta.copy(), code, data, rules)


@compiled
def _fill_posterior(separation, count, mean, noise, code, length, scale, constant, centre, cov):  # type: ignore[no-untyped-def]
    """Fill μ = m + K A (Ȳ − m) and S = K − K A K by rows of L⁻¹ D½ [K, Ȳ − m], the nugget as there."""
    c, m, precision = count.size, 0, inverse_squares(np.log(length), length.size)
    kept, root = np.empty(c, np.int64), np.empty(c)
    for i in range(c):
        for j in range(i + 1):
            r2 = 0.0
            for g in range(length.size):
                r2 += separation[g, i, j] * precision[g]
            cov[i, j] = scale * correlate(code, r2)[0]
            cov[j, i] = cov[i, j]
        centre[i] = constant
        if count[i] > 0:
            kept[m] = i
            root[m] = np.sqrt(count[i] / max(noise[i], NUGGET * c * count[i] * cov[i, i]))
            m += 1
    bracket, right = np.empty((m, m)), np.empty((m, c + 1))
    for i in range(m):
        for x in range(c):
            right[i, x] = root[i] * cov[kept[i], x]
        right[i, c] = root[i] * (mean[kept[i]] - constant)
        for j in range(i, m):
            bracket[i, j] = cov[kept[i], kept[j]]
    halve_both_sides(bracket, root)
    add_identity(bracket)
    lower = np.empty((m, m))
    invert_root(bracket, lower, 1.0)
    half = product(lower, right)
    taken = product(transposed(half), half)
    for x in range(c):
        centre[x] += taken[x, c]
        for y in range(x + 1):
            cov[x, y] -= taken[x, y]
            cov[y, x] = cov[x, y]


def _condition_body(separation, count, mean, noise, code, length, scale, constant, centre, cov):  # type: ignore[no-untyped-def]
    _fill_posterior(separation, count, mean, noise, code, length, scale, constant, centre, cov)


@functools.cache
def _objective() -> Any:
    return compile_function(evaluate, OBJECTIVE)


@functools.cache
def _searching() -> tuple[Callable[..., Any], IntArray]:
    """Return the ufunc that searches, and where the search, its objective and what that needs are."""
    with one_notice(SECONDS):
        return _search(), np.array([searching().address, _objective().address, inverting().address])


@functools.cache
def _evaluating() -> tuple[Callable[..., Any], IntArray]:
    """Return the ufunc that evaluates, and where its objective is; of the search there is none."""
    with one_notice(SECONDS):
        return _evaluate(), np.array([0, _objective().address, inverting().address])


@functools.cache
def _condition() -> Callable[..., Any]:
    inputs = "float64[:,:,:], float64[:], float64[:], float64[:], int64, float64[:], float64, float64"
    layout = "(d,c,c),(c),(c),(c),(),(d),(),()->(c),(c,c)"
    return compile_ufunc(_condition_body, f"void({inputs}, float64[:], float64[:,:])", layout)


@functools.cache
def _search() -> Callable[..., Any]:
    outputs = "float64[:], float64[:], float64[:], int64[:], float64[:,:]"
    signature = f"void({_DATA}, float64[:,:], float64[:,:], int64[:], {outputs})"
    return compile_ufunc(_search_body, signature, f"{_LAYOUT},(s,p),(p,p),(f)->(p),(),(),(),(p,p)")


@functools.cache
def _evaluate() -> Callable[..., Any]:
    signature = f"void({_DATA}, float64[:], int64[:], float64[:], float64[:], float64[:])"
    return compile_ufunc(_evaluate_body, signature, f"{_LAYOUT},(p),(f)->(),(p),()")


@functools.cache
def _value() -> Callable[..., Any]:
    return compile_ufunc(
        _value_body, f"void({_DATA}, float64[:], float64[:], float64[:])", f"{_LAYOUT},(p)->(),()"
    )

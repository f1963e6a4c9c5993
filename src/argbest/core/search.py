"""A bounded quasi-Newton search for any objective, compiled or in Python; parameters are logarithms.

Importing this module imports Numba.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argbest.compilation import compile_function
from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.by_address import POINTER, call, carray, types, value_at_address
from argbest.core.cholesky import compiled, eliminate, inlined

Build: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]  # `compiled` or `in_python`
CONVERGED, STEP_LIMIT, STALLED, FOUND = 0, 1, 2, 3
MAX_STEPS = 200
TOLERANCE = 1e-11  # the search ends when a further step promises less log posterior (nats)
LONGEST_STEP = 2.0  # in logarithms: no parameter changes by more than a factor e² at once
RULE = 5  # numbers per parameter: its prior, and the bounds
NEAR = 0.2  # in logarithms: a climb so near to a better point would end where that one did


class SearchResult(NamedTuple):
    """Where the search ended, per leading index."""

    theta: Array  # [..., parameter], logarithms
    constant: Array  # [...]: the estimate of the constant
    value: Array  # [...]: log evidence + log prior
    status: IntArray  # [...]: CONVERGED, STEP_LIMIT or STALLED
    hessian: Array  # [..., parameter, parameter]: of −value, as the search has learned it


def in_python(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function uncompiled, so that Ctrl-C is heard between two evaluations of an objective."""
    plain: Callable[..., Any] = getattr(function, "py_func", function)
    return plain


def _leaf(build: Build) -> Build:
    """Return how to build what is called from one place: compiled, as a part of its caller."""
    return inlined if build is compiled else build


def search_for(log_posterior: Callable[..., Any], build: Build = compiled) -> Callable[..., Any]:
    """Return the search for a maximum of ``log_posterior(theta, code, data, rules, gradient)``.

    The objective returns (value, constant, doubt), doubt being what rounding may have added to or taken from
    the value, and fills the gradient. The search
    ``(starts, code, data, rules, spare, steps, theta, gradient, hessian)`` climbs from every row of
    ``starts``, a row of NaN being none, fills ``theta`` with the best of the maxima inside the bounds of
    ``rules`` and ``gradient`` with the slopes there, and returns (value, constant, doubt, status). ``spare``
    is the number of replications beyond the first of each cell: they fix the noise, and the first Hessian
    knows that. ``hessian`` may hold that of an earlier search, with which the first climb begins, or NaN; it
    receives the best climb's. ``build`` is `compiled`, or `in_python` for an objective in Python.
    """
    maximise = _climb(log_posterior, build)

    @_leaf(build)
    def best_of(starts, code, data, rules, spare, steps, theta, gradient, hessian):  # type: ignore[no-untyped-def]
        value, constant, doubt, status = -np.inf, np.nan, np.nan, STALLED
        slopes, learned = np.empty(theta.size), hessian.copy()
        for i in range(theta.size):
            theta[i], gradient[i] = np.nan, np.nan
        for s in range(starts.shape[0]):
            if np.isnan(starts[s, 0]):
                continue
            point = starts[s].copy()
            reached, mean, unsure, ended = maximise(
                point, code, data, rules, spare, steps, slopes, learned, value, theta
            )
            if reached > value:
                value, constant, doubt, status = reached, mean, unsure, ended
                for i in range(theta.size):
                    theta[i], gradient[i] = point[i], slopes[i]
                    for j in range(theta.size):
                        hessian[i, j] = learned[i, j]
            learned[0, 0] = np.nan
        return value, constant, doubt, status

    return best_of


def _climb(log_posterior: Callable[..., Any], build: Build) -> Callable[..., Any]:
    """Return the search from one start; it ends early near a better point that another start has reached."""
    direction, line_search = _step(build), _line_search(log_posterior, build)
    reset, update, near = (_leaf(build)(function) for function in (_reset_hessian, _update_hessian, _near))

    @build
    def maximise(theta, code, data, rules, spare, steps, gradient, hessian, best, known):  # type: ignore[no-untyped-def]
        p, low, high = theta.size, rules[:, 3], rules[:, 4]
        trial, trial_gradient, step = np.empty(p), np.empty(p), np.empty(p)
        for i in range(p):
            theta[i] = min(max(theta[i], low[i]), high[i])
        value, constant, doubt = log_posterior(theta, code, data, rules, gradient)
        fresh = np.isnan(hessian[0, 0])
        if fresh:
            reset(hessian, spare)
        for _ in range(steps):
            gain = direction(hessian, gradient, low, high, theta, step)
            if gain <= TOLERANCE * (1.0 + 1e-3 * abs(value)) or (value <= best and near(theta, known)):
                return value, constant, doubt, CONVERGED
            reached, new_constant, new_doubt, outcome = line_search(
                theta, step, value, doubt, gradient, code, data, rules, trial, trial_gradient
            )
            if outcome != FOUND:
                if fresh or gain <= doubt:
                    return value, constant, doubt, outcome
                reset(hessian, spare)  # what was learned may mislead: try the slope alone
                fresh = True
                continue
            fresh = False
            for i in range(p):
                step[i] = trial[i] - theta[i]
                theta[i] = trial[i]
                trial[i] = gradient[i] - trial_gradient[i]
                gradient[i] = trial_gradient[i]
            update(hessian, step, trial)
            value, constant, doubt = reached, new_constant, new_doubt
        return value, constant, doubt, STEP_LIMIT

    return maximise


def _step(build: Build) -> Callable[..., Any]:
    """Return what proposes a step."""
    root = in_python(eliminate) if build is in_python else eliminate

    @_leaf(build)
    def direction(hessian, gradient, low, high, theta, step):  # type: ignore[no-untyped-def]
        """Fill the ascent step H⁻¹g, 0 for parameters at a bound and pushed outwards; return its gain."""
        p = theta.size
        free = np.empty(p, np.int64)
        m = 0
        for i in range(p):
            step[i] = 0.0
            if not (
                (theta[i] <= low[i] and gradient[i] <= 0.0) or (theta[i] >= high[i] and gradient[i] >= 0.0)
            ):
                free[m] = i
                m += 1
        reduced, lower, half = np.empty((m, m)), np.empty((m, m)), np.zeros(m)
        for i in range(m):
            for j in range(m):
                reduced[i, j] = hessian[free[i], free[j]]
        root(reduced, lower, 1e-300)
        gain = 0.0
        for i in range(m):
            for j in range(i + 1):
                half[i] += lower[i, j] * gradient[free[j]]
            for j in range(i + 1):
                step[free[j]] += lower[i, j] * half[i]
            gain += half[i] * half[i]
        return gain

    return direction


def _line_search(log_posterior: Callable[..., Any], build: Build) -> Callable[..., Any]:
    """Return the search along a step for a better point."""

    @build
    def line_search(theta, step, value, doubt, gradient, code, data, rules, trial, trial_gradient):  # type: ignore[no-untyped-def]
        """Fill the first point along the step that is better; return (value, constant, doubt, outcome)."""
        longest = 0.0
        for i in range(step.size):
            longest = max(longest, abs(step[i]))
        length = min(1.0, LONGEST_STEP / longest)
        for _ in range(40):
            promise = 0.0
            for i in range(step.size):
                trial[i] = min(max(theta[i] + length * step[i], rules[i, 3]), rules[i, 4])
                promise += gradient[i] * (trial[i] - theta[i])
            reached, constant, new_doubt = log_posterior(trial, code, data, rules, trial_gradient)
            if reached >= value + 1e-4 * promise:
                return reached, constant, new_doubt, FOUND
            if 0.0 <= promise <= doubt:  # no shorter step could be seen to improve
                return value, 0.0, doubt, CONVERGED
            length *= 0.3
        return value, 0.0, doubt, STALLED

    return line_search


def _near(theta, known):  # type: ignore[no-untyped-def]
    """Return whether no parameter differs by much; False where nothing is known (NaN)."""
    n_near = 0
    for i in range(theta.size):
        n_near += abs(theta[i] - known[i]) < NEAR
    return n_near == theta.size


def _reset_hessian(hessian, spare):  # type: ignore[no-untyped-def]
    """Fill the Hessian of −f with the one that is assumed before anything is learned."""
    p = hessian.shape[0]
    for i in range(p):
        for j in range(p):
            hessian[i, j] = 1.0 if i == j else 0.0
    hessian[p - 1, p - 1] += 0.5 * spare


def _update_hessian(hessian, move, change):  # type: ignore[no-untyped-def]
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


_best = search_for(value_at_address)


def _search_body(  # type: ignore[no-untyped-def]
    objective, given, starts, n_starts, rules, p, spare, steps, theta, gradient, hessian, found
):
    """Return the value of the best maximum of an objective by its address; fill (constant, doubt, status)."""
    value, found[0], found[1], found[2] = _best(
        carray(starts, (n_starts, p)), objective, given, carray(rules, (p, RULE)), spare, steps,
        carray(theta, p), carray(gradient, p), carray(hessian, (p, p)),
    )  # fmt: skip
    return value


@functools.cache
def searching() -> Any:
    """Return the compiled search, which knows an objective only by its address; `searched` calls it."""
    sizes = types.float64, types.int64
    signature = types.float64(
        types.int64, types.int64, POINTER, types.int64, POINTER, types.int64, *sizes, *[POINTER] * 4
    )
    return compile_function(_search_body, signature)


@inlined
def searched(addresses, given, starts, rules, spare, steps, theta, gradient, hessian):  # type: ignore[no-untyped-def]
    """Return (value, constant, doubt, status) of a search; ``addresses`` are those of it and its objective.

    For bodies of ufuncs, whose arrays may have gaps: ``hessian`` is filled anew, the rest is as before.
    """
    p = theta.size
    points, learned, found, point, slopes = (
        starts.copy(),
        hessian.copy(),
        np.empty(3),
        np.empty(p),
        np.empty(p),
    )
    value = call(
        addresses[0], addresses[1], given, points, starts.shape[0], rules, p, spare, steps, point, slopes,
        learned, found,
    )  # fmt: skip
    for i in range(p):
        theta[i], gradient[i] = point[i], slopes[i]
        for j in range(p):
            hessian[i, j] = learned[i, j]
    return value, found[0], found[1], int(found[2])


# Operations of one evaluation, all entries together: with some hundred evaluations a second or two. While a
# compiled search is under way no signal is heard.
AT_ONCE = 6e7
SMALL = 200  # observed cells of a study that is searched at once: some tenths of a second


def portions(cost: AnyArray) -> Iterator[tuple[Any, ...]]:
    """Yield indices of the entries of ``cost``, in order, each portion at most AT_ONCE or one entry."""
    if cost.size and cost.sum() <= AT_ONCE:  # by far the most common
        yield (...,)
        return
    places = np.argwhere(np.ones(cost.shape, bool))
    begin, spent = 0, 0.0
    for i, own in enumerate(cost.ravel().tolist()):
        if i > begin and spent + own > AT_ONCE:
            yield tuple(places[begin:i].T)
            begin, spent = i, 0.0
        spent += own
    if len(places):
        yield tuple(places[begin:].T)


def studies_alike(count: IntArray, correlation: Array | None) -> Iterator[tuple[Any, ...]]:
    """Yield portions of the studies that all have noise in common, or none of which has."""
    for studies in _portions(count):
        shared = np.zeros(1, bool) if correlation is None else np.any(correlation[studies], axis=-1)
        if shared.ndim and shared.any() and not shared.all():
            yield from (tuple(axis[mark] for axis in studies) for mark in (shared, ~shared))
        else:
            yield studies


def _portions(count: IntArray) -> Iterator[tuple[Any, ...]]:
    """Yield indices of the studies: large ones alone, small ones so many that a search of all is short."""
    cells = (count > 0).sum(axis=(-2, -1))
    if not cells.ndim:
        yield ()
        return
    yield from (tuple(study) for study in np.argwhere(cells > SMALL))
    small = np.nonzero(cells <= SMALL)
    for (some,) in portions(cells[small].astype(float) ** 3):
        yield tuple(axis[some] for axis in small)

"""MAP search of the additive GP's hyper-parameters, study by study or many small ones at once.

Small studies are searched by one compiled ufunc. Large ones are searched in Python, which hears interruptions
between two evaluations: dense ones evaluate by the same ufunc, and where many cells are observed by
`argbest.core.structured_evidence`. Importing this module imports Numba and compiles nothing; the first call
compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_function, compile_ufunc, one_notice
from argbest.core import common_noise, structured_evidence
from argbest.core.additive_evidence import evaluate, lend, prepare
from argbest.core.arrays import Array, IntArray
from argbest.core.by_address import OBJECTIVE, keep
from argbest.core.evidence import inverting
from argbest.core.fitting import kernel_code
from argbest.core.integration import Density, Evaluate
from argbest.core.landmarks import FEWER_FEATURES, MOST_FEATURES, structure_helps_search, structured
from argbest.core.priors import Hyperprior
from argbest.core.search import (
    MAX_STEPS,
    SMALL,
    STEP_LIMIT,
    SearchResult,
    in_python,
    search_for,
    searched,
    searching,
    studies_alike,
)
from argbest.core.setting import Coordinates
from argbest.core.tally import Tally


class Inputs(NamedTuple):
    """Where alternatives and contexts lie, and the kernel of both."""

    kernel: str
    alternatives: Coordinates | None  # None: names, each unlike all others
    contexts: Array  # [d, context, context]: squared distances
    n_sources: int = 0  # the last coordinates that say which source a run is from (`argbest.core.earlier`)


class Search(NamedTuple):
    """Where a search starts, [..., s, parameter] with NaN for no start, and how many steps each start gets.

    From every start ``first_steps`` are made; from the best point reached the search continues until it
    converges. ``hessian`` [..., parameter, parameter] is what an earlier search has learned at the first
    start, or NaN.
    """

    starts: Array
    first_steps: int
    hessian: Array


def search_from(starts: Array, first_steps: int, hessian: Array | None = None) -> Search:
    """Return a search, by default without a known Hessian."""
    shape = (*starts.shape[:-2], starts.shape[-1], starts.shape[-1])
    return Search(starts, first_steps, np.full(shape, np.nan) if hessian is None else hessian)


class SearchData(NamedTuple):
    """The data that a search is given; arrays [..., alternative, context]."""

    tally: Tally
    noise: Array  # multiplies the noise parameter
    common: common_noise.Rows | None  # of the noise that alternatives share; None where they share none


def fit_map(
    inputs: Inputs,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    search: Search,
    correlation: Array | None = None,
) -> SearchResult:
    """Return the best maximum found.

    The tally holds outcomes [..., alternative, context] standardised over the whole study; ``noise`` of that
    shape multiplies the noise parameter. ``correlation`` [..., context] is that of replications of equal
    number; studies with some are searched by dense algebra, however large.
    """
    lead, p = tally.shape[:-2], len(prior.rules)
    floats = np.empty((*lead, p)), np.empty(lead), np.empty(lead)
    found = SearchResult(*floats, np.empty(lead, np.int64), np.empty((*lead, p, p)))
    for studies in studies_alike(tally.count, correlation):
        own = Search(search.starts[studies], search.first_steps, search.hessian[studies])
        shared = None if correlation is None else correlation[studies]
        seen = _seen(tally[studies], noise[studies], shared)
        for whole, part in zip(found, _fit(inputs, seen, prior.rules, own), strict=True):
            whole[studies] = part
    return found


def _seen(tally: Tally, noise: Array, correlation: Array | None) -> SearchData:
    """Return the data in the form that a search takes."""
    if tally.common is None or correlation is None or not correlation.any():
        return SearchData(tally.statistics_alone, noise, None)
    return SearchData(tally, noise, common_noise.rows(tally, noise, correlation))


def _table(inputs: Inputs, tally: Tally, noise: Array) -> structured_evidence.ObservedTable:
    """Return the data of one study in the form that `argbest.core.structured_evidence` takes."""
    where = inputs.alternatives, inputs.contexts
    return structured_evidence.prepare(*where, tally.statistics_alone, noise, inputs.n_sources)


Climb = Callable[[Array, int, Array], SearchResult]


def _fit(inputs: Inputs, seen: SearchData, rules: Array, search: Search) -> SearchResult:
    """Return the best maximum found, by the algebra that suits the size of the studies."""
    tally, noise, common = seen
    count, names = tally.count, inputs.alternatives is None
    if count.ndim > 2 or (count > 0).sum() <= SMALL:
        climb: Climb = functools.partial(_climb_compiled, inputs, seen, rules)
        return _best(climb, climb, search)
    dense = functools.partial(_climb_in_python, _search_dense, inputs, seen, rules)
    data = _table(inputs, tally, noise)
    roughly, closely = (
        functools.partial(_climb_structured, inputs.kernel, data, rules, most)
        for most in (FEWER_FEATURES, MOST_FEATURES)
    )
    # Of several starts few features find the best, nearly as well and far more quickly.
    many = np.sum(~np.isnan(search.starts[:, 0])) > 1
    if common is None and structured(count, names=names):
        return _best(roughly if many else closely, closely, search)
    if many and structure_helps_search(count, names=names):  # as if no noise were common
        half = search.first_steps // 2  # then the best alone
        found = roughly(search.starts, half, search.hessian)
        return _best(roughly, dense, Search(found.theta[None], half, found.hessian))
    return _best(dense, dense, search)


def _best(first: Climb, rest: Climb, search: Search) -> SearchResult:
    """Return the best point that any start reaches in the first steps, climbed from there to the end."""
    reached = first(search.starts, search.first_steps, search.hessian)
    continues = np.asarray((reached.status == STEP_LIMIT) | (first is not rest))
    if not continues.any():
        return reached
    start = np.where(continues[..., None], reached.theta, np.nan)
    found = rest(start[..., None, :], MAX_STEPS, reached.hessian)
    marks = (continues[..., None], continues, continues, continues, continues[..., None, None])
    return SearchResult(*(np.where(*each) for each in zip(marks, found, reached, strict=True)))


def log_evidence(
    inputs: Inputs,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    theta: Array,
    correlation: Array | None = None,
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the constant) at θ [..., parameter], dense."""
    return _evidence(inputs, _seen(tally, noise, correlation), prior, theta)


def _evidence(
    inputs: Inputs, seen: SearchData, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    found = _call(inputs, seen, prior.rules, theta[..., None, :], 0, _blank(theta))
    return found.value, found.gradient, found.constant


def weighs_common_noise(count: IntArray) -> bool:
    """Return whether `evaluator` takes common noise into account in a study with these counts."""
    return bool((count > 0).sum() <= SMALL)


def evaluator(
    inputs: Inputs, tally: Tally, noise: Array, prior: Hyperprior, near: Array, correlation: Array | None
) -> tuple[Evaluate, Density | None]:
    """Return the function of θ [m, parameter] with log evidence + log prior of one study, and its gradient.

    For a large study it uses structure, with landmarks for θ about ``near``, and takes no noise for common;
    then a second function returns the value alone, much quicker.
    """
    if weighs_common_noise(tally.count):
        seen = _seen(tally, noise, correlation)
        return lambda theta: _evidence(inputs, seen, prior, theta)[:2], None
    kernel, rules = inputs.kernel, prior.rules
    data = structured_evidence.with_landmarks(kernel, _table(inputs, tally, noise), near, MOST_FEATURES)

    def evaluate(theta: Array) -> tuple[Array, Array]:
        gradient = np.empty(theta.shape)
        each = zip(theta, gradient, strict=True)
        found = [structured_evidence.log_posterior(at, kernel, data, rules, slopes)[0] for at, slopes in each]
        return np.array(found), gradient

    def density(theta: Array) -> Array:
        return np.array([structured_evidence.log_value(point, kernel, data, rules) for point in theta])

    return evaluate, density


def _climb_compiled(
    inputs: Inputs, seen: SearchData, rules: Array, starts: Array, steps: int, hessian: Array
) -> SearchResult:
    found = _call(inputs, seen, rules, starts, steps, hessian)
    return SearchResult(found.theta, found.constant, found.value, found.status, found.hessian)


def _climb_structured(
    kernel: str,
    data: structured_evidence.ObservedTable,
    rules: Array,
    most: int,
    starts: Array,
    steps: int,
    hessian: Array,
) -> SearchResult:
    """Return the best of climbs from all starts, each with landmarks that suit it."""
    found = []
    for i, start in enumerate(starts):
        if not np.isnan(start[0]):
            suited = structured_evidence.with_landmarks(kernel, data, start, most)
            known_hessian = hessian if i == 0 else _blank(start)
            found.append(
                _climb_in_python(_search_structured, kernel, suited, rules, start[None], steps, known_hessian)
            )
    return max(found, key=lambda one: float(one.value))


def _climb_in_python(
    search: Callable[..., Any], code: Any, data: Any, rules: Array, starts: Array, steps: int, hessian: Array
) -> SearchResult:
    """Return where a search in Python ends; ``data`` begins with the tally."""
    count, learned = data[0].count, hessian.copy()
    theta, gradient = np.empty(starts.shape[1]), np.empty(starts.shape[1])
    spare = float(np.maximum(count - 1, 0).sum())
    value, constant, _, status = search(starts, code, data, rules, spare, steps, theta, gradient, learned)
    return SearchResult(theta, np.asarray(constant), np.asarray(value), np.asarray(status), learned)


def _evaluate(
    theta: Array, code: Inputs, data: SearchData, rules: Array, gradient: Array
) -> tuple[float, float, float]:
    """Return (log evidence + log prior, constant, doubt) of one study and fill the gradient."""
    found = _call(code, data, rules, theta[None], 0, _blank(theta))
    gradient[:] = found.gradient
    return float(found.value), float(found.constant), float(found.doubt)


class _Outputs(NamedTuple):
    """What the ufunc fills."""

    theta: Array
    constant: Array
    value: Array
    status: IntArray
    doubt: Array
    gradient: Array
    hessian: Array


def _call(
    inputs: Inputs, seen: SearchData, rules: Array, starts: Array, steps: int, hessian: Array
) -> _Outputs:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    (tally, noise, common), where = seen, inputs.alternatives
    points = np.zeros((tally.shape[-2], 1)) if where is None else where.points
    kinds = np.zeros(points.shape[1]) if where is None else where.categorical.astype(float)
    place, count = (points, kinds, inputs.contexts), tally.count.astype(float)
    search, addresses = _compiled()
    if common is None:
        values = tally.mean, tally.m2, noise, np.zeros(2), np.zeros((0, 0)), np.zeros(0)
    else:
        values = common.mean, np.zeros(tally.shape), noise, *common[1:]
    code = kernel_code(inputs.kernel), int(where is None), inputs.n_sources
    options = rules, *code, steps, starts, hessian, addresses
    with np.errstate(all="ignore"):
        return _Outputs(*search(*place, count, *values, *options))


def _blank(theta: Array) -> Array:
    """Return a Hessian of which nothing is known."""
    return np.full((theta.shape[-1], theta.shape[-1]), np.nan)


_search_dense = search_for(_evaluate, in_python)
_search_structured = search_for(structured_evidence.log_posterior, in_python)


def _search_body(  # type: ignore[no-untyped-def]
    points, categorical, separation, count, mean, m2, noise, totals, factor, shared, rules, kernel, names,
    sources, steps, starts, hessian, addresses, theta, constant, value, status, doubt, gradient, learned,
):  # fmt: skip
    """Fill the best of the points reached from the starts in so many steps, and the slopes there."""
    data = prepare(points, categorical, separation, count, mean, m2, noise, (totals, factor, shared))
    given = ((kernel, names, addresses[2], sources), data, rules.copy())
    spare = data[2][1][0] - data[2][0].shape[1]
    for i in range(theta.size):
        for j in range(theta.size):
            learned[i, j] = hessian[i, j]
    value[0], constant[0], doubt[0], status[0] = searched(
        (addresses[0], addresses[1]), lend(given), starts, given[2], spare, steps, theta, gradient, learned
    )
    keep(given)


SECONDS = 10  # about how long a first fit compiles (benchmarks/first_answer.py)
_CUBE, _TABLE, _ROW = "float64[:,:,:]", "float64[:,:]", "float64[:]"


@functools.cache
def _compiled() -> tuple[Callable[..., Any], IntArray]:
    """Return the ufunc, and where the search, its objective and what that needs are."""
    with one_notice(SECONDS):
        return _search(), np.array([searching().address, _objective().address, inverting().address])


@functools.cache
def _objective() -> Any:
    return compile_function(evaluate, OBJECTIVE)


@functools.cache
def _search() -> Callable[..., Any]:
    seen = f"{_TABLE}, {_ROW}, {_CUBE}{4 * f', {_TABLE}'}, {_ROW}, {_TABLE}, {_ROW}"
    options = f"{_TABLE}, int64, int64, int64, int64, {_TABLE}, {_TABLE}, int64[:]"
    filled = f"{_ROW}, {_ROW}, {_ROW}, int64[:], {_ROW}, {_ROW}, {_TABLE}"
    layout = "(k,a),(a),(d,c,c),(k,c),(k,c),(k,c),(k,c),(t),(m,w),(m),(p,q),(),(),(),(),(s,p),(p,p),(f)"
    return compile_ufunc(
        _search_body, f"void({seen}, {options}, {filled})", f"{layout}->(p),(),(),(),(),(p),(p,p)"
    )

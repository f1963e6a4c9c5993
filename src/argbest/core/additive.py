"""MAP search of the additive GP's hyper-parameters: one compiled ufunc over studies.

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core.additive_evidence import log_posterior, prepare
from argbest.core.arrays import Array
from argbest.core.coordinates import Coordinates
from argbest.core.fitting import Fit, kernel_code
from argbest.core.priors import Hyperprior
from argbest.core.search import MAX_STEPS, STEP_LIMIT, search_for
from argbest.core.tally import Tally


class Inputs(NamedTuple):
    """Where alternatives and contexts lie, and the kernel of both."""

    kernel: str
    alternatives: Coordinates | None  # None: names, each unlike all others
    contexts: Array  # [d, context, context]: squared distances


def fit_map(
    inputs: Inputs, tally: Tally, noise: Array, prior: Hyperprior, starts: Array, *, first_steps: int
) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, parameter], a row of NaN being none.

    Every start is given ``first_steps``, and the best point reached then goes on until it converges. The
    tally holds outcomes [..., alternative, context] standardised over the whole study; ``noise`` of that
    shape multiplies the noise parameter.
    """
    first = Fit(*_climb(inputs, tally, noise, prior, starts, first_steps)[:-1])
    going = np.asarray(first.status == STEP_LIMIT)
    if not going.any():
        return first
    rest = np.where(going[..., None], first.theta, np.nan)
    found = _climb(inputs, tally, noise, prior, rest[..., None, :], MAX_STEPS)[:-1]
    pairs = zip(found, first, strict=True)
    return Fit(*(np.where(going[..., None] if i == 0 else going, a, b) for i, (a, b) in enumerate(pairs)))


def log_evidence(
    inputs: Inputs, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the constant) at θ [..., parameter]."""
    _, constant, value, _, gradient = _climb(inputs, tally, noise, prior, theta[..., None, :], 0)
    return value, gradient, constant


def _climb(
    inputs: Inputs, tally: Tally, noise: Array, prior: Hyperprior, starts: Array, steps: int
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    where = inputs.alternatives
    points = np.zeros((tally.shape[-2], 1)) if where is None else where.points
    kinds = np.zeros(points.shape[1]) if where is None else where.categorical.astype(float)
    tables = tally.count.astype(float), tally.mean, tally.m2, noise
    codes = kernel_code(inputs.kernel), int(where is None)
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = _search()(
            points, kinds, inputs.contexts, *tables, prior.rules, *codes, steps, starts
        )
    return outputs


_maximise = search_for(log_posterior)


def _search_body(  # type: ignore[no-untyped-def]
    points, categorical, separation, count, mean, m2, noise, rules, kernel, names, steps, starts,
    theta, constant, value, status, gradient,
):  # fmt: skip
    """Fill the best of the points reached from the starts in so many steps, and the gradient there."""
    data = prepare(points, categorical, separation, count, mean, m2, noise)
    spare = data[4][0] - data[3].shape[1]
    value[0], constant[0], status[0] = _maximise(
        starts, (kernel, names), data, rules, spare, steps, theta, gradient
    )


@functools.cache
def _search() -> Callable[..., Any]:
    cube, table, row = "float64[:,:,:]", "float64[:,:]", "float64[:]"
    signature = (
        f"void({table}, {row}, {cube}{5 * f', {table}'}, int64, int64, int64, {table}, "
        f"{row}, {row}, {row}, int64[:], {row})"
    )
    layout = "(k,a),(a),(d,c,c),(k,c),(k,c),(k,c),(k,c),(p,q),(),(),(),(s,p)->(p),(),(),(),(p)"
    return compile_ufunc(_search_body, signature, layout)

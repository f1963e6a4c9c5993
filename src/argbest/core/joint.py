"""MAP search of the joint GP's hyper-parameters: one compiled ufunc over studies.

Importing this module imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core.arrays import Array
from argbest.core.fitting import Fit, kernel_code
from argbest.core.joint_evidence import log_posterior, prepare
from argbest.core.priors import Hyperprior
from argbest.core.search import MAX_STEPS, STEP_LIMIT, search_for
from argbest.core.tally import Tally


class Product(NamedTuple):
    """The prior correlation κ_A(k, k′) · κ_C(c, c′): kernels and squared distances of both factors.

    With ``dimensions`` above 0 alternatives have so many learned coordinates, and their separation is only
    space for one distance, [1, alternative, alternative].
    """

    alternative_kernel: str
    alternatives: Array  # [a, alternative, alternative]
    kernel: str
    contexts: Array  # [d, context, context]
    dimensions: int = 0


def fit_map(
    product: Product,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    starts: Array,
    *,
    first_steps: int = MAX_STEPS,
) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, parameter], a row of NaN being none.

    Every start is given ``first_steps``, and the best point reached then goes on until it converges.

    The parameters are the embeddings (if learned: alternative by alternative), the log lengthscales of the
    alternatives and of the contexts, the log scale and the log noise. The tally holds outcomes
    [..., alternative, context] standardised over the whole study; ``noise`` of that shape multiplies the
    noise parameter.
    """
    *found, _ = _climb(product, tally, noise, prior, starts, first_steps)
    first = Fit(*found)
    going = np.asarray(first.status == STEP_LIMIT) & (first_steps < MAX_STEPS)
    if not going.any():
        return first
    rest = np.where(going[..., None], first.theta, np.nan)
    *found, _ = _climb(product, tally, noise, prior, rest[..., None, :], MAX_STEPS)
    pairs = zip(found, first, strict=True)
    return Fit(*(np.where(going[..., None] if i == 0 else going, a, b) for i, (a, b) in enumerate(pairs)))


def log_evidence(
    product: Product, tally: Tally, noise: Array, prior: Hyperprior, theta: Array
) -> tuple[Array, Array, Array]:
    """Return (log evidence + log prior, its gradient in θ, the profiled mean) at θ [..., parameter]."""
    _, constant, value, _, gradient = _climb(product, tally, noise, prior, theta[..., None, :], 0)
    return value, gradient, constant


def _climb(
    product: Product, tally: Tally, noise: Array, prior: Hyperprior, starts: Array, steps: int
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    codes = kernel_code(product.alternative_kernel), kernel_code(product.kernel), product.dimensions
    tables = tally.count.astype(float), tally.mean, tally.m2, noise
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = _search()(
            product.alternatives, product.contexts, *tables, prior.rules, *codes, steps, starts
        )
    return outputs


_maximise = search_for(log_posterior)


def _search_body(  # type: ignore[no-untyped-def]
    alternatives, contexts, count, mean, m2, noise, rules, first_code, second_code, dimensions, steps, starts,
    theta, constant, value, status, gradient,
):  # fmt: skip
    """Fill the best of the points reached from the starts in so many steps, and the gradient there."""
    data = prepare(alternatives, contexts, count, mean, m2, noise)
    code = (first_code, second_code, dimensions)
    spare = data[4][0] - data[3].shape[1]
    value[0], constant[0], status[0] = _maximise(starts, code, data, rules, spare, steps, theta, gradient)


@functools.cache
def _search() -> Callable[..., Any]:
    cube, table, row = "float64[:,:,:]", "float64[:,:]", "float64[:]"
    signature = (
        f"void({cube}, {cube}{5 * f', {table}'}, int64, int64, int64, int64, {table}, "
        f"{row}, {row}, {row}, int64[:], {row})"
    )
    layout = "(a,k,k),(d,c,c),(k,c),(k,c),(k,c),(k,c),(p,q),(),(),(),(),(s,p)->(p),(),(),(),(p)"
    return compile_ufunc(_search_body, signature, layout)

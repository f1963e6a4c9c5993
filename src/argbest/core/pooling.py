"""MAP search of hyper-parameters that several alternatives own together: one compiled ufunc over studies.

``owner`` [alternative, d + 2] says which entry of a study's θ each hyper-parameter of an alternative is. The
log evidences of all alternatives add up, the prior of a shared parameter counts once. Importing this module
imports Numba and compiles nothing; the first call compiles or loads the cache.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.compilation import compile_ufunc
from argbest.core import evidence
from argbest.core.arrays import Array, IntArray
from argbest.core.evidence import add_log_prior, compiled, observed
from argbest.core.fitting import Fit, kernel_code
from argbest.core.priors import FLAT, Hyperprior
from argbest.core.search import MAX_STEPS, search_for
from argbest.core.tally import Tally


class Ownership(NamedTuple):
    """Which alternatives share which hyper-parameters."""

    owner: IntArray  # [alternative, d + 2]: the entry of θ
    column: IntArray  # [entry of θ]: which of an alternative's d + 2 parameters it is

    def gather(self, theta: Array) -> Array:
        """Return every alternative's own parameters [..., alternative, d + 2] from θ [..., entry]."""
        own: Array = theta[..., self.owner]
        return own

    def collect(self, own: Array) -> Array:
        """Return θ [..., entry] from every alternative's parameters."""
        _, first = np.unique(self.owner, return_index=True)
        theta: Array = own.reshape(*own.shape[:-2], -1)[..., first]
        return theta

    def prior(self, single: Hyperprior) -> Hyperprior:
        """Return the prior of θ from that of a single alternative's parameters."""
        return Hyperprior(single.rules[self.column], single.starts[:, self.column])


def ownership(n_alternatives: int, d: int, *, lengths: bool, scale: bool, noise: bool) -> Ownership:
    """Return who owns what; a kind of parameter is shared by all alternatives, or each has its own.

    The entries of θ follow the kinds in turn, so that the noise, where it is shared, comes last.
    """
    shared = [lengths] * d + [scale, noise]
    owner = np.empty((n_alternatives, d + 2), np.int64)
    column: list[int] = []
    for i, together in enumerate(shared):
        n = 1 if together else n_alternatives
        owner[:, i] = len(column) + (0 if together else np.arange(n_alternatives))
        column += [i] * n
    return Ownership(owner, np.array(column, np.int64))


def fit_map(
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    owner: IntArray,
    starts: Array,
) -> Fit:
    """Return the best maximum found from ``starts`` [..., s, entry], a row of NaN being none.

    The tally holds standardised outcomes [..., alternative, context]; ``noise`` of that shape multiplies the
    noise parameters. The fit's constant is [..., alternative].
    """
    *found, _ = _climb(kernel, separation, tally, noise, prior, owner, starts, MAX_STEPS)
    return Fit(*found)


def log_evidence(
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    owner: IntArray,
    theta: Array,
) -> tuple[Array, Array, Array]:
    """Return (Σ log evidence + log prior, its gradient in θ, the profiled means) at θ [..., entry]."""
    _, constant, value, _, gradient = _climb(
        kernel, separation, tally, noise, prior, owner, theta[..., None, :], 0
    )
    return value, gradient, constant


def _climb(
    kernel: str,
    separation: Array,
    tally: Tally,
    noise: Array,
    prior: Hyperprior,
    owner: IntArray,
    starts: Array,
    steps: int,
) -> tuple[Any, ...]:
    """Return the ufunc's outputs; trouble on the way shows in them (status, value), not as warnings."""
    tables = tally.count.astype(float), tally.mean, tally.m2, noise
    with np.errstate(all="ignore"):
        outputs: tuple[Any, ...] = _search()(
            separation, *tables, prior.rules, owner, kernel_code(kernel), steps, starts
        )
    return outputs


@compiled
def _log_posterior(theta, code, data, rules, gradient):  # type: ignore[no-untyped-def]
    """Return (Σ_k log evidence + log prior, 0, doubt), fill the gradient and note the alternatives' means."""
    each, owner, free, constants = data
    p = owner.shape[1]
    for i in range(theta.size):
        gradient[i] = 0.0
    value, doubt = add_log_prior(theta, rules, gradient), 0.0
    own, slope = np.empty(p), np.empty(p)
    for k in range(owner.shape[0]):
        for i in range(p):
            own[i] = theta[owner[k, i]]
        part, constants[k], unsure = evidence.log_posterior(own, code, each[k], free, slope)
        value += part
        doubt += unsure
        for i in range(p):
            gradient[owner[k, i]] += slope[i]
    return value, 0.0, doubt


_maximise = search_for(_log_posterior)


def _search_body(  # type: ignore[no-untyped-def]
    separation, count, mean, m2, noise, rules, owner, code, steps, starts,
    theta, constant, value, status, gradient,
):  # fmt: skip
    """Fill the best of the points reached from the starts in so many steps, and the gradient there."""
    k, p = owner.shape
    each = [observed(separation, count[a], mean[a], m2[a], noise[a]) for a in range(k)]
    free = np.zeros((p, 5))  # the priors are those of θ, counted once
    for i in range(p):
        free[i, 0] = FLAT
    constants, spare = np.empty(k), 0.0
    if owner[0, p - 1] == owner[k - 1, p - 1]:  # replicates fix a noise level that all share
        for a in range(k):
            spare += each[a][4][0] - each[a][1].size
    data = (each, owner.copy(), free, constants)
    value[0], _, status[0] = _maximise(starts, code, data, rules, spare, steps, theta, gradient)
    _log_posterior(theta.copy(), code, data, rules.copy(), np.empty(theta.size))  # notes the means there
    for a in range(k):
        constant[a] = constants[a]


@functools.cache
def _search() -> Callable[..., Any]:
    table, row = "float64[:,:]", "float64[:]"
    signature = (
        f"void(float64[:,:,:]{5 * f', {table}'}, int64[:,:], int64, int64, {table}, "
        f"{row}, {row}, {row}, int64[:], {row})"
    )
    layout = "(d,c,c),(k,c),(k,c),(k,c),(k,c),(e,q),(k,p),(),(),(s,e)->(e),(k),(),(),(e)"
    return compile_ufunc(_search_body, signature, layout)

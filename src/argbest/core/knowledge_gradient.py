"""The knowledge gradient in logarithms, and how far a replication of one pair moves every other mean.

A replication of (k, c) moves the mean of (j, c′) by s Z with Z ~ N(0, 1) and slope s = Cov(f_j(c′), f_k(c)) /
√(V_kc + σ²). Its value at c′ is KG(k, c; c′) = E[max_j (μ_jc′ + s_jc′ Z)] − max_j μ_jc′. Such values fall as
exp(−v²/2) in the gap over the slope, so only their logarithms keep an order in the tail.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, HasBlocks, next_replications
from argbest.core.decision import of_each_context
from argbest.core.normal import log_loss, loss
from argbest.core.replications import NextReplications

_FARTHEST = 1e150  # of a gap over a slope: its square is still a number
_COLUMNS = 2**16  # entries of the covariances of alternatives worked on together, half a megabyte
_BLOCK = 2**15  # entries worked on at once: a quarter of a megabyte per temporary, to stay in the cache


def log(values: Array) -> Array:
    """Return log x, −∞ at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_sum(terms: Array, axis: int | tuple[int, ...] = -1) -> Array:
    """Return log Σ exp(terms) along the axis, −∞ where every term is."""
    largest = np.max(terms, axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    total = log(np.sum(np.exp(terms - largest), axis=axis, keepdims=True)) + largest
    return np.squeeze(total, axis=axis)


def blocks(n_rows: int, row_size: int, most: int = _BLOCK) -> Iterator[slice]:
    """Return slices that cover the rows, each of few enough to keep temporaries below ``most`` entries."""
    step = max(1, most // max(1, row_size))
    return (slice(i, i + step) for i in range(0, n_rows, step))


def gap_to_rival(mean: Array) -> Array:
    """Return |μ_kc − max_{j≠k} μ_jc|, infinite for a single alternative, [..., alternative, context]."""
    first = of_each_context(np.argmax(mean, axis=-2))
    others = mean.copy()
    others[first] = -np.inf
    gap = mean[first][..., None, :] - mean
    gap[first] = mean[first] - others.max(axis=-2)
    return gap


def standardised(gap: Array, slope: Array) -> Array:
    """Return gap / |slope|, capped where its square would overflow; the cap also where the slope is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: Array = np.abs(np.divide(gap, slope))
    return np.fmin(ratio, _FARTHEST)  # fmin: 0 / 0 is the cap too


def log_kg(gap: Array, slope: Array) -> Array:
    """Return log E[(|s| Z − gap)⁺] = log |s| + log h(gap / |s|) for gaps ≥ 0, −∞ where s = 0.

    The knowledge gradient of one line that moves among others that stay, gap being the distance to the best
    of those: the same whether it lies above or below (Frazier, Powell and Dayanik 2008).
    """
    return log(np.abs(slope)) + log_loss(standardised(gap, slope))


_STEPS = 32  # of the table of h between 0 and 1
_FAR = 8  # where it ends
_LOG_4_OVER_ROOT_2PI = float(np.log(4.0) - 0.5 * np.log(2.0 * np.pi))


def log_kg_bound(cov: Array, root: Array, gap: Array, weights: Array) -> Array:
    """Return an upper bound of log Σ_c′ w_c′ s h(gap/s), s = |cov| root, at most 0.11 above it, [..., c].

    ``cov`` is [..., c, c′], ``root`` [..., c], ``gap`` and ``weights`` are [..., c′].
    """
    with np.errstate(all="ignore"):
        bound: Array = _bounding()(cov, root, gap, weights, _losses())
    return bound


@functools.cache
def _losses() -> Array:
    """Return the table of h; made when it is needed, for that imports SciPy."""
    return loss(np.arange(_FAR * _STEPS + 1) / _STEPS)


def _bound_body(cov, root, gap, weights, losses, bound):  # type: ignore[no-untyped-def]
    """Fill the bounds: between the entries of a table the convex h lies below the chord.

    Far out, where the table ends, h(v) = φ(v) (1 − v m(v)) ≤ φ(v) (2 / (v + √(v² + 4)))² by Birnbaum's lower
    bound of Mills' ratio m (1942), in logarithms.
    """
    for c in range(root.size):
        total, size, nearest = 0.0, 0.0, _FARTHEST
        for x in range(gap.size):
            slope = abs(cov[c, x]) * root[c]
            if slope > 0.0 and weights[x] > 0.0:
                v, term = gap[x] / slope, slope * weights[x]
                size += term
                nearest = min(nearest, v)
                if v < _FAR:
                    i = int(v * _STEPS)
                    total += term * (losses[i] + (v * _STEPS - i) * (losses[i + 1] - losses[i]))
                else:
                    total += term * losses[-1]
        if total > 100.0 * size * losses[-1] or size == 0.0:
            bound[c] = np.log(total) if size > 0.0 else -np.inf
            continue
        total = 0.0
        for x in range(gap.size):
            slope = abs(cov[c, x]) * root[c]
            if slope > 0.0 and weights[x] > 0.0:
                v = min(gap[x] / slope, _FARTHEST)
                exponent = max(0.5 * (nearest - v) * (nearest + v), -200.0)  # still a bound, no underflow
                total += slope * weights[x] * np.exp(exponent) / (v + np.sqrt(v * v + 4.0)) ** 2
        bound[c] = np.log(total) - 0.5 * nearest * nearest + _LOG_4_OVER_ROOT_2PI


@functools.cache
def _bounding() -> Callable[..., Any]:
    from argbest.compilation import compile_ufunc  # imports Numba, so not before it is needed

    inputs = "float64[:,:], float64[:], float64[:], float64[:], float64[:]"
    return compile_ufunc(_bound_body, f"void({inputs}, float64[:])", "(c,x),(c),(x),(x),(h)->(c)")


def envelope_kg(intercept: Array, slope: Array) -> Array:
    """Return log(E[max_j (a_j + s_j Z)] − max_j a_j) of lines on the last axis, [...].

    With slopes s_(1) < ... < s_(q) of the upper envelope and its break points z_i the value is
    Σ_i (s_(i+1) − s_(i)) h(|z_i|) (Frazier, Powell and Dayanik 2009, centred). From the line that is highest
    at z = 0 the envelope is walked to the right and, mirrored, to the left: all terms are positive.
    """
    intercept, slope = np.broadcast_arrays(intercept, slope)
    lines = intercept.shape[-1]
    a, s = intercept.reshape(-1, lines), slope.reshape(-1, lines)
    value = np.empty(len(a))
    for rows in blocks(len(a), lines):
        value[rows] = np.logaddexp(_walk(a[rows], s[rows]), _walk(a[rows], -s[rows]))
    return value.reshape(intercept.shape[:-1])


def _walk(a: Array, s: Array) -> Array:
    """Return log Σ (rise in slope) h(z) over the break points z ≥ 0, [row] from [row, line].

    Each step goes to the steeper line that is met first, so it costs O(lines) and there are as many steps as
    lines on the envelope, which are few. Of several lines highest at z = 0 the first given is the start, to
    the right as to the left, so that the break between them is passed once.
    """
    # The steepest first: where several lines are met at once, argmin goes straight to the last of them.
    start, order = np.argmax(a, axis=-1, keepdims=True), np.argsort(-s, axis=-1)
    a, s = np.take_along_axis(a, order, -1), np.take_along_axis(s, order, -1)
    total, rows, line = np.full(len(a), -np.inf), np.arange(len(a)), np.argmax(order == start, axis=-1)
    while rows.size:
        at_line = (np.arange(len(a)), line)
        rise, drop = s - s[at_line][:, None], a[at_line][:, None] - a
        met = np.full_like(a, np.inf)
        with np.errstate(over="ignore"):
            np.divide(drop, rise, out=met, where=rise > 0)
        line = np.argmin(met, axis=-1)
        at_met = (np.arange(len(a)), line)
        continues = np.isfinite(met[at_met])
        z = np.clip(met[at_met][continues], 0.0, _FARTHEST)
        rows, line = rows[continues], line[continues]
        total[rows] = np.logaddexp(total[rows], np.log(rise[at_met][continues]) + log_loss(z))
        a, s = a[continues], s[continues]
    return total


def precision_root(belief: Belief, lookahead: float = 1.0) -> Array:
    """Return 1/√(V + σ²/lookahead), 0 where it teaches nothing, [..., alternative, context].

    The factor that turns a covariance with a pair into the slope of the mean of ``lookahead``
    replications there.
    """
    total = belief.var + belief.noise / lookahead
    return np.divide(1.0, np.sqrt(total), out=np.zeros_like(total), where=total > 0)


def log_kg_in_own_context(belief: Belief) -> Array:
    """Return log KG(k, c; c): what a replication is worth in its own context, [..., alternative, context].

    Where alternatives share noise the number of that replication matters: it is the next one of its pair.
    """
    if (ahead := next_replications(belief)) is not None:
        each = [
            log_kg_of_replications(belief, ahead, c, slice(c, c + 1)) for c in range(belief.mean.shape[-1])
        ]
        return np.concatenate(each, axis=-1)
    root = precision_root(belief)
    if not covary(belief):
        return log_kg(gap_to_rival(belief.mean), belief.var * root)
    lines, values = np.swapaxes(belief.mean, -1, -2)[..., None, :, :], []
    for some in alternatives_at_once(belief):
        own_context = np.einsum("...cjc->...cj", columns(belief, some))
        values.append(envelope_kg(lines, own_context * root[..., some, :, None]))
    return np.concatenate(values, axis=-2)


def log_kg_of_replications(
    belief: Belief, ahead: NextReplications, context: int, of_contexts: slice = slice(None)
) -> Array:
    """Return log KG(k, c; context) of the next replications in the contexts ``of_contexts``, [..., k, c].

    What one observes is a contrast of its cell with those that have shown the same noise, so the slopes are
    covariances with the contrast over the root of its variance.
    """
    n_alternatives = belief.mean.shape[-2]
    every = np.broadcast_to(np.arange(n_alternatives), (*belief.mean.shape[:-2], n_alternatives))
    some, rows = (
        ahead.among(of_contexts),
        belief.cov_rows(every, np.full_like(every, context))[..., of_contexts],
    )
    slope = some.covariances(rows).swapaxes(-1, -3).swapaxes(-1, -2)  # [..., c, j, k] to [..., k, c, j]
    slope = slope / np.sqrt(some.var)[..., None]
    return envelope_kg(belief.mean[..., None, None, :, context], slope)


def covary(belief: Belief) -> bool:
    """Return whether alternatives covary under a belief, without making a table of covariances."""
    return not offers(belief, HasBlocks) and belief.own_cov is None


def own_cov(belief: Belief, rows: IntArray) -> Array:
    """Return the covariances of some independent alternatives, all studies in a row, [row, c, c′]."""
    if offers(belief, HasBlocks):
        return belief.blocks(rows)
    table = belief.own_cov
    if table is None:
        raise ValueError("alternatives covary here: none has covariances of its own.")
    return np.asarray(table.reshape(-1, *table.shape[-2:])[rows])


def beside(values: Array, cov: Array) -> Array:
    """Return values [..., context′] placed to broadcast with ``own_cov`` [..., context, context′]."""
    return values[..., :, None] if cov.shape[-1] == 1 else values[..., None, :]


def alternatives_at_once(belief: Belief) -> Iterator[slice]:
    """Return slices that cover the alternatives, few enough that `columns` of some are no large array.

    They do not depend on how many studies are side by side: each is rounded as if it were alone.
    """
    n_alternatives, n_contexts = belief.mean.shape[-2:]
    return blocks(n_alternatives, n_alternatives * n_contexts**2, _COLUMNS)


def columns(belief: Belief, some: slice) -> Array:
    """Return Cov(f_k(c), f_j(c′)) for some alternatives k, [..., k, context, alternative, context′]."""
    shape = belief.mean.shape
    k, c = (part.ravel() for part in np.indices(shape[-2:])[:, some])
    every = (*shape[:-2], k.size)
    rows = belief.cov_rows(np.broadcast_to(k, every), np.broadcast_to(c, every))
    return rows.reshape(*shape[:-2], -1, shape[-1], *shape[-2:])

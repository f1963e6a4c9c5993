"""What a replication costs, learned from the run times measured so far."""

import numpy as np

from argbest.core.arrays import AnyArray, Array

_PAIR = 3.0  # runs of a pair that weigh as much as what its alternative and its context say
_EFFECT = 0.5  # runs that weigh as much as the assumption that an alternative or a context is like the others
_SHORTEST = 1e-6  # of the mean run time: what a clock may have shown as zero


def learned(n: AnyArray, seconds: AnyArray) -> Array:
    """Return the mean cost of one replication of every pair [..., alternative, context], timed or not.

    ``n`` counts the timed runs of each pair, ``seconds`` is their total. The logarithm of a pair's mean time
    is taken as level + alternative + context + the pair's own part, normal with precisions ∞, a, a and w in
    units of one run (a = 1/2, w = 3), and the posterior mean is returned: pairs run often keep their own
    mean, pairs never run get level × alternative × context.

    Means are arithmetic, because budgets spend sums; shrinking is geometric, because run times differ by
    factors: an arithmetic pull towards the average would make a pair that takes a thousandth of it look a
    hundred times dearer than it is. The result has the unit of ``seconds``; it is 1 if nothing was timed.
    """
    count, total = np.asarray(n, float), np.asarray(seconds, float)
    runs, spent = count.sum(axis=(-2, -1), keepdims=True), total.sum(axis=(-2, -1), keepdims=True)
    average = np.where(spent > 0, spent / np.maximum(runs, 1), 1.0)
    ratio = np.maximum(total / np.maximum(count, 1) / average, _SHORTEST)
    log_ratio = np.where((count > 0) & (spent > 0), np.log(ratio), 0.0)
    fit = _crossed(count, log_ratio)
    return np.asarray(average * np.exp(fit + count / (count + _PAIR) * (log_ratio - fit)))


def _crossed(count: Array, log_ratio: Array) -> Array:
    """Return level + alternative + context [..., alternative, context] by penalised least squares.

    The mean time of a pair scatters about that sum with variance 1/n + 1/w.
    """
    weight = count * _PAIR / (count + _PAIR)
    k, c = weight.shape[-2:]
    rows, columns = weight.sum(axis=-1), weight.sum(axis=-2)
    normal = np.zeros((*weight.shape[:-2], 1 + k + c, 1 + k + c))
    normal[..., 0, 1 : 1 + k], normal[..., 0, 1 + k :] = rows, columns
    normal[..., 1 : 1 + k, 1 + k :] = weight
    normal += np.swapaxes(normal, -1, -2)
    whole = rows.sum(axis=-1, keepdims=True)
    diagonal = [np.where(whole > 0, whole, 1.0), rows + _EFFECT, columns + _EFFECT]
    np.einsum("...ii->...i", normal)[...] = np.concatenate(diagonal, axis=-1)
    told = weight * log_ratio
    by_row, by_column = told.sum(axis=-1), told.sum(axis=-2)
    right = np.concatenate([by_row.sum(axis=-1, keepdims=True), by_row, by_column], axis=-1)
    solved: Array = np.linalg.solve(normal, right[..., None])[..., 0]
    level, alternative, context = solved[..., :1], solved[..., 1 : 1 + k], solved[..., 1 + k :]
    return np.asarray(level[..., None] + alternative[..., :, None] + context[..., None, :])

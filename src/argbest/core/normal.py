"""The normal loss function, stable in its tails, and P(one of independent normals is the largest)."""

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, erfcx, ndtr

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)


def loss(v: Array) -> Array:
    """Return h(v) = E[(Z − v)⁺] = φ(v) − v Φ(−v), without cancellation for v > 0."""
    density = np.exp(-0.5 * v * v - _LOG_ROOT_2PI)
    mills = np.sqrt(np.pi / 2) * erfcx(np.maximum(v, 0.0) / np.sqrt(2))
    return np.asarray(np.where(v > 0, density * (1 - v * mills), density - v * ndtr(-v)))


def log_loss(v: Array) -> Array:
    """Return log h(v) for v ≥ 0, also where h itself underflows.

    −v²/2 − log √2π + log(1 − v m(v)) with Mills' ratio m; beyond 1e4, where the bracket is v⁻² to all digits
    but no longer to be had by subtraction, −2 log v takes its place.
    """
    near = np.minimum(v, 1e4)
    mills = np.sqrt(np.pi / 2) * erfcx(near / np.sqrt(2))
    bracket = np.log1p(-near * mills)
    far = -2.0 * np.log(np.maximum(v, 1.0))
    return np.asarray(-0.5 * v * v - _LOG_ROOT_2PI + np.where(v > 1e4, far, bracket))


REACH = 7.5  # Φ(-7.5) = 3e-14: what lies further from a mean, in standard deviations, is left out
_STEP = 0.75  # between nodes, in units of 1 / √(Σ 1/s²)
_LONGEST_GRID = 128  # nodes of the longest grid; beyond, panels of different widths need fewer
_ELEMENTS = 1 << 17  # numbers in one temporary array, 1 MB: a few of them stay in cache


def good_probability(mean: Array, std: Array, is_chosen: BoolArray) -> tuple[Array, IntArray]:
    """Return P(the chosen b is best), [row], by sums over even grids, and the rows that need a finer mesh.

    The spectrum of f_b Π F_j falls like exp(−ω²/(2 Σ 1/s²)), so a step of _STEP / √(Σ 1/s²) leaves
    exp(−½ (2π / _STEP)²) = 6e-16. Everything is in standard deviations of b, from its mean; a rival beyond
    REACH + 0.5 standard deviations of the difference, Φ(-8) = 6e-16, is left out.
    """
    own_mean, own_std = mean[is_chosen][:, None], std[is_chosen][:, None]
    with np.errstate(all="ignore"):  # what is not a number here, as beside point masses, goes to the rest
        place, slope = (mean - own_mean) / own_std, own_std / std
        keep = (place > -(REACH + 0.5) * np.hypot(1.0, 1.0 / slope)) | is_chosen
        low = np.where(keep, place - REACH / slope, -np.inf).max(axis=1)
        length = (REACH - low) * np.sqrt(np.where(keep, slope * slope, 0.0).sum(axis=1)) / _STEP
        rest = ~(length <= _LONGEST_GRID) | ~np.all(np.isfinite(place) & (slope > 0), axis=1)
    crowd = keep.sum(axis=1)
    good = np.where(crowd > 1, 0.0, 1.0)  # alone it wins; out of reach of a rival it does not
    summed = ~rest & (crowd > 1) & (low < REACH)
    nodes = np.where(summed, np.ceil(np.where(summed, length, 0.0)), 0.0).astype(np.int64)
    for size in np.unique(crowd[summed]):  # rows with as many rivals together, those of short grids first
        alike = np.flatnonzero((crowd == size) & summed)
        alike = alike[np.argsort(nodes[alike], kind="stable")]
        columns = kept_first(keep[alike] & ~is_chosen[alike])
        step = max(1, _ELEMENTS // (_LONGEST_GRID * int(size)))
        for start in range(0, len(alike), step):
            row, column = alike[start : start + step, None], columns[start : start + step]
            good[row[:, 0]] = _sum(place[row, column], slope[row, column], low[row], nodes[row])
    return good, np.flatnonzero(rest)


def _sum(place: Array, slope: Array, low: Array, nodes: IntArray) -> Array:
    """Return the trapezoidal sum of φ(t) Π_j Φ((t − place_j) slope_j) from low to REACH, [row]."""
    i = np.arange(nodes.max() + 1)
    step = (REACH - low) / nodes
    t = low + step * i
    cdf = ndtr((t[:, None, :] - place[:, :, None]) * slope[:, :, None]).prod(axis=1)
    density = np.where(i <= nodes, np.exp(-0.5 * t * t), 0.0)
    total: Array = step[:, 0] / np.sqrt(2 * np.pi) * np.einsum("ri,ri->r", density, cdf)
    return np.minimum(total, 1.0)


def kept_first(keep: BoolArray) -> IntArray:
    """Return column indices with the kept of each row first, as many as the fullest row keeps."""
    return np.argsort(~keep, axis=1, kind="stable")[:, : keep.sum(axis=1).max()]

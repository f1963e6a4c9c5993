"""Draws of hyper-parameters from their posterior: Laplace at the mode, importance sampling around it.

θ are the logarithms of the parameters, and the densities here are densities of θ. A parameter whose bounds
coincide is not drawn.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray, gammaincinv, ndtri

Evaluate: TypeAlias = Callable[[Array], tuple[Array, Array]]  # θ [m, ..., p]: log density [m, ...], gradient
Density: TypeAlias = Callable[[Array], Array]  # the log density alone

_STEP = 1e-3  # of the central differences
_FLATTEST = 0.25  # least curvature: no standard deviation above 2, in logarithms
FLAT = 2.5  # parameters of less curvature are not proposed about the mode, but along all of their density
_FREEDOM = 5.0  # of the Student-t around the mode
_FARTHEST = 2.0  # that one Newton step may go
_MOST_POINTS = 64  # in studies with up to 100 observed cells
_FEWEST_POINTS = 5  # in the largest studies
_PROPOSALS = 16  # at least, from which the points are chosen
_STEPS = 8  # of a distribution between bounds


class Points(NamedTuple):
    """Equally likely hyper-parameters."""

    theta: Array  # [n, ..., p]
    effective: Array  # [...]: how many independent points the proposals are worth


def n_points(n_cells: int) -> int:
    """Return how many points a study with so many observed cells can afford: 64 √(100 / cells), 5 to 64."""
    return int(np.clip(_MOST_POINTS * np.sqrt(100.0 / max(n_cells, 1)), _FEWEST_POINTS, _MOST_POINTS))


def sample(
    evaluate: Evaluate,
    mode: Array,
    rules: Array,
    n: int,
    generator: np.random.Generator,
    *,
    flat_below: float = FLAT,
    density: Density | None = None,
) -> Points:
    """Return n equally likely points of the density near ``mode`` [..., p], each [...] by itself.

    ``density`` returns the logarithm that ``evaluate`` does, where that is quicker without its gradient.

    Proposals are a Student-t with the curvature of the log density at the mode, one Newton step on.
    Parameters along which there is little curvature, below ``flat_below``, as the scales of parts that the
    data do not need, are proposed along the density between their bounds instead. Weights are truncated at
    1/√m of m proposals (Ionides, "Truncated importance sampling", 2008), and points are chosen by systematic
    resampling, in an order of their own for every leading index.
    """
    low, high = rules[:, -2], rules[:, -1]
    free, m, density = low < high, max(n, _PROPOSALS), density or (lambda theta: evaluate(theta)[0])
    if not free.any():
        return Points(np.broadcast_to(mode, (n, *mode.shape)), np.full(mode.shape[:-1], float(n)))
    centre, curvature = _laplace(evaluate, mode, free)
    flat = (np.einsum("...ii->...i", curvature) < flat_below) | (centre <= low[free]) | (centre >= high[free])
    away, proposal = _student(curvature, flat, m, generator)
    theta = np.broadcast_to(mode, (m, *mode.shape)).copy()
    theta[..., free] = centre + away
    for j, i in enumerate(np.flatnonzero(free)):
        if flat[..., j].any():
            own, likely = _along(density, mode, int(i), (low[i], high[i]), latin(generator, proposal.shape))
            theta[..., i] = np.where(flat[..., j], own, theta[..., i])
            proposal = proposal + np.where(flat[..., j], likely, 0.0)
    inside = np.all((theta >= low) & (theta <= high), axis=-1)
    value = density(np.clip(theta, low, high))
    weight, effective = truncated(np.where(inside & np.isfinite(value), value - proposal, -np.inf))
    chosen = resampled(weight, n, generator)
    return Points(np.take_along_axis(theta, chosen[..., None], axis=0), effective)


def latin(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return numbers in (0, 1): along the first axis the midpoints of equal strata, each in random order."""
    order: IntArray = np.argsort(generator.random(shape), axis=0)
    return (order + 0.5) / shape[0]


def truncated(log_weight: Array) -> tuple[Array, Array]:
    """Return weights [m, ...] that sum to 1, truncated at 1/√m, and the effective size before truncation.

    The effective size is 1/Σw² (Kish). Where no proposal has any weight all get the same, worth one point.
    """
    best = log_weight.max(axis=0)
    lost = ~np.isfinite(best)
    weight = np.exp(np.where(lost, 0.0, log_weight - np.where(lost, 0.0, best)))
    weight /= weight.sum(axis=0)
    effective = np.where(lost, 1.0, 1.0 / np.sum(weight**2, axis=0))
    weight = np.minimum(weight, 1.0 / np.sqrt(len(weight)))
    return weight / weight.sum(axis=0), effective


def resampled(weight: Array, n: int, generator: np.random.Generator) -> IntArray:
    """Return n indices [n, ...] by systematic resampling of weights [m, ...], shuffled."""
    reached = np.cumsum(weight, axis=0)
    reached /= reached[-1]
    place = (np.arange(n).reshape(-1, *(1,) * (weight.ndim - 1)) + generator.random(weight.shape[1:])) / n
    index = np.sum(reached[:, None] <= place, axis=0)
    order = np.argsort(generator.random(index.shape), axis=0)
    return np.take_along_axis(np.minimum(index, len(weight) - 1), order, axis=0)


def _laplace(evaluate: Evaluate, mode: Array, free: BoolArray) -> tuple[Array, Array]:
    """Return one Newton step on from the mode [..., q] and the curvature there [..., q, q]."""
    steps = _STEP * np.eye(len(free))[free].reshape(-1, *(1,) * (mode.ndim - 1), len(free))
    _, slopes = evaluate(np.concatenate([mode + steps, mode - steps]))
    above, below = np.split(slopes[..., free], 2)
    curvature = np.moveaxis((below - above) / (2 * _STEP), 0, -1)
    curvature = 0.5 * (curvature + np.swapaxes(curvature, -1, -2))
    usable = np.all(np.isfinite(curvature), axis=(-2, -1), keepdims=True)
    curvature = np.where(usable, curvature, 0.0)
    root = _root(curvature)
    gradient = np.nan_to_num(0.5 * (above + below).mean(axis=0))
    newton = np.einsum("...ij,...kj,...k->...i", root, root, gradient)
    return mode[..., free] + np.clip(newton, -_FARTHEST, _FARTHEST), curvature


def _root(curvature: Array) -> Array:
    """Return the symmetric root of the inverse of a curvature, with no standard deviation above 2."""
    values, vectors = np.linalg.eigh(curvature)
    short = vectors / np.sqrt(np.maximum(values, _FLATTEST))[..., None, :]
    return np.asarray(short @ np.swapaxes(vectors, -1, -2))


def _student(
    curvature: Array, flat: BoolArray, m: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Return m steps [m, ..., q] of a Student-t over what is not flat, and their log density [m, ...]."""
    alone = flat[..., :, None] | flat[..., None, :]
    root = _root(np.where(alone, np.eye(flat.shape[-1]), curvature))
    normal = np.where(flat, 0.0, ndtri(latin(generator, (m, *flat.shape))))
    chance = gammaincinv(0.5 * _FREEDOM, latin(generator, (m, *flat.shape[:-1])))
    unit = np.sqrt(0.5 * _FREEDOM / chance)[..., None] * normal
    squares, dimension = np.sum(unit**2, axis=-1), np.sum(~flat, axis=-1)
    density = -0.5 * (_FREEDOM + dimension) * np.log1p(squares / _FREEDOM)
    return np.einsum("...ij,m...j->m...i", root, unit), density


def _along(
    density: Density, mode: Array, i: int, bounds: tuple[float, float], chance: Array
) -> tuple[Array, Array]:
    """Return values [m, ...] of parameter i by their distribution between the bounds, and its log density.

    The distribution follows the root of the density with all else at the mode, in steps, a tenth of it
    uniform: with all else not at the mode the density is wider.
    """
    width = (bounds[1] - bounds[0]) / _STEPS
    points = np.repeat(mode[None], _STEPS, axis=0)
    points[..., i] = (bounds[0] + width * (np.arange(_STEPS) + 0.5)).reshape(-1, *(1,) * (mode.ndim - 1))
    value = density(points)
    value = np.where(np.isfinite(value), value, -np.inf)
    share = np.exp(0.5 * (value - value.max(axis=0))) if np.isfinite(value).any() else np.ones(value.shape)
    share = 0.9 * share / share.sum(axis=0) + 0.1 / _STEPS
    reached = np.cumsum(share, axis=0)
    step = np.minimum(np.sum(reached[:, None] <= chance, axis=0), _STEPS - 1)
    own, end = np.take_along_axis(share, step, axis=0), np.take_along_axis(reached, step, axis=0)
    return bounds[0] + width * (step + 1 - (end - chance) / own), np.log(own / width)

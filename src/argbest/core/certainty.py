"""How sure a selection is: probability of being best, expected loss, and bounds, for independent normals.

Arrays are [..., alternative, context]. f_k(c) ~ N(mean, std²), independent over alternatives; more is better.
A zero std is a point mass and is treated as such, never as a narrow normal.

The integrals over x, the value of the best, use Gauss-Legendre panels, or an even grid where that is quicker.
Every context has a mesh of its own: an answer does not depend on what else is in the batch.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from argbest.core import normal
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray, log_ndtr, ndtr
from argbest.core.normal import REACH, kept_first
from argbest.core.normal import loss as normal_loss

_WIDTH = 3.0  # widest panel, in standard deviations of an alternative it touches ...
_GRADE = 0.5  # ... or in distances from an alternative it does not touch
_FIRST_PANELS = 8
_BLUR = 1e-10  # least std relative to the distance from the origin: keeps rounding of nodes below 1e-6 std
_LEAST_STD = 1e-25  # least positive std relative to the unit: bounds the depth of the mesh
_POINT = 1e-140  # stands for a zero std: its standardised values square without overflow
_ELEMENTS = 1 << 17  # numbers in one temporary array, 1 MB: a few of them stay in cache
_MESH_ELEMENTS = 1 << 20  # the same for the mesh: 8 MB
_BELOW = -100.0  # where alternatives out of contention are put, in units
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(12))
_NODES += 0.5

_Mesh = tuple[IntArray, Array, Array]  # row, left end and width of every panel, sorted by row


class Certainty(Protocol):
    """How sure one may be of selections: probabilities and losses, arrays [..., alternative, context]."""

    def best_probability(self) -> Array:
        """Return P(each alternative is best) per context."""

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(the selected alternative is within delta of the best) per context, [..., context].

        Args:
            selected: The positions of what was selected, [..., context].
            delta: How far from the best a selection may be and still count as right.
        """

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best reward − selected reward] per context, [..., context].

        Args:
            selected: The positions of what was selected, [..., context].
        """

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return the sharpest closed-form lower bound of `good_probability` that this admits.

        Args:
            selected: The positions of what was selected, [..., context].
            delta: How far from the best a selection may be and still count as right.
        """

    def draw(self, normals: Array) -> Array:
        """Return joint draws of all rewards [s, ..., alternative, context] from normals of that shape.

        Args:
            normals: Standard normal numbers, [s, ..., alternative, context].
        """


def best_probability(mean: Array, std: Array) -> Array:
    """Return the probability that each alternative is best, [..., alternative, context].

    P_k = ∫ f_k(x) Π_{j≠k} F_j(x) dx; alternatives known exactly and tied share theirs equally.
    """
    mean, std = np.broadcast_arrays(mean, std)
    known = np.where(std == 0, mean, -np.inf)
    tied = (std == 0) & (mean == known.max(axis=-2, keepdims=True))
    return _win_probability(mean, std) / np.where(tied, tied.sum(axis=-2, keepdims=True), 1)


def good_probability(mean: Array, std: Array, selected: IntArray, delta: float = 0.0) -> Array:
    """Return P(f_selected >= max_j f_j - delta), [..., context].

    The selected alternative is best once it is given a start of delta; a known tie counts as a win.
    """
    mean, std, index = np.broadcast_arrays(mean, std, np.asarray(selected)[..., None, :])
    shape = (*mean.shape[:-2], mean.shape[-1])
    rows_mean, rows_std, chosen = by_rows(mean), by_rows(std), by_rows(index)[:, 0]
    is_chosen = np.arange(rows_mean.shape[1]) == chosen[:, None]
    rows_mean = rows_mean + delta * is_chosen
    good, rest = normal.good_probability(rows_mean, rows_std, is_chosen)
    for part in _parts(rest.size, rows_mean.shape[1]):
        some = rest[part]
        good[some] = _row_wins(rows_mean[some], rows_std[some])[is_chosen[some]]
    return good.reshape(shape)


def expected_loss(mean: Array, std: Array, selected: IntArray) -> Array:
    """Return E[max_k f_k - f_selected], [..., context], to a small relative error however small it is.

    E = ∫ F_b(x) (1 - Π_{j≠b} F_j(x)) dx with b selected. Where some F_j vanishes the bracket is one, and
    ∫_{-∞}^l F_b dx = s_b h((m_b - l) / s_b), h(v) = φ(v) - v Φ(-v).
    """
    mean, std, index = np.broadcast_arrays(mean, std, np.asarray(selected)[..., None, :])
    shape = (*mean.shape[:-2], mean.shape[-1])
    rows_mean, rows_std, chosen = by_rows(mean), by_rows(std), by_rows(index)[:, 0]
    loss = np.zeros(len(chosen))
    for part in _parts(*rows_mean.shape):
        loss[part] = _row_loss(rows_mean[part], rows_std[part], chosen[part])
    return loss.reshape(shape)


def slepian_bound(gap: Array, difference_std: Array, selected: IntArray) -> Array:
    """Return Π_{k≠b} Φ(gap_k / τ_k), [..., context], a lower bound of P(selected is best).

    gap = mean_b - mean_k, τ = std(f_b - f_k). Slepian's inequality; it needs the differences f_b - f_k to be
    positively correlated, as they are for independent alternatives.
    """
    bound: Array = np.exp(log_ndtr(_standard_gap(gap, difference_std, selected)).sum(axis=-2))
    return bound


def bonferroni_bound(gap: Array, difference_std: Array, selected: IntArray) -> Array:
    """Return max(0, 1 - Σ_{k≠b} Φ(-gap_k / τ_k)), [..., context], a lower bound whatever the correlations."""
    misses = ndtr(-_standard_gap(gap, difference_std, selected)).sum(axis=-2)
    bound: Array = np.maximum(0.0, 1.0 - misses)
    return bound


def _standard_gap(gap: Array, difference_std: Array, selected: IntArray) -> Array:
    """Return gap / τ, infinite where the order is known; a known tie, as the selected itself, is no loss."""
    gap, tau, index = np.broadcast_arrays(gap, difference_std, np.asarray(selected)[..., None, :])
    with np.errstate(over="ignore"):
        ratio = np.divide(gap, tau, out=np.where(gap >= 0, np.inf, -np.inf), where=tau > 0)
    return np.where(np.arange(gap.shape[-2])[:, None] == index, np.inf, ratio)


def _win_probability(mean: Array, std: Array) -> Array:
    """Return P(f_k >= f_j for all j), [..., alternative, context]."""
    mean, std = np.broadcast_arrays(mean, std)
    rows_mean, rows_std = by_rows(mean), by_rows(std)
    win = np.zeros(rows_mean.shape)
    for part in _parts(*rows_mean.shape):
        win[part] = _row_wins(rows_mean[part], rows_std[part])
    return np.moveaxis(win.reshape(np.moveaxis(mean, -2, -1).shape), -1, -2)


def by_rows(table: AnyArray) -> AnyArray:
    """Return a table [..., alternative, context] by the contexts of all studies, [row, alternative]."""
    return np.moveaxis(table, -2, -1).reshape(-1, table.shape[-2])


def _parts(n_rows: int, n_alternatives: int) -> Iterator[slice]:
    """Yield slices of rows whose meshes, of some 128 panels a row, fit in a few temporary arrays."""
    step = max(1, _MESH_ELEMENTS // (128 * n_alternatives))
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _row_wins(mean: Array, std: Array) -> Array:
    """Return P(f_k >= f_j for all j), [row, alternative]."""
    low = (mean - REACH * std).max(axis=1, keepdims=True)
    contends = mean + REACH * std >= low
    order = kept_first(contends)
    mean, std = (np.take_along_axis(each, order, axis=1) for each in (mean, std))
    mean, std, _ = _localise(mean, std, np.take_along_axis(contends, order, axis=1))
    point = std == _POINT
    low = (mean - REACH * std).max(axis=1, keepdims=True)
    high = (mean + REACH * std).max(axis=1)
    mesh = _mesh(low[:, 0], high, mean, np.where(point, np.inf, std))

    def integrand(row: IntArray, x: Array) -> Array:
        z = (x[:, None, :] - mean[row][:, :, None]) / std[row][:, :, None]
        cdf = ndtr(z)
        np.exp(np.multiply(np.multiply(z, z, out=z), -0.5, out=z), out=z)
        value: Array = z * (cdf.prod(axis=1, keepdims=True) / cdf)
        return value

    wins = _integral(integrand, mesh, *mean.shape) / (np.sqrt(2 * np.pi) * std)
    # A point mass wins where all others stay below it; any point mass under the highest never does.
    below = np.where(point, 1.0, ndtr((low - mean) / std)).prod(axis=1, keepdims=True)
    wins = np.where(point, np.where(mean >= low, below, 0.0), wins)
    result = np.zeros(contends.shape)
    np.put_along_axis(result, order, np.clip(wins, 0.0, 1.0), axis=1)
    return result


def _row_loss(mean: Array, std: Array, chosen: IntArray) -> Array:
    """Return the expected loss of the chosen alternative, [row]."""
    is_chosen = np.arange(mean.shape[1]) == chosen[:, None]
    rivals = _rivals(mean, std, is_chosen)
    order = kept_first(rivals | is_chosen)
    mean, std, is_chosen, rivals = (
        np.take_along_axis(each, order, axis=1) for each in (mean, std, is_chosen, rivals)
    )
    mean, std, unit = _localise(mean, std, rivals | is_chosen)
    own_mean, own_std = mean[is_chosen], std[is_chosen]
    low, high, centre, scale = _loss_features(mean, std, is_chosen, rivals)
    mean, std = np.where(is_chosen, _BELOW, mean), np.where(is_chosen, _POINT, std)

    def integrand(row: IntArray, x: Array) -> Array:
        z = (x[:, None, :] - mean[row][:, :, None]) / std[row][:, :, None]
        own = ndtr((x - own_mean[row][:, None]) / own_std[row][:, None])
        value: Array = own * -np.expm1(log_ndtr(z).sum(axis=1))
        return value

    above = _integral(integrand, _mesh(low, high, centre, scale), *mean.shape)
    below = np.where(own_std == _POINT, low - own_mean, own_std * normal_loss((own_mean - low) / own_std))
    loss: Array = unit * (above + below)
    return loss


def _rivals(mean: Array, std: Array, is_chosen: BoolArray) -> BoolArray:
    """Return which alternatives add to the loss, by the size of their pairwise losses τ h(gap / τ).

    The loss lies between the largest of these and their sum; φ(v) / (1 + v)² is near enough to h(v) here.
    """
    gap = mean[is_chosen][:, None] - mean
    tau = np.hypot(std, std[is_chosen][:, None])
    with np.errstate(divide="ignore", over="ignore"):
        ahead = np.divide(gap, tau, out=np.where(gap > 0, np.inf, 0.0), where=(gap > 0) & (tau > 0))
        size = np.log(tau + np.maximum(-gap, 0.0)) - 0.5 * ahead**2 - 2 * np.log1p(ahead)
    size = np.where(is_chosen, -np.inf, size)
    matters: BoolArray = size > size.max(axis=1, keepdims=True) - 45.0  # e^-45 = 3e-20
    return matters


def _loss_features(
    mean: Array, std: Array, is_chosen: BoolArray, rivals: BoolArray
) -> tuple[Array, Array, Array, Array]:
    """Return the ends of the range of the loss integral, [row], and the places and scales to resolve in it.

    Against a worse rival F_b (1 - F_j) peaks where the two are likeliest to meet, a better one acts at m_j.
    """
    own_mean, own_std = mean[is_chosen][:, None], std[is_chosen][:, None]
    tau = np.hypot(own_std, std)
    behind = mean < own_mean
    meeting = own_mean - (own_mean - mean) * (own_std / tau) ** 2
    centre = np.where(behind & rivals, meeting, mean)
    # Next to a chosen alternative much narrower than s_j the peak is one-sided and falls with 1 - F_j.
    scale = np.where(behind & rivals, np.maximum(own_std * std / tau, std / 64), std)
    scale = np.where((std == _POINT) | ~(rivals | is_chosen), np.inf, scale)
    # F_b underflows 40 standard deviations below its mean; a point mass must not be moved at all.
    vanishing = own_mean - np.where(own_std == _POINT, 0.0, 40 * own_std)
    low = np.maximum(vanishing, np.where(rivals, mean - REACH * std, -np.inf)).max(axis=1)
    high = np.where(rivals, np.maximum(centre, mean) + 11 * std, low[:, None]).max(axis=1)
    return low, np.maximum(low, high), centre, scale


def _localise(mean: Array, std: Array, keep: BoolArray) -> tuple[Array, Array, Array]:
    """Return mean and std, and their unit, with the origin at the narrowest kept alternative.

    Floats are densest around zero, where the finest panels will be. The others become point masses far below.
    """
    narrowest = np.where(keep & (std > 0), std, np.inf).argmin(axis=1)[:, None]
    mean = mean - np.take_along_axis(mean, narrowest, axis=1)
    unit = np.where(keep, np.maximum(np.abs(mean), std), 0.0).max(axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    mean = np.where(keep, mean / unit[:, None], _BELOW)
    floored = np.maximum(np.maximum(std / unit[:, None], _BLUR * np.abs(mean)), _LEAST_STD)
    return mean, np.where(keep & (std > 0), floored, _POINT), unit


def _mesh(low: Array, high: Array, centre: Array, scale: Array) -> _Mesh:
    """Return panels covering [low, high] of each row, halved until they resolve every feature [row, feature].

    A panel is at most _WIDTH scales wide or, away from the centre, _GRADE distances; narrower in a crowd, for
    the best of n normals has a standard deviation of order 1 / sqrt(log n).
    """
    edges = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, _FIRST_PANELS + 1)
    row = np.repeat(np.arange(len(low)), _FIRST_PANELS)
    left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    crowd = np.maximum(np.isfinite(scale).sum(axis=1, keepdims=True), 1)
    reach = _WIDTH / np.sqrt(1 + np.log(crowd)) * scale
    done: list[_Mesh] = []
    while row.size:
        place = centre[row]
        distance = np.maximum(left[:, None] - place, place - right[:, None])
        coarse = right - left > np.maximum(reach[row], _GRADE * distance).min(axis=1)
        fine = ~coarse
        done.append((row[fine], left[fine], (right - left)[fine]))
        row, left, right = row[coarse], left[coarse], right[coarse]
        middle = 0.5 * (left + right)
        row, left, right = np.tile(row, 2), np.append(left, middle), np.append(middle, right)
    row, left, width = (np.concatenate(each) for each in zip(*done, strict=True))
    order = np.argsort(row, kind="stable")
    return row[order], left[order], width[order]


def _integral(
    integrand: Callable[[IntArray, Array], Array], mesh: _Mesh, n_rows: int, n_alternatives: int
) -> Array:
    """Return the integrals, [row, ...], of an integrand that is [panel, ..., node]."""
    row, left, width = mesh
    step = max(1, _ELEMENTS // (_NODES.size * n_alternatives))
    means = []
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        means.append(integrand(row[part], left[part, None] + width[part, None] * _NODES) @ _WEIGHTS)
    panels = (np.concatenate(means).T * width).T
    return np.add.reduceat(panels, np.searchsorted(row, np.arange(n_rows)), axis=0)

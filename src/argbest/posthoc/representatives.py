"""Runs whose contexts never repeat: representative contexts that stand for many, and what that leaves out.

Up to some 1,500 observed pairs every run keeps the context that it has. Beyond that contexts are put into
groups whose members are near each other, and each group is taken as one context at its mean: groups begin as
one for every combination of names, and the one that is spread most is halved (at the mean of its widest
column) until there are enough; then every context goes to the nearest mean a few times (Lloyd). What varies
within a group counts as noise.
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from argbest.checks import table
from argbest.core.arrays import Array, IntArray
from argbest.errors import InputError
from argbest.posthoc.columns import Located
from argbest.problems.axis import Axis
from argbest.problems.labels import Columns
from argbest.problems.population import Represented, with_entries

MOST_PAIRS = 1_500  # observed ones that are taken as they are
_FEWEST = 100  # representative contexts, however many alternatives there are
_PASSES = 4  # in which contexts go to the nearest mean
_SAMPLE = 256  # contexts that are kept to measure what groups leave out


def represented(
    found: Located, n_alternatives: int, weights: object = None
) -> tuple[Located, Array, Represented]:
    """Return representative contexts in the place of all, their weights [context], and what they leave out.

    A representative context weighs as much as the contexts in its group, by default each as much as another.
    """
    axis = found.axis
    metric = [name for name, values in axis.metric.items() if not isinstance(values[0], bool)]
    names = [name for name in axis.coordinates if name not in metric]
    points = _scaled(axis, metric)
    strata = _strata([axis.coordinates[name] for name in names], len(axis))
    most = max(MOST_PAIRS // n_alternatives, _FEWEST)
    if strata.max() + 1 > most:
        raise InputError(
            f"the contexts have {strata.max() + 1} different combinations of {', '.join(names)}, too many to "
            f"be told apart by {len(found.position):,} runs. Leave out columns that only number the runs, or "
            "put their values into groups."
        )
    group = _nearest(points, strata, _halved(points, strata, most))
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    each = None if weights is None else table("weights", weights, (len(axis),))
    size = np.bincount(group, each).astype(float)
    columns: Columns = {
        name: tuple(_means(np.array(values, float), group, first).tolist())
        if name in metric
        else tuple(values[i] for i in first.tolist())
        for name, values in axis.coordinates.items()
    }
    kept = {name: _explained(np.array(axis.coordinates[name], float), group, first) for name in metric}
    some = np.unique(np.linspace(0, len(axis) - 1, min(_SAMPLE, len(axis))).round().astype(int))
    sample: Columns = {
        name: tuple(values[i] for i in some.tolist()) for name, values in axis.coordinates.items()
    }
    record = Represented(len(axis), kept, sample, tuple(group[some].tolist()))
    ranges = {
        name: (float(min(axis.coordinates[name])), float(max(axis.coordinates[name]))) for name in metric
    }
    located = replace(
        found,
        axis=with_entries(axis, columns),
        position=group[found.position],
        ranges={**found.ranges, **ranges},
        notes=(*found.notes, _note(len(axis), len(size), kept)),
    )
    return located, size, record


def _note(n: int, groups: int, kept: dict[str, float]) -> str:
    shares = ", ".join(f"{100 * share:.3g} % of {name}" for name, share in kept.items())
    return (
        f"{n:,} different contexts are represented by {groups:,}, each the mean of a group of near ones. "
        f"They keep {shares} (variance). What varies within groups counts as noise; see `model_summary`."
    )


def with_asked_about(found: Located, given: object, weights: object) -> tuple[Located, Array, IntArray]:
    """Return the contexts that are asked about, then those of the runs with weight 0; and the weights.

    The last array has the new positions of the contexts of the runs: a context that is asked about comes only
    once. ``weights`` are those of the contexts asked about.
    """
    asked = Axis.of("context", found.axis.rows(given))
    place = {row: i for i, row in enumerate(zip(*asked.coordinates.values(), strict=True))}
    shares = (
        table("weights of the contexts asked about", weights, (len(asked),)) if weights is not None else None
    )
    rows = list(zip(*found.axis.coordinates.values(), strict=True))
    new = [i for i, row in enumerate(rows) if row not in place]
    place |= {rows[i]: len(asked) + j for j, i in enumerate(new)}
    columns: Columns = {
        name: (*asked.coordinates[name], *(values[i] for i in new))
        for name, values in found.axis.coordinates.items()
    }
    where = np.array([place[row] for row in rows], np.int64)
    located = replace(found, axis=with_entries(found.axis, columns), position=where[found.position])
    return (
        located,
        np.concatenate([np.ones(len(asked)) if shares is None else shares, np.zeros(len(new))]),
        where,
    )


def _scaled(axis: Axis, metric: Sequence[str]) -> Array:
    """Return columns of numbers over their ranges, [context, column], as models measure distances."""
    found = [np.array(axis.coordinates[name], float) for name in metric]
    spread = [(x - x.min()) / (np.ptp(x) or 1.0) for x in found]
    return np.stack(spread, axis=1) if spread else np.zeros((len(axis), 0))


def _strata(columns: Sequence[Sequence[object]], n: int) -> IntArray:
    """Return the number of the combination of names of every context, [context]."""
    known: dict[object, int] = {}
    rows = zip(*columns, strict=True) if columns else iter([()] * n)
    return np.array([known.setdefault(row, len(known)) for row in rows], np.int64)


def _halved(points: Array, strata: IntArray, most: int) -> IntArray:
    """Return the group of every context: the group with the largest sum of squares is halved, and again."""
    members = [np.flatnonzero(strata == i) for i in range(int(strata.max()) + 1)]
    heap = [(-_squares(points[some]), i) for i, some in enumerate(members)]
    heapq.heapify(heap)
    while len(members) < most and heap[0][0] < 0:
        _, i = heapq.heappop(heap)
        own = points[members[i]]
        widest = int(np.argmax(own.var(axis=0)))
        low = own[:, widest] <= own[:, widest].mean()
        members.append(members[i][~low])
        members[i] = members[i][low]
        for j in (i, len(members) - 1):
            heapq.heappush(heap, (-_squares(points[members[j]]), j))
    group = np.empty(len(points), np.int64)
    for i, some in enumerate(members):
        group[some] = i
    return group


def _squares(points: Array) -> float:
    """Return Σ |x − x̄|² of some points, 0 where they are all equal."""
    return float(((points - points.mean(axis=0)) ** 2).sum()) if np.ptp(points, axis=0).any() else 0.0


def _nearest(points: Array, strata: IntArray, group: IntArray) -> IntArray:
    """Return the groups after every context has gone to the nearest mean of its stratum, some times over."""
    from scipy.spatial import cKDTree  # takes long, and only such runs need it

    if not points.shape[1]:
        return group
    for _ in range(_PASSES):
        labels, group = np.unique(group, return_inverse=True)
        size = np.bincount(group, minlength=len(labels))[:, None]
        means = np.stack([np.bincount(group, x) for x in points.T], axis=1) / size
        stratum = np.zeros(len(labels), np.int64)
        stratum[group] = strata
        for i in range(int(strata.max()) + 1):
            there, own = np.flatnonzero(strata == i), np.flatnonzero(stratum == i)
            group[there] = own[cKDTree(means[own]).query(points[there])[1]]
    return group


def _means(x: Array, group: IntArray, first: IntArray) -> Array:
    """Return the mean of every group; of equal numbers exactly that number."""
    origin = x[first]
    return np.asarray(origin + np.bincount(group, x - origin[group]) / np.bincount(group))


def _explained(x: Array, group: IntArray, first: IntArray) -> float:
    """Return the share of the variance of a column that is between groups."""
    left = np.sum((x - _means(x, group, first)[group]) ** 2)
    return float(1.0 - left / max(float(np.sum((x - x.mean()) ** 2)), 1e-300))

"""Covariance blocks of which a few at a time change: what did not is shared, and nothing is written to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from argbest.core.arrays import Array, IntArray

Changed = tuple[Array, Sequence[tuple[Array, Array]]]  # a block S less vwᵀ of every (v, w), in this order

_LARGE = 64  # rows of a covariance
_PADDING = 1e-9  # of the average variance


@dataclass(frozen=True, eq=False)
class Blocks:
    """One block per alternative: that of the table, or what has taken its place."""

    table: Array  # [alternative, context, context]
    changed: Mapping[int, Changed] = field(default_factory=dict)
    roots: dict[int, Array] = field(default_factory=dict)  # of those that somebody asked for

    def of(self, k: int) -> Array:
        """Return one block."""
        own: Array
        own, less = self.changed.get(k, (self.table[k], ()))
        for scaled, column in less:
            own = own - scaled[:, None] * column
        return own

    def with_(self, changed: Mapping[int, Changed]) -> "Blocks":
        """Return the blocks with some more changed."""
        roots = {k: root for k, root in self.roots.items() if k not in changed}
        return Blocks(self.table, {**self.changed, **changed}, roots)

    def together(self) -> Array:
        """Return all of them, [alternative, context, context]."""
        table = self.table.copy()
        for k in self.changed:
            table[k] = self.of(k)
        return table

    def square_roots(self) -> Array:
        """Return the symmetric roots of all, [alternative, context, context]; each is worked out once."""
        missing = [k for k in range(len(self.table)) if k not in self.roots]
        if missing:
            found = square_root(np.stack([self.of(k) for k in missing]))
            self.roots.update(zip(missing, found, strict=True))
        return np.stack([self.roots[k] for k in range(len(self.table))])


def drawing_root(cov: Array) -> Array:
    """Return R with R Rᵀ = cov, for draws: Cholesky's where there is much to work out, ten times quicker.

    What is added to the diagonal lets it accept singular covariances, far below what draws can tell.
    """
    m = cov.shape[-1]
    if m < _LARGE:
        return square_root(cov)
    padded = cov + _PADDING * np.einsum("...ii->...", cov)[..., None, None] / m * np.eye(m)
    try:
        return np.linalg.cholesky(padded)
    except np.linalg.LinAlgError:
        return square_root(cov)


def square_root(cov: Array) -> Array:
    """Return the symmetric square root; unlike Cholesky it accepts singular covariances.

    It is unique: eigenvectors alone are not where eigenvalues coincide, and rounding would choose among them.
    """
    values, vectors = np.linalg.eigh(cov)
    root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return root


def taken_from(
    owns: Sequence[Array], contexts: IntArray, turn: IntArray, n: IntArray, noise: Array
) -> tuple[list[list[tuple[Array, Array]]], Array]:
    """Return what replications take from blocks: per block pairs (v, w), and the diagonals [block, context].

    Block g has n[g, i] replications with noise[g, i] in the contexts[g, i], i < turn[g]. Only rows of those
    are worked out: the first of all blocks together, then the second of those that have more, and so on.
    """
    diagonal = np.stack([np.diagonal(own) for own in owns])
    steps: list[tuple[IntArray, Array, Array]] = []
    for i in range(contexts.shape[1]):
        some = np.flatnonzero(turn > i)
        c = contexts[some, i]
        column = np.stack([owns[g][at] for g, at in zip(some.tolist(), c.tolist(), strict=True)])
        for before, scaled, earlier in steps:
            rows = np.searchsorted(before, some)
            column -= scaled[rows, c][:, None] * earlier[rows]
        weight = weight_of(n[some, i].astype(float), np.maximum(diagonal[some, c], 0.0), noise[some, i])
        steps.append((some, column * weight[:, None], column))
        diagonal[some] -= steps[-1][1] * column
    less: list[list[tuple[Array, Array]]] = [[] for _ in owns]
    for some, scaled, column in steps:
        for place, g in enumerate(some.tolist()):
            less[g].append((scaled[place], column[place]))
    return less, diagonal


def weight_of(n: Array, var: Array, noise: Array) -> Array:
    """Return 1 / (var + noise/n); 0 for n = 0, and for a cell known exactly: neither teaches anything."""
    total = np.asarray(n * var + noise)
    return np.divide(n, total, out=np.zeros_like(total), where=total > 0)

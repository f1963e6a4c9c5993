"""Covariance blocks of which a few at a time change: the others are shared; arrays are never written to."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from argbest.core.arrays import Array, IntArray, dgemm
from argbest.core.square_root_form import cholesky_factor


class Taken(NamedTuple):
    """What replications of a context subtract from a block: weight · column columnᵀ."""

    context: int
    weight: float
    column: Array  # [context]: of the block before


Changed = tuple[Array, Sequence[Taken]]  # a block, and what is subtracted from it, in this order

_FEW_NUMBERS = 2**15  # NumPy is quick enough for these, and loading SciPy takes longer than a decision
_LARGE_COVARIANCE = 16  # rows of a covariance
_PADDING = 1e-9  # of the average variance


class KnownRoots:
    """The symmetric roots of blocks that were needed so far, by alternative: none is computed twice.

    `Blocks` that follow from each other share the roots of the blocks that they have in common; two threads
    that ask at once compute the same root.
    """

    def __init__(self, known: Mapping[int, Array] | None = None) -> None:
        self._known = dict(known or {})

    def of(self, blocks: "Blocks") -> Mapping[int, Array]:
        """Return the roots of all blocks, before anything is subtracted from them."""
        missing = [k for k in range(len(blocks.table)) if k not in self._known]
        if missing:
            found = square_root(np.stack([blocks.before(k)[0] for k in missing]))
            self._known.update(zip(missing, found, strict=True))
        return self._known

    def without(self, changed: Mapping[int, Any]) -> "KnownRoots":
        """Return those of the blocks that have not changed."""
        return KnownRoots({k: root for k, root in self._known.items() if k not in changed})


class Blocks(NamedTuple):
    """One block per alternative: that of the table, or the changed one."""

    table: Array  # [alternative, context, context]
    changed: Mapping[int, Changed]
    roots: KnownRoots  # of blocks, before anything is subtracted

    def of(self, k: int) -> Array:
        """Return one block."""
        own, taken = self.before(k)
        for _, weight, column in taken:
            own = own - (column * weight)[:, None] * column
        return own

    def with_changed(self, changed: Mapping[int, Changed]) -> "Blocks":
        """Return the blocks with some more changed."""
        return Blocks(self.table, {**self.changed, **changed}, self.roots.without(changed))

    def less(self, taken: Mapping[int, Sequence[Taken]]) -> "Blocks":
        """Return the blocks less what is subtracted from some; both share the roots that either computes."""
        later = dict(self.changed)
        for k, more in taken.items():
            own, before = self.before(k)
            later[k] = own, [*before, *more]
        return Blocks(self.table, later, self.roots)

    def together(self) -> Array:
        """Return all of them, [alternative, context, context]."""
        table = self.table.copy()
        for k in self.changed:
            table[k] = self.of(k)
        return table

    def deviations(self, normals: Array) -> Array:
        """Return draws of mean 0 with these covariances from standard normal ones, [draw, block, context]."""
        roots = self.roots.of(self)
        # The draws of a block side by side: products are three times as quick.
        by_block = np.ascontiguousarray(self._narrowed(normals, roots).swapaxes(0, 1))
        for k, own in enumerate(by_block):  # a table of all roots would be a large copy; they are symmetric
            own[:] = own @ roots[k]
        return by_block.swapaxes(0, 1)

    def before(self, k: int) -> Changed:
        """Return one block before anything is subtracted from it, and what is subtracted."""
        return self.changed[k] if k in self.changed else (self.table[k], ())

    def _narrowed(self, normals: Array, roots: Mapping[int, Array]) -> Array:
        """Return z such that R z has these covariances, R being the roots before anything was subtracted.

        With u = Rᵀe_c, R Rᵀ − w (R u)(R u)ᵀ = R (I − w uuᵀ) Rᵀ, and I − w uuᵀ is the square of I − β uuᵀ,
        β = w / (1 + √(1 − w uᵀu)). So z becomes (I − β₁u₁u₁ᵀ) ⋯ (I − βₘuₘuₘᵀ) z, in O(C) for each.
        """
        z, rows = normals.copy(), {k: taken for k, (_, taken) in self.changed.items() if taken}
        order = sorted(rows, key=lambda k: -len(rows[k]))  # those with an i-th one come first
        steps: list[tuple[Array, Array]] = []
        for i in range(len(rows[order[0]]) if order else 0):
            some = [(k, rows[k][i]) for k in order if len(rows[k]) > i]
            u = np.stack([roots[k][each.context] for k, each in some])
            for beta, earlier in steps:
                u -= _along(beta, earlier, u)
            weight = np.array([each.weight for _, each in some])
            rest = np.maximum(1.0 - weight * np.einsum("gc,gc->g", u, u), 0.0)
            steps.append((weight / (1.0 + np.sqrt(rest)), u))
        narrowed = z[:, order]
        for beta, u in reversed(steps):
            narrowed[:, : len(u)] -= _along(beta, u, narrowed[:, : len(u)])
        z[:, order] = narrowed
        return z


def _along(beta: Array, u: Array, z: Array) -> Array:
    """Return β u uᵀz of as many blocks as z has, [..., block, context]."""
    beta, u = beta[: z.shape[-2]], u[: z.shape[-2]]
    return np.asarray((beta * np.einsum("gc,...gc->...g", u, z))[..., None] * u)


def drawing_root(cov: Array) -> Array:
    """Return R with R Rᵀ = cov, for draws: of large matrices Cholesky's factor, which is ten times quicker.

    So that it accepts singular matrices, something is added to the diagonal, in place: far less than draws
    can show.
    """
    m = cov.shape[-1]
    if m < _LARGE_COVARIANCE:
        return square_root(cov)
    diagonal = np.einsum("...ii->...i", cov)
    diagonal += _PADDING * diagonal.mean(axis=-1, keepdims=True)
    try:
        return cholesky_factor(cov)
    except np.linalg.LinAlgError:
        return square_root(cov)


def right_roots(covs: Array) -> Array:
    """Return R with RᵀR = cov for draws, of several matrices one by one: temporary arrays stay small."""
    roots = np.empty(covs.shape)
    for root, cov in zip(roots, covs, strict=True):
        root[...] = drawing_root(cov.copy())
    return np.swapaxes(roots, -1, -2)


def square_root(cov: Array) -> Array:
    """Return the symmetric square root; unlike Cholesky it accepts singular covariances.

    It is unique: eigenvectors alone are not where eigenvalues coincide, and rounding would choose among them.
    """
    values, vectors = np.linalg.eigh(cov)
    root: Array = (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return root


def subtract_product(out: Array, left: Array, right: Array) -> None:
    """Take Lᵀ R from ``out`` [..., m, n], in place; L is [..., r, m], R [..., r, n], all contiguous."""
    if out.ndim > 2 or right.size <= _FEW_NUMBERS:
        out -= np.swapaxes(left, -1, -2) @ right
    else:  # no copy of a large product is made
        dgemm(-1.0, right.T, left.T, trans_b=1, beta=1.0, c=out.T, overwrite_c=1)


def taken_from(
    owns: Sequence[Array], var: Array, contexts: IntArray, turn: IntArray, n: IntArray, noise: Array
) -> tuple[list[list[Taken]], Array]:
    """Return what replications subtract from each block, and the diagonals after that, [block, context].

    Block g, of diagonal var[g], has n[g, i] replications with noise[g, i] in the contexts[g, i], i <
    turn[g]; no block has more than the one before it. Only rows of these contexts are computed: the first
    of all blocks together, then the second of those that have two, and so on.
    """
    diagonal = var.copy()
    steps: list[tuple[Array, Array]] = []
    taken: list[list[Taken]] = [[] for _ in owns]
    for i in range(contexts.shape[1]):
        some = np.arange(np.count_nonzero(turn > i))
        m, c = len(some), contexts[: len(some), i]
        column = np.stack([own[at] for own, at in zip(owns, c.tolist(), strict=False)])
        for scaled, earlier in steps:
            column -= scaled[some, c][:, None] * earlier[:m]
        weight = weight_of(n[:m, i].astype(float), np.maximum(diagonal[some, c], 0.0), noise[:m, i])
        steps.append((column * weight[:, None], column))
        diagonal[:m] -= steps[-1][0] * column
        for own, *each in zip(taken, c.tolist(), weight.tolist(), column, strict=False):
            own.append(Taken(*each))
    return taken, diagonal


def weight_of(n: Array, var: Array, noise: Array) -> Array:
    """Return 1 / (var + noise/n); 0 for n = 0, and for a cell known exactly: nothing is learned then."""
    total = np.asarray(n * var + noise)
    return np.divide(n, total, out=np.zeros_like(total), where=total > 0)

"""The square-root form: posteriors and evidences of cells with a normal prior, by a matrix without jitter.

The prior of n cells has the covariance K. N replications of a cell with noise of variance σ² have the mean
Ȳ; the precision of these means is D = diag(N/σ²). Then

    B = I + D½ K D½ = L Lᵀ,   A = D½ B⁻¹ D½.

A is (K + D⁻¹)⁻¹ of the observed cells; a cell without replications has rows of zeros and needs no special
care. No eigenvalue of B is below 1, so Cholesky's factor L always exists. About a known mean m

    mean m + K A (Ȳ − m),   covariance K − K A K = K − wᵀw with w = L⁻¹ D½ K,
    log evidence −½ [Σ N log 2πσ² + log|B| + Σ W/σ² + (Ȳ − m)ᵀ A (Ȳ − m)],

W being the squared deviations of the replications of a cell from their mean. Where alternatives share noise
D has blocks, and D½ is R S⁻¹ (`argbest.core.common_noise`).

Every posterior and every evidence in this package is computed in this form. It is written here twice: in
NumPy, and in loops for Numba to compile (`argbest.core.evidence`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from argbest.core.arrays import AnyArray, Array, cholesky, dtrsm, solve_triangular

_LOADED = 2**15  # numbers: with so few NumPy is quick enough, and loading SciPy takes longer than a decision
_ROWS = 20  # of a triangle that are inverted at once: NumPy has no solver for triangles
_TRIANGULAR = 32  # rows from which a call of LAPACK's triangular solver for each of many matrices pays
_BY_SCIPY = 256  # rows from which SciPy's Cholesky factor takes half of the time of NumPy's

# D½ times rows [n, m], one for each cell; written to the second argument, unless that is None.
Halve: TypeAlias = Callable[[Array, Array | None], Array]


def bracket(cov: Array, root: Array) -> Array:
    """Return B = I + D½ K D½ [..., n, n] of K [..., n, n] and the diagonal of D½ [..., n]."""
    found = root[..., :, None] * cov
    found *= root[..., None, :]
    np.einsum("...ii->...i", found)[...] += 1.0
    return found


def precision_root(count: AnyArray, noise: Array, least: Array) -> Array:
    """Return the diagonal of D½, √(N/σ²), with no σ² below ``least``; 0 where N = 0."""
    return np.asarray(np.sqrt(count / np.maximum(noise, np.where(count > 0, least, 1.0))))


def by_diagonal(root: Array) -> Halve:
    """Return the product with D½ from its diagonal [n]."""
    return lambda rows, out: np.multiply(root[:, None], rows, out=out)


class SquareRootForm(NamedTuple):
    """The observed cells of one study, which lie about an unknown constant."""

    halve: Halve
    bracket: Array  # B
    lower: Array  # L
    ones: Array  # e = L⁻¹ D½ 1, [cell]
    values: Array  # u = L⁻¹ D½ Y, [cell]

    @property
    def constant(self) -> float:
        """eᵀu / eᵀe, the estimate of the constant."""
        return float(self.ones @ self.values / self._below)

    @property
    def residuals(self) -> Array:
        """L⁻¹ D½ of the values less the constant, [cell]."""
        return np.asarray(self.values - self.constant * self.ones)

    @property
    def _below(self) -> float:
        return float(self.ones @ self.ones)

    def half(self, rows: Array, out: Array | None = None) -> Array:
        """Return w = L⁻¹ D½ R of rows R [cell, ...], [cell, ·]; in ``out``, if that is given."""
        found = self.halve(rows.reshape(len(rows), -1), out)
        solve_in_place(self.lower, found)
        return found

    def posterior(self, half: Array) -> tuple[Array, Array]:
        """Return the means m + wᵀ(u − m e), and q = (1 − wᵀe) / √(eᵀe), of w [cell, ·].

        The covariance is K − wᵀw + q qᵀ: the last part stands for the constant, which is integrated.
        """
        moved, known = np.stack([self.residuals, self.ones]) @ half
        return self.constant + moved, (1.0 - known) / np.sqrt(self._below)


def square_root_form(cov: Array, halve: Halve, values: Array) -> SquareRootForm:
    """Return the form of cells with this prior covariance [cell, cell] and these means of the data [cell]."""
    between = halve(halve(cov, None).T, None).T
    between.flat[:: len(cov) + 1] += 1.0
    lower = cholesky_factor(between)
    right = halve(np.column_stack([np.ones(len(cov)), values]), None)
    solve_in_place(lower, right)
    return SquareRootForm(halve, between, lower, *right.T)


def cholesky_factor(matrix: Array) -> Array:
    """Return Cholesky's L, L Lᵀ = the matrix [..., n, n]."""
    if matrix.ndim == 2 and len(matrix) > _BY_SCIPY:
        return np.asarray(cholesky(matrix.T, lower=True, check_finite=False))
    return np.asarray(np.linalg.cholesky(matrix), float)


def solve_lower(lower: Array, right: Array, *, transposed: bool = False) -> Array:
    """Return L⁻¹ R, or L⁻ᵀ R, of a lower triangle L [n, n] and columns R [n, m]."""
    if not right.size:  # which LAPACK refuses
        return np.zeros(right.shape)
    solved: Array = solve_triangular(
        lower, right, lower=True, trans="T" if transposed else "N", check_finite=False
    )
    return solved


def solve_each(lower: Array, right: Array) -> Array:
    """Return L⁻¹ R of many lower triangles L [..., n, n] and columns R [..., n, m]."""
    if lower.shape[-1] < _TRIANGULAR:
        return np.asarray(np.linalg.solve(lower, right), float)
    solved = np.empty(right.shape)
    for each in np.ndindex(right.shape[:-2]):
        solved[each] = solve_lower(lower[each], right[each])
    return solved


def solve_in_place(lower: AnyArray, right: Array) -> None:
    """Replace R, contiguous rows [n, m], by L⁻¹ R; L is a lower triangle [n, n]."""
    if lower.size + right.size > _LOADED:
        dtrsm(1.0, lower, right.T, side=1, lower=1, trans_a=1, overwrite_b=1)  # Xᵀ Lᵀ = Rᵀ
        return
    for start in range(0, len(lower), _ROWS):
        some = slice(start, start + _ROWS)
        right[some] -= lower[some, :start] @ right[:start]
        right[some] = np.linalg.inv(lower[some, some]) @ right[some]


# The same in loops, for Numba, on the upper triangle alone.


def halve_both_sides(matrix: Any, root: Any) -> None:
    """Replace K [n, n] by D½ K D½, from the diagonal of D½ [n or more]."""
    for i in range(matrix.shape[0]):
        for j in range(i, matrix.shape[0]):
            matrix[i, j] *= root[i] * root[j]


def add_identity(matrix: Any) -> Any:
    """Replace D½ K D½ by B, and return its largest entry, which is on the diagonal."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        matrix[i, i] += 1.0
        largest = max(largest, matrix[i, i])
    return largest

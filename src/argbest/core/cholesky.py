"""Cholesky factor, inverse and log determinant, of larger matrices block by block; compiled by Numba."""

import numpy as np
from numba import njit

# Sums may be reassociated (vector instructions); NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
compiled = njit(fastmath=_FAST)
inlined = njit(fastmath=_FAST, inline="always")  # as if written in its place: sums are rounded alike

BLOCK = 24  # plain loops inside blocks of this many rows, matrix products between them
_LARGE = 400  # rows from which blocks of twice as many pay


@compiled
def factorise(b, upper, inverse, least):  # type: ignore[no-untyped-def]
    """Replace ``b`` by its Cholesky factor, fill ``inverse`` with b⁻¹ and return log|b|.

    ``upper`` receives the transposed inverse factor. All inner loops run along rows. No pivot
    can be below the smallest eigenvalue; where rounding makes one, ``least`` takes its place.
    """
    m = b.shape[0]
    log_determinant = 0.0
    for i in range(m):
        for j in range(i + 1):
            total = b[i, j]
            for k in range(j):
                total -= b[i, k] * b[j, k]
            b[i, j] = np.sqrt(max(total, least)) if i == j else total / b[j, j]
        log_determinant += 2.0 * np.log(b[i, i])
    for j in range(m):
        upper[j, j] = 1.0 / b[j, j]
        for i in range(j + 1, m):
            total = 0.0
            for k in range(j, i):
                total -= b[i, k] * upper[j, k]
            upper[j, i] = total / b[i, i]
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, m):
                total += upper[i, k] * upper[j, k]
            inverse[i, j] = total
            inverse[j, i] = total
    return log_determinant


@compiled
def _times(a, b):  # type: ignore[no-untyped-def]
    """Return the product of two contiguous matrices; the only place that calls BLAS, dear to compile."""
    return np.dot(a, b)


@compiled
def _part(a, top, bottom, left, right):  # type: ignore[no-untyped-def]
    """Return a contiguous copy of a part of the matrix."""
    out = np.empty((bottom - top, right - left))
    for i in range(top, bottom):
        for j in range(left, right):
            out[i - top, j - left] = a[i, j]
    return out


@compiled
def _transposed(a):  # type: ignore[no-untyped-def]
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out


@compiled
def _put(a, top, left, part):  # type: ignore[no-untyped-def]
    for i in range(part.shape[0]):
        for j in range(part.shape[1]):
            a[top + i, left + j] = part[i, j]


@compiled
def _subtract(a, b):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] -= b[i, j]


@compiled
def _factorise_column(b, start, stop, least):  # type: ignore[no-untyped-def]
    """Replace some columns of ``b`` by those of its Cholesky factor, all before them being so already.

    Return log|corner|, the row of blocks before the corner, and the transposed inverse of its factor.
    """
    m = b.shape[0]
    corner, row = _part(b, start, stop, start, stop), _part(b, start, stop, 0, start)
    across = _transposed(row)
    _subtract(corner, _times(row, across))
    upper = np.zeros(corner.shape)
    log_determinant = factorise(corner, upper, np.empty(corner.shape), least)
    _put(b, start, start, corner)
    below = _part(b, stop, m, start, stop)
    _subtract(below, _times(_part(b, stop, m, 0, start), across))
    _put(b, stop, start, _times(below, upper))
    return log_determinant, row, upper


@compiled
def factorise_alone(b, least):  # type: ignore[no-untyped-def]
    """Replace the lower triangle of ``b`` by its Cholesky factor and return log|b|; see below."""
    m, log_determinant = b.shape[0], 0.0
    for start in range(0, m, BLOCK):
        log_determinant += _factorise_column(b, start, min(start + BLOCK, m), least)[0]
    return log_determinant


@compiled
def solve_in_blocks(b, right, least):  # type: ignore[no-untyped-def]
    """Replace ``b`` by its Cholesky factor L, and ``right`` by L⁻¹ times what it is."""
    m, n = right.shape
    for start in range(0, m, BLOCK):
        stop = min(start + BLOCK, m)
        _, row, upper = _factorise_column(b, start, stop, least)
        part = _part(right, start, stop, 0, n)
        _subtract(part, _times(row, _part(right, 0, start, 0, n)))
        _put(right, start, 0, _times(_transposed(upper), part))


@compiled
def squared(a):  # type: ignore[no-untyped-def]
    """Return AᵀA."""
    return _times(_transposed(a), a)


@compiled
def factorise_in_blocks(b, factor, inverse, least):  # type: ignore[no-untyped-def]
    """Replace ``b`` by its Cholesky factor L, fill ``inverse`` with b⁻¹ and return log|b|.

    ``factor`` receives L⁻¹. As `factorise`, to which the blocks on the diagonal go: no pivot is below
    ``least``. Everything off the diagonal is a product of matrices, 4/3 m³ operations in all.
    """
    m, log_determinant = b.shape[0], 0.0
    if m <= BLOCK:
        return factorise(b, factor, inverse, least)
    block = BLOCK if m < _LARGE else 2 * BLOCK
    for start in range(0, m, block):
        stop = min(start + block, m)
        own, row, upper = _factorise_column(b, start, stop, least)
        log_determinant += own
        lower = _transposed(upper)
        done = _times(lower, _times(row, _part(factor, 0, start, 0, start)))
        _put(factor, start, 0, -done)
        _put(factor, start, start, lower)
        _put(factor, 0, start, np.zeros((start, stop - start)))
    for start in range(0, m, block):
        stop = min(start + block, m)
        rows = _times(_transposed(_part(factor, start, m, start, stop)), _part(factor, start, m, 0, stop))
        _put(inverse, start, 0, rows)
        _put(inverse, 0, start, _transposed(_part(rows, 0, stop - start, 0, start)))
    return log_determinant

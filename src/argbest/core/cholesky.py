"""Inverses, inverse factors of Cholesky and log determinants, in blocks where that pays, by Numba."""

from typing import Any

import numba
import numpy as np

njit: Any = numba.njit
# Sums may be reassociated (vector instructions); NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}
_HOW: dict[str, Any] = {"fastmath": _FAST, "error_model": "numpy"}
# Called from compiled code alone, so nothing is made that Python could call.
compiled = njit(**_HOW, no_cpython_wrapper=True, no_cfunc_wrapper=True)
inlined = njit(**_HOW, inline="always")  # as if written in its place: sums are rounded alike

FIRST = np.int64(0)  # a row or column; for the literal 0 Numba would compile each function once more
BLOCK = 24  # plain loops inside blocks of this many rows, matrix products between them
_SWEPT = 80  # rows up to which plain loops are as quick for a whole inverse
_LARGE = 400  # rows from which blocks of twice as many pay


@compiled
def eliminate(b, lower, least):  # type: ignore[no-untyped-def]
    """Fill ``lower`` with L⁻¹, b = L Lᵀ being given by its upper triangle, and return log|b|.

    Forward elimination of (b, I), which uses up ``b``: all inner loops run along rows. No pivot can be below
    the smallest eigenvalue; where rounding makes one, ``least`` takes its place.
    """
    m, log_determinant = b.shape[0], 0.0
    for i in range(m):
        for j in range(m):
            lower[i, j] = 0.0
        lower[i, i] = 1.0
    for k in range(m):
        pivot = max(b[k, k], least)
        log_determinant += np.log(pivot)
        scale = 1.0 / np.sqrt(pivot)
        for j in range(k + 1, m):
            b[k, j] *= scale
        for j in range(k + 1):
            lower[k, j] *= scale
        for i in range(k + 1, m):
            share = b[k, i]
            for j in range(i, m):
                b[i, j] -= share * b[k, j]
            for j in range(k + 1):
                lower[i, j] -= share * lower[k, j]
    return log_determinant


@compiled
def product(a, b):  # type: ignore[no-untyped-def]
    """Return the product of two contiguous matrices; the only place that calls BLAS, dear to compile."""
    return np.dot(a, b)


@compiled
def part(a, top, bottom, left, right):  # type: ignore[no-untyped-def]
    """Return a contiguous copy of a part of the matrix."""
    top, left = max(top, FIRST), max(left, FIRST)  # not negative, as LLVM must know to copy rows at once
    out = np.empty((bottom - top, right - left))
    for i in range(bottom - top):
        for j in range(right - left):
            out[i, j] = a[top + i, left + j]
    return out


@compiled
def transposed(a):  # type: ignore[no-untyped-def]
    """Return a contiguous copy of the transposed matrix."""
    out = np.empty((a.shape[1], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j, i] = a[i, j]
    return out


@compiled
def put(a, top, left, entries):  # type: ignore[no-untyped-def]
    """Write the entries into the matrix, from the place given on."""
    top, left = max(top, FIRST), max(left, FIRST)
    for i in range(entries.shape[0]):
        for j in range(entries.shape[1]):
            a[top + i, left + j] = entries[i, j]


@compiled
def clear(a, top, bottom, left, right):  # type: ignore[no-untyped-def]
    """Fill a part of the matrix with zeros."""
    for i in range(top, bottom):
        for j in range(left, right):
            a[i, j] = 0.0


@inlined
def _subtract(a, b):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] -= b[i, j]


@inlined
def invert_root(b, lower, least):  # type: ignore[no-untyped-def]
    """Fill ``lower`` with L⁻¹ and return log|b|: what `eliminate` does, of larger matrices block by block.

    That has the blocks on the diagonal; all else is products of matrices. When a block is done, the rows
    below hold in its columns, and in those before, what will be L⁻¹, and in the others what is left of b.
    """
    m, log_determinant = b.shape[0], 0.0
    block = BLOCK if m < _LARGE else 2 * BLOCK
    if m <= block:
        return eliminate(b, lower, least)
    for start in range(0, m, block):
        stop = min(start + block, m)
        corner, own = part(b, start, stop, start, stop), np.empty((stop - start, stop - start))
        log_determinant += eliminate(corner, own, least)
        rows = product(own, b[start:stop])
        put(rows, FIRST, start, own)
        put(lower, start, FIRST, part(rows, FIRST, stop - start, FIRST, stop))
        clear(lower, FIRST, start, start, stop)
        clear(b, stop, m, start, stop)
        _subtract(b[stop:], product(transposed(part(rows, FIRST, stop - start, stop, m)), rows))
    return log_determinant


@inlined
def sweep(b, inverse, least):  # type: ignore[no-untyped-def]
    """Fill ``inverse`` with b⁻¹, b being given by its upper triangle, and return log|b|; see `eliminate`.

    Sweeping p takes b_ip b_pj / b_pp from every other b_ij, divides row and column p by b_pp and makes that
    −1 / b_pp. With all swept −b⁻¹ is left; before p is, b_pp is the p-th pivot.
    """
    m, log_determinant = b.shape[0], 0.0
    row = np.empty(m)
    for i in range(m):
        for j in range(i + 1):
            inverse[i, j] = b[j, i]
    for p in range(m):
        pivot = max(inverse[p, p], least)
        log_determinant += np.log(pivot)
        scale = 1.0 / pivot
        for j in range(p):
            row[j] = inverse[p, j]
        row[p] = 0.0
        for i in range(p + 1, m):
            row[i] = inverse[i, p]
        for i in range(m):
            share = scale * row[i]
            for j in range(i + 1):
                inverse[i, j] -= share * row[j]
        for j in range(p):
            inverse[p, j] = scale * row[j]
        for i in range(p + 1, m):
            inverse[i, p] = scale * row[i]
        inverse[p, p] = -scale
    for i in range(m):
        for j in range(i + 1):
            inverse[i, j] = -inverse[i, j]
            inverse[j, i] = inverse[i, j]
    return log_determinant


@inlined
def invert(b, lower, inverse, least):  # type: ignore[no-untyped-def]
    """Fill ``inverse`` with b⁻¹ and return log|b|, as `sweep`; ``lower`` is room for larger matrices."""
    m = b.shape[0]
    if m <= _SWEPT:
        return sweep(b, inverse, least)
    log_determinant = invert_root(b, lower, least)
    block = BLOCK if m < _LARGE else 2 * BLOCK
    for start in range(0, m, block):
        stop = min(start + block, m)
        rows = product(transposed(part(lower, start, m, start, stop)), part(lower, start, m, FIRST, stop))
        put(inverse, start, FIRST, rows)
        put(inverse, FIRST, start, transposed(part(rows, FIRST, stop - start, FIRST, start)))
    return log_determinant

"""Scrambled Sobol points, those of SciPy bit for bit, without importing `scipy.stats`, which takes long."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argbest.core.arrays import Array

_BITS = 30  # of a coordinate
_Bits = NDArray[np.uint32]

# Of every coordinate but the first: a primitive polynomial modulo 2, its coefficients the bits of a number,
# and the first direction numbers. From new-joe-kuo-6.21201 (Joe and Kuo 2008, Constructing Sobol sequences
# with better two-dimensional projections); SciPy has the other 21,000.
_BEGINNINGS = """
    3 1; 7 1 3; 11 1 3 1; 13 1 1 1; 19 1 1 3 3; 25 1 3 5 13; 37 1 1 5 5 17; 41 1 1 5 5 5; 47 1 1 7 11 19; 55
    1 1 5 1 1; 59 1 1 1 3 11; 61 1 3 5 5 31; 67 1 3 3 9 7 49; 91 1 1 1 15 21 21; 97 1 3 1 13 27 49; 103 1 1
    1 15 7 5; 109 1 3 1 15 13 25; 115 1 1 5 5 19 61; 131 1 3 7 11 23 15 103; 137 1 3 7 13 13 15 69; 143 1 1
    3 13 7 35 63; 145 1 3 5 9 1 25 53; 157 1 3 1 13 9 35 107; 167 1 3 1 5 27 61 31; 171 1 1 5 11 19 41 61;
    185 1 3 5 3 3 13 69; 191 1 1 7 13 1 19 1; 193 1 3 7 5 13 19 59; 203 1 1 3 9 25 29 41; 211 1 3 5 13 23 1
    55; 213 1 3 7 3 13 59 17; 229 1 3 1 3 5 53 69; 239 1 1 5 5 23 33 13; 241 1 1 7 7 1 61 123; 247 1 1 7 9
    13 61 49; 253 1 3 3 5 3 55 33; 285 1 3 1 15 31 13 49 245; 299 1 3 5 15 31 59 63 97; 301 1 3 1 11 11 11
    77 249; 333 1 3 1 11 27 43 71 9; 351 1 1 7 15 21 11 81 45; 355 1 3 7 3 25 31 65 79; 357 1 3 1 1 19 11 3
    205; 361 1 1 5 9 19 21 29 157; 369 1 3 7 11 1 33 89 185; 391 1 3 3 3 15 9 79 71; 397 1 3 7 11 15 39 119
    27; 425 1 1 3 1 11 31 97 225; 451 1 1 1 3 23 43 57 177; 463 1 3 7 7 17 17 37 71; 487 1 3 1 5 27 63 123
    213; 501 1 1 3 5 11 43 53 133; 529 1 3 5 5 29 17 47 173 479; 539 1 3 3 11 3 1 109 9 69; 545 1 1 1 5 17
    39 23 5 343; 557 1 3 1 5 25 15 31 103 499; 563 1 1 1 11 11 17 63 105 183; 601 1 1 5 11 9 29 97 231 363;
    607 1 1 5 15 19 45 41 7 383; 617 1 3 7 7 31 19 83 137 221; 623 1 1 1 3 23 15 111 223 83; 631 1 1 5 13 31
    15 55 25 161; 637 1 1 3 13 25 47 39 87 257
"""


def points(n_bits: int, dimension: int, *, seed: int) -> Array:
    """Return 2ⁿ scrambled points, [point, coordinate], as `scipy.stats.qmc.Sobol` makes them of a seed.

    Point i is the digital shift, and of every binary digit of the Gray code of i its direction number, all
    added modulo 2. Scrambled are the direction numbers: a random lower triangular matrix is applied to their
    digits, the first digit first (Matoušek 1998).
    """
    directions = _directions()
    if dimension > len(directions):
        from scipy.stats import qmc

        found: Array = qmc.Sobol(dimension, scramble=True, seed=seed).random_base2(n_bits)
        return found
    generator = np.random.default_rng(seed)

    def drawn(*shape: int) -> Any:
        return generator.integers(2, size=(dimension, *shape), dtype=np.uint32)

    shift = drawn(_BITS) @ (1 << np.arange(_BITS, dtype=np.uint32))
    mixing = np.tril(drawn(_BITS, _BITS), -1) + np.eye(_BITS, dtype=np.uint32)
    places = np.arange(_BITS - 1, -1, -1, dtype=np.uint32)
    digits = (directions[:dimension, :, None] >> places) & 1  # [coordinate, direction, digit]
    mixed = (digits @ mixing.swapaxes(-1, -2)) & 1
    directions = np.sum(mixed << places, axis=-1, dtype=np.uint32)

    whole: _Bits = np.empty((1 << n_bits, dimension), np.uint32)
    whole[0] = shift
    for bit in range(n_bits):  # one more digit: the former Gray codes backwards, and the digit
        done = 1 << bit
        whole[done : 2 * done] = whole[:done][::-1] ^ directions[:, bit]
    return np.asarray(whole * 2.0**-_BITS)


@cache
def _directions() -> _Bits:
    """Return the direction numbers, [coordinate, number], by the recurrence of every polynomial."""
    rows = [[1] * _BITS]
    for beginning in _BEGINNINGS.split(";"):
        polynomial, *m = map(int, beginning.split())
        degree = len(m)
        while len(m) < _BITS:
            new = m[-degree] ^ (m[-degree] << degree)
            for k in range(1, degree):
                if polynomial >> (degree - k) & 1:
                    new ^= m[-k] << k
            m.append(new)
        rows.append(m)
    return np.array(rows, np.uint32) << np.arange(_BITS - 1, -1, -1, dtype=np.uint32)

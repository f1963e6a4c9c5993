"""Random counts for compiled code: each stream is a function of its seed and its number alone.

Uniform numbers come from Philox4x32-10, as in `argbest.streams`: the seed is the key, the stream's number and
the place in the stream are words of the counter. Whatever is drawn for one run therefore never depends on
which other runs are simulated beside it. Importing this module imports Numba.
"""

import math

import numpy as np
from numba import int64, njit, uint32, uint64

from argbest.streams import Purpose

compiled = njit(error_model="numpy")  # no divisor below can be 0
inlined = njit(error_model="numpy", forceinline=True)  # a call would cost more than the work

_WORD = 0xFFFFFFFF
_PURPOSE = int(Purpose.NOISE)
_BLOCKS = 32  # made at once: side by side they take a tenth of the time
_HEAD = 5
_INVERSION = 10.0  # means below it are drawn by inversion, others by rejection


@compiled
def block(x0, x1, x2, x3, k0, k1):  # type: ignore[no-untyped-def]
    """Return the Philox4x32-10 block of a counter under a key, all 32-bit words."""
    for _ in range(10):
        low, high = uint64(x0) * uint64(0xD2511F53), uint64(x2) * uint64(0xCD9E8D57)
        x0, x2 = uint32(high >> uint64(32)) ^ x1 ^ k0, uint32(low >> uint64(32)) ^ x3 ^ k1
        x1, x3 = uint32(high), uint32(low)
        k0, k1 = uint32(k0 + uint32(0x9E3779B9)), uint32(k1 + uint32(0xBB67AE85))
    return x0, x1, x2, x3


@inlined
def _joined(high, low):  # type: ignore[no-untyped-def]
    """Return the integer made of the 26 leading bits of two words."""
    return (int64(high >> uint32(6)) << 26) + int64(low >> uint32(6))


@compiled
def stream(seed, number):  # type: ignore[no-untyped-def]
    """Return the state of a stream at its start: key, number, next block, place in the supply, the supply."""
    state = np.zeros(_HEAD + 2 * _BLOCKS, np.int64)
    state[0], state[1], state[2] = seed & _WORD, (seed >> 32) & _WORD, number
    state[4] = state.size
    return state


@compiled
def _refill(state):  # type: ignore[no-untyped-def]
    """Fill the supply with the 52-bit integers of the next blocks, two of each."""
    k0, k1, number, first = uint32(state[0]), uint32(state[1]), uint32(state[2]), state[3]
    for i in range(_BLOCKS):
        w0, w1, w2, w3 = block(uint32(first + i), number, uint32(0), uint32(_PURPOSE), k0, k1)
        state[_HEAD + 2 * i] = _joined(w0, w1)
        state[_HEAD + 2 * i + 1] = _joined(w2, w3)
    state[3] = first + _BLOCKS
    state[4] = _HEAD


@inlined
def uniform(state):  # type: ignore[no-untyped-def]
    """Return the next number of the stream: the middle of one of 2⁵² equal parts of (0, 1)."""
    if state[4] == state.size:
        _refill(state)
    state[4] += 1
    return (state[state[4] - 1] + 0.5) * 2.0**-52


@compiled
def binomial(state, n, p):  # type: ignore[no-untyped-def]
    """Return a Bin(n, p) number."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    small = min(p, 1.0 - p)
    k = _by_inversion(state, n, small) if n * small < _INVERSION else _by_rejection(state, n, small)
    return k if p <= 0.5 else n - k


@inlined
def _by_inversion(state, n, p):  # type: ignore[no-untyped-def]
    """Return a Bin(n, p) number, p ≤ ½: the first k with u ≤ P(0) + ... + P(k)."""
    odds = p / (1.0 - p)
    u, mass = uniform(state), (1.0 - p) ** n
    k = 0
    while u > mass and k < n:
        u -= mass
        k += 1
        mass *= odds * (n + 1 - k) / k
    return k


@compiled
def _by_rejection(state, n, p):  # type: ignore[no-untyped-def]
    """Return a Bin(n, p) number, np ≥ 10, p ≤ ½: transformed rejection with squeeze.

    Algorithm BTRS of Hörmann, "The generation of binomial random variates", Journal of Statistical
    Computation and Simulation 46 (1993).
    """
    spread = math.sqrt(n * p * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, inside, alpha = n * p + 0.5, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    while True:
        v, u = uniform(state), uniform(state) - 0.5
        edge = 0.5 - abs(u)
        k = math.floor((2.0 * a / edge + b) * u + centre)
        if edge >= 0.07 and v <= inside:
            return int(k)
        if k < 0 or k > n:
            continue
        if math.log(v * alpha / (a / (edge * edge) + b)) <= _below_mode(n, p, k):
            return int(k)


@compiled
def _below_mode(n, p, k):  # type: ignore[no-untyped-def]
    """Return log P(k) - log P(mode) of Bin(n, p)."""
    mode = math.floor((n + 1) * p)
    ways = (
        math.lgamma(mode + 1.0)
        + math.lgamma(n - mode + 1.0)
        - math.lgamma(k + 1.0)
        - math.lgamma(n - k + 1.0)
    )
    return ways + (k - mode) * math.log(p / (1.0 - p))


@compiled
def poisson(state, mean):  # type: ignore[no-untyped-def]
    """Return a Poi(mean) number: by inversion, or from a mean of 10 by transformed rejection.

    Algorithm PTRS of Hörmann, "The transformed rejection method for generating Poisson random variables",
    Insurance: Mathematics and Economics 12 (1993).
    """
    if mean <= 0.0:
        return 0
    if mean < _INVERSION:
        return _small_poisson(state, mean)
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    scale, inside, log_mean = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2.0), math.log(mean)
    while True:
        u, v = uniform(state) - 0.5, uniform(state)
        edge = 0.5 - abs(u)
        k = math.floor((2.0 * a / edge + b) * u + mean + 0.43)
        if edge >= 0.07 and v <= inside:
            return int(k)
        if k < 0 or (edge < 0.013 and v > edge):
            continue
        if math.log(v * scale / (a / (edge * edge) + b)) <= k * log_mean - mean - math.lgamma(k + 1.0):
            return int(k)


@compiled
def _small_poisson(state, mean):  # type: ignore[no-untyped-def]
    """Return a Poi(mean) number by inversion; beyond 200 the mass is lost in rounding."""
    u, mass = uniform(state), math.exp(-mean)
    k = 0
    while u > mass and k < 200:
        u -= mass
        k += 1
        mass *= mean / k
    return k

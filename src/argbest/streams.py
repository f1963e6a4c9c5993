"""All randomness: every draw and every seed is a pure function of its address, not of earlier draws.

The generator is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC 2011). The two halves of a root are its key; purpose, step and lane each have a counter word of their own,
and Philox is a bijection of the counter, so two addresses of one root never share a block. Every study and
every macro-replication has a root of its own.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Room rule: streams imports nothing of ours, hence no `core.arrays` and no `InputError` here.
Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
Words: TypeAlias = int | np.integer[Any] | NDArray[np.integer[Any]]

_WORD = 0xFFFFFFFF
_SEED = 0x7FFFFFFF
_SEED_ROUNDS = 6
_UNDER_WAY = 1024  # trials of a pair that may be asked for and not yet told
_PAIRS_REMEMBERED = 4096


class Purpose(IntEnum):
    """What a random number is for; each purpose has a stream of its own."""

    POLICY = 1
    NOISE = 2
    DESIGN = 3
    CERTIFICATE = 4
    SEED = 5
    ROOT = 6
    PROBLEM = 7
    INTEGRATION = 8
    PAIR = 9
    POPULATION = 10
    FRESH_PEOPLE = 11


def philox(counter: Iterable[Words], key: Iterable[Words]) -> NDArray[np.uint32]:
    """Return the Philox4x32-10 blocks [..., 4] of four counter words under two key words, broadcast."""
    return np.stack(np.broadcast_arrays(*_block(counter, key)), axis=-1).astype(np.uint32)


@dataclass(frozen=True, eq=False)
class StepDraws:
    """The uniform numbers of one step; of many roots at once each sees what it would see alone."""

    root: Words
    purpose: Purpose
    step: int = 0

    def uniform(self, lane: Words = 0) -> Array:
        """Return numbers in [0, 1) with 53 bits in the shape of `root`; lanes are independent.

        Lanes in an array have axes of their own, before those of the roots.
        """
        if not isinstance(lane, int):
            lane = np.reshape(lane, (*np.shape(lane), *(1,) * np.ndim(self.root)))
        words = _block((lane, self.step, 0, self.purpose), _halves(self.root))
        return np.asarray(_unit(words[0], words[1]), dtype=np.float64)


def roots(seed: int, macroreplications: Words) -> IntArray:
    """Return the roots in [0, 2^63) of the given macro-replications (0, 1, ...) of an experiment.

    Each is a function of the seed and its own number alone, however many there are.
    """
    high, low, _, _ = _block((macroreplications, 0, 0, Purpose.ROOT), _halves(seed))
    return np.asarray((high & _SEED) << 32 | low, dtype=np.int64)


def cell_seed(root: Words, cell: Words, replication: Words, *, n_cells: int) -> IntArray:
    """Return the simulation seeds in [0, 2^31) of the given replications (0, 1, ...) of the given cells.

    A bijection of 31-bit integers, keyed by the root, is applied to `replication · n_cells + cell`, so the
    first 2^31 seeds of a study are distinct. With cell = alternative · C + context and n_cells = K · C every
    pair has seeds of its own; with cell = context and n_cells = C the alternatives share them (common random
    numbers). The three broadcast against each other.
    """
    single = isinstance(cell, int) and isinstance(replication, int)  # plain integers are ten times faster
    low, high, first = (
        (cell, cell, replication) if single else (np.min(cell), np.max(cell), np.min(replication))
    )
    if low < 0 or high >= n_cells or first < 0:
        raise ValueError(
            f"got cell {cell} and replication {replication}; cells run from 0 to n_cells - 1 = {n_cells - 1} "
            "and replications from 0. Pass as n_cells the number of distinct cells."
        )
    index: Any = (replication if single else np.asarray(replication, dtype=np.int64)) * n_cells + cell
    return _mixed(index, _round_keys(root) if isinstance(root, int) else _many_round_keys(root))


def replication_seed(
    root: Words, context: Words, replication: Words, *, alternative: Words | None = None
) -> IntArray:
    """Return the simulation seeds in [0, 2^31) of replications 0, 1, ... of a pair, or of a whole context.

    With an ``alternative`` the seeds are the pair's own, without they are those that all alternatives of the
    context share. They follow from these numbers and the root alone, not from how many alternatives and
    contexts there are: a bijection of 31-bit integers is applied to `replication`. Its key is that of the
    root, changed by the Philox block of the pair (alternative + 1, or 0 where all share, and the context).
    So the first 2^31 seeds of a pair, or of a context, are distinct; two pairs have a seed in common only by
    chance. All broadcast against each other.
    """
    given = root, context, replication, 0 if alternative is None else alternative
    least = min(given[1:]) if all(isinstance(each, int) for each in given) else min(map(np.min, given[1:]))
    if least < 0:
        raise ValueError(
            f"got alternative {alternative}, context {context} and replication {replication} for a seed; all "
            "three count from 0. Pass positions and numbers that are 0 or more."
        )
    who: Any = 0 if alternative is None else alternative + 1
    if all(isinstance(each, int) for each in given):  # ten times faster
        return _mixed(replication, _pair_keys(root, who, context))  # type: ignore[arg-type]
    keys = _round_keys(root) if isinstance(root, int) else _many_round_keys(root)
    return _mixed(np.asarray(replication, np.int64), _changed(keys, root, who, context))


class SeedRule(Protocol):
    """Which seed a replication has, with everything broadcast."""

    def shared(self, root: Words, context: Words, replication: Words) -> IntArray:
        """Return the seed that all alternatives of a context share."""

    def own(self, root: Words, pair: tuple[Words, Words], replication: Words, first_own: Words) -> IntArray:
        """Return the seed of a pair alone; ``first_own``: see `first_own_number`, 0 where none was shared."""


@dataclass(frozen=True)
class SeedsByIdentity:
    """Seeds of (context, replication) where shared, of (alternative, context, replication) where not."""

    def shared(self, root: Words, context: Words, replication: Words) -> IntArray:
        """Return the seed that all alternatives of a context share."""
        return replication_seed(root, context, replication)

    def own(self, root: Words, pair: tuple[Words, Words], replication: Words, first_own: Words) -> IntArray:
        """Return the seed of a pair alone; its key is another than that of the shared ones."""
        return replication_seed(root, pair[1], replication, alternative=pair[0])


@dataclass(frozen=True)
class SeedsByPosition:
    """Seeds by the position of the cell in a table of fixed size, as studies up to version 0.2 have them."""

    shape: tuple[int, int]  # alternatives, contexts

    def shared(self, root: Words, context: Words, replication: Words) -> IntArray:
        """Return the seed that all alternatives of a context share."""
        return cell_seed(root, context, replication, n_cells=self.shape[1])

    def own(self, root: Words, pair: tuple[Words, Words], replication: Words, first_own: Words) -> IntArray:
        """Return the seed of a pair alone; it counts from ``first_own``, beyond all that were shared."""
        cell: Any = pair[0] * self.shape[1] + pair[1]
        number: Any = replication + first_own
        return cell_seed(root, cell, number, n_cells=self.shape[0] * self.shape[1])


IDENTITY, POSITION = "identity", "position"
NEW_STUDIES = IDENTITY  # their rule; a stored study keeps the one that it has


def seed_rule(name: str, shape: tuple[int, int]) -> SeedRule:
    """Return the rule of that name, for so many alternatives and contexts; KeyError: there is none."""
    rules: dict[str, SeedRule] = {IDENTITY: SeedsByIdentity(), POSITION: SeedsByPosition(shape)}
    return rules[name]


def first_own_number(asked: IntArray) -> IntArray:
    """Return a number so large that no seed of it, as a pair's own, was shared by all alternatives before.

    ``asked`` [..., alternative, context] counts replications; so many more may be under way as `_UNDER_WAY`.
    Only seeds by position need it.
    """
    return np.asarray(asked.max(axis=(-2, -1)) + _UNDER_WAY)


def standard_normal(seed: Words, lane: Words = 0) -> Array:
    """Return one N(0, 1) number per simulation seed and lane (Box-Muller), a function of these alone."""
    words = _block((lane, 0, 0, Purpose.NOISE), _halves(seed))
    radius = np.sqrt(-2.0 * np.log1p(-_unit(words[0], words[1])))
    return np.asarray(radius * np.cos(2.0 * np.pi * _unit(words[2], words[3])), dtype=np.float64)


def generator(root: int, purpose: Purpose) -> np.random.Generator:
    """Return a fresh NumPy generator of one purpose, for draws without a natural address."""
    _halves(root)  # refuses what is not an unsigned 64-bit integer
    return np.random.Generator(np.random.Philox(key=np.array([root, purpose], dtype=np.uint64)))


def _mixed(index: Any, keys: Iterable[tuple[Any, Any]]) -> IntArray:
    """Return where the bijection with these keys takes an index, both modulo 2^31."""
    x = index & _SEED
    for mask, multiplier in keys:
        # Each of the three is invertible modulo 2^31: xor, an odd factor, and a shift to the right.
        x = ((x ^ mask) * multiplier) & _SEED
        x = x ^ (x >> 16)
    return np.asarray(x, dtype=np.int64)


@functools.lru_cache(maxsize=_PAIRS_REMEMBERED)
def _pair_keys(root: int, who: int, context: int) -> tuple[tuple[int, int], ...]:
    """Return (mask, odd multiplier) for each round of the bijection of a pair, or of a context."""
    return tuple(_changed(_round_keys(root), root, who, context))


def _changed(keys: Iterable[tuple[Any, Any]], root: Any, who: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys of a root, the first masks changed by the four words of a pair."""
    block = _block((who, context, 0, Purpose.PAIR), _halves(root))
    words = [each if isinstance(each, int) else each.astype(np.int64) for each in block]
    for (mask, multiplier), word in zip(keys, words + [0] * (_SEED_ROUNDS - len(words)), strict=True):
        yield mask ^ (word & _SEED), multiplier


@functools.lru_cache(maxsize=64)
def _round_keys(root: int) -> tuple[tuple[int, int], ...]:
    """Return (mask, odd multiplier) for each round of the seed bijection."""
    return tuple((int(mask), int(multiplier)) for mask, multiplier in _round_words(root))


def _many_round_keys(root: Any) -> list[tuple[IntArray, IntArray]]:
    """Return (masks, odd multipliers) in the shape of `root` for each round; the last few are remembered."""
    array = np.asarray(root)
    return _remembered_round_keys(array.tobytes(), array.dtype.str, array.shape)


@functools.lru_cache(maxsize=8)
def _remembered_round_keys(
    content: bytes, kind: str, shape: tuple[int, ...]
) -> list[tuple[IntArray, IntArray]]:
    return _round_words(np.frombuffer(content, np.dtype(kind)).reshape(shape))


def _round_words(root: Any) -> list[tuple[IntArray, IntArray]]:
    blocks = (_block((i, 0, 0, Purpose.SEED), _halves(root)) for i in range(_SEED_ROUNDS))
    return [
        (np.asarray(mask & _SEED, dtype=np.int64), np.asarray(factor & _SEED | 1, dtype=np.int64))
        for mask, factor, _, _ in blocks
    ]


def _block(counter: Iterable[Words], key: Iterable[Words]) -> tuple[Any, Any, Any, Any]:
    """Return the four output words; Python integers stay so, ten times faster for a single address."""
    x0, x1, x2, x3 = map(_word, counter)
    k0, k1 = map(_word, key)
    for _ in range(10):
        low, high = x0 * 0xD2511F53, x2 * 0xCD9E8D57
        x0, x1, x2, x3 = (high >> 32) ^ x1 ^ k0, high & _WORD, (low >> 32) ^ x3 ^ k1, low & _WORD
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return x0, x1, x2, x3


def _word(value: Any) -> Any:
    """Return the value as a Python integer or a uint64 array, checked to fit 32 bits."""
    if isinstance(value, int) and 0 <= value <= _WORD:
        return int(value)
    array = np.asarray(value)
    if array.dtype.kind not in "iu" or (
        array.size and not 0 <= int(array.min()) <= int(array.max()) <= _WORD
    ):
        raise _refusal(value)
    return array.astype(np.uint64)


def _halves(value: Any) -> tuple[Any, Any]:
    """Return the low and the high 32-bit word of an unsigned 64-bit integer."""
    if not isinstance(value, int):
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            raise _refusal(value)
        value = array.astype(np.int64 if array.dtype.kind == "i" else np.uint64)
    return _word(value & _WORD), _word(value >> 32)


def _unit(high: Any, low: Any) -> Any:
    """Return a number in [0, 1) made of the 53 leading bits of two words."""
    return ((high >> 5) * 2**26 + (low >> 6)) * 2.0**-53


def _refusal(value: object) -> ValueError:
    return ValueError(
        f"got {value!r} in the address of a random number; a root or a seed is an integer from 0 to "
        "2^64 - 1, a macro-replication, step or lane from 0 to 2^32 - 1. Pass integers in that range."
    )

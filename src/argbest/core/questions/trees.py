"""The best small tree: a few yes-or-no conditions on columns of the contexts, an alternative at every end.

The value of a tree is Σ_c w_c f(c) of the alternatives that it names. Trees of depth 2 are searched exactly:
for two conditions a and b the sums over the contexts with a, with b, and with both give those of all four
ends by subtraction. A tree of depth 3 has the first condition of the best tree of depth 2, and the best trees
of depth 2 below it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.questions.contexts import Column, Contexts

Value: TypeAlias = float | str | bool

THRESHOLDS = 16  # of one column; of more values in between, those that divide the contexts most evenly
_NEARLY = 0.05  # of the distance between two values: so far from the middle a threshold may be
_MOVED = 0.1  # of the way to the next of these: so far a threshold may be moved to have fewer digits
_FEW_CATEGORIES = 4  # of which every subset is tried; of more, every single one
_AT_ONCE = 2**22  # numbers in one temporary array, 32 MB
_ROUNDING = 1e-12  # of the largest value: a tree must be better by more than this to have one more condition


@dataclass(frozen=True)
class Condition:
    """A yes-or-no question to a context: whether a number is below a threshold, or a name one of some."""

    column: str
    below: float | None = None  # the threshold; None for names
    names: tuple[Value, ...] = ()

    def holds(self, value: Value) -> bool:
        """Return whether it holds for this value of the column."""
        return value in self.names if self.below is None else float(value) < self.below


@dataclass(frozen=True)
class Leaf:
    """An end of a tree: one alternative."""

    alternative: int

    @property
    def depth(self) -> int:
        """No further condition."""
        return 0

    def choose(self, context: Mapping[str, Value]) -> int:
        """Return the alternative."""
        return self.alternative

    def leaves(self) -> Iterator["Leaf"]:
        """Yield itself."""
        yield self


@dataclass(frozen=True)
class Split:
    """A condition, and what to do where it holds and where it does not."""

    condition: Condition
    yes: "Tree"
    no: "Tree"

    @property
    def depth(self) -> int:
        """The largest number of conditions that are asked one after the other."""
        return 1 + max(self.yes.depth, self.no.depth)

    def choose(self, context: Mapping[str, Value]) -> int:
        """Return the alternative that is named for a context, given by its columns."""
        held = self.condition.holds(context[self.condition.column])
        return (self.yes if held else self.no).choose(context)

    def leaves(self) -> Iterator[Leaf]:
        """Yield the ends from the first to the last."""
        yield from self.yes.leaves()
        yield from self.no.leaves()


Tree: TypeAlias = Leaf | Split


@dataclass(frozen=True, eq=False)
class Conditions:
    """All conditions that are tried, and where each holds."""

    each: tuple[Condition, ...]
    holds: BoolArray  # [condition, context]

    @classmethod
    def about(cls, contexts: Contexts) -> "Conditions":
        """Return the conditions on the columns; of those that divide the contexts alike, the first."""
        found: dict[bytes, tuple[Condition, BoolArray]] = {}
        n = len(contexts.weights)
        for column in contexts.columns:
            for condition in _conditions(column):
                holds = np.array([condition.holds(value) for value in column.values], bool)
                if 0 < holds.sum() < n and (~holds).tobytes() not in found:
                    found.setdefault(holds.tobytes(), (condition, holds))
        each = [condition for condition, _ in found.values()]
        masks = [holds for _, holds in found.values()]
        return cls(tuple(each), np.array(masks, bool).reshape(len(each), n))

    def choices(self, tree: Tree) -> IntArray:
        """Return the alternative that a tree names for every context, [context]."""
        if isinstance(tree, Leaf):
            return np.full(self.holds.shape[1], tree.alternative)
        held = self.holds[self.each.index(tree.condition)]
        return np.where(held, self.choices(tree.yes), self.choices(tree.no))


def _conditions(column: Column) -> Iterator[Condition]:
    """Yield the conditions on one column that are tried."""
    if not column.categorical:
        numbers = np.sort(np.array(column.values, float))
        distinct = np.unique(numbers)
        between = np.array([_between(low, high) for low, high in pairwise(distinct.tolist())])
        if len(between) > THRESHOLDS:
            share = np.searchsorted(numbers, between) / len(numbers)
            wanted = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
            between = between[np.unique(np.abs(share - wanted[:, None]).argmin(axis=1))]
            between = np.unique([_short(float(t), numbers) for t in between])
        yield from (Condition(column.name, below=float(t)) for t in between)
        return
    names = list(dict.fromkeys(column.values))
    most = len(names) // 2 if len(names) <= _FEW_CATEGORIES else 1
    for size in range(1, most + 1):
        yield from (Condition(column.name, names=some) for some in combinations(names, size))


def _between(low: float, high: float) -> float:
    """Return a threshold half way between two values, or nearly so with as few digits as may be."""
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        rounded = float(f"{middle:.{digits}g}")
        if low < rounded <= high and abs(rounded - middle) <= _NEARLY * (high - low):
            return rounded
    return middle if low < middle <= high else high


def _short(threshold: float, numbers: Array) -> float:
    """Return a threshold with three digits, or a few more, that leaves about as many sorted numbers below."""
    most = _MOVED / (THRESHOLDS + 1) * len(numbers)
    below = np.searchsorted(numbers, threshold)
    candidates = (float(f"{threshold:.{digits}g}") for digits in range(3, 17))
    return next((t for t in candidates if abs(np.searchsorted(numbers, t) - below) <= most), threshold)


@dataclass(frozen=True, eq=False)
class _Ends:
    """The best tree of depth at most 2 within some contexts, of every table [draw]."""

    value: Array  # [draw]
    root: IntArray  # [draw]: the first condition, -1: none
    below: IntArray  # [draw, 2]: the conditions where it holds and where not, -1: none


def best_trees(rewards: Array, weights: Array, conditions: Conditions, depth: int) -> tuple[Array, IntArray]:
    """Return the values of the best trees and what they name, [draw] and [draw, context].

    ``rewards`` are tables [draw, alternative, context].
    """
    weighed = np.swapaxes(rewards * weights, 1, 2)
    if depth > 2 or not conditions.each:
        trees = search(rewards, weights, conditions, depth)
        choices = np.stack([conditions.choices(tree) for tree in trees])
    else:
        choices = _named(weighed, _searched(weighed, conditions.holds, depth), conditions.holds)
    return np.take_along_axis(weighed, choices[..., None], axis=2)[..., 0].sum(axis=1), choices


def _named(weighed: Array, trees: "_Ends", holds: BoolArray) -> IntArray:
    """Return the alternatives that trees of depth at most 2 name for every context, [draw, context]."""
    below = np.where(trees.root[:, None] < 0, -1, trees.below)
    root, yes, no = (holds[each] | (each[:, None] < 0) for each in (trees.root, *below.T))
    place = np.where(root, np.where(yes, 0, 1), np.where(no, 2, 3))  # the end that a context comes to
    ends = place[:, None] == np.arange(4)[:, None]  # [draw, end, context]
    best = np.argmax(ends.astype(float) @ weighed, axis=-1)
    return np.asarray(np.take_along_axis(best, place, axis=1))


def search(rewards: Array, weights: Array, conditions: Conditions, depth: int) -> list[Tree]:
    """Return the best tree of at most so many conditions in a row for every table.

    ``rewards`` are [draw, alternative, context]. It is exact up to depth 2; see above for depth 3.
    """
    weighed = np.swapaxes(rewards * weights, 1, 2)  # [draw, context, alternative]
    inside = np.ones((len(rewards), rewards.shape[2]), bool)
    return _grown(weighed, inside, conditions, depth)


def _grown(weighed: Array, inside: BoolArray, conditions: Conditions, depth: int) -> list[Tree]:
    """Return the best trees within the contexts ``inside`` [draw, context] of each table."""
    own = weighed * inside[..., None]
    if depth == 0 or not conditions.each:
        return [Leaf(int(k)) for k in own.sum(axis=1).argmax(axis=-1)]
    found = _searched(own, conditions.holds, min(depth, 2))
    if depth > 2:
        held = conditions.holds[np.maximum(found.root, 0)]
        yes = _grown(weighed, inside & held, conditions, depth - 1)
        no = _grown(weighed, inside & ~held, conditions, depth - 1)
        whole = own.sum(axis=1).argmax(axis=-1)
        return [
            Leaf(int(k)) if root < 0 else Split(conditions.each[root], *both)
            for k, root, *both in zip(whole, found.root.tolist(), yes, no, strict=True)
        ]
    return [_built(own[i], conditions, int(found.root[i]), found.below[i].tolist()) for i in range(len(own))]


def _built(own: Array, conditions: Conditions, root: int, below: list[int]) -> Tree:
    """Return the tree with these conditions, and at every end the alternative of the largest sum."""

    def end(inside: BoolArray) -> Leaf:
        return Leaf(int(own[inside].sum(axis=0).argmax()))

    if root < 0:
        return end(np.ones(len(own), bool))
    sides: list[Tree] = []
    for held, second in zip((conditions.holds[root], ~conditions.holds[root]), below, strict=True):
        if second < 0:
            sides.append(end(held))
        else:
            under = conditions.holds[second]
            sides.append(Split(conditions.each[second], end(held & under), end(held & ~under)))
    return Split(conditions.each[root], *sides)


def _searched(own: Array, holds: BoolArray, depth: int) -> _Ends:
    """Return the best trees of depth 1 or 2 of tables [draw, context, alternative]."""
    n, n_conditions = len(own), len(holds)
    step = max(1, _AT_ONCE // (n_conditions**2 * own.shape[2]))
    parts = [_of_some(own[start : start + step], holds, depth) for start in range(0, n, step)]
    return _Ends(
        *(np.concatenate([getattr(each, name) for each in parts]) for name in ("value", "root", "below"))
    )


def _of_some(own: Array, holds: BoolArray, depth: int) -> _Ends:
    """Return what `_searched` does, for so few tables that their sums fit into memory."""
    marks = holds.astype(float)
    total = own.sum(axis=1)  # [draw, alternative]
    with_one = marks @ own  # [draw, condition, alternative]
    without = total[:, None] - with_one
    scale = _ROUNDING * np.abs(own).sum(axis=1).max(axis=-1)  # [draw]
    single = np.stack([with_one.max(axis=-1), without.max(axis=-1)], axis=-1)  # [draw, condition, side]
    best, second = single, np.full(single.shape, -1)
    if depth > 1:
        first, other = np.triu_indices(len(holds))
        both = np.empty((len(own), len(holds), len(holds), own.shape[2]))
        both[:, first, other] = both[:, other, first] = (marks[first] * marks[other]) @ own
        yes = both.max(axis=-1) + (with_one[:, :, None] - both).max(axis=-1)  # [draw, root, second]
        rest = with_one[:, None] - both  # the second holds, the root does not
        no = rest.max(axis=-1) + (without[:, :, None] - rest).max(axis=-1)
        divided = np.stack([yes, no], axis=2)  # [draw, root, side, second]
        foremost = divided.argmax(axis=-1)
        gained = np.take_along_axis(divided, foremost[..., None], axis=-1)[..., 0]
        better = gained > single + scale[:, None, None]
        best, second = np.where(better, gained, single), np.where(better, foremost, -1)
    value = best.sum(axis=-1)  # [draw, condition]
    fewest = value - scale[:, None] * (second >= 0).sum(
        axis=-1
    )  # of equal trees the one with fewer conditions
    root = fewest.argmax(axis=-1)
    at_root = np.arange(len(own)), root
    whole = total.max(axis=-1)
    split = value[at_root] > whole + scale
    return _Ends(np.where(split, value[at_root], whole), np.where(split, root, -1), second[at_root])

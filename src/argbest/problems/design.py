"""Initial designs: which pairs are simulated before a policy decides; "auto" chooses one by the budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from argbest.checks import affordable, entries, is_whole, whole
from argbest.core import sobol, two_stage
from argbest.core.abilities import LearnsFromOthers, LendsNoise, offers
from argbest.core.arrays import Array, IntArray
from argbest.core.noise import MANY_PAIRS
from argbest.core.setting import Coordinates
from argbest.errors import InputError
from argbest.problems.axis import Axis
from argbest.problems.base import Problem

Pair = tuple[int, int]
_MOST_PAIRS = 10**7  # pairs of a design
_DESIGN = "replications of the initial design"
_FEWEST_REPLICATIONS = 2  # replications from which a variance can be estimated


class Design(Protocol):
    """A frozen description of the first pairs to simulate."""

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return positions of (alternative, context), in the order of simulation.

        Args:
            problem: What is to be simulated.
            generator: The random numbers to draw with.
        """


class NumbersReplications(Design, Protocol):
    """A design of pairs that were simulated elsewhere, whose replications have numbers already."""

    numbers: Sequence[int] | None  # of the pairs, in their order; None: 0, 1, ...


@dataclass(frozen=True)
class EveryPair:
    """Every pair, ``replications`` times.

    Args:
        replications: How often each pair is simulated.
    """

    replications: int = 2

    def __post_init__(self) -> None:
        whole("replications", self.replications, at_least=0)

    def size(self, problem: Problem) -> int:
        """Return the number of replications of the design.

        Args:
            problem: What is to be simulated.
        """
        return problem.n_alternatives * problem.n_contexts * self.replications

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return all pairs once, then all again, as often as asked."""
        affordable(_DESIGN, self.size(problem), _MOST_PAIRS)
        once = [(k, c) for k in range(problem.n_alternatives) for c in range(problem.n_contexts)]
        return once * self.replications


@dataclass(frozen=True)
class RandomContexts:
    """For every alternative ``number`` random contexts, one replication each.

    Args:
        number: How many contexts are drawn for each alternative.
        replace: Whether a context may be drawn more than once.
    """

    number: int
    replace: bool = False

    def __post_init__(self) -> None:
        whole("number", self.number, at_least=1)

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return the drawn pairs, alternative by alternative."""
        if not self.replace and self.number > problem.n_contexts:
            raise InputError(
                f"RandomContexts asks for {self.number} of {problem.n_contexts} contexts, none twice; "
                "ask for fewer, or let them be drawn with replacement."
            )
        affordable(_DESIGN, problem.n_alternatives * self.number, _MOST_PAIRS)
        drawn = [
            generator.choice(problem.n_contexts, self.number, replace=self.replace)
            for _ in range(problem.n_alternatives)
        ]
        return [(k, int(c)) for k, contexts in enumerate(drawn) for c in contexts]


@dataclass(frozen=True)
class ExtremeContexts:
    """Every alternative at the extreme contexts, ``replications`` times each: stage one of TS and TS+.

    These are the two ends of one coordinate, or the corners of several, snapped to existing contexts.

    Args:
        replications: How often each of these pairs is simulated.
    """

    replications: int

    def __post_init__(self) -> None:
        whole("replications", self.replications, at_least=_FEWEST_REPLICATIONS)

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return all alternatives at all extreme contexts once, then again, as often as asked."""
        extremes = _extremes(problem)
        affordable(_DESIGN, problem.n_alternatives * len(extremes) * self.replications, _MOST_PAIRS)
        return [(k, c) for k in range(problem.n_alternatives) for c in extremes] * self.replications


def extremes_alike(problem: Problem, n: int) -> ExtremeContexts:
    """Return the design of the extreme contexts with about n replications in all, at least two of a pair."""
    rows = problem.n_alternatives * len(_extremes(problem))
    return ExtremeContexts(max(_FEWEST_REPLICATIONS, round(n / rows)))


@dataclass(frozen=True)
class Pairs:
    """The user's own list of (alternative, context), each simulated as often as it is named."""

    named: tuple[tuple[object, object], ...]

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return the listed pairs in their order."""
        return [(problem.alternatives.index(k), problem.contexts.index(c)) for k, c in self.named]


def design(given: object) -> Design:
    """Return the design meant by a number of replications, a design, or a list of (alternative, context)."""
    if is_whole(given):
        return EveryPair(int(given))
    if offers(given, Design) and not isinstance(given, type):
        return given
    named = entries(given)
    if named is not None and all(isinstance(each, list | tuple) and len(each) == 2 for each in named):
        return Pairs(tuple((k, c) for k, c in named))
    raise InputError(_EXPECTED.format(given))


def _extremes(problem: Problem) -> list[int]:
    """Return the positions of the extreme contexts."""
    x = two_stage.coordinates(problem.contexts.separation(problem.bounds))
    return [int(c) for c in two_stage.extreme_design(x)]


_EXPECTED = (
    'initial={!r} is not an initial design; give "auto", a number of replications of every pair, '
    "RandomContexts(m), ExtremeContexts(r), SpaceFilling(n), or a list of (alternative, context)."
)


@dataclass(frozen=True)
class SpaceFilling:
    """``number`` pairs spread evenly over alternatives and contexts, ``replications`` times each.

    Scrambled Sobol points over all columns of both, each moved to the nearest pair not taken yet. Names
    without coordinates are taken in turn, so that all are used alike.

    Args:
        number: How many pairs.
        replications: How often each of them is simulated.
    """

    number: int
    replications: int = 2

    def __post_init__(self) -> None:
        whole("number", self.number, at_least=1)
        whole("replications", self.replications, at_least=1)

    def size(self, problem: Problem) -> int:
        """Return the number of replications of the design.

        Args:
            problem: What is to be simulated.
        """
        return self.number * self.replications

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[tuple[int, int]]:
        """Return the pairs once, then all again, as often as asked."""
        if self.number > problem.n_alternatives * problem.n_contexts:
            raise InputError(
                f"SpaceFilling asks for {self.number} pairs; the problem has {problem.n_alternatives} "
                f"alternatives x {problem.n_contexts} contexts. Ask for fewer, or give initial=2: every pair."
            )
        return _spread(problem, self.number, generator) * self.replications


@dataclass(frozen=True)
class MostlyOnce:
    """``number`` pairs spread evenly, once each, and ``again`` of them a second time: they tell the noise."""

    number: int
    again: int

    def size(self, problem: Problem) -> int:
        """Return the number of replications of the design.

        Args:
            problem: What is to be simulated.
        """
        return self.number + self.again

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return the pairs in random order, or spread if these are not all; then the first of them again."""
        affordable(_DESIGN, self.size(problem), _MOST_PAIRS)
        if self.number < problem.n_alternatives * problem.n_contexts:
            once = _spread(problem, self.number, generator)
        else:
            k, c = np.divmod(generator.permutation(self.number), problem.n_contexts)
            once = list(zip(k.tolist(), c.tolist(), strict=True))
        return once + once[: self.again]


def _spread(problem: Problem, number: int, generator: np.random.Generator) -> list[Pair]:
    """Return so many different pairs, spread evenly over the columns, names in turn."""
    sides = [_Side(place, n, generator) for place, n in zip(places(problem), problem.shape, strict=True)]
    if sides[0].dimension == 0 and problem.n_contexts == 1:  # at once what the loop takes long for
        return [(k, 0) for k in np.argsort(sides[0].distance(np.zeros(0)))[:number].tolist()]
    targets = _sobol(number, sum(side.dimension for side in sides), generator)
    taken = np.zeros(problem.shape, bool)
    once = []
    for target in targets:
        first, second = target[: sides[0].dimension], target[sides[0].dimension :]
        distance = sides[0].distance(first)[:, None] + sides[1].distance(second)
        k, c = divmod(int(np.argmin(np.where(taken, np.inf, distance))), problem.n_contexts)
        taken[k, c] = True
        sides[0].used[k] += 1
        sides[1].used[c] += 1
        once.append((k, c))
    return once


def places(problem: Problem) -> tuple[Coordinates | None, Coordinates | None]:
    """Return where alternatives and where contexts lie; None for names without coordinates."""
    alternatives, contexts = problem.alternatives, problem.contexts
    return alternatives.located(alternatives.bounds()), contexts.located(problem.bounds)


class _Side:
    """The alternatives, or the contexts: how far each is from a target, and how often it was used."""

    def __init__(self, place: Coordinates | None, n: int, generator: np.random.Generator) -> None:
        self.used: IntArray = np.zeros(n, np.int64)
        self._place, self._turn = place, generator.permutation(n) / n  # decides between equals
        self.dimension = 0 if place is None else place.dimension

    def distance(self, target: Array) -> Array:
        """Return the squared distance of every entry from a target; of names, whose turn it is."""
        if self._place is None:
            return self.used + self._turn
        levels = self._place.points.max(axis=0) + 1.0
        low, high = self._place.points.min(axis=0), self._place.points.max(axis=0)
        aim = np.where(self._place.categorical, np.floor(target * levels), low + target * (high - low))
        squares: Array = self._place.separation(aim).sum(axis=0)
        return squares + 1e-9 * (self.used + self._turn)


def _sobol(n: int, dimension: int, generator: np.random.Generator) -> Array:
    """Return n scrambled Sobol points, [n, dimension]."""
    if dimension == 0:
        return np.zeros((n, 0))
    n_bits = int(np.ceil(np.log2(n))) if n > 1 else 0
    points = sobol.points(n_bits, dimension, seed=int(generator.integers(2**31)))
    return points[:n]


AUTO = "auto"
USUAL_BUDGET = 1_000  # replications, where nobody has said how many there will be
SHARE = 0.5  # of the budget that may go to the initial design
_TWICE = 2  # replications, from which a variance can be estimated
_PER_PARAMETER = 10  # pairs from which a parameter can be learned
_PER_SOURCE = 2  # parameters: how far its trend is away, and its alternatives
_PER_NAME = 3  # pairs of an alternative, or a context, without coordinates
_N_AGAIN = 60  # pairs that tell the noise of those simulated once


@dataclass(frozen=True)
class Automatic:
    """Every pair twice where that takes at most half of the budget, otherwise some pairs twice.

    These are spread over all coordinates: ten for each of the model's ``parameters``, and three for each name
    without coordinates, as far as half of the budget goes. A model without a number of parameters learns
    nothing about a pair from others, so it begins with every pair, whatever the budget.

    From a thousand names in one context on, or pairs of a model that ``lends`` noise: each once, and 60 of
    them twice. A second replication then goes only to what may still be the best.

    A study that begins with prior runs is ``warm``: it begins with some pairs, whatever the budget, since all
    that they have to tell is how far the earlier sources are away.
    """

    parameters: int | None
    budget: int | None = None
    lends: bool = False
    warm: bool = False

    def chosen(self, problem: Problem) -> EveryPair | SpaceFilling | MostlyOnce:
        """Return the design."""
        whole = problem.n_alternatives * problem.n_contexts
        affordable = int(SHARE * self._budget)
        many = whole >= MANY_PAIRS and _TWICE * whole > affordable
        if self.parameters is None:
            return MostlyOnce(whole, _N_AGAIN) if many and self.lends else EveryPair(_TWICE)
        if _TWICE * whole <= affordable and not self.warm:
            return EveryPair(_TWICE)
        located = places(problem)
        names = max((n for place, n in zip(located, problem.shape, strict=True) if place is None), default=0)
        enough = min(max(_PER_PARAMETER * self.parameters, _PER_NAME * names), whole)
        crowd = many and located[0] is None and problem.n_contexts == 1 and not self.warm
        if crowd and affordable >= 2 * _TWICE * _N_AGAIN:
            return MostlyOnce(min(enough, affordable - _N_AGAIN), _N_AGAIN)
        return SpaceFilling(max(1, min(enough, affordable // _TWICE)), _TWICE)

    def size(self, problem: Problem) -> int:
        """Return the number of replications of the design."""
        return self.chosen(problem).size(problem)

    def reason(self, problem: Problem) -> str:
        """Return what the design does and why, in a line."""
        design, whole = self.chosen(problem), problem.n_alternatives * problem.n_contexts
        if isinstance(design, EveryPair) and self.parameters is None:
            return f"every pair twice ({_TWICE * whole:,} replications): this model learns each by itself"
        known = (
            f"the budget of {self.budget:,}" if self.budget is not None else f"a budget of {USUAL_BUDGET:,}"
        )
        if isinstance(design, EveryPair):
            return f"every pair twice ({_TWICE * whole:,} replications), at most half of {known}"
        pairs = "every pair" if design.number == whole else f"{design.number:,} of {whole:,} pairs"
        once = isinstance(design, MostlyOnce)
        if self.warm:
            return (
                f"{pairs}, spread evenly, twice each ({self.size(problem):,} replications): they tell how "
                "far prior runs can be relied on"
            )
        often = f"once, {_N_AGAIN} of them again" if once else "spread evenly, twice each"
        return (
            f"{pairs}, {often} ({self.size(problem):,} replications): every pair twice would take "
            f"{_TWICE * whole:,}, more than half of {known}"
        )

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return the pairs of the design chosen."""
        return self.chosen(problem).pairs(problem, generator)

    @property
    def _budget(self) -> int:
        return USUAL_BUDGET if self.budget is None else self.budget


def of_new_rows(
    model: object, problem: Problem, before: tuple[int, int], *, knows_new_contexts: bool
) -> list[Pair]:
    """Return pairs of which nothing can be inferred, of rows added to a table of the size ``before``.

    A model that learns about pairs from others says something of every new row whose numbers and categories
    it can place: then no pair is needed. A name, or a category, that it has never seen is simulated in three
    pairs, twice each. Any other model learns each alternative by itself: a new one is simulated twice in all
    contexts. New contexts it can place if it ``knows_new_contexts`` and their categories; else every
    alternative is simulated twice there. Retired rows are left out.
    """
    alternatives, contexts = problem.alternatives, problem.contexts
    there = [np.flatnonzero(axis.active).tolist() for axis in (alternatives, contexts)]
    new = [[i for i in places if i >= first] for places, first in zip(there, before, strict=True)]
    unknown = [
        [i for i in own if unplaced(axis, i, first)]
        for axis, own, first in zip((alternatives, contexts), new, before, strict=True)
    ]
    if offers(model, LearnsFromOthers):
        once = [(k, c) for k in unknown[0] for c in _some_of(there[1])]
        once += [(k, c) for c in unknown[1] for k in _some_of(there[0]) if (k, c) not in once]
        return once * _TWICE
    strange = unknown[1] if knows_new_contexts else new[1]
    once = [(k, c) for k in there[0] for c in there[1] if k >= before[0] or c in strange]
    lends = offers(model, LendsNoise) and bool(model.lends_noise)
    return once * (1 if lends and len(once) >= MANY_PAIRS else _TWICE)


def unplaced(axis: Axis, i: int, first: int) -> bool:
    """Return whether an entry has a name or a category that none of the ``first`` entries has."""
    metric = axis.metric
    return any(
        values[i] not in values[:first] for name, values in axis.coordinates.items() if name not in metric
    )


def _some_of(places: list[int]) -> list[int]:
    """Return three of the entries, or all if there are fewer: the first, the last and one between them."""
    some = np.linspace(0, len(places) - 1, min(_PER_NAME, len(places)))
    return [places[int(i)] for i in np.rint(some)]


def is_auto(given: object) -> bool:
    """Return whether argbest shall choose the initial design."""
    return isinstance(given, str) and given == AUTO  # what is given may be a table, which answers == by cell


def for_model(model: object, problem: Problem, budget: int | None) -> Automatic:
    """Return the design for a model, which may learn about pairs from others or borrow their noise."""
    number = model.n_parameters(problem.shape, problem.setting) if offers(model, LearnsFromOthers) else None
    lends = offers(model, LendsNoise) and bool(model.lends_noise)
    if problem.prior_runs is None:
        return Automatic(number, budget, lends)
    # All else is learned from these: what is left is how far trend and alternatives of each source are away.
    return Automatic(_PER_SOURCE * len(problem.prior_runs.sources), budget, lends, warm=True)

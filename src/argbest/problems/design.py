"""Initial designs: which pairs are simulated before a policy decides."""

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from argbest.checks import affordable, entries, is_whole, whole
from argbest.core import two_stage
from argbest.errors import InputError
from argbest.problems.base import Problem

Pair = tuple[int, int]
_MOST = 10**7  # pairs of a design
_DESIGN = "replications of the initial design"
_LEAST = 2  # replications from which a variance can be estimated


class Design(Protocol):
    """A frozen description of the first pairs to simulate."""

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:
        """Return positions of (alternative, context), in the order of simulation."""


@dataclass(frozen=True)
class EveryPair:
    """Every pair, ``replications`` times."""

    replications: int = 2

    def __post_init__(self) -> None:
        whole("replications", self.replications, at_least=0)

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:  # noqa: ARG002
        """Return all pairs once, then all again, as often as asked."""
        affordable(_DESIGN, problem.n_alternatives * problem.n_contexts * self.replications, _MOST)
        once = [(k, c) for k in range(problem.n_alternatives) for c in range(problem.n_contexts)]
        return once * self.replications


@dataclass(frozen=True)
class RandomContexts:
    """For every alternative ``number`` random contexts, one replication each."""

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
        affordable(_DESIGN, problem.n_alternatives * self.number, _MOST)
        drawn = [
            generator.choice(problem.n_contexts, self.number, replace=self.replace)
            for _ in range(problem.n_alternatives)
        ]
        return [(k, int(c)) for k, contexts in enumerate(drawn) for c in contexts]


@dataclass(frozen=True)
class ExtremeContexts:
    """Every alternative at the extreme contexts, ``replications`` times each: stage one of TS and TS+.

    These are the two ends of one coordinate, or the corners of several, snapped to existing contexts.
    """

    replications: int

    def __post_init__(self) -> None:
        whole("replications", self.replications, at_least=_LEAST)

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:  # noqa: ARG002
        """Return all alternatives at all extreme contexts once, then again, as often as asked."""
        extremes = _extremes(problem)
        affordable(_DESIGN, problem.n_alternatives * len(extremes) * self.replications, _MOST)
        return [(k, c) for k in range(problem.n_alternatives) for c in extremes] * self.replications


def extremes_alike(problem: Problem, n: int) -> ExtremeContexts:
    """Return the design of the extreme contexts with about n replications in all, at least two of a pair."""
    rows = problem.n_alternatives * len(_extremes(problem))
    return ExtremeContexts(max(_LEAST, round(n / rows)))


@dataclass(frozen=True)
class Pairs:
    """The user's own list of (alternative, context), each simulated as often as it is named."""

    named: tuple[tuple[object, object], ...]

    def pairs(self, problem: Problem, generator: np.random.Generator) -> list[Pair]:  # noqa: ARG002
        """Return the listed pairs in their order."""
        return [(problem.alternatives.index(k), problem.contexts.index(c)) for k, c in self.named]


def design(given: object) -> Design:
    """Return the design meant by a number of replications, a design, or a list of (alternative, context)."""
    if is_whole(given):
        return EveryPair(int(given))
    if hasattr(given, "pairs") and not isinstance(given, type):
        return cast(Design, given)
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

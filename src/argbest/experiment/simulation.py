"""Simulating one pair per macro-replication at once, with the seeds each would have as a study of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from argbest import streams
from argbest.checks import shown
from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.tally import LARGEST
from argbest.errors import InputError, SimulationError
from argbest.problems.base import Problem
from argbest.simulators.calling import SimulatesMany, Value, for_shared_seeds, reason, value_of

_Many = Callable[[IntArray, IntArray, IntArray, IntArray], Any]  # run, alternative, context, seed


class Stacks(SimulatesMany, Protocol):
    """A simulator whose tables can be put on top of each other: the problems of many runs are then one."""

    def stacked(self, others: Sequence[Any]) -> SimulatesMany:
        """Return one with the alternatives of all, those of the others of its class after its own."""


@dataclass(frozen=True, eq=False)
class Simulators:
    """The simulators of R macro-replications, by position; values in the user's units and sign."""

    problems: Sequence[Problem]
    roots: IntArray  # [run]
    common: bool = False  # whether alternatives share seeds

    def __call__(
        self, alternative: IntArray, context: IntArray, replication: IntArray, own_number: Any = None
    ) -> Array:
        """Return the responses of every run and entry, [response, run, ...], all arguments [run, ...].

        ``own_number`` [run] is -1 where alternatives share seeds, and `streams.first_own_number` where they
        do no more.
        """
        if not alternative.size:
            return np.zeros((len(self.responses) or 1, *alternative.shape))
        run = np.broadcast_to(
            np.arange(len(self.roots)).reshape(-1, *(1,) * (alternative.ndim - 1)), alternative.shape
        )
        seeds = self._seeds(alternative, context, replication, own_number)
        flat = (run.ravel(), alternative.ravel(), context.ravel(), seeds.ravel())
        return self._checked(self._many(*flat), flat).reshape(-1, *alternative.shape)

    @property
    def responses(self) -> tuple[str, ...]:
        """The names of the responses; () of simulators that return one number."""
        return self.problems[0].responses

    def _checked(self, given: Any, flat: tuple[IntArray, ...]) -> Array:
        """Return the values of the simulators, [response, i]; an error unless all are finite numbers."""
        if isinstance(given, Mapping) != bool(self.responses) or (
            self.responses and set(given) != set(self.responses)
        ):
            at, k, c, seed = (int(each[0]) for each in flat)
            wanted = f"the responses {', '.join(self.responses)}" if self.responses else "one number"
            raise self._failure(at, k, c, seed, f"it returned {shown(given)}, where {wanted} are expected")
        listed = [given[name] for name in self.responses] if self.responses else [given]
        values: Array = np.stack([np.ma.asarray(each, float).filled(np.nan).ravel() for each in listed])
        if not np.all(np.abs(values) <= LARGEST):
            response, bad = np.argwhere(~(np.abs(values) <= LARGEST))[0].tolist()
            at, k, c, seed = (int(each[bad]) for each in flat)
            of = f"the response {self.responses[response]!r} as " if self.responses else ""
            raise self._failure(at, k, c, seed, f"it returned {of}{values[response, bad]!r}")
        return values

    def _seeds(
        self, alternative: IntArray, context: IntArray, replication: IntArray, own_number: Any
    ) -> IntArray:
        """Return the seed of every entry, as a study of its own would derive it."""
        rule = streams.seed_rule(streams.NEW_STUDIES, self.problems[0].shape)
        root = self.roots.reshape(-1, *(1,) * (alternative.ndim - 1))
        share = self.common if own_number is None else np.asarray(self.common & (own_number < 0))
        if np.all(share):
            return rule.shared(root, context, replication)
        first = 0 if own_number is None else np.maximum(own_number, 0)
        own = rule.own(root, (alternative, context), replication, first)
        return np.where(share, rule.shared(root, context, replication), own) if np.any(share) else own

    @cached_property
    def _many(self) -> _Many:
        """The quickest way to simulate these problems."""
        tables = [problem.simulate for problem in self.problems]
        same = all(each is tables[0] for each in tables)
        if self.common:
            tables = [for_shared_seeds(each) for each in tables]
        first: Any = tables[0]
        if same and offers(first, SimulatesMany):
            return lambda _, k, c, seeds: first.many(k, c, seeds)
        if offers(first, Stacks) and len({type(each) for each in tables}) == 1:
            tall, n_alternatives = first.stacked(tables[1:]), self.problems[0].n_alternatives
            return lambda run, k, c, seeds: tall.many(run * n_alternatives + k, c, seeds)
        return self._one_by_one

    def _one_by_one(self, *cells: IntArray) -> Any:
        """Return the values of runs, alternatives, contexts and seeds, by response if these have names."""
        values = []
        for run, k, c, seed in zip(*(each.tolist() for each in cells), strict=True):
            problem = self.problems[run]
            if problem.simulate is None:
                raise InputError(f"problem {problem.name!r} has no simulator. Give it one.")
            try:
                simulate = for_shared_seeds(problem.simulate) if self.common else problem.simulate
                value = value_of(simulate(problem.alternatives.item(k), problem.contexts.item(c), seed))
            except Exception as error:
                raise self._failure(run, k, c, seed, reason(error)) from error
            if wrong := self._misnamed(value):
                raise self._failure(run, k, c, seed, wrong)
            values.append(value)
        numbers = [each if isinstance(each, Mapping) else {"": each} for each in values]
        if not self.responses:
            return [next(iter(each.values())) for each in numbers]
        return {name: [each.get(name, each.get("")) for each in numbers] for name in self.responses}

    def _misnamed(self, value: Value) -> str:
        """Return what is wrong with the names of a result, "" if nothing is; one number needs none."""
        if not isinstance(value, Mapping):
            fits = len(self.responses) <= 1
        else:
            fits = set(value) == set(self.responses) if self.responses else len(value) == 1
        wanted = f"the responses {', '.join(self.responses)}" if self.responses else "one number"
        return "" if fits else f"it returned {shown(value)}; expected were {wanted}"

    def _failure(self, run: int, k: int, c: int, seed: int, reason: str) -> SimulationError:
        problem = self.problems[run]
        return SimulationError(
            f"the simulator of {problem.name!r} failed on alternative {problem.alternatives.item(k)!r}, "
            f"context {problem.contexts.item(c)!r} with seed {seed}: {reason}. A reward is a finite "
            f"number of at most {LARGEST:g} in size. "
            "Fix the simulator and run again; what was finished and kept in a folder need not be repeated."
        )

"""Calling a simulator: one implementation for the serial run and for every kind of worker."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from argbest.checks import entries, not_negative, real, shown, truth
from argbest.core.abilities import offers
from argbest.core.arrays import IntArray
from argbest.core.goals import checked_names
from argbest.core.tally import LARGEST
from argbest.errors import InputError, SimulationError
from argbest.texts import capped

Job: TypeAlias = tuple[Any, Any, int]  # alternative, context, seed
Value: TypeAlias = float | dict[str, float]  # one number, or one for every response by name
Values: TypeAlias = list[object]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK = "argbest_takes"
_PAIR, _JOBS = "seeds of one pair", "jobs of any pairs"


@dataclass(frozen=True)
class Outcome:
    """What a job gave: a value, or the reason why there is none; and how long it took."""

    value: Value | None
    reason: str | None
    seconds: float
    error: Exception | None = field(default=None, repr=False, compare=False)  # in this process alone

    def __reduce__(self) -> tuple[type["Outcome"], tuple[Value | None, str | None, float]]:
        # An exception may hold what cannot be sent, or what the other side cannot import.
        return Outcome, (self.value, self.reason, self.seconds)


def batched(function: _Function) -> _Function:
    """Return the same function, marked as ``(alternative, context, seeds) -> one value per seed``.

    With several responses it returns a dict with a list or an array for each.

    Args:
        function: A simulator that takes many seeds of one pair at once.
    """
    return _marked(function, _PAIR)


def vectorised(function: _Function) -> _Function:
    """Return the same function, marked as ``(alternatives, contexts, seeds) -> one value per seed``.

    With several responses it returns a dict with a list or an array for each.

    Args:
        function: A simulator that takes many pairs at once, each with its seed.
    """
    return _marked(function, _JOBS)


def evaluate(simulate: Callable[..., Any], jobs: Sequence[Job]) -> list[Outcome]:
    """Return the outcome of every job, in their order, simulated one after the other in this process.

    A `batched` simulator is called once per pair and a `vectorised` one once in all; jobs of one call share
    its time equally, and share the reason if the call fails. Only `Exception`s become reasons.
    """
    takes = _taken_by(simulate)
    if takes is None:
        return [_run(partial(_one_value, simulate, *job), 1)[0] for job in jobs]
    groups = _pairs(jobs) if takes == _PAIR else [list(range(len(jobs)))] if jobs else []
    outcomes: dict[int, Outcome] = {}
    for group in groups:
        alternatives, contexts, seeds = (list(part) for part in zip(*(jobs[i] for i in group), strict=True))
        given = (alternatives[0], contexts[0]) if takes == _PAIR else (alternatives, contexts)
        made = _run(partial(_all_values, partial(simulate, *given, seeds), len(seeds)), len(group))
        outcomes.update(zip(group, made, strict=True))
    return [outcomes[i] for i in range(len(jobs))]


class AdaptsToSharedSeeds(Protocol):
    """A simulator that uses seeds in another way where alternatives share them."""

    def with_shared_seeds(self) -> Any:
        """Return the simulator to use there."""


def for_shared_seeds(simulate: Any) -> Any:
    """Return the simulator to use where alternatives share seeds: itself, unless it offers another one."""
    return simulate.with_shared_seeds() if offers(simulate, AdaptsToSharedSeeds) else simulate


class KeepsTime(Protocol):
    """A simulator that runs in processes of its own and ends them in time: a thread can wait for it."""

    def within(self, seconds: float) -> Any:
        """Return the simulator that gives one run so many seconds at most."""


class SimulatesMany(Protocol):
    """A simulator that takes many pairs at once, by their positions, each with its seed."""

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Any:
        """Return the values, or a dict of them by response: what single calls give one by one."""


def value_of(given: object) -> Value:
    """Return what a simulator gave as one finite number, or as a dict of these by the names of responses."""
    if not isinstance(given, Mapping):
        return number(given)
    if not given:
        raise SimulationError(f"it returned {shown(given)}; expected a number for every response")
    try:
        names = checked_names(given)
    except InputError as error:
        raise SimulationError(f"it returned {shown(dict(given))}: {error}") from None
    return {name: number(given[name], f"the response {name!r} as ") for name in names}


def number(value: object, of: str = "") -> float:
    """Return the value as a float if it is one finite number, and nothing that merely looks like one.

    A truth value stays what it is, so that a study knows that its rewards are a rate. ``of`` says in an error
    which response it is.
    """
    single = value[0] if getattr(value, "shape", None) == (1,) else value  # type: ignore[index]
    if (truth_value := truth(single)) is not None:
        return truth_value
    as_float = real(single)
    if as_float is not None and abs(as_float) <= LARGEST:
        return as_float
    limit = f" of at most {LARGEST:g}" if as_float is not None and math.isfinite(as_float) else ""
    raise SimulationError(f"it returned {of}{shown(value)}, which is not one finite number{limit}")


def checked(outcome: Outcome) -> Outcome:
    """Return an outcome that came from elsewhere; an error if it is nothing that `tell` could take.

    It must have a value or the reason why there is none, and the time that it took.
    """
    seconds = not_negative("seconds", outcome.seconds)
    if not isinstance(outcome.reason, str) if outcome.value is None else outcome.reason is not None:
        raise SimulationError(
            f"got the value {shown(outcome.value)} and the reason {shown(outcome.reason)}; expected one"
        )
    value = None if outcome.value is None else value_of(outcome.value)
    return Outcome(value, outcome.reason, seconds, outcome.error)


def reason(error: BaseException) -> str:
    """Return why a job has no value: the text of a `SimulationError`, else the error's kind and text."""
    try:
        text = str(error)
    except Exception:
        text = ""
    kind = type(error).__name__
    if not isinstance(error, SimulationError) or not text:
        text = f"{kind}: {text}" if text else kind
    return capped(text + _about_the_seed(error))


def _about_the_seed(error: BaseException) -> str:
    """Return a hint for an error that comes from using the seed as a generator; "" for all others."""
    if not isinstance(error, AttributeError) or not isinstance(error.obj, int):
        return ""
    name = error.name or ""
    drawing = hasattr(np.random.Generator, name) or hasattr(np.random.RandomState, name)
    hint = ". The third argument is a seed: numpy.random.default_rng(seed) makes a generator of it"
    return hint if drawing else ""


def _run(call: Callable[[], Values], n: int) -> list[Outcome]:
    """Return the outcomes of one call that gives n values."""
    begun = perf_counter()
    try:
        values = call()
    except Exception as error:
        share = (perf_counter() - begun) / n
        return [Outcome(None, reason(error), share, error)] * n
    share = (perf_counter() - begun) / n
    return [_outcome(value, share) for value in values]


def _outcome(value: object, seconds: float) -> Outcome:
    try:
        return Outcome(value_of(value), None, seconds)
    except Exception as error:  # a foreign object may raise whatever it likes
        return Outcome(None, reason(error), seconds, error)


def _one_value(simulate: Callable[..., Any], alternative: Any, context: Any, seed: int) -> Values:
    return [simulate(alternative, context, seed)]


def _all_values(call: Callable[[], Any], n: int) -> Values:
    """Return what the call gave for n seeds, one value each: numbers, or a dict of them by response."""
    given = call()
    if not isinstance(given, Mapping):
        return _one_per_seed(given, n)
    columns = [_one_per_seed(each, n, f"the response {name!r} as ") for name, each in given.items()]
    if not columns:
        raise SimulationError("it returned {}; expected a list of values for every response")
    return [dict(zip(given, row, strict=True)) for row in zip(*columns, strict=True)]


def _one_per_seed(given: Any, n: int, of: str = "") -> Values:
    """Return values as a list, refused unless there is one for each of n seeds."""
    expected = f"expected one value per seed, here {n}"
    values = None if isinstance(given, Mapping) else entries(given)
    if values is None:
        raise SimulationError(f"it returned {of}{shown(given)}; {expected}")
    if len(values) != n:
        raise SimulationError(f"it returned {of}{len(values)} values; {expected}")
    return values


def _pairs(jobs: Sequence[Job]) -> list[list[int]]:
    """Return the positions of the jobs of each pair, told apart as they print: dicts have no hash."""
    groups: dict[str, list[int]] = {}
    for i, (alternative, context, _) in enumerate(jobs):
        groups.setdefault(repr((alternative, context)), []).append(i)
    return list(groups.values())


def _marked(function: _Function, takes: str) -> _Function:
    try:
        setattr(function, _MARK, takes)
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"{function!r} cannot be marked as batched or vectorised; decorate a plain function, "
            "or the method `__call__` of a class."
        ) from error
    return function


def _taken_by(simulate: Callable[..., Any]) -> str | None:
    """Return the mark of a function, of what a partial calls, or of an object's `__call__`."""
    while isinstance(simulate, partial):
        simulate = simulate.func
    inner = getattr(simulate, "__call__", None)  # noqa: B004  # the method itself is wanted
    return cast("str | None", getattr(simulate, _MARK, getattr(inner, _MARK, None)))

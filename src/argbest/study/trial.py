"""Trials asked for, and what is told about them."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from argbest.checks import real, reals, shown
from argbest.core.arrays import Array
from argbest.core.replications import PLACE, Replications
from argbest.core.tally import LARGEST, summarise
from argbest.errors import InputError
from argbest.problems.axis import Item
from argbest.storage.base import Told

MOST = 2**53  # replications in one summary: beyond, whole numbers are no longer exact
_FAIL = "Fix the simulator, or say that the trial failed."

Value: TypeAlias = float | Sequence[float] | np.ndarray[Any, Any]


@dataclass(frozen=True)  # what is not compared follows from the rest; and rows are dicts, which have no hash
class Trial:
    """One simulation to run: which alternative, in which context, with which seed."""

    id: int
    alternative: Item = field(compare=False)
    context: Item = field(compare=False)
    replication: int = field(compare=False)  # how many trials of this pair were asked before
    seed: int = field(compare=False)
    pair: tuple[int, int] = field(repr=False, compare=False)  # positions of alternative and context
    study: str = field(repr=False)  # the study that asked

    def __str__(self) -> str:
        return f"trial {self.id} (alternative {self.alternative!r}, context {self.context!r})"


def numbered(replication: int, values: Sequence[float] | None) -> Iterator[tuple[int, float]]:
    """Yield the single values of a trial with their numbers; values of equal number share random numbers."""
    for i, value in enumerate(values or ()):
        yield replication + i * PLACE, value


def replications(trials: Sequence[Trial], told: Sequence[Told], sign: float) -> Replications:
    """Return the single values of all that was told by their numbers, larger being better."""
    rows = [
        (*trial.pair, r, sign * value)
        for trial, event in ((trials[event.trial], event) for event in told)
        for r, value in numbered(trial.replication, event.values)
    ]
    table = np.array(rows, float).reshape(len(rows), 4)
    k, c, number = table[:, :3].astype(np.int64).T
    return Replications(k, c, number, table[:, 3])


def record(trial: Trial, value: object, seconds: float | None = None) -> Told:
    """Return what is told by a number or of replications in a list or array."""
    if isinstance(value, float) and abs(value) <= LARGEST:  # by far the most common, so without arrays
        return Told(trial.id, 1, float(value), 0.0, (float(value),), seconds, time.time())
    if isinstance(value, tuple) and len(value) == 3:
        raise InputError(
            f"`tell` got the tuple {shown(value)} for {trial}: three replications, or a summary? "
            "For replications give a list, `tell(trial, [a, b, c])`; for a summary use keywords, "
            "`tell(trial, mean=a, variance=b, n=c)`."
        )
    values = _replications(trial, value)
    n, mean, m2 = summarise(values)
    return Told(trial.id, n, mean, m2, tuple(values.tolist()), seconds, time.time())


def summary(trial: Trial, *, mean: object, variance: object, n: object, seconds: float | None = None) -> Told:
    """Return what is told by the mean of n replications and their sample variance (divisor n − 1)."""
    got = f"`tell` got mean={shown(mean)}, variance={shown(variance)}, n={shown(n)} for {trial}"
    number = real(n)
    if number is None or not (1 <= number <= MOST and number.is_integer()):
        raise InputError(f"{got}; n counts replications: expected a whole number from 1 to 2^53.")
    if variance is None and number > 1:
        raise InputError(
            f"{got}; the mean of several replications needs their variance: that of one replication, with "
            "divisor n - 1."
        )
    centre, spread = real(mean), 0.0 if variance is None else real(variance)
    if centre is None or spread is None or not np.isfinite([centre, spread]).all():
        raise InputError(f"{got}; mean and variance must be finite numbers. {_FAIL}")
    if abs(centre) > LARGEST or abs(spread) * number > LARGEST**2:
        raise InputError(
            f"{got}; a mean is at most {LARGEST:g}, a variance times n at most {LARGEST**2:g}. {_FAIL}"
        )
    if spread < 0 or (number == 1 and spread > 0):
        raise InputError(f"{got}; a variance is 0 or more, and 0 or left out for a single replication.")
    return Told(trial.id, int(number), centre, spread * (number - 1), None, seconds, time.time())


def outside(limits: tuple[float, float] | None, *values: float) -> str:
    """Return what is wrong with the first reward that is not in its range, "" if all are."""
    if limits is None:
        return ""
    low, high = limits
    return next(
        (f"{x:g} is outside the reward_range {low:g} to {high:g}" for x in values if not low <= x <= high), ""
    )


def _replications(trial: Trial, value: object) -> Array:
    """Return replications as floats; nothing that merely looks like a number is taken for one."""
    try:
        values = np.atleast_1d(reals(value))
    except InputError as error:
        raise InputError(
            f"`tell` got {shown(value)} ({type(value).__name__}) for {trial}: {error}. "
            f"Expected a number, a list of replications, or mean, variance and n. {_FAIL}"
        ) from None
    if values.ndim != 1 or values.size == 0:
        raise InputError(
            f"`tell` got an array of shape {values.shape} for {trial}; replications form one row."
        )
    if not np.all(np.abs(values) <= LARGEST):
        raise InputError(
            f"`tell` got value={shown(value)} for {trial}; a reward must be finite, at most {LARGEST:g}. "
            f"{_FAIL}"
        )
    return values

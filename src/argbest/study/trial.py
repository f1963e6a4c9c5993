"""Trials asked for and the records told about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from argbest.core.decision import Decision
from argbest.core.tally import summarise
from argbest.errors import InputError
from argbest.problems.axis import Item

Value: TypeAlias = float | Sequence[float] | np.ndarray[Any, Any] | tuple[float, float, int]


@dataclass(frozen=True)
class Trial:
    """One simulation to run: which alternative, in which context, with which seed."""

    id: int
    alternative: Item
    context: Item
    replication: int  # how many trials of this pair were asked before
    seed: int
    pair: tuple[int, int] = field(repr=False)  # positions of alternative and context
    study: str = field(repr=False)  # the study that asked

    @property
    def decision(self) -> Decision:
        """The pair as indices."""
        return Decision(np.asarray(self.pair[0]), np.asarray(self.pair[1]))

    def __str__(self) -> str:
        return f"trial {self.id} (alternative {self.alternative!r}, context {self.context!r})"


@dataclass(frozen=True)
class Record:
    """What was told about a trial, in the user's units and sign."""

    trial: Trial
    n: int
    mean: float
    m2: float  # sum of squared deviations from the mean
    values: tuple[float, ...] | None  # None where only a summary was told


def record(trial: Trial, value: object) -> Record:
    """Return the record of a number, a list of replications, or a tuple (mean, variance, n)."""
    if isinstance(value, float) and math.isfinite(value):  # by far the most common, so without arrays
        return Record(trial, 1, float(value), 0.0, (float(value),))
    if isinstance(value, tuple):
        return _from_summary(trial, value)
    values = _numbers(trial, value)
    n, mean, m2 = summarise(values)
    return Record(trial, n, mean, m2, tuple(values.tolist()))


def _from_summary(trial: Trial, value: tuple[object, ...]) -> Record:
    hint = (
        "a tuple means (mean, variance, n) with variance = Σ(y − mean)²/(n − 1); give replications as a list"
    )
    if len(value) != 3 or not all(isinstance(v, Real) and not isinstance(v, bool) for v in value):
        raise InputError(f"`tell` got {value!r} for {trial}; {hint}.")
    mean, variance, n = (float(v) for v in value)  # type: ignore[arg-type]
    if not (np.isfinite(mean) and np.isfinite(variance)):
        raise InputError(f"`tell` got {value!r} for {trial}; mean and variance must be finite. {_FAIL}")
    if variance < 0 or n < 1 or n != int(n):
        raise InputError(
            f"`tell` got {value!r} for {trial}; variance ≥ 0 and a whole n ≥ 1 are needed: {hint}."
        )
    return Record(trial, int(n), mean, variance * (n - 1), None)


def _numbers(trial: Trial, value: object) -> "np.ndarray[Any, np.dtype[np.float64]]":
    if isinstance(value, str | bytes | bool | np.bool_) or value is None:
        raise InputError(
            f"`tell` got {value!r} ({type(value).__name__}) for {trial}; a reward is a number. {_FAIL}"
        )
    try:
        values = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError):
        raise InputError(
            f"`tell` got {value!r} ({type(value).__name__}) for {trial}; "
            "expected a number, a list of replications, or (mean, variance, n)."
        ) from None
    if values.ndim != 1 or values.size == 0:
        raise InputError(
            f"`tell` got an array of shape {values.shape} for {trial}; replications form one row."
        )
    if not np.all(np.isfinite(values)):
        raise InputError(f"`tell` got value={value!r} for {trial}; a reward must be finite. {_FAIL}")
    return values


_FAIL = "Fix the simulator, or call `study.fail(trial, reason)`."

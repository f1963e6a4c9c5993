"""Trials asked for and the records told about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from argbest.core.decision import Decision
from argbest.core.tally import summarise
from argbest.errors import InputError
from argbest.problems.axis import Item
from argbest.simulators.calling import LARGEST

MOST = 2**53  # replications in one summary: beyond, whole numbers are no longer exact
_FAIL = "Fix the simulator, or call `study.fail(trial, reason)`."

Value: TypeAlias = float | Sequence[float] | np.ndarray[Any, Any] | tuple[float, float, int]


@dataclass(
    frozen=True, eq=False
)  # two trials are never the same one; and rows are dicts, which cannot be hashed
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
    if isinstance(value, float) and abs(value) <= LARGEST:  # by far the most common, so without arrays
        return Record(trial, 1, float(value), 0.0, (float(value),))
    if isinstance(value, tuple):
        return _from_summary(trial, value)
    values = _numbers(trial, value)
    n, mean, m2 = summarise(values)
    return Record(trial, n, mean, m2, tuple(values.tolist()))


def _from_summary(trial: Trial, value: tuple[object, ...]) -> Record:
    """Return the record of (mean, variance, n), the variance being that of the sample (ddof 1)."""
    meaning = "a tuple means (mean, variance, n) with the sample variance; give replications as a list"
    if len(value) != 3 or any(isinstance(v, bool) or not isinstance(v, Real) for v in value):
        raise InputError(f"`tell` got {value!r} for {trial}; {meaning}.")
    try:
        mean, variance, n = (float(v) for v in value)  # type: ignore[arg-type]
    except OverflowError:
        mean = variance = n = np.inf
    if not (1 <= n <= MOST and n.is_integer()):
        raise InputError(f"`tell` got {value!r} for {trial}; n must be a whole n ≥ 1: {meaning}.")
    if not (abs(mean) <= LARGEST and variance * n <= LARGEST**2):
        raise InputError(f"`tell` got {value!r} for {trial}; mean and variance must be finite. {_FAIL}")
    if variance < 0 or (n == 1 and variance > 0):
        raise InputError(
            f"`tell` got {value!r} for {trial}; variance ≥ 0, and 0 for a single run: {meaning}."
        )
    return Record(trial, int(n), mean, variance * (n - 1), None)


def _numbers(trial: Trial, value: object) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Return replications as floats; nothing that merely looks like a number is taken for one."""
    got = f"`tell` got {value!r} ({type(value).__name__}) for {trial}"
    if isinstance(value, str | bytes | bool | np.bool_) or value is None:
        raise InputError(f"{got}; a reward is a number. {_FAIL}")
    try:
        raw = np.asarray(value)
        values = np.atleast_1d(raw.astype(float)) if raw.dtype.kind in "iufO" else None
    except (TypeError, ValueError, OverflowError):
        values = None
    if values is None or (raw.dtype.kind == "O" and any(isinstance(v, str | bytes | bool) for v in raw.flat)):
        raise InputError(f"{got}; expected a number, a list of replications, or (mean, variance, n).")
    if values.ndim != 1 or values.size == 0:
        raise InputError(
            f"`tell` got an array of shape {values.shape} for {trial}; replications form one row."
        )
    if not np.all(np.abs(values) <= LARGEST):
        raise InputError(
            f"`tell` got value={value!r} for {trial}; a reward must be finite, at most {LARGEST:g}. {_FAIL}"
        )
    return values

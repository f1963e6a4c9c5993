"""The values of every pair in the order of their numbers: what a guarantee may count."""

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.study.trial import Trial

_PLACES = 2**31  # of values in one trial
_MANY = 10  # values, which come in order by chance once in two million times


class Replications:
    """Values told, by pair, as far as no replication of the pair before them is still open.

    Run time may depend on the value, so the order of arrival may not count. A number without single values,
    failed or told as a summary, is left out.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.version = np.zeros(shape[1], np.int64)  # per context, one more with every change
        self.summarised = np.zeros(shape, np.int64)  # replications that have no order
        self._shape = shape
        self._next = np.zeros(shape, np.int64)  # the first number that is still open
        self._early: dict[tuple[int, int], dict[int, tuple[float, ...]]] = {}  # told, and wait for others
        self._keys: dict[tuple[int, int], list[int]] = {}
        self._values: dict[tuple[int, int], list[float]] = {}

    def end(self, trial: Trial, values: tuple[float, ...] | None, *, summarised: int = 0) -> None:
        """Take in what a trial gave; None: no single values."""
        pair = trial.pair
        early = self._early.setdefault(pair, {})
        early[trial.replication] = values or ()
        self.summarised[pair] += summarised
        while (number := int(self._next[pair])) in early:
            told = early.pop(number)
            self._keys.setdefault(pair, []).extend(number * _PLACES + i for i in range(len(told)))
            self._values.setdefault(pair, []).extend(told)
            self._next[pair] += 1
            self.version[pair[1]] += 1

    def counts(self) -> IntArray:
        """Return how many values of each pair count, [alternative, context]."""
        counts = np.zeros(self._shape, np.int64)
        for pair, values in self._values.items():
            counts[pair] = len(values)
        return counts

    def sorted(self) -> BoolArray:
        """Return which pairs have many values that all rise or fall: those are not in the order of runs."""
        found = np.zeros(self._shape, bool)
        for pair, values in self._values.items():
            steps = np.diff(values)
            found[pair] = len(values) >= _MANY and bool(np.all(steps > 0) or np.all(steps < 0))
        return found

    def of_context(self, context: int) -> Array:
        """Return a row per alternative and a column per number, NaN where an alternative has no value."""
        own = {k: self._keys.get((k, context), []) for k in range(self._shape[0])}
        columns = np.unique(np.concatenate([np.asarray(keys, np.int64) for keys in own.values()]))
        table = np.full((self._shape[0], len(columns)), np.nan)
        for k, keys in own.items():
            if keys:
                table[k, np.searchsorted(columns, keys)] = self._values[k, context]
        return table

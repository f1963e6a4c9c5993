"""The values of every pair in the order of their numbers: what a guarantee may count."""

import numpy as np

from argbest.core.arrays import Array
from argbest.study.trial import Trial

_PLACES = 2**31  # of values in one trial
_MANY = 10  # values, which come in order by chance once in two million times


class Replications:
    """Values told, by pair, as far as no replication of the pair before them is still open.

    Run time may depend on the value, so the order of arrival may not count. A number without single values,
    failed or told as a summary, is left out.
    """

    def __init__(self, shape: tuple[int, int]) -> None:
        self.count = np.zeros(shape, np.int64)  # values that count
        self.version = np.zeros(shape[1], np.int64)  # per context, one more with every change
        self.summarised = 0  # replications that have no order
        self.sorted: set[tuple[int, int]] = set()  # pairs whose values all rise or fall, by no chance
        self._next: dict[tuple[int, int], int] = {}  # the first number that is still open
        self._early: dict[tuple[int, int], dict[int, tuple[float, ...]]] = {}  # told, and wait for others
        self._skipped: dict[tuple[int, int], dict[int, int]] = {}  # from a number up to another
        self._keys: dict[tuple[int, int], list[int]] = {}
        self._values: dict[tuple[int, int], list[float]] = {}
        self._trend: dict[tuple[int, int], int] = {}  # 1 if all values rise, -1 if they fall, 0 if neither

    def end(self, trial: Trial, values: tuple[float, ...] | None, *, summarised: int = 0) -> None:
        """Take in what a trial gave; None: no single values."""
        self.summarised += summarised
        self._early.setdefault(trial.pair, {})[trial.replication] = values or ()
        self._advance(trial.pair)

    def skip(self, pair: tuple[int, int], numbers: range) -> None:
        """Take in that replications of these numbers will never be asked for."""
        if numbers:
            self._skipped.setdefault(pair, {})[numbers.start] = numbers.stop
            self._advance(pair)

    def _advance(self, pair: tuple[int, int]) -> None:
        """Count all values before which nothing is open."""
        early, skipped = self._early.get(pair, {}), self._skipped.get(pair, {})
        number = self._next.get(pair, 0)
        while number in early or number in skipped:
            if number in early:
                self._append(pair, number, early.pop(number))
            number = skipped.pop(number, number + 1)
        self._next[pair] = number

    def _append(self, pair: tuple[int, int], number: int, told: tuple[float, ...]) -> None:
        values = self._values.setdefault(pair, [])
        for value in told:
            if values:
                step = (value > values[-1]) - (value < values[-1])
                self._trend[pair] = step if self._trend.get(pair, step) == step else 0
            values.append(value)
        self._keys.setdefault(pair, []).extend(number * _PLACES + i for i in range(len(told)))
        self.count[pair] = len(values)
        self.version[pair[1]] += 1
        if len(values) >= _MANY:
            (self.sorted.add if self._trend[pair] else self.sorted.discard)(pair)

    def of_context(self, context: int) -> Array:
        """Return a row per alternative and a column per number, NaN where an alternative has no value."""
        own = {k: self._keys.get((k, context), []) for k in range(len(self.count))}
        columns = np.unique(np.concatenate([np.asarray(keys, np.int64) for keys in own.values()]))
        table = np.full((len(own), len(columns)), np.nan)
        for k, keys in own.items():
            if keys:
                table[k, np.searchsorted(columns, keys)] = self._values[k, context]
        return table

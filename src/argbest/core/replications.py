"""Replications by their numbers: what a tally must keep where alternatives share random numbers."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.decision import Decision

PLACE = 2**31  # more than there are runs of a pair


@dataclass(frozen=True)
class Replications:
    """Single values [..., i], and the number of each: in a context equal numbers share random numbers.

    The i-th value of the n-th run has the number n + i `PLACE`: most runs give one, at place 0. Studies side
    by side may hold different numbers of values: those with fewer are filled up with alternative −1.
    """

    alternative: IntArray
    context: IntArray
    number: IntArray
    value: Array

    def __getitem__(self, index: Any) -> "Replications":
        """Return those of the studies that an index of the leading axes picks."""
        return Replications(*(getattr(self, field.name)[index] for field in fields(self)))

    def add(self, decision: Decision, number: AnyArray, value: AnyArray) -> "Replications":
        """Return these and one more value per leading index; a number below 0 says that it shares nothing."""
        alternative = np.where(np.asarray(number) < 0, -1, decision.alternative)
        more = (alternative, decision.context, number, value)
        lead = self.number.shape[:-1]
        return Replications(
            *(
                np.concatenate([getattr(self, field.name), np.broadcast_to(one, lead)[..., None]], axis=-1)
                for field, one in zip(fields(self), more, strict=True)
            )
        )

    def moved(self, shift: Array, spread: Array) -> "Replications":
        """Return (value − shift) / spread, both [...]."""
        return replace(self, value=(self.value - shift[..., None]) / spread[..., None])

    def of(self, context: AnyArray, number: AnyArray) -> BoolArray:
        """Return [..., i] which values are this replication of this context, both [...]."""
        there = (self.context == context[..., None]) & (self.number == number[..., None])
        return np.asarray(there & (self.alternative >= 0))


def none(lead: tuple[int, ...] = ()) -> Replications:
    """Return the replications of studies that have none yet."""
    index = np.zeros((*lead, 0), np.int64)
    return Replications(index, index, index, np.zeros((*lead, 0)))


def after(number: AnyArray) -> AnyArray:
    """Return the number of the next run."""
    return np.asarray(number) % PLACE + 1


def following(shown: Replications, shape: tuple[int, ...]) -> IntArray:
    """Return the number of the run after the last of every cell, [..., alternative, context]."""
    table = np.zeros(shape, np.int64)
    for study in np.ndindex(shape[:-2]):
        own = shown[study]
        kept = own.alternative >= 0
        np.maximum.at(table[study], (own.alternative[kept], own.context[kept]), after(own.number[kept]))
    return table

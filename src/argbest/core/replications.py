"""Replications by their numbers: what a tally must keep where alternatives share random numbers."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.decision import Decision

PLACE = 2**31  # more than there are runs of a pair
_LEAST = 16  # for so many more there is room at least


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
    room: ClassVar["_Room | None"] = None  # of the last to have grown, in its own __dict__: not copied

    def __getitem__(self, index: Any) -> "Replications":
        """Return those of the studies that an index of the leading axes picks."""
        return Replications(*(part[index] for part in self.parts))

    @property
    def parts(self) -> tuple[AnyArray, ...]:
        """Alternative, context, number and value."""
        return self.alternative, self.context, self.number, self.value

    def add(self, decision: Decision, number: AnyArray, value: AnyArray) -> "Replications":
        """Return these and one more value per leading index; a number below 0 says that it shares nothing.

        The last to have grown has room for more: a value is written there, and nothing is copied.
        """
        return self.appended(
            np.where(np.asarray(number) < 0, -1, decision.alternative), decision.context, number, value
        )

    def appended(self, *row: AnyArray | float) -> "Replications":
        """Return these and one more row of `parts`, each a number or [...]."""
        n, room = self.number.shape[-1], self.room
        if room is None or room.used != n or room.size == n:
            room = _Room.of(self)
        for part, one in zip(room.parts, row, strict=True):
            part[..., n] = one
        room.used = n + 1
        grown = Replications(*(part[..., : n + 1] for part in room.parts))
        grown.__dict__["room"] = room
        return grown

    def moved(self, shift: Array, spread: Array) -> "Replications":
        """Return (value − shift) / spread, both [...]."""
        return replace(self, value=(self.value - shift[..., None]) / spread[..., None])

    def of(self, context: AnyArray, number: AnyArray) -> BoolArray:
        """Return [..., i] which values are this replication of this context, both [...]."""
        there = (self.context == context[..., None]) & (self.number == number[..., None])
        return np.asarray(there & (self.alternative >= 0))


@dataclass
class _Room:
    """Arrays that are longer than what is used of them."""

    parts: tuple[AnyArray, ...]
    used: int

    @classmethod
    def of(cls, shown: Replications) -> "_Room":
        """Return a copy with room for as many again."""
        n = shown.number.shape[-1]
        longer = [np.empty((*part.shape[:-1], 2 * n + _LEAST), part.dtype) for part in shown.parts]
        for whole, part in zip(longer, shown.parts, strict=True):
            whole[..., :n] = part
        return cls(tuple(longer), n)

    @property
    def size(self) -> int:
        """How many there is room for."""
        return int(self.parts[0].shape[-1])


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

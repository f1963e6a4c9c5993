"""What joint draws say of one number: its mean, and where it lies with a probability of 0.9."""

import math
from typing import NamedTuple

import numpy as np

from argbest.core.arrays import Array
from argbest.core.states import INTERVAL
from argbest.texts import number, with_unit

TAILS = (1 - INTERVAL) / 2, (1 + INTERVAL) / 2


class Estimate(NamedTuple):
    """A number that is not known exactly: its expected value, and the ends of its 90 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array, sign: int = 1) -> "Estimate":
        """Return the estimate from draws [draw], each times the sign."""
        signed = sign * draws + 0.0  # never -0.0
        low, high = np.quantile(signed, TAILS).tolist()
        return cls(float(signed.mean()), low, high)

    def __str__(self) -> str:
        return self.said()

    def said(self, unit: str = "") -> str:
        """Return "11.7 dollars (90 %: 8.4 to 15.2)"."""
        mean, low, high = (number(each, self._digits) for each in self)
        return f"{with_unit(mean, unit)} (90 %: {low} to {high})"

    @property
    def _digits(self) -> int:
        """How many significant digits tell the ends apart: three, or more of a narrow interval."""
        width, size = self.high - self.low, max(abs(self.low), abs(self.high))
        return min(15, max(3, 1 + math.ceil(math.log10(size / width)))) if width > 1e-15 * size else 3

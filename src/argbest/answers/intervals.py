"""What joint draws say of one number: its mean, and where it lies with a probability of 0.9."""

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
        low, high = np.quantile(sign * draws, TAILS).tolist()
        return cls(float(sign * draws.mean()), low, high)

    def __str__(self) -> str:
        return self.said()

    def said(self, unit: str = "") -> str:
        """Return "11.7 dollars (90 %: 8.4 to 15.2)"."""
        mean = with_unit(number(self.mean), unit)
        return f"{mean} (90 %: {number(self.low)} to {number(self.high)})"

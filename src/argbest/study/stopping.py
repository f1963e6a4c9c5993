"""Stop rules: reasons to end a run before its budget."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from argbest.core.arrays import Array
from argbest.core.belief import Belief, best
from argbest.errors import InputError


@runtime_checkable
class Stop(Protocol):
    """A frozen rule that looks at the belief."""

    def met(self, belief: Belief, weights: Array) -> bool:
        """Return whether the run may end."""


@dataclass(frozen=True)
class ExpectedPCS:
    """Stop when Σ_c w_c P(selected within δ of the best) reaches the target."""

    target: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check_probability(self.target, self.delta)

    def met(self, belief: Belief, weights: Array) -> bool:
        """Return whether PCS_E has reached the target."""
        return bool(belief.good_probability(best(belief), self.delta) @ weights >= self.target)


@dataclass(frozen=True)
class WorstPCS:
    """Stop when min_c P(selected within δ of the best) reaches the target."""

    target: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        _check_probability(self.target, self.delta)

    def met(self, belief: Belief, weights: Array) -> bool:  # noqa: ARG002
        """Return whether PCS_M has reached the target."""
        return bool(belief.good_probability(best(belief), self.delta).min() >= self.target)


@dataclass(frozen=True)
class OpportunityCost:
    """Stop when the expected opportunity cost Σ_c w_c E[best − selected] has fallen to the target."""

    target: float

    def __post_init__(self) -> None:
        if not self.target > 0:
            raise InputError(f"the target opportunity cost must be positive, got {self.target!r}.")

    def met(self, belief: Belief, weights: Array) -> bool:
        """Return whether the expected opportunity cost is at most the target."""
        return bool(belief.expected_loss(best(belief)) @ weights <= self.target)


def _check_probability(target: float, delta: float) -> None:
    if not 0 < target < 1:
        raise InputError(f"the target probability must lie between 0 and 1, got {target!r}.")
    if not delta >= 0:
        raise InputError(f"the indifference zone delta must be zero or positive, got {delta!r}.")

"""Stop rules: reasons to end a run before its budget."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from argbest.core.arrays import Array
from argbest.core.belief import Belief, best
from argbest.study.checks import finite, indifference_zone


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
        finite("the target probability", self.target, above=0, below=1)
        indifference_zone(self.delta)

    def met(self, belief: Belief, weights: Array) -> bool:
        """Return whether PCS_E has reached the target."""
        return bool(belief.good_probability(best(belief), self.delta) @ weights >= self.target)


@dataclass(frozen=True)
class WorstPCS:
    """Stop when min_c P(selected within δ of the best) reaches the target."""

    target: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        finite("the target probability", self.target, above=0, below=1)
        indifference_zone(self.delta)

    def met(self, belief: Belief, weights: Array) -> bool:  # noqa: ARG002
        """Return whether PCS_M has reached the target."""
        return bool(belief.good_probability(best(belief), self.delta).min() >= self.target)


@dataclass(frozen=True)
class OpportunityCost:
    """Stop when the expected opportunity cost Σ_c w_c E[best − selected] has fallen to the target."""

    target: float

    def __post_init__(self) -> None:
        finite("the target opportunity cost", self.target, above=0)

    def met(self, belief: Belief, weights: Array) -> bool:
        """Return whether the expected opportunity cost is at most the target."""
        return bool(belief.expected_loss(best(belief)) @ weights <= self.target)

"""Stop rules: reasons to end a run before its budget. A rule is any function of the study."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from argbest import defaults
from argbest.checks import finite, indifference_zone, one_of
from argbest.core.arrays import BoolArray
from argbest.study import separations

if TYPE_CHECKING:
    from argbest.study.study import Study

Stop: TypeAlias = Callable[["Study"], bool]


@dataclass(frozen=True)
class _TargetPCS(ABC):
    """A probability to reach, where within δ of the best counts as right."""

    target: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        finite("the target probability", self.target, above=0, below=1)
        indifference_zone(self.delta)

    @abstractmethod
    def __call__(self, study: "Study") -> bool:
        """Return whether the target is reached."""


class ExpectedPCS(_TargetPCS):
    """Stop when Σ_c w_c P(selected within δ of the best) reaches the target."""

    def __call__(self, study: "Study") -> bool:
        """Return whether PCS_E has reached the target."""
        return bool(study.certificate(self.delta).pcs_e >= self.target)


class WorstPCS(_TargetPCS):
    """Stop when min_c P(selected within δ of the best) reaches the target."""

    def __call__(self, study: "Study") -> bool:
        """Return whether PCS_M has reached the target."""
        return bool(study.certificate(self.delta).pcs_m >= self.target)


@dataclass(frozen=True)
class OpportunityCost:
    """Stop when the expected opportunity cost Σ_c w_c E[best − selected] has fallen to the target."""

    target: float

    def __post_init__(self) -> None:
        finite("the target opportunity cost", self.target, above=0)

    def __call__(self, study: "Study") -> bool:
        """Return whether the expected opportunity cost is at most the target."""
        return bool(study.certificate().eoc <= self.target)


@dataclass(frozen=True)
class Guaranteed:
    """Stop when the data alone, without a model, certify every selected alternative (`Study.guarantee`).

    Each is within δ of the best of its context, or better than all others if δ is 0. With confidence
    1 − alpha that holds in "all" ``contexts`` at once, or in "each" by itself. A run with this rule asks it
    after every result, and once the initial design is in it simulates what the guarantee still needs.
    """

    alpha: float = defaults.ALPHA
    delta: float = 0.0
    contexts: str = "all"

    def __post_init__(self) -> None:
        finite("alpha", self.alpha, above=0, below=1)
        indifference_zone(self.delta)
        one_of("contexts", self.contexts, ("all", "each"))

    def __call__(self, study: "Study") -> bool:
        """Return whether every context is certified."""
        return not self.missing(study).any()

    def missing(self, study: "Study") -> BoolArray:
        """Return the pairs that still need replications, [alternative, context]."""
        share = self.alpha / (study.problem.n_contexts if self.contexts == "all" else 1)
        return separations.missing(study, share, self.delta)

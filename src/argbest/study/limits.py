"""The options of a run: its limits, rules that stop it earlier (any function of the study), its resources."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from argbest import defaults
from argbest.checks import finite, indifference_zone, not_negative, one_of, whole
from argbest.core.arrays import BoolArray
from argbest.errors import InputError
from argbest.study import separations
from argbest.study.journal import BY_HAND, Journal
from argbest.study.ledger import Ledger

if TYPE_CHECKING:
    from argbest.study.study import Study

Stop: TypeAlias = Callable[["Study"], bool]


@dataclass(frozen=True)
class Limits:
    """When a run ends: replications, seconds of simulation time, a stop rule; the share to confirm with."""

    budget: int | None
    seconds: float | None = None
    confirm: float = 0.0
    stop: Stop | None = None

    def __post_init__(self) -> None:
        if self.budget is None and self.seconds is None:
            raise InputError("a run needs a budget: of replications, of seconds, or both.")
        if self.budget is not None:
            whole("budget", self.budget, at_least=1)
        if self.seconds is not None:
            finite("seconds", self.seconds, above=0)
        not_negative("confirm", self.confirm, below=1)
        if self.confirm and self.budget is None:
            raise InputError("confirm is a share of a budget of replications; give one.")
        if self.stop is not None and (isinstance(self.stop, type) or not callable(self.stop)):
            raise InputError(
                f"stop={self.stop!r} is not a stop rule; give ExpectedPCS(0.95), say, or a function."
            )

    def done(self, ledger: Ledger) -> int:
        """Return how much of the limit is used: replications, or seconds where only these are limited."""
        return ledger.n_observations if self.budget is not None else int(ledger.spent)

    def room(self, journal: Journal, *, mine: bool = True) -> int:
        """Return how many more trials the limits allow, those under way taken into account if ``mine``."""
        ledger, left = journal.ledger, math.inf
        held = [i for i, who in ledger.held.items() if who != BY_HAND] if mine else []
        if self.budget is not None:
            left = self.budget - ledger.n_observations - len(held)
        if self.seconds is not None and ledger.spent + journal.expected_seconds(held) >= self.seconds:
            left = 0
        return int(min(left, 2**31))


@dataclass(frozen=True)
class Resources:
    """What a run simulates with."""

    workers: int | None = None
    executor: Executor | None = None
    batch: int = 1
    timeout: float | None = None
    on_failure: str = "raise"

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole("workers", self.workers, at_least=1, at_most=10**4)
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise InputError(
                f"executor={self.executor!r} has no `submit`; give a concurrent.futures.Executor."
            )
        whole("batch", self.batch, at_least=1, at_most=10**7)
        if self.timeout is not None:
            finite("timeout", self.timeout, above=0)
        one_of("on_failure", self.on_failure, ("raise", "record"))

    @property
    def whole_timeout(self) -> float | None:
        """Seconds for a batch of trials, each of which has ``timeout`` of them."""
        return None if self.timeout is None else self.timeout * self.batch


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

"""The options of a run: when it ends, and what it simulates with."""

import math
from concurrent.futures import Executor
from dataclasses import dataclass

from argbest.checks import finite, not_negative, one_of, whole
from argbest.errors import InputError
from argbest.study.journal import BY_HAND, Journal
from argbest.study.ledger import Ledger
from argbest.study.stopping import Stop


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

"""What a study is and knows: it asks for trials, is told their values, and keeps both in its storage."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np

from argbest import registry
from argbest.checks import flag, not_negative, whole
from argbest.core import schedule
from argbest.core import tally as tallies
from argbest.core.arrays import BoolArray
from argbest.errors import DataNotice, InputError
from argbest.models.base import Model, params_type
from argbest.options import POLICY, Given
from argbest.policies.base import Policy
from argbest.problems.axis import Item
from argbest.problems.base import Problem, Simulate
from argbest.storage.base import Plain, Storage, Told, Worker, explained
from argbest.storage.opening import defined, opened
from argbest.study import definition
from argbest.study.journal import BY_HAND, Journal
from argbest.study.learning import Knowledge
from argbest.study.rewards import end_of_rate
from argbest.study.trial import Trial, Value, record, summary
from argbest.study.view import View


class AskTell:
    """The state of a study; `Study` adds running it and its answers."""

    def __init__(
        self,
        problem: Problem,
        *,
        policy: Given | Policy = POLICY,
        model: Given | Model[Any] | None = None,
        initial: object = "auto",
        seed: int = 0,
        refit_every: int | str = "auto",
        common_random_numbers: bool = True,
        cost: object = None,
        storage: str | PathLike[str] | Storage | None = None,
        name: str = "study",
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"a study needs an argbest.Problem, got {type(problem).__name__}.")
        chosen_policy, chosen_model = registry.choose(policy, model)
        chosen_model.check(problem.shape, problem.setting)
        stored = definition.of_study(
            problem, chosen_policy, chosen_model, seed=whole("seed", seed, at_least=0, below=2**64),
            initial=initial, refit_every=schedule.checked("refit_every", refit_every),
            common_random_numbers=flag("common_random_numbers", common_random_numbers), cost=cost, plan=plan,
        )  # fmt: skip
        if storage is not None:
            params_type(chosen_model)
        with opened(storage, name=name) as kept:
            kept.create(stored)
            self._open(kept, stored, problem, chosen_policy, chosen_model)

    @classmethod
    def load(
        cls,
        storage: str | PathLike[str] | Storage,
        *,
        name: str = "study",
        simulate: Simulate | None = None,
        policy: Policy | None = None,
        model: Model[Any] | None = None,
    ) -> Self:
        """Return the study kept in a storage, to continue it.

        Give ``simulate`` again if the simulator was a plain function, and a policy or a model of your own.
        """
        study = cls.__new__(cls)
        with opened(storage, name=name) as kept:
            stored = defined(kept, name, storage)
            with explained("the definition of the study"):
                stored = definition.modern(stored, notify=model is None)
                problem, chosen_policy, chosen_model = definition.restored(stored, simulate, policy, model)
                study._open(kept, stored, problem, chosen_policy, chosen_model)
        return study

    def _open(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        self.problem = problem
        self.seed: int = stored["seed"]
        self.refit_every: int | str = stored["refit_every"]
        self.common_random_numbers: bool = stored["common_random_numbers"]
        self.definition = stored
        self._journal = Journal(storage, stored, problem, policy, model)
        self._view: View | None = None
        self._said: set[str] = set()  # notices of a kind that are given once

    def __repr__(self) -> str:
        size = "{} alternatives x {} contexts".format(*self.problem.shape)
        return f"<Study of {self.problem.name!r}: {size}, {self.n_observations} replications>"

    @property
    def policy(self) -> Policy:
        """The rule that decides; a two-stage one carries what it has fixed."""
        return self._journal.policy

    @property
    def model(self) -> Model[Any]:
        """The statistical model."""
        return self._journal.model

    @property
    def n_observations(self) -> int:
        """Replications told so far."""
        return self._journal.ledger.n_observations

    @property
    def rate(self) -> bool:
        """Whether rewards are 0 or 1: declared so, or every value told so far was True or False."""
        return self._journal.ledger.rate

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The interval that holds every single reward: (0, 1) of a rate, else that of the problem."""
        return self._journal.ledger.reward_range

    @property
    def n_queued(self) -> int:
        """Pairs of the initial design not yet asked for; where it is still open, as `ask` would fix it."""
        ledger = self._journal.ledger
        return self.view().n_queued if ledger.design is None else len(ledger.queue)

    @property
    def n_waiting(self) -> int:
        """Deprecated: the name of `n_queued` in version 0.1."""
        warnings.warn("n_waiting is now called n_queued.", DeprecationWarning, stacklevel=2)
        return self.n_queued

    @property
    def initial_design(self) -> str:
        """What the study simulates before its policy decides, and why, in words; "" until that is fixed."""
        return self.view().initial_design

    @property
    def tally(self) -> tallies.Tally:
        """Count, mean and sum of squared deviations of every pair."""
        return self._tally if self.problem.sign > 0 else tallies.negated(self._tally)

    @property
    def set_aside(self) -> list[tuple[Item, Item]]:
        """The pairs (alternative, context) that failed repeatedly; they are not asked for any more."""
        problem = self.problem
        return [
            (problem.alternatives.item(k), problem.contexts.item(c))
            for k, c in np.argwhere(self._journal.ledger.set_aside).tolist()
        ]

    def view(self) -> View:
        """Return the study as it is now, as a value that later trials and values do not change.

        Answers, reports and pictures are made from it. Its tables are [alternative, context], and rewards
        count so that larger is better. What is dear, such as learning, is done when it is first asked for.
        """
        last, journal = self._view, self._journal
        if last is None or not last.shows(journal):
            last = self._view = View.of(journal, self.definition, last)
        return last

    def ask(self, n: int = 1, *, context: object = None) -> list[Trial]:
        """Return n trials to simulate: what is left of the initial design, then the policy's choice.

        With ``context`` all of them are in that context. Trials under way are taken into account; those
        given back come first.
        """
        n = whole("n", n, at_least=1, at_most=10**7)
        only = None if context is None else self.problem.contexts.index(context)
        return self._journal.ask(n, worker=BY_HAND, only=only)

    def tell(
        self,
        trial: Trial | int,
        value: Value | None = None,
        *,
        mean: float | None = None,
        variance: float | None = None,
        n: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Record the result of a trial: a number, a list or array of replications, or a summary by keywords.

        A summary is the ``mean`` of ``n`` replications and the ``variance`` of one of them, with divisor
        n − 1; a single replication has none, and a declared rate needs none: k successes of n are ``mean=k/n,
        n=n``. ``seconds`` is how long the simulation took. The model is not fitted here; the next `ask` does
        that when it is due.
        """
        took = None if seconds is None else not_negative("seconds", seconds)
        asked = self._journal.open(trial)
        if mean is None and variance is None and n is None:
            told = record(asked, value, took)
        elif value is None:
            told = summary(asked, mean=mean, variance=variance, n=n, rate=self.problem.rate, seconds=took)
        else:
            raise InputError(f"`tell` got a value and a summary for {asked}. Give one of them.")
        before = self._journal.ledger.rewards
        self._journal.tell(told)
        if remark := end_of_rate(self.problem, before, self._journal.ledger.rewards.kind, [told]):
            warnings.warn(remark, DataNotice, stacklevel=2)

    def fail(self, trial: Trial | int, reason: str, *, seconds: float | None = None) -> None:
        """Record that a trial gave no value; it is not asked for again by itself."""
        took = None if seconds is None else not_negative("seconds", seconds)
        self._journal.fail(self._journal.open(trial), str(reason), again=False, seconds=took)

    def pending(self) -> list[Trial]:
        """Return the trials under way, for example those that a process left when it ended."""
        ledger = self._journal.ledger
        return [ledger.trials[i] for i in sorted(ledger.held)]

    @property
    def asked(self) -> Sequence[Trial]:
        """All trials asked for so far, by their ids; it grows with the study."""
        return self._journal.ledger.trials

    def status(self, trial: Trial | int) -> str:
        """Return whether a trial is pending, given back (to be asked for again), told or failed."""
        ledger, number = self._journal.ledger, trial.id if isinstance(trial, Trial) else trial
        return ledger.status(whole("trial", number, at_least=0, below=len(ledger.trials)))

    def workers(self) -> Sequence[Worker]:
        """Return what every worker of the stored study said of itself last; see `argbest worker`."""
        return self._journal.workers()

    def give_back(self, trial: Trial | int) -> None:
        """Give back a trial that will not be simulated; the next `ask` returns it, with its seed."""
        self._journal.give_back([self._journal.open(trial).id])

    @property
    def plan(self) -> Mapping[str, Any]:
        """The options of `run` that were stored with the study, as plain values."""
        stored: Mapping[str, Any] = self.definition["plan"]
        return stored

    def readmit(self) -> None:
        """Ask for the pairs set aside again, for example with a fixed simulator."""
        self._journal.readmit()

    def close(self) -> None:
        """Let go of the storage's files and connections; they are opened again when needed."""
        self._journal.storage.close()

    def refresh(self) -> Self:
        """Return the study with all that other processes have added to its storage."""
        self._journal.catch_up()
        return self

    @property
    def _ruled_out(self) -> BoolArray | None:
        """[alternative, context] whether a pair was set aside without a single value; None where none was."""
        return self._journal.ledger.ruled_out

    @property
    def _tally(self) -> tallies.Tally:
        """The tally with larger being better."""
        return self._journal.ledger.tally

    @property
    def _records(self) -> Sequence[Told]:
        return self._journal.ledger.records

    def _learned(self) -> Knowledge:
        return self.view().knowledge

"""Study: the one stateful class. It asks for trials, is told their values, and answers per context."""

import uuid
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from argbest import registry, streams
from argbest.checks import flag, indifference_zone, whole
from argbest.core import tally as tallies
from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate
from argbest.errors import InputError, TrialError
from argbest.models.base import Model
from argbest.policies.base import Policy
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.design import design
from argbest.study import frames, runner
from argbest.study.learning import Knowledge, learn
from argbest.study.progress import Progress
from argbest.study.stopping import Stop
from argbest.study.trial import Record, Trial, Value, record

PENDING, TOLD, FAILED = "pending", "told", "failed"
CERTIFICATE_DRAWS = 4096
CERTIFICATE_NUMBERS = 2**22  # no more random numbers than this, so large problems get fewer draws


class Study:
    """A sequential simulation study of one problem.

    ``policy`` and ``model`` are registry names or objects. ``initial`` is the initial design: a number of
    replications of every pair, `RandomContexts`, or a list of (alternative, context). Hyper-parameters are
    refreshed every ``refit_every`` observations. With ``common_random_numbers`` the n-th replication of every
    alternative in a context has the same seed.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        policy: str | Policy = "gp-c-ocba",
        model: str | Model[Any] | None = None,
        initial: object = 2,
        seed: int = 0,
        refit_every: int = 10,
        common_random_numbers: bool = False,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InputError(f"a study needs an argbest.Problem, got {type(problem).__name__}.")
        self.problem = problem
        self.seed = whole("seed", seed, at_least=0, below=2**64)
        self.refit_every = whole("refit_every", refit_every, at_least=1)
        self.common_random_numbers = flag("common_random_numbers", common_random_numbers)
        self.policy, self.model = registry.choose(policy, model)
        self.model.check(problem.shape, problem.setting)
        self._name = uuid.uuid4().hex
        generator = streams.generator(self.seed, streams.Purpose.DESIGN)
        self._queue = design(initial).pairs(problem, generator)
        self._trials: list[Trial] = []
        self._status: list[str] = []
        self._reasons: dict[int, str] = {}
        self._records: list[Record] = []
        self._tally = tallies.empty(problem.shape)
        self._asked = np.zeros(problem.shape, np.int64)
        self._pending = np.zeros(problem.shape, np.int64)
        self._begun = False
        self._knowledge: Knowledge | None = None
        self._view: Knowledge | None = None

    def __repr__(self) -> str:
        size = "{} alternatives x {} contexts".format(*self.problem.shape)
        return f"<Study of {self.problem.name!r}: {size}, {self.n_observations} observations>"

    @property
    def n_observations(self) -> int:
        """Replications told so far."""
        return int(self._tally.count.sum())

    @property
    def n_waiting(self) -> int:
        """Pairs of the initial design not yet asked for."""
        return len(self._queue)

    @property
    def tally(self) -> tallies.Tally:
        """Count, mean and sum of squared deviations of every pair."""
        return self._tally if self.problem.sign > 0 else tallies.negated(self._tally)

    def ask(self, n: int = 1, *, context: object = None) -> list[Trial]:
        """Return n trials to simulate: what is left of the initial design, then the policy's choice.

        With ``context`` all of them lie in that context. Trials under way are taken into account.
        """
        n = whole("n", n, at_least=1)
        only = None if context is None else self.problem.contexts.index(context)
        fitting = (
            [i for i, pair in enumerate(self._queue) if pair[1] == only] if context is not None else None
        )
        taken = range(min(n, len(self._queue))) if fitting is None else fitting[:n]
        due = [self._queue[i] for i in taken]
        chosen = due + (self._decide(n - len(due), due, only) if len(due) < n else [])
        for i in reversed(taken):
            del self._queue[i]
        return [self._issue(k, c) for k, c in chosen]

    def tell(self, trial: Trial | int, value: Value) -> None:
        """Record the value of a trial: a number, a list of replications, or a tuple (mean, variance, n).

        Nothing is fitted here; the next `ask` does that when it is due.
        """
        self._take_in(record(self._open(trial), value))

    def fail(self, trial: Trial | int, reason: str) -> None:
        """Record that a trial gave no value; it is not asked again by itself."""
        asked = self._open(trial)
        self._reasons[asked.id] = str(reason)
        self._close(asked, FAILED)

    def run(
        self,
        budget: int,
        *,
        progress: bool | Progress = False,
        stop: Stop | None = None,
    ) -> "Study":
        """Return the study, run until it holds ``budget`` observations in all or ``stop`` is met.

        ``stop`` is a rule such as `ExpectedPCS(0.95)` or a function of the study; it is asked whenever the
        hyper-parameters are refreshed. ``progress`` shows a bar, or is called with (done, budget).
        """
        runner.run(self, budget, progress=progress, stop=stop)
        return self

    def selection(self) -> pd.DataFrame:
        """Return one row per context: selected, runner_up, mean, gap, gap_sd, p_best, expected_loss."""
        return frames.of_selection(self.problem, self.problem.contexts, self._belief())

    def allocation(self) -> pd.DataFrame:
        """Return one row per pair: how many replications it got, their mean and standard deviation."""
        return frames.of_allocation(self.problem, self._tally, self._pending)

    def observations(self) -> pd.DataFrame:
        """Return one row per replication told, with its trial and seed."""
        return frames.of_observations(self.problem, self._records)

    def trials(self) -> pd.DataFrame:
        """Return one row per trial asked: its status (pending, told, failed) and the reason of a failure."""
        return frames.of_trials(self.problem, self._trials, self._status, self._reasons)

    def certificate(self, delta: float = 0.0) -> Certificate:
        """Return how sure the selections are; within ``delta`` of the best counts as right."""
        zone = indifference_zone(delta)
        return Certificate(self._belief(), self.problem.weights, self._normals, zone)

    def predict(self, contexts: object) -> pd.DataFrame:
        """Return the rows of `selection` for any contexts, simulated or not.

        ``extrapolated`` marks those out of the bounds of the problem's contexts.
        """
        rows = self.problem.contexts.rows(contexts)
        frame = frames.of_selection(self.problem, rows, self._belief_at(rows))
        frame["extrapolated"] = self.problem.contexts.outside(rows, self.problem.bounds)
        return frame

    def predict_proba(self, contexts: object) -> pd.DataFrame:
        """Return P(each alternative is best), a row per context given and a column per alternative."""
        rows = self.problem.contexts.rows(contexts)
        return frames.of_probabilities(self.problem, rows, self._belief_at(rows))

    def _belief(self) -> Belief:
        """Return the belief (larger is better) given all that was told.

        Looking changes nothing: only `ask` moves the refit schedule on.
        """
        if not self._records:
            raise InputError("nothing is known yet: tell the value of at least one trial first.")
        return self._learned().belief

    def _belief_at(self, rows: Axis) -> Belief:
        self._belief()
        separation = self.problem.contexts.separation(self.problem.bounds, rows)
        return self.model.predict(self._tally, self.problem.setting, self._learned().params, separation)

    @cached_property
    def _normals(self) -> Array:
        """The draws behind every certificate's joint probability, the same for all of them."""
        draws = max(64, min(CERTIFICATE_DRAWS, CERTIFICATE_NUMBERS // self._tally.count.size))
        generator = streams.generator(self.seed, streams.Purpose.CERTIFICATE)
        return generator.standard_normal((draws, *self.problem.shape))

    def _learned(self) -> Knowledge:
        if self._view is None or self._view.n_records != len(self._records):
            self._view = learn(
                self.model,
                self.problem.setting,
                self._knowledge,
                self._tally,
                self._records,
                refit_every=self.refit_every,
                sign=self.problem.sign,
            )
        return self._view

    def _decide(self, n: int, due: list[tuple[int, int]], only: int | None) -> list[tuple[int, int]]:
        self._knowledge = self._learned()
        self._begin()
        pending = self._pending.copy()
        np.add.at(pending, tuple(np.array(due, np.int64).reshape(-1, 2).T), 1)
        setting = self.problem.setting
        if only is not None:
            setting = replace(setting, allowed=np.arange(self.problem.n_contexts) == only)
        draws = streams.Draws(self.seed, streams.Purpose.POLICY, step=len(self._trials))
        decision = self.policy.propose(self._knowledge.belief, self._tally, pending, setting, draws, n)
        return list(zip(decision.alternative.tolist(), decision.context.tolist(), strict=True))

    def _begin(self) -> None:
        """Let a policy that asks for it fix what it wants to fix when the initial design is in."""
        begin = getattr(self.policy, "begin", None)
        if begin is not None and not self._begun and not self._queue and not self._pending.any():
            self.policy, self._begun = begin(self.problem.setting, self._tally), True

    def _issue(self, k: int, c: int) -> Trial:
        trial = Trial(
            id=len(self._trials),
            alternative=self.problem.alternatives.item(k),
            context=self.problem.contexts.item(c),
            replication=int(self._asked[k, c]),
            seed=self._seed(k, c, int(self._asked[k, c])),
            pair=(k, c),
            study=self._name,
        )
        self._trials.append(trial)
        self._status.append(PENDING)
        self._asked[k, c] += 1
        self._pending[k, c] += 1
        return trial

    def _seed(self, k: int, c: int, replication: int) -> int:
        n_alternatives, n_contexts = self.problem.shape
        cell, n_cells = k * n_contexts + c, n_alternatives * n_contexts
        if self.common_random_numbers:
            cell, n_cells = c, n_contexts
        return int(streams.cell_seed(self.seed, cell, replication, n_cells=n_cells))

    def _open(self, trial: Trial | int) -> Trial:
        """Return the pending trial meant, or say why there is none."""
        if isinstance(trial, Trial) and trial.study != self._name:
            raise TrialError(
                f"{trial} was asked by another study; tell it to the study whose `ask` returned it."
            )
        number = trial.id if isinstance(trial, Trial) else trial
        known = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not known or not 0 <= number < len(self._trials):
            raise TrialError(
                f"unknown trial {trial!r}; this study has asked {len(self._trials)} trials. "
                "Pass a trial that `ask` returned, or its id."
            )
        if self._status[number] != PENDING:
            raise TrialError(
                f"{self._trials[number]} is {self._status[number]} already; "
                "each trial is told once. Ask for a new one to add a replication."
            )
        return self._trials[number]

    def _take_in(self, entry: Record) -> None:
        mean = np.asarray(self.problem.sign * entry.mean)
        self._tally = tallies.add(self._tally, entry.trial.decision, mean, n=entry.n, m2=entry.m2)
        self._records.append(entry)
        self._close(entry.trial, TOLD)

    def _close(self, trial: Trial, status: str) -> None:
        self._status[trial.id] = status
        self._pending[trial.pair] -= 1

    def _retract(self, trial: Trial, *, of_design: bool) -> None:
        """Undo the last ask, of this trial alone: the study is as if it had never been asked."""
        del self._trials[trial.id :], self._status[trial.id :]
        self._asked[trial.pair] -= 1
        self._pending[trial.pair] -= 1
        if of_design:
            self._queue.insert(0, trial.pair)

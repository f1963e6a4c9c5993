"""Study: the one stateful class. It asks for trials, is told their values, and answers per context."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest import defaults, registry
from argbest.checks import finite, flag, indifference_zone, not_negative, path_of, whole
from argbest.core import schedule
from argbest.core import tally as tallies
from argbest.core.arrays import BoolArray
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate
from argbest.core.states import usual_delta
from argbest.errors import InputError, StorageError
from argbest.lazy import later
from argbest.models.base import Model, params_type
from argbest.options import Given
from argbest.policies.base import Policy
from argbest.problems.axis import Item
from argbest.problems.base import Problem, Simulate
from argbest.storage import damage
from argbest.storage.address import concealed, shown
from argbest.storage.base import Plain, Storage
from argbest.storage.opening import opened
from argbest.study import answers, definition, guarantee, runner
from argbest.study.guarantee import Guarantee
from argbest.study.journal import BY_HAND, Journal
from argbest.study.learning import Knowledge
from argbest.study.limits import Limits, Means
from argbest.study.progress import Progress
from argbest.study.stopping import Stop
from argbest.study.tracking import OnResult
from argbest.study.trial import Record, Trial, Value, record, summary

if TYPE_CHECKING:
    import pandas as pd

    from argbest.report.notebook import Plots
    from argbest.study import (
        forecasting,
        frames,
        history,
        model_check,
        model_summary,
        posterior,
        predicting,
    )
else:  # they make frames, and whoever asks and tells needs none
    forecasting, frames, history, model_check, model_summary, posterior, predicting = (
        later(f"argbest.study.{name}")
        for name in (
            "forecasting",
            "frames",
            "history",
            "model_check",
            "model_summary",
            "posterior",
            "predicting",
        )
    )


class Study:
    """A sequential simulation study of one problem.

    ``policy`` and ``model`` are registry names, with options if you like ("top-two:beta=0.3" or {"name":
    "top-two", "beta": 0.3}), or objects. ``initial`` is the initial design: "auto" chooses
    one by the budget when the first trials are asked for (`argbest.problems.automatic`); or a number of
    replications of every pair, `RandomContexts`, or a list of (alternative, context). Hyper-parameters are
    refreshed every ``refit_every`` observations. With ``common_random_numbers`` the n-th replication of every
    alternative in a context has the same seed: noise that alternatives share then cancels. ``cost`` is what a
    replication of each pair costs, a table [alternative, context], or "measured": learned from run times;
    policies then weigh value per cost. ``storage`` keeps the study: None in memory, a file (SQLite), or the
    URL of a database, where ``name`` tells it from others; `Study.load` goes on with it. ``plan`` holds the
    options of `run` that other workers of the stored study should use, as `argbest worker` does.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        policy: Given | Policy = defaults.POLICY,
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
            problem,
            chosen_policy,
            chosen_model,
            seed=whole("seed", seed, at_least=0, below=2**64),
            initial=initial,
            refit_every=schedule.checked("refit_every", refit_every),
            common_random_numbers=flag("common_random_numbers", common_random_numbers),
            cost=cost,
            plan=plan,
        )
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
    ) -> "Study":
        """Return the study kept in a storage, to go on with.

        ``simulate`` is its simulator, where that was a function of your own; so with a policy or a model.
        """
        study = cls.__new__(cls)
        with opened(storage, name=name) as kept:
            stored = kept.definition()
            if stored is None:
                raise StorageError(
                    f"there is no study {name!r} in {shown(storage)}; make it with Study(..., storage=)."
                )
            with damage.explained("the definition of the study"):
                stored = definition.modern(stored, notify=model is None)
                problem, chosen_policy, chosen_model = definition.restored(stored, simulate, policy, model)
                study._open(kept, stored, problem, chosen_policy, chosen_model)
        return study

    @classmethod
    def from_observations(cls, frame: "pd.DataFrame", **options: Any) -> "Study":
        """Return a study that has been told runs made elsewhere; `ask` says where the next should go.

        Options: the columns ``alternative``, ``context``, ``value`` and ``replication`` (which runs shared
        random numbers), ``goal``, ``categorical`` columns,
        ``bins`` for contexts that never repeat, and those of `Study`; see
        `argbest.study.posthoc.from_observations`.
        """
        from argbest.study import posthoc  # which makes studies, so it imports this module

        return posthoc.from_observations(frame, **options)

    def _open(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        self.problem = problem
        self.seed: int = stored["seed"]
        self.refit_every: int | str = stored["refit_every"]
        self.common_random_numbers: bool = stored["common_random_numbers"]
        self.definition = stored
        self._journal = Journal(storage, stored, problem, policy, model)
        self._kept: answers.Answers | None = None

    def __repr__(self) -> str:
        size = "{} alternatives x {} contexts".format(*self.problem.shape)
        return f"<Study of {self.problem.name!r}: {size}, {self.n_observations} observations>"

    def _repr_html_(self) -> str:
        from argbest.report.notebook import of_study

        return of_study(self)

    @property
    def plot(self) -> "Plots":
        """The pictures: ``study.plot()`` is the policy map, ``study.plot.profiles()`` another, and so on."""
        from argbest.report.notebook import Plots

        return Plots(self)

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
    def n_waiting(self) -> int:
        """Pairs of the initial design not yet asked for; where it is still open, as `ask` would fix it."""
        journal = self._journal
        if journal.ledger.design is None:
            return journal.automatic().size(self.problem)
        return len(journal.ledger.queue)

    @property
    def initial_design(self) -> str:
        """What the study simulates before its policy decides, and why, in words; "" until that is fixed."""
        ledger = self._journal.ledger
        given = "" if ledger.design is None else f"{len(ledger.design):,} replications, as given"
        return ledger.design_reason or given

    @property
    def tally(self) -> tallies.Tally:
        """Count, mean and sum of squared deviations of every pair."""
        return self._tally if self.problem.sign > 0 else tallies.negated(self._tally)

    @property
    def set_aside(self) -> list[tuple[Item, Item]]:
        """The pairs (alternative, context) that failed again and again; they are not asked for any more."""
        problem = self.problem
        return [
            (problem.alternatives.item(k), problem.contexts.item(c))
            for k, c in np.argwhere(self._journal.ledger.set_aside).tolist()
        ]

    def ask(self, n: int = 1, *, context: object = None) -> list[Trial]:
        """Return n trials to simulate: what is left of the initial design, then the policy's choice.

        With ``context`` all of them lie in that context. Trials under way are taken into account; those
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
        """Record what a trial gave: a number, a list or array of replications, or their summary by keywords.

        A summary is the ``mean`` of ``n`` replications and the ``variance`` of one of them, with divisor
        n − 1; a single replication has none. ``seconds`` is how long the simulation took. Nothing is fitted
        here; the next `ask` does that when it is due.
        """
        took = None if seconds is None else not_negative("seconds", seconds)
        asked = self._journal.open(trial)
        if mean is None and variance is None and n is None:
            entry = record(asked, value)
        elif value is None:
            entry = summary(asked, mean=mean, variance=variance, n=n)
        else:
            raise InputError(f"`tell` got a value and a summary for {asked}. Give one of them.")
        self._journal.tell(entry, seconds=took)

    def fail(self, trial: Trial | int, reason: str, *, seconds: float | None = None) -> None:
        """Record that a trial gave no value; it is not asked again by itself."""
        took = None if seconds is None else not_negative("seconds", seconds)
        self._journal.fail(self._journal.open(trial), str(reason), again=False, seconds=took)

    def pending(self) -> list[Trial]:
        """Return the trials under way, for example those a process that ended has left behind."""
        ledger = self._journal.ledger
        return [ledger.trials[i] for i in sorted(ledger.held)]

    def give_back(self, trial: Trial | int) -> None:
        """Return a trial that nobody simulates any more; the next `ask` hands it out again, seed and all."""
        self._journal.give_back([self._journal.open(trial).id])

    @property
    def plan(self) -> Mapping[str, Any]:
        """The options of `run` that were stored with the study, as plain values."""
        stored: Mapping[str, Any] = self.definition["plan"]
        return stored

    def readmit(self) -> None:
        """Ask for the pairs set aside again, for example with a mended simulator."""
        self._journal.readmit()

    def close(self) -> None:
        """Let go of the storage's files and connections; they are opened again when needed."""
        self._journal.storage.close()

    def refresh(self) -> "Study":
        """Return the study with all that other processes have added to its storage."""
        self._journal.catch_up()
        return self

    def run(
        self,
        budget: int | None = None,
        *,
        seconds: float | None = None,
        workers: int | None = None,
        executor: Executor | None = None,
        batch: int = 1,
        timeout: float | None = None,
        confirm: float = 0.0,
        on_failure: str = "raise",
        progress: bool | Progress = False,
        on_result: OnResult | None = None,
        stop: Stop | None = None,
    ) -> "Study":
        """Return the study, run until it holds ``budget`` observations in all or ``stop`` is met.

        ``seconds`` limits the simulation time of all runs together. ``workers`` processes, or an ``executor``
        (any of `concurrent.futures`' kind), simulate at once, each up to ``batch`` trials at a time, none
        longer than ``timeout`` seconds. The share ``confirm`` of the budget is reserved for the leaders of
        undecided contexts. ``on_failure="raise"`` ends the run at the first failure and keeps the trial for
        the next one; "record" goes on and sets aside pairs that fail again and again. ``stop`` is a rule such
        as `ExpectedPCS(0.95)` or a function of the study; it is asked whenever the hyper-parameters are
        refreshed. ``progress`` shows a bar, or is called with (done, budget). ``on_result`` is called with
        (trial, value) once a value is kept; if it raises, a warning says so once, and the run goes on.
        """
        limits = Limits(budget, seconds, confirm, stop)
        means = Means(workers, executor, batch, timeout, on_failure)
        runner.run(self, limits, means, progress, on_result)
        return self

    def selection(self, *, delta: float | None = None) -> "pd.DataFrame":
        """Return one row per context: selected, runner_up, mean, gap, gap_sd, p_best, expected_loss, state.

        The state is "sure" where P(best) is at least 0.95, "equal" where that is not so but the selected one
        is within ``delta`` of the best with that probability, and "open" otherwise. By default delta is what
        `indifference` returns.
        Alternatives with columns of their own come as columns too: selected.servers, selected.beds. A pair
        that was set aside without a single value is not selected; where that happened a column ``note`` says
        so. Where every alternative failed there is no answer: selected is None and the numbers are NaN.
        """
        zone, contexts = self.indifference(delta), self.problem.contexts
        return frames.of_selection(self.problem, contexts, self.certificate(), self._ruled_out, zone)

    def indifference(self, delta: float | None = None) -> float:
        """Return the difference that does not matter: as given, or 1/100 of the range of posterior means."""
        return usual_delta(self._learned().belief.mean) if delta is None else indifference_zone(delta)

    def alternative(self, label: object) -> Item:
        """Return an alternative as the simulator receives it, named by its label or its row.

        For example that of ``selection()["selected"][0]``: the label itself, or a dict of its columns.
        """
        alternatives = self.problem.alternatives
        return alternatives.item(alternatives.index(label))

    def allocation(self) -> "pd.DataFrame":
        """Return one row per pair: how many replications it got, their mean and standard deviation."""
        return frames.of_allocation(self.problem, self._tally, self._journal.ledger.pending)

    def observations(self) -> "pd.DataFrame":
        """Return one row per replication told, with its trial and seed."""
        return frames.of_observations(self.problem, self._records)

    def trials(self, *, details: bool = False) -> "pd.DataFrame":
        """Return one row per trial asked: its status and the reason of a failure.

        It is pending, waiting (given back, to be asked for again), told or failed. With ``details`` also who
        had it, when it was asked for and ended, and how many seconds it took.
        """
        ledger = self._journal.ledger
        frame = frames.of_trials(self.problem, ledger)
        return frames.with_details(frame, ledger) if details else frame

    def history(self, points: int = 12) -> "pd.DataFrame":
        """Return how the certificate developed: a row per checkpoint, with 90 % posterior intervals."""
        return history.of_study(self, points=points)

    def forecast(
        self, target: float = 0.95, *, worst: bool = False, delta: float = 0.0
    ) -> "forecasting.Forecast":
        """Return how many more replications it takes until the certificate reaches ``target``, with a range.

        The figure is PCS_E, or with ``worst`` that of the worst context; within ``delta`` of the best counts
        as right. See `argbest.study.forecasting`.
        """
        return forecasting.of_study(self, target, worst=worst, delta=delta)

    def model_check(self) -> "model_check.ModelCheck":
        """Return how well each pair is predicted from all others, and whether the model fits."""
        return model_check.of_study(self)

    def model_summary(self) -> "model_summary.ModelSummary":
        """Return what the model found: how much its parts vary, and over what distances."""
        return model_summary.of_study(self)

    def posterior(self, contexts: object = None) -> "pd.DataFrame":
        """Return the belief about every alternative at the contexts, or at others given."""
        return posterior.of_study(self, contexts)

    def report(self, path: str | PathLike[str], *, command: str = "") -> Path:
        """Return the path of one self-contained HTML page, written there: answer, certainty, how it was got.

        ``command`` is shown as what made the study.
        """
        from argbest.report.page import write_report  # a look upwards: readers expect it here

        return write_report(self, path_of("path", path), command=concealed(command))

    def certificate(self, delta: float = 0.0, *, integrate: bool = True) -> Certificate:
        """Return how sure the selections are; within ``delta`` of the best counts as right.

        What is not known of hyper-parameters and noise is averaged over; ``integrate=False`` takes the
        estimates for known.
        """
        zone, averaged = indifference_zone(delta), flag("integrate", integrate)
        return answers.of_study(self).certificate(zone, integrate=averaged)

    def guarantee(self, alpha: float = guarantee.ALPHA, delta: float = 0.0) -> Guarantee:
        """Return what the data alone certify with confidence 1 − alpha, whatever the model believes.

        That every selected alternative is within ``delta`` of the best of its context; 0: that it is the
        best. It may be asked at any time and under any policy: the bounds hold at every sample size at once.
        They rest on normal rewards, or on `Problem(reward_range=...)` alone where one is given.
        Replications count in the order of their numbers. Summaries have no order and are not counted. If
        whether a replication fails depends on its reward, the guarantee is about those that do not fail.
        """
        error = finite("alpha", alpha, above=0, below=1)
        return guarantee.of_study(self, error, indifference_zone(delta))

    def predict(self, contexts: object, *, integrate: bool = True) -> "pd.DataFrame":
        """Return the rows of `selection` for any contexts, simulated or not; ``integrate`` as `certificate`.

        ``extrapolated`` marks those out of the bounds of the problem's contexts, or with a category that none
        of these has; of such a category an `ExtrapolationNotice` warns.
        """
        found = predicting.predicted(self, contexts, integrate=flag("integrate", integrate))
        frame = frames.of_selection(self.problem, *found, self.indifference())
        frame["extrapolated"] = self.problem.contexts.outside(found.rows, self.problem.bounds)
        return frame

    def predict_proba(self, contexts: object, *, integrate: bool = True) -> "pd.DataFrame":
        """Return P(each alternative is best), a row per context given and a column per alternative."""
        found = predicting.predicted(self, contexts, integrate=flag("integrate", integrate))
        return frames.of_probabilities(self.problem, found.rows, found.certificate)

    def _belief(self) -> Belief:
        """Return the belief (larger is better) that selects, with what is ruled out far below.

        Looking changes nothing: only `ask` moves the refit schedule on.
        """
        return answers.of_study(self).belief

    @property
    def _ruled_out(self) -> BoolArray | None:
        """[alternative, context] whether a pair was set aside without a single value; None where none was."""
        return self._journal.ledger.ruled_out

    @property
    def _tally(self) -> tallies.Tally:
        """The tally with larger being better."""
        return self._journal.ledger.tally

    @property
    def _records(self) -> Sequence[Record]:
        return self._journal.ledger.records

    def _learned(self) -> Knowledge:
        if not self._records:
            raise InputError("nothing is known yet: tell the value of at least one trial first.")
        return self._journal.learned()

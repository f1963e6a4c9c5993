"""Study, the one stateful class: it asks for trials, is told their values, keeps both, and answers."""

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from argbest.checks import finite, flag, indifference_zone, not_negative, one_of, path_of, whole
from argbest.core import tally as tallies
from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate
from argbest.core.pareto import read_pareto
from argbest.core.states import LEVEL
from argbest.errors import DataNotice, InputError, StorageError, warn_of_old_name
from argbest.lazy import later
from argbest.models.base import Model, params_type
from argbest.options import ALPHA, POLICY, Given
from argbest.policies.base import Policy
from argbest.problems.axis import Item
from argbest.problems.base import Problem, Simulate
from argbest.storage.base import Plain, Revised, Storage, Told, Worker, explained
from argbest.storage.opening import concealed, defined, opened
from argbest.study import definition, revising
from argbest.study.journal import BY_HAND, Journal, Request
from argbest.study.learning import Knowledge
from argbest.study.rewards import end_of_rate
from argbest.study.run_options import OnResult, Progress, Resources, RunEnd, Stop
from argbest.study.trial import Trial, Value, record, summary
from argbest.study.view import View

if TYPE_CHECKING:
    import pandas as pd

    from argbest.answers import (
        answering,
        doubts,
        forecasting,
        frames,
        guarantee,
        model_check,
        model_summary,
        normality,
        overview,
        pareto,
        predicting,
    )
    from argbest.answers import people as people_
    from argbest.posthoc import observed
    from argbest.posthoc import prior_runs as posthoc_prior_runs
    from argbest.posthoc.columns import Bins
    from argbest.report.notebook import Plots
    from argbest.study import runner
else:  # mostly rooms above this one: asking and telling needs none of them
    answering, doubts, forecasting, frames, guarantee = (
        later(f"argbest.answers.{name}")
        for name in ("answering", "doubts", "forecasting", "frames", "guarantee")
    )
    model_check, model_summary, normality, overview = (
        later(f"argbest.answers.{name}") for name in ("model_check", "model_summary", "normality", "overview")
    )
    pareto, people_, predicting = (
        later(f"argbest.answers.{name}") for name in ("pareto", "people", "predicting")
    )
    observed, runner = later("argbest.posthoc.observed"), later("argbest.study.runner")
    posthoc_prior_runs = later("argbest.posthoc.prior_runs")


class Study:
    """A sequential simulation study of one problem.

    Args:
        problem: What is to be simulated: alternatives, contexts, simulator and goal.
        question (name or question): What is to be chosen (`argbest.questions`), by default what the problem
            asks; the policy decides for it, and `Study.answer` answers it.
        policy: The rule that says what to simulate next: a name, with options if you like ("top-two:beta=0.3"
            or {"name": "top-two", "beta": 0.3}), or an object.
        model: What turns results into a belief, named as the policy is; by default the one that the policy is
            usually used with.
        initial (number, design or list of pairs): What is simulated before the policy decides: "auto" chooses
            by the budget, a number is that of replications of every pair; or a design such as
            `RandomContexts`, or (alternative, context) pairs.
        seed: The root of all random numbers of the study.
        refit_every: After how many replications the model's hyper-parameters are learned again; "auto": as
            the model asks.
        common_random_numbers: Whether the n-th replication of every alternative in a context has the same
            seed, so that noise which alternatives share cancels; None: yes, unless there are limits.
        cost (table or "measured"): What a replication of each pair costs, [alternative, context], or
            "measured": learned from run times; policies then weigh value per cost.
        prior_runs (DataFrame): Runs of an earlier source to begin with, a row each: old data, or another
            version of the simulator; a column "source" names several. The model learns how far each can be
            relied on; answers, certificates and budgets are about the simulator of this study alone.
        storage: Where the study is kept: None in memory, a file (SQLite), the URL of a database, or a
            storage.
        name: What tells this study from others in the same storage.
        load_if_exists: Whether a study of that name is continued where there is one; it must be the same
            study.
        plan: The options of `run` that other workers of the stored study should use, as `argbest worker`
            does.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        question: object = None,
        policy: Given | Policy = POLICY,
        model: Given | Model[Any] | None = None,
        initial: object = "auto",
        seed: int = 0,
        refit_every: int | str = "auto",
        common_random_numbers: bool | None = None,
        cost: object = None,
        prior_runs: "pd.DataFrame | None" = None,
        storage: str | PathLike[str] | Storage | None = None,
        name: str = "study",
        load_if_exists: bool = False,
        plan: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            hint = (
                " `argbest.registry.problem(name)` makes one of the name of a shipped problem."
                if isinstance(problem, str)
                else ""
            )
            raise InputError(f"a study needs an argbest.Problem, got {type(problem).__name__}.{hint}")
        if prior_runs is not None:
            problem = posthoc_prior_runs.beginning_with(problem, prior_runs, level=2)
        options = definition.Options.read(
            problem, question=question, policy=policy, model=model, initial=initial, seed=seed,
            refit_every=refit_every, common_random_numbers=common_random_numbers, cost=cost,
        )  # fmt: skip
        problem, stored = options.problem, options.plain(plan)
        if storage is not None:
            params_type(options.model)
        existing = flag("load_if_exists", load_if_exists)
        with opened(storage, name=name) as kept:
            try:
                kept.create(stored)
            except StorageError:
                if not existing or kept.definition() is None:
                    raise
                self._open_the_same(kept, stored, problem, options, name)
            else:
                self._open(kept, stored, problem, options.policy, options.model)

    @classmethod
    def from_observations(
        cls,
        frame: "pd.DataFrame",
        *,
        alternative: str | Sequence[str] = "alternative",
        context: str | Sequence[str] = "context",
        value: str | Sequence[str] | None = None,
        replication: str | None = None,
        goal: str = "max",
        limits: object = None,
        price: float | None = None,
        weights: object = None,
        bounds: object = None,
        categorical: object = (),
        bins: "Bins" = None,
        contexts: object = None,
        unit: object = None,
        reward_range: object = None,
        rate: object = False,
        dropna: bool = False,
        source: str | None = None,
        target: object = None,
        simulate: Simulate | None = None,
        title: str = "runs",
        policy: Given | Policy = POLICY,
        model: Given | Model[Any] | None = None,
        seed: int = 0,
        refit_every: int | str = "auto",
        common_random_numbers: bool | None = None,
        cost: object = None,
        storage: str | PathLike[str] | Storage | None = None,
        name: str = "study",
    ) -> "Study":
        """Return a study that has been told runs made elsewhere; `ask` says where the next should go.

        Contexts may be others in every run: they are then a population (`Population`), and of very many runs
        each context stands for a group of near ones. `tell_frame` adds more rows later.

        Args:
            frame: The runs, a row each.
            alternative: The column, or columns, that describe the alternative.
            context: The column, or columns, that describe the context.
            value: The column of the rewards, or one column for each response; by default those that the goal
                and the limits name, or "value" if they name none.
            replication: The column that says which runs of a context shared random numbers.
            goal: What is to be large or small: "max", "min", or with several responses "min cost" or "min
                cost + 0.2 * wait".
            limits (text or list of texts): What a choice must keep, such as "late <= 0.05".
            price: What it costs to break a limit, in units of the goal; by default what is at stake in a
                context.
            weights (list or dict): How much each context counts; by default all alike.
            bounds (pair, dict or list of pairs): The range of the context coordinates; by default their
                extremes.
            categorical (names of columns): Columns whose numbers are only identifiers.
            bins: Into which groups contexts are put, by column: how many, or where to cut.
            contexts (table): What the answer shall be about, if not the contexts of the runs.
            unit (text, or dict by name): The unit of the goal, "minutes", or units by name: of "reward" (the
                goal), of responses, and of columns of the alternatives and the contexts.
            reward_range (pair, or dict by response): An interval that holds every single reward; values
                outside it are refused, and `Study.guarantee` then needs no normal rewards.
            rate (bool, or names of responses): Whether every single reward is 0 or 1, so that its mean is a
                rate; all other values are refused.
            dropna: Whether incomplete rows are left out.
            source: The column that says which source a run is from, where there are several.
            target (label): The source that the answer is about; runs of the others are prior runs.
            simulate: What runs further replications, if any are wanted.
            title: The name of the problem, for reports and pictures.
            policy: The rule that says what to simulate next: a name, with options if you like
                ("top-two:beta=0.3" or {"name": "top-two", "beta": 0.3}), or an object.
            model: What turns results into a belief, named as the policy is; by default the one that the
                policy is usually used with.
            seed: The root of all random numbers of the study.
            refit_every: After how many replications the model's hyper-parameters are learned again; "auto":
                as the model asks.
            common_random_numbers: Whether runs of equal number shared random numbers; by default they did if
                a replication column is named.
            cost (table or "measured"): What a replication of each pair costs, [alternative, context], or
                "measured": learned from run times; policies then weigh value per cost.
            storage: Where the study is kept: None in memory, a file (SQLite), the URL of a database, or a
                storage.
            name: What tells this study from others in the same storage.
        """
        runs = posthoc_prior_runs.observe_target(
            frame, source=source, target=target,
            alternative=alternative, context=context, value=value, replication=replication, goal=goal,
            limits=limits, price=price, weights=weights, bounds=bounds, categorical=categorical, bins=bins,
            contexts=contexts, unit=unit,
            reward_range=reward_range, rate=rate, dropna=dropna, simulate=simulate, name=title,
        )  # fmt: skip
        population = runs.problem.population
        if population is not None and population.represented is not None:
            warnings.warn(runs.notes[-1], DataNotice, stacklevel=2)
        return runs.study(
            policy=policy, model=model, seed=seed, refit_every=refit_every,
            common_random_numbers=common_random_numbers, cost=cost, storage=storage, name=name,
        )  # fmt: skip

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

        Args:
            storage: Where it is kept: a file (SQLite), the URL of a database, or a storage.
            name: What tells this study from others in the same storage.
            simulate: The simulator, needed again if it was a plain function.
            policy: The policy, needed again if it was an object of your own.
            model: The model, needed again if it was an object of your own.
        """
        study = cls.__new__(cls)
        with opened(storage, name=name) as kept:
            stored = defined(kept, name, storage)
            with explained("the definition of the study"):
                stored = definition.modern(stored, notify=model is None)
                problem, chosen_policy, chosen_model = definition.restored(stored, simulate, policy, model)
                study._open(kept, stored, problem, chosen_policy, chosen_model)
        return study

    def _open_the_same(
        self, storage: Storage, described: Plain, problem: Problem, options: definition.Options, name: str
    ) -> None:
        """Open the study that the storage already has; an error if it is not the one described."""
        stored = defined(storage, name, storage)
        with explained("the definition of the study"):
            stored = definition.modern(stored, notify=True)
            chosen = definition.restored(stored, problem.simulate, options.policy, options.model)
            found = definition.differences(stored, described, says="given is")
            if not found or not definition.differences(stored, described, rows=False):
                self._open(storage, stored, *chosen)
                if found:  # it may have got the rows described since it began
                    now = definition.grown(stored, self.problem, described)
                    found = definition.differences(now, described, says="given is")
        if found:
            raise InputError(
                f"the stored study {name!r} is another one: {'; '.join(found)}. Only the name of the "
                "problem, the simulator and the plan may differ. Correct the options, or give another "
                "name. To add rows, load the study and call `take_over(problem)`."
            )

    def _open(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        """Set all that a study holds, from its definition."""
        self.seed: int = stored["seed"]
        self.refit_every: int | str = stored["refit_every"]
        self.common_random_numbers: bool = stored["common_random_numbers"]
        self.definition = stored
        self._journal = Journal(storage, stored, problem, policy, model)
        self._view: View | None = None
        self._warned: set[str] = set()  # kinds of notices that are given once, and were

    def __repr__(self) -> str:
        size = "{} alternatives x {} contexts".format(*self.problem.in_use)
        return f"<Study of {self.problem.name!r}: {size}, {self.n_replications} replications>"

    def __str__(self) -> str:
        """Return the study in a line; where contexts are a population, with its rule and groups below."""
        population = self.problem.population
        if population is None or not self.n_replications:
            return repr(self)
        return "\n".join(
            [
                f"{self.problem.name}: {population.words}; {self.n_replications:,} replications",
                *people_.in_words(self.view()),
                "`predict(people)` chooses for anybody, `check_population()` checks on people never seen.",
            ]
        )

    def _repr_html_(self) -> str:
        from argbest.report.notebook import of_study

        return of_study(self)

    @property
    def problem(self) -> Problem:
        """The problem; responses that it does not declare are named by the first result."""
        return self._journal.problem

    @property
    def policy(self) -> Policy:
        """The rule that decides; a two-stage policy also holds what it has fixed after the first stage."""
        return self._journal.policy

    @property
    def model(self) -> Model[Any]:
        """The statistical model."""
        return self._journal.model

    @property
    def plan(self) -> Mapping[str, Any]:
        """The options of `run` that were stored with the study, as plain values."""
        stored: Mapping[str, Any] = self.definition["plan"]
        return stored

    @property
    def n_replications(self) -> int:
        """Replications told so far."""
        return self._journal.ledger.n_replications

    @property
    def n_observations(self) -> int:
        """Deprecated: the name of `n_replications` in version 0.2."""
        warn_of_old_name("n_observations", "n_replications")
        return self.n_replications

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
        warn_of_old_name("n_waiting", "n_queued")
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

    @property
    def enqueued(self) -> list[tuple[Item, Item]]:
        """The pairs (alternative, context) of `enqueue` that were not asked for yet, in their order."""
        problem = self.problem
        return [
            (problem.alternatives.item(k), problem.contexts.item(c)) for k, c in self._journal.ledger.enqueued
        ]

    @property
    def asked(self) -> Sequence[Trial]:
        """All trials asked for so far, by their ids; it grows with the study."""
        return self._journal.ledger.trials

    def view(self) -> View:
        """Return the study as it is now, as a value that later trials and values do not change.

        Answers, reports and pictures are made from it. Its tables are [alternative, context], and rewards
        count so that larger is better. What takes long, such as learning, is done when it is first needed.
        """
        last, journal = self._view, self._journal
        if last is None or not last.shows(journal):
            last = self._view = View.of(journal, self.definition, last)
        return last

    def ask(self, n: int = 1, *, context: object = None) -> list[Trial]:
        """Return n trials to simulate: what is left of the initial design, then the policy's choice.

        Before these come trials that were given back, and pairs of your own choice (`enqueue`). The policy
        takes trials under way into account.

        Args:
            n: How many trials.
            context (label or row): The context that all of them are in; by default any.
        """
        n = whole("n", n, at_least=1, at_most=10**7)
        place = None if context is None else self.problem.contexts.index(context)
        revising.refuse_retired(self.problem, None, place)
        return self._journal.ask(Request(n, BY_HAND, place))

    def ask_one(self, *, context: object = None) -> Trial:
        """Return the next trial to simulate, as `ask` does for several.

        Args:
            context (label or row): The context that it is in; by default any.
        """
        (trial,) = self.ask(1, context=context)
        return trial

    def enqueue(self, alternative: object, context: object, n: int = 1) -> None:
        """Put a pair of your own choice first, n times: before the initial design and the policy's choices.

        `ask` and `run` take pairs in the order in which they were enqueued; they count towards the budget. A
        stored study keeps them.

        Args:
            alternative (label or row): The alternative to simulate.
            context (label or row): The context to simulate it in.
            n: How many replications.
        """
        problem, times = self.problem, whole("n", n, at_least=1, at_most=10**7)
        pair = problem.alternatives.index(alternative), problem.contexts.index(context)
        revising.refuse_retired(problem, *pair)
        if self._journal.ledger.set_aside[pair]:
            raise InputError(
                f"alternative {alternative!r} in context {context!r} failed repeatedly and was set aside. "
                "Fix the simulator, call `study.readmit()`, and enqueue it again."
            )
        self._journal.enqueue([pair] * times)

    def tell(
        self,
        trial: Trial | int,
        value: Value | None = None,
        *,
        mean: float | Mapping[str, float] | None = None,
        variance: float | Mapping[str, float] | None = None,
        n: int | None = None,
        seconds: float | None = None,
    ) -> None:
        """Record the result of a trial: a number, a list or array of replications, or a summary by keywords.

        The first result names the responses where the problem does not; every later one has all of them and
        no others. The model is not fitted here; the next `ask` does that when it is due.

        Args:
            trial: The trial that `ask` returned, or its id.
            value: One value, or a list of replications; of several responses a dict, ``{"cost": 1.2, "late":
                0}``, or of lists of equal length.
            mean: Of a summary, the mean of the replications; of several responses a dict.
            variance: Of a summary, the variance of one replication, with divisor n − 1; one replication has
                none, and a declared rate needs none: k successes of n are ``mean=k/n, n=n``.
            n: Of a summary, the number of replications.
            seconds: How long the simulation took.
        """
        took = None if seconds is None else not_negative("seconds", seconds)
        asked = self._journal.open(trial)
        if mean is None and variance is None and n is None:
            told = record(asked, value, took, self._journal.responses)
        elif value is None:
            told = summary(
                asked, mean=mean, variance=variance, n=n, rate=self.problem.rate, seconds=took,
                responses=self._journal.responses,
            )  # fmt: skip
        else:
            raise InputError(f"`tell` got a value and a summary for {asked}. Give one of them.")
        self._journal.name_responses(value if mean is None else mean)
        before = self._journal.ledger.rewards_of
        self._journal.tell(told)
        if remark := end_of_rate(self.problem, before, self._journal.ledger.rewards_of, [told]):
            warnings.warn(remark, DataNotice, stacklevel=2)

    def tell_frame(
        self,
        frame: "pd.DataFrame",
        *,
        trial: str | None = None,
        alternative: str | Sequence[str] | None = None,
        context: str | Sequence[str] | None = None,
        value: str | Sequence[str] | None = None,
        dropna: bool = False,
    ) -> None:
        """Record the runs in a frame, a row each: values of trials asked for, or runs made elsewhere.

        If a row is refused none is recorded. Runs made elsewhere share no random numbers. Rows may be
        summaries, with columns ``n`` and ``variance``, or ``variance.cost`` and so on for responses.

        Args:
            frame: The runs.
            trial: The column of ids, if the rows are replications of trials that `ask` returned; without it
                they are runs made elsewhere.
            alternative: The column, or columns, of the alternative; by default those that the study has, as
                in `observations`.
            context: The column, or columns, of the context; by default those that the study has.
            value: The column of the rewards, "value" by default, or one column for each response, by default
                called as these are.
            dropna: Whether incomplete rows are left out.
        """
        if trial is None:
            runs = observed.further(
                frame, self.problem, alternative=alternative, context=context, value=value, dropna=dropna
            )
            given = runs.trials()
        elif alternative is not None or context is not None:
            raise InputError(
                "`tell_frame` got trials and columns of pairs; trials are enough. Name one kind."
            )
        else:
            given = observed.of_trials(
                frame, self.problem, self._journal.open, trial=trial, value=value, dropna=dropna
            )
        told = [self._record(each, row) for each, row in given]
        before = self._journal.ledger.rewards_of
        if trial is None:
            self._journal.tell_elsewhere([each.pair for each, _ in given], told)
        else:
            self._journal.tell_all(told)
        if remark := end_of_rate(self.problem, before, self._journal.ledger.rewards_of, told):
            warnings.warn(remark, DataNotice, stacklevel=2)

    def _record(self, trial: Trial, given: Mapping[str, Any]) -> Told:
        """Return the result of a trial, given by its values or by mean, variance and n, as it is stored."""
        responses = self._journal.responses
        self._journal.name_responses(given.get("value", given.get("mean")))
        if "value" in given:
            return record(trial, given["value"], responses=responses)
        return summary(trial, **given, rate=self.problem.rate, responses=responses)

    def fail(self, trial: Trial | int, reason: str, *, seconds: float | None = None) -> None:
        """Record that a trial gave no value; it is not asked for again by itself.

        Args:
            trial: The trial that `ask` returned, or its id.
            reason: Why there is no value, for people.
            seconds: How long the simulation took until it failed.
        """
        took = None if seconds is None else not_negative("seconds", seconds)
        self._journal.fail(self._journal.open(trial), str(reason), again=False, seconds=took)

    def give_back(self, trial: Trial | int) -> None:
        """Give back a trial that will not be simulated; the next `ask` returns it, with its seed.

        Args:
            trial: The trial that `ask` returned, or its id.
        """
        self._journal.give_back([self._journal.open(trial).id])

    def pending(self) -> list[Trial]:
        """Return the trials under way, for example those that a process left when it ended."""
        ledger = self._journal.ledger
        return [ledger.trials[i] for i in sorted(ledger.held)]

    def status(self, trial: Trial | int) -> str:
        """Return whether a trial is pending, given back (to be asked for again), told or failed.

        Args:
            trial: The trial that `ask` returned, or its id.
        """
        ledger, number = self._journal.ledger, trial.id if isinstance(trial, Trial) else trial
        return ledger.status(whole("trial", number, at_least=0, below=len(ledger.trials)))

    def readmit(self, *, alternative: object = None, context: object = None) -> None:
        """Ask for the pairs set aside again, as with a fixed simulator; or bring back what was retired.

        Args:
            alternative (label, row or list of these): A retired alternative to bring back, as for `retire`.
            context (label, row or list of these): A retired context to bring back, as for `retire`.
        """
        if alternative is None and context is None:
            self._journal.readmit()
        else:
            self._journal.revise(lambda now: revising.retiring(now, alternative, context, back=True))

    def add_alternatives(self, alternatives: object, *, cost: object = None) -> None:
        """Add alternatives to the study.

        Values, seeds and numbers of all others stay as they are, and the model learns from all values again.
        It infers what it can about new pairs from the others; pairs about which it can infer nothing are
        simulated first, as in an initial design. A stored study keeps the change, and its workers see it when
        they ask for their next trials.

        Args:
            alternatives (list, dicts or DataFrame): What there is to choose from besides, as `Problem` takes
                it.
            cost (number or table): What a replication of the new pairs costs, [new alternative, context],
                where the study has a table of costs.
        """
        self._journal.revise(lambda now: revising.adding(now, "alternative", alternatives, None, cost))

    def add_contexts(self, contexts: object, *, weights: object = None, cost: object = None) -> None:
        """Add contexts to the study, as `add_alternatives` does alternatives.

        Args:
            contexts (list, dicts or DataFrame): The situations to choose for besides, as `Problem` takes
                them.
            weights (list or dict): Parts of the whole: 0.2 says that the new context counts for a fifth, and
                the others share the rest as before. By default each counts as much as the others on average.
            cost (number or table): What a replication of the new pairs costs, [alternative, new context],
                where the study has a table of costs.
        """
        self._journal.revise(lambda now: revising.adding(now, "context", contexts, weights, cost))

    def retire(self, *, alternative: object = None, context: object = None) -> None:
        """Leave an alternative or a context, or several in a list, out of the study from now on.

        They are not simulated any more, and answers, certificates and averages are about the others. Values
        told stay, and trials under way can be told: the model goes on learning from both. `readmit` brings
        them back.

        Args:
            alternative (label, row or list of these): What is not to be chosen any more.
            context (label, row or list of these): The situation that does not count any more.
        """
        self._journal.revise(lambda now: revising.retiring(now, alternative, context, back=False))

    def set_weights(self, weights: object) -> None:
        """Give contexts other weights from now on.

        Args:
            weights (list or dict): A weight for each context that is not retired, in their order or by label;
                they are divided by their sum.
        """
        self._journal.revise(lambda now: revising.weighing(now, weights))

    def take_over(self, problem: Problem, *, cost: object = None) -> list[str]:
        """Add the rows that a problem has and the study has not, and return what changed, in words.

        The weights of the problem are taken over, too. So you can edit the lists of alternatives and contexts
        of a stored study, and continue it. A problem that leaves out rows is refused: `retire` them first.

        Args:
            problem: The problem with more rows.
            cost (table): The costs of that problem, [alternative, context], if the study has some.
        """
        before = self.problem
        self._journal.revise(lambda now: revising.following(now, problem, cost))
        return revising.changes_in_words(before, self.problem)

    def repeat(self, change: Revised) -> None:
        """Change the table in the same way as it was changed in a copy of this study with fewer values.

        Args:
            change: The event that the copy stored.
        """
        self._journal.revise(lambda now: revising.repeated(now, change))

    @property
    def retired(self) -> dict[str, list[Item]]:
        """What was retired, as {"alternatives": [...], "contexts": [...]}."""
        problem = self.problem
        return {
            f"{axis.kind}s": [axis.item(i) for i in sorted(axis.retired)]
            for axis in (problem.alternatives, problem.contexts)
        }

    def workers(self) -> Sequence[Worker]:
        """Return what every worker of the stored study said of itself last; see `argbest worker`."""
        return self._journal.workers()

    def refresh(self) -> Self:
        """Return the study with all that other processes have added to its storage."""
        self._journal.catch_up()
        return self

    def close(self) -> None:
        """Close the storage's files and connections; they are opened again when needed."""
        self._journal.storage.close()

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
    ) -> Self:
        """Return the study, run until it has ``budget`` replications in total or ``stop`` is met.

        Args:
            budget: The number of replications in total, those made before included.
            seconds: The limit of the total simulation time.
            workers: How many processes simulate at once.
            executor: What runs simulations instead, of the kind of `concurrent.futures`.
            batch: How many trials a worker gets at a time at most.
            timeout: After how many seconds a simulation is ended and counts as failed.
            confirm: The share of the budget that is reserved for the leaders of undecided contexts.
            on_failure: "raise" ends the run at the first failure and keeps the trial for the next one;
                "record" continues and sets aside pairs that fail repeatedly.
            progress: Whether a bar is shown; or what is called with (done, budget).
            on_result: What is called with (trial, value) once a value is stored; if it raises, a warning says
                so once, and the run continues.
            stop: When to end early: a rule such as `ExpectedPCS(0.95)` or a function of the study, checked
                whenever the hyper-parameters are learned again.
        """
        end = RunEnd(budget, seconds, confirm, stop)
        resources = Resources(workers, executor, batch, timeout, on_failure)
        runner.run(self, end, resources, progress, on_result)
        if remark := normality.of_study(self.view()):
            warnings.warn(remark, DataNotice, stacklevel=2)
        return self

    def selection(self, *, equal_within: float | None = None, delta: float | None = None) -> "pd.DataFrame":
        """Return one row per context: selected, runner_up, mean, gap, gap_sd, p_best, expected_loss, state.

        The state is "sure" where P(best) is at least 0.95, "equal" where that is not so but the selected one
        is within ``equal_within`` of the best with that probability, and "open" otherwise. If alternatives
        have columns, these are columns here too: selected.servers, selected.beds. A pair that was set aside
        without a single value is not selected; where that happened a column ``note`` says so. Where every
        alternative failed there is no answer: selected is None and the numbers are NaN.

        With limits what is selected loses least on average, p_best is the probability that it is the best of
        those that keep them, and p_feasible that it keeps them. Where it loses less to choose none, selected
        is None and p_best the probability that no alternative keeps the limits; from 0.95 on the state is "no
        feasible alternative". Of several responses there are the means of the selected alternative and the
        ends of their 90 % intervals: mean.late, low.late, high.late.

        Args:
            equal_within: A difference in reward that does not matter, by default that of `indifference`; it
                decides what is called equal, and changes no probability.
            delta: The old name of ``equal_within``; everywhere else delta says what counts as right.
        """
        if delta is not None:
            warn_of_old_name("selection(delta=...)", "selection(equal_within=...)")
            equal_within = delta if equal_within is None else equal_within
        found = frames.selection(self.view(), self.indifference(equal_within))
        return frames.without_notes(frames.of_active(found, self.problem.contexts))

    def answer(
        self,
        question: object = None,
        *,
        goal: object = None,
        limits: object = None,
        price: float | None = None,
        delta: float | None = None,
    ) -> "answering.Answer":
        """Return the answer to a question, from what the study knows: no new simulation is made.

        Args:
            question (name or question): What is to be chosen: "overall", "worst-case", "regret", "top:m=3",
                "most-probable-best", "rule:depth=2" (`argbest.questions`), or an object; by default that of
                the study. "pareto" names all alternatives of a context that no other one beats in every
                response, "pareto:min cost,min wait" says which count and how.
            goal (text): Takes the place of the problem's goal for this answer, such as "max throughput".
            limits (text or list of texts): Take the place of the problem's limits for this answer, such as
                ["late <= 0.02"]; an empty list stands for none.
            price: Takes the place of the problem's price of a broken limit for this answer.
            delta: How far from the right answer counts as equal to it; by default 1/100 of what wrong answers
                lose.
        """
        view = self.view().asking(goal=goal, limits=limits, price=price)
        if (asked := read_pareto(question)) is not None:
            return pareto.of_study(view, asked)
        return answering.of_study(view, question, delta)

    def groups(self, by: str | Sequence[str] | None = None, *, n: int = 3) -> "pd.DataFrame":
        """Return one row per group of contexts: what is chosen there most, for which share, how surely.

        ``selected`` is the alternative that is chosen for the largest ``share`` of the group; ``p_right`` and
        ``expected_loss`` are averages of what `selection` says of its contexts, by their weights.

        Args:
            by: The column, or columns, of the contexts to group by; by default all, one after the other.
            n: Into how many groups of about equal weight a column of numbers is cut; any other is grouped by
                its values.
        """
        return people_.groups(self.view(), by, n)

    def check_population(self, n: int = 1_000, people: object = None) -> "people_.PopulationCheck":
        """Return how well the answer serves n people never seen, from the model: no simulation is made.

        P(right) and expected loss on them stand beside those on the people of the study.

        Args:
            n: How many people.
            people (table or sampler): Whom to ask about; by default they are drawn by the sampler of the
                study's `Population`, or are rows of its table that were held out.
        """
        return people_.check(self.view(), n, people)

    def indifference(self, delta: float | None = None) -> float:
        """Return the difference that does not matter: as given, or 1/100 of what wrong choices lose.

        That is one hundredth of the lower quartile, over all pairs that are not the best of their context, of
        the distance between their posterior mean and the best one.

        Args:
            delta: A difference of your own, which is then returned as it is.
        """
        return self.view().indifference(delta)

    def alternative(self, label: object) -> Item:
        """Return an alternative as the simulator receives it, named by its label or its row.

        For example that of ``selection()["selected"][0]``: the label itself, or a dict of its columns.

        Args:
            label (label or row): The alternative meant.
        """
        alternatives = self.problem.alternatives
        return alternatives.item(alternatives.index(label))

    def allocation(self) -> "pd.DataFrame":
        """Return one row per pair: how many replications it got, their mean and standard deviation."""
        return frames.of_allocation(self.view())

    def observations(self) -> "pd.DataFrame":
        """Return one row per replication told, with its trial and seed."""
        return frames.of_observations(self.view())

    def trials(self, *, details: bool = False) -> "pd.DataFrame":
        """Return one row per trial asked for: its status and the reason for a failure.

        It is pending, given back (to be asked for again), told or failed.

        Args:
            details: Whether to show also who had it, when it was asked for and ended, and how many seconds it
                took.
        """
        view = self.view()
        frame = frames.of_trials(view)
        return frames.with_details(frame, view) if details else frame

    def history(self, points: int = 12) -> "pd.DataFrame":
        """Return how the certificate developed: a row per checkpoint, with 90 % posterior intervals.

        Args:
            points: How many checkpoints at most.
        """
        return overview.history(self.view(), points=points)

    def forecast(
        self,
        target: float = LEVEL,
        *,
        contexts: str = "expected",
        delta: float = 0.0,
        worst: bool | None = None,
    ) -> "forecasting.Forecast":
        """Return how many more replications it takes until the certificate reaches ``target``, with a range.

        Of a question with one answer for all contexts the figure is P(right).

        Args:
            target: The figure to reach.
            contexts: "expected" for PCS_E, the mean over contexts, or "worst" for PCS_M, that of the worst
                one.
            delta: How far from the best a selection may be and still count as right.
            worst: The old spelling of ``contexts="worst"``.
        """
        if worst is not None:
            warn_of_old_name("forecast(worst=True)", 'forecast(contexts="worst")')
            contexts = "worst" if flag("worst", worst) else "expected"
        one_of("contexts", contexts, ("expected", "worst"))
        return forecasting.of_study(self.view(), target, worst=contexts == "worst", delta=delta)

    def model_check(self, of: str | None = None) -> "model_check.ModelCheck":
        """Return whether the model fits: pairs as all others predict them, noise, and single rewards.

        Args:
            of: With limits there is a model of the goal and one of every sum of responses that is limited:
                which one is meant, such as "late"; by default the first that does not fit, else that of the
                goal.
        """
        return model_check.of_study(self.view(), of)

    def doubts(self) -> "doubts.Doubts":
        """Return what speaks against calling choices sure: misfit, too few replications, rare events."""
        return doubts.of_study(self.view())

    def model_summary(self) -> "model_summary.ModelSummary":
        """Return what the model found: how much its parts vary, and over what distances.

        With limits that is about the goal and about every sum of responses that is limited: the frames then
        have a column ``of``.
        """
        return model_summary.of_study(self.view())

    def posterior(self, contexts: object = None) -> "pd.DataFrame":
        """Return the belief about every alternative at the contexts, or at others given.

        Args:
            contexts (labels or rows): The contexts; by default those of the problem.
        """
        view, (alternatives, own) = self.view(), (self.problem.alternatives, self.problem.contexts)
        rows = own if contexts is None else own.rows(contexts)
        return frames.of_active(predicting.posterior(view, contexts), alternatives, rows)

    def report(self, path: str | PathLike[str], *, command: str = "") -> Path:
        """Return the path of one self-contained HTML page, written there: answer, certainty, method.

        Args:
            path: Where the page is written.
            command: The command that made the study, to be shown.
        """
        from argbest.report.page import write_report  # a room above this one: users expect the method here

        return write_report(self, path_of("path", path), command=concealed(command))

    def certificate(self, delta: float = 0.0, *, integrate: bool = True) -> Certificate:
        """Return how sure the selections are.

        Args:
            delta: How far from the best a selection may be and still count as right.
            integrate: Whether to average over the hyper-parameters and noise levels that the data leave
                possible; otherwise the estimates are taken for known.
        """
        zone, averaged = indifference_zone(delta), flag("integrate", integrate)
        return self.view().certificate(zone, integrate=averaged)

    def guarantee(
        self, alpha: float = ALPHA, delta: float = 0.0, *, assume: str | None = None
    ) -> "guarantee.Guarantee":
        """Return what the data alone certify with confidence 1 − alpha, whatever the model believes.

        That every selected alternative is within ``delta`` of the best of its context. It may be asked at any
        time and under any policy: the bounds hold at every sample size at once. Replications count in the
        order of their numbers. Summaries have no order and are not counted. If failures depend on the reward,
        the guarantee is about the replications that do not fail.

        Args:
            alpha: One minus the confidence.
            delta: How far from the best a selection may be; 0: it must be the best.
            assume: "normal" rewards, for which bounds are withheld where the values contradict that; only the
                "range" of `Problem(reward_range=...)`, the default where one is given; or "deterministic":
                that alternatives whose differences are all equal differ by a constant, and that others are
                normal.
        """
        error, zone = finite("alpha", alpha, above=0, below=1), indifference_zone(delta)
        return guarantee.of_study(self.view(), error, zone, assume)

    def predict(self, contexts: object, *, integrate: bool = True, indexed: bool = False) -> "pd.DataFrame":
        """Return the rows of `selection` for any contexts, simulated or not.

        ``extrapolated`` marks those outside the bounds of the problem's contexts, or with a category that
        none of these has; an `ExtrapolationNotice` warns of such a category.

        Args:
            contexts (labels or rows): The contexts to predict for; one may come alone.
            integrate: Whether to average over what the data leave possible, as in `certificate`.
            indexed: Whether the contexts are the index, as in `predict_proba`, instead of columns, as in
                `selection`.
        """
        zone, averaged = self.indifference(), flag("integrate", integrate)

        def frame_of(some: predicting.Prediction) -> "pd.DataFrame":
            def belief_of(view: View) -> Belief:
                return predicting.believed_at(view, some.rows, integrate=averaged)

            responses = frames.of_responses(self.view(), belief_of)
            frame = frames.of_selection(self.problem, *some, zone, rate=self.rate, responses=responses)
            frame["extrapolated"] = self.problem.contexts.outside(some.rows, self.problem.bounds)
            return frame

        frame = predicting.predicted(self.view(), contexts, frame_of, integrate=averaged)
        frame = frame.reset_index(drop=True)
        return frames.indexed_by_context(frame) if flag("indexed", indexed) else frame

    def predict_proba(
        self, contexts: object, *, integrate: bool = True, indexed: bool = True
    ) -> "pd.DataFrame":
        """Return P(each alternative is best), a row per context given and a column per alternative.

        Args:
            contexts (labels or rows): The contexts to predict for; one may come alone.
            integrate: Whether to average over what the data leave possible, as in `certificate`.
            indexed: Whether the contexts are the index, so that all columns are probabilities, instead of
                columns, as in `predict`.
        """
        frame = predicting.predicted(
            self.view(),
            contexts,
            lambda some: frames.of_probabilities(self.problem, some.rows, some.certificate),
            integrate=flag("integrate", integrate),
        )
        return frame if flag("indexed", indexed) else frame.reset_index()

    @property
    def plot(self) -> "Plots":
        """The pictures: ``study.plot()`` is the policy map, ``study.plot.profiles()`` another, and so on."""
        from argbest.report.notebook import Plots

        return Plots(self)

    def _granted(self, delta: float) -> Array:
        """Return P(within delta of the right answer) as far as a stop rule may count on it, [part]."""
        return doubts.granted(self.view(), delta)

    def _warn_once(self, words: str) -> None:
        """Warn of something that does not end a run, once for each kind of words; "" warns of nothing."""
        kind = words.partition(":")[0]
        if words and kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(words, DataNotice, stacklevel=2)

    def _belief(self) -> Belief:
        """Return the belief (larger is better) that selects, with what is ruled out far below.

        Looking changes nothing: only `ask` moves the refit schedule on.
        """
        return self.view().belief

    @property
    def _ruled_out(self) -> BoolArray | None:
        """[alternative, context] whether a pair was set aside without a single value; None where none was."""
        return self._journal.ledger.ruled_out

    @property
    def _tally(self) -> tallies.Tally:
        """The tally with larger being better."""
        return self._journal.ledger.tally

    def _learned(self) -> Knowledge:
        return self.view().knowledge

"""Running a study: ask, simulate, tell, until the budget is spent or a stop rule is met.

There is one loop for all kinds of runs: serial runs have one slot and simulate in this thread. For every
result that arrives a new trial is asked for, so workers do not wait for each other. Where deciding or
learning takes long compared with simulating, some trials are asked for ahead: they count as under way, and
wait in the executor until a worker is free.
"""

import math
import time
import warnings
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from argbest import registry
from argbest.core import schedule
from argbest.core.abilities import offers
from argbest.engine.step import shown_to_policies
from argbest.errors import (
    DataNotice,
    InputError,
    OutageNotice,
    SimulationError,
    SlowNotice,
    StorageError,
    TrialError,
)
from argbest.policies.base import Policy, finished, refuse_other_questions
from argbest.problems.base import Simulate
from argbest.simulators.calling import Outcome, for_shared_seeds
from argbest.storage.base import is_shared
from argbest.study import executors
from argbest.study.journal import BY_HAND, Journal, Request
from argbest.study.ledger import Ledger
from argbest.study.rewards import end_of_rate
from argbest.study.run_options import (
    OnResult,
    Progress,
    Resources,
    RunEnd,
    SaysWhatIsMissing,
    afford,
    reporter,
    tracker,
)
from argbest.study.trial import Trial, record
from argbest.study.workers import Patience, Presence, Watch, keep

if TYPE_CHECKING:
    from argbest.study.study import Study

HOPELESS = 20  # failures without a single value after which a run gives up
_WORTH_ADVICE = 60.0  # seconds of a run; shorter ones need no advice
_BATCH = 8  # replications at a time that are advised
_POLL = 0.2  # seconds between looks at what other workers do
_KEPT_BUSY = 0.9  # of the time of all workers
_clock = time.monotonic  # of how long a run takes, and its decisions


def run(
    study: "Study",
    end: RunEnd,
    resources: Resources,
    progress: bool | Progress,
    on_result: OnResult | None = None,
) -> None:
    """Simulate until the budget is spent or the stop rule, asked at every refit, is met."""
    track = tracker(on_result)
    journal, patience = study._journal, Patience()
    with ExitStack() as stack:
        stack.enter_context(journal.patient(patience))
        simulate = executors.in_time(_ready(study, journal, end), resources.timeout)
        executor, slots = executors.chosen(stack, simulate, resources)
        presence = Presence(slots=slots)
        shared = is_shared(journal.storage)
        stack.enter_context(presence.announced(journal.storage.greet, patience) if shared else nullcontext())
        total = end.budget or math.ceil(end.seconds or 0)
        opening = "" if journal.ledger.trials else f"initial design: {study.initial_design}"
        report = stack.enter_context(reporter(progress, total, end.done(journal.ledger), opening))
        jobs = executors.Jobs(executor, slots, simulate, resources)
        this_run = _Run(study, journal, end, resources, jobs, presence, patience, report, total, track)
        this_run.to_the_end()
    advice = this_run.advice()
    if advice and (shared or slots > 1):
        warnings.warn(advice, SlowNotice, stacklevel=3)


@dataclass
class _Run:
    """One run under way."""

    study: "Study"
    journal: Journal
    end: RunEnd
    resources: Resources
    jobs: executors.Jobs
    presence: Presence
    patience: Patience
    report: Progress
    total: int
    track: OnResult
    watch: Watch = field(default_factory=Watch)
    untold: list[tuple[Trial, Outcome]] = field(default_factory=list)  # simulated, and not told yet
    checked: int | None = None  # replications when the stop rule was last asked
    failed: int = 0  # simulations while the study has not a single value
    begun: float = field(default_factory=lambda: _clock())
    asked: int = 0  # trials asked for
    asking: float = 0.0  # seconds that this took
    learns_next: bool = False  # the study learns when it is asked for the next trials

    def advice(self) -> str:
        """Return what to do if simulations waited for decisions most of the time, "" if they did not."""
        elapsed = _clock() - self.begun
        if self.resources.batch > 1 or elapsed < _WORTH_ADVICE:
            return ""
        from argbest.compilation import seconds_since  # imports Numba, which short runs may not need

        elapsed, asking = elapsed - seconds_since(self.begun), self.asking - seconds_since(self.begun)
        busy = self.presence.busy > _KEPT_BUSY * self.jobs.slots * elapsed
        if elapsed < _WORTH_ADVICE or asking < elapsed / 2 or busy:
            return ""
        return (
            f"the workers waited for decisions: each took {1000 * asking / max(self.asked, 1):.3g} ms, "
            f"{asking / elapsed:.0%} of the time. Let a worker take several replications at a time: "
            f"batch = {_BATCH} under [run] of the study file, batch={_BATCH} in Python."
        )

    def to_the_end(self) -> None:
        """Run to the end; whatever happens, no value is lost, and trials without one are given back."""
        try:
            try:
                self._simulate()
            except StorageError:
                self._wait_for_simulations()
                raise
        except BaseException as error:
            where_kept = self._save_values()
            if where_kept and isinstance(error, StorageError):
                raise StorageError(f"{error} {where_kept}") from error
            if where_kept:
                warnings.warn(where_kept, OutageNotice, stacklevel=5)
            raise

    def _simulate(self) -> None:
        """Keep all slots busy until the end; then wait for what is under way."""
        if is_shared(self.journal.storage):
            self.study.refresh()
            self._give_back_trials_of_dead_workers()
        while not self._is_over():
            self._fill()
            if self.jobs.under_way:
                self._collect(ahead=True)
            elif self._nobody_else():
                break
            else:
                time.sleep(_POLL)
                self.study.refresh()
        if recalled := self.jobs.recall():
            self.journal.give_back(recalled)
        while self.jobs.under_way:
            self._collect()

    def _wait_for_simulations(self) -> None:
        """Wait for the simulations under way although the storage is lost: a file can keep their values."""
        if self.jobs.under_way:
            number = len(self.jobs.under_way)
            words = f"the storage is lost; waiting for {number} simulations, to keep their values."
            warnings.warn(words, OutageNotice, stacklevel=6)
        while self.jobs.under_way:
            with suppress(StorageError):
                self._collect()

    def _save_values(self) -> str:
        """Tell the values at hand, and give back all other trials, before an error ends the run.

        Return where values are kept that could not be told, "" if there are none.
        """
        self.patience.end()
        for job in self.jobs.under_way:
            job.cancel()
        values = [each for each in self.untold if each[1].value is not None]
        try:
            if values and not self.patience.gave_up:
                self._tell(values)
                values = []
            trials = [
                *(trials for trials, _ in self.jobs.under_way.values()),
                [trial for trial, _ in self.untold],
            ]
            if not self.patience.gave_up:
                unfinished = [trial.id for some in trials for trial in some]
                self.journal.give_back(unfinished, workers=[self.presence.name])
        except (StorageError, KeyboardInterrupt):  # other workers take the trials, once this one is silent
            self.patience.give_up()
        lost = [
            record(trial, outcome.value, outcome.seconds, self.journal.responses) for trial, outcome in values
        ]
        return (
            keep(self.journal.storage, self.presence.name, lost, self.journal.responses or ()) if lost else ""
        )

    def _is_over(self) -> bool:
        """Return whether the budget is spent or the stop rule met."""
        study, end = self.study, self.end
        if end.reached(self.journal.ledger) or finished(study.policy, self.journal.ledger.live):
            return True
        n = study.n_replications
        due = (
            self.checked is None
            or offers(end.stop, SaysWhatIsMissing)
            or schedule.due(study.model, study.refit_every, n, self.checked)
        )
        if end.stop is None or not due or study.n_queued or not n:
            return False
        self.checked = n
        return end.stop(study)

    def _fill(self, *, learning: bool = False) -> None:
        """Give the executor jobs until every slot is busy; ``learning``: while the study learns, too."""
        wanted, self.learns_next = max(self.jobs.wanted(learning), int(self.learns_next)), False
        while wanted > 0:
            some = min(wanted, self.jobs.at_a_time)
            wanted = wanted - some if self._ask(some) == some else 0

    def _ask(self, n: int) -> int:
        """Ask for trials for up to n jobs, give them to the executor, and return how many jobs they are."""
        known, batch, since = self.journal.knowledge, self.resources.batch, _clock()
        request = Request(
            n * batch, self.presence.name, trials_left=self.end.trials_left, policy=self._last_stage
        )
        trials = self.journal.ask(request)
        if (now := self.journal.knowledge) and (known is None or known.n_fitted != now.n_fitted):
            self.jobs.learned(now.seconds, first=known is None)
        self.asked, self.asking = self.asked + len(trials), self.asking + _clock() - since
        for first in range(0, len(trials), batch):
            try:
                self.jobs.submit(trials[first : first + batch])
            except BaseException:
                self.journal.give_back([trial.id for trial in trials[first:]])
                raise
        return math.ceil(len(trials) / batch)

    def _last_stage(self, ledger: Ledger) -> Policy | None:
        """Return the policy that decides instead of the study's: for a guarantee, or to confirm."""
        if offers(self.end.stop, SaysWhatIsMissing):
            return registry.separation(self.end.stop.missing(self.study))
        if not self.end.confirm or self.end.budget is None:
            return None
        asked = ledger.n_replications + len(ledger.held)
        return registry.confirmation() if asked >= (1 - self.end.confirm) * self.end.budget else None

    def _collect(self, *, ahead: bool = False) -> None:
        """Tell the values of the jobs that have ended, or what went wrong; ``ahead``: ask for more, too."""
        for job in self.jobs.ended(self._fill if ahead else None):
            outcomes = self.jobs.results(job)
            self.untold += ((trial, self._possible(each)) for trial, each in outcomes)
            del self.jobs.under_way[job]
        if ahead:
            self._ask_before_learning()
        while self.untold:
            self._tell_next()
        self.report(self.end.done(self.journal.ledger), self.total)

    def _possible(self, outcome: Outcome) -> Outcome:
        """Return the outcome, a failure if the problem rules it out; the first one names the responses."""
        if outcome.value is not None:
            self.journal.name_responses(outcome.value)
        return executors.possible(outcome, self.study.problem)

    def _ask_before_learning(self) -> None:
        """Ask for jobs ahead if the study, once these values are told, learns when it is asked again."""
        study, known = self.study, self.journal.knowledge
        n = study.n_replications + len(self.untold)
        if known is None or not schedule.due(study.model, study.refit_every, n, known.n_fitted):
            return
        if self.jobs.wanted(learning=True) > self.jobs.wanted():
            self._fill(learning=True)
            self.learns_next = True

    def _tell_next(self) -> None:
        """Tell the values up to the first failure in one transaction; if a failure comes first, record it."""
        values = list(takewhile(lambda each: each[1].value is not None, self.untold))
        some = values or self.untold[:1]
        trial, outcome = some[0]
        self.presence.busy += sum(each.seconds for _, each in some)
        if not values and self.resources.on_failure == "raise":
            raise executors.failure(trial, outcome) from outcome.error
        if values:
            self._tell(values)
        else:
            with suppress(TrialError):  # another worker took this one for dead, and was quicker
                self.journal.fail(trial, str(outcome.reason), again=True, seconds=outcome.seconds)
        del self.untold[: len(some)]
        self.failed = 0 if self.journal.ledger.records else self.failed + 1
        if self.failed >= HOPELESS:
            raise SimulationError(
                f"the first {self.failed} simulations all failed, the last one with: "
                f"{executors.quoted(str(outcome.reason))}. "
                "Fix the simulator and run again."
            )

    def _tell(self, values: list[tuple[Trial, Outcome]]) -> None:
        """Tell values, but for those that another worker, which took this one for dead, has told already."""
        told = [
            record(trial, outcome.value, outcome.seconds, self.journal.responses) for trial, outcome in values
        ]
        before = self.journal.ledger.rewards_of
        stored = set(self.journal.tell_all(told))
        if remark := end_of_rate(self.study.problem, before, self.journal.ledger.rewards_of, told):
            warnings.warn(remark, DataNotice, stacklevel=8)
        for trial, outcome in values:
            if trial.id in stored and outcome.value is not None:
                self.track(trial, outcome.value)

    def _nobody_else(self) -> bool:
        """Return whether no other worker has trials under way; those of dead workers are given back."""
        if self._give_back_trials_of_dead_workers():
            return False
        return all(worker == BY_HAND for worker in self.journal.ledger.held.values())

    def _give_back_trials_of_dead_workers(self) -> bool:
        """Give back the trials of workers that died, to be asked for first; return whether there were any."""
        held = {i: name for i, name in self.journal.ledger.held.items() if name != BY_HAND}
        if not held:
            return False
        known, unreached = {worker.name: worker for worker in self.journal.workers()}, self.patience.unreached
        dead = {
            name
            for name in held.values()
            if name not in known or self.watch.dead(known[name], unreached=unreached)
        }
        if dead:
            self.journal.give_back([i for i, name in held.items() if name in dead], workers=dead)
        return bool(dead)


def _ready(study: "Study", journal: Journal, end: RunEnd) -> Simulate:
    """Return the simulator, after checking that the run can begin."""
    if study.problem.simulate is None:
        raise InputError("this study has no simulator to run. Give its problem one, or use `ask` and `tell`.")
    question = shown_to_policies(study.problem.setting).question
    if end.confirm and end.budget is not None:  # all of this is refused before anything is simulated
        refuse_other_questions(registry.confirmation(), question)
    if offers(end.stop, SaysWhatIsMissing):
        end.stop.check(study)
    journal.begin(end.budget)
    ledger = journal.ledger
    due = study.n_queued + sum(ledger.trials.designed(i) for i in ledger.given_back)
    if due:
        n_own = len(ledger.enqueued)
        what = f"the initial design and the {n_own} enqueued" if n_own else "the initial design"
        afford(end.budget, study.n_replications + due + n_own, due=what)
    simulate: Simulate = study.problem.simulate
    if study.common_random_numbers:
        simulate = for_shared_seeds(simulate)
    return simulate

"""Running a study: ask, simulate, tell, until the budget is spent or a stop rule is met.

One loop for all: serial runs have one slot and simulate in this thread. As results arrive as many new pairs
are asked for, so workers do not wait for each other. Where deciding or learning takes long beside simulating,
some pairs are asked for ahead: they count as under way, and wait in the executor until a worker is free.
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
from argbest.study.journal import BY_HAND
from argbest.study.ledger import Ledger
from argbest.study.rewards import end_of_rate
from argbest.study.run_options import (
    GuaranteedPCS,
    OnResult,
    Progress,
    Resources,
    RunEnd,
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
    """Simulate until the study holds the budget or the stop rule, asked at every refit, is met."""
    track = tracker(on_result)
    journal, patience = study._journal, Patience()
    with ExitStack() as stack:
        stack.enter_context(journal.patient(patience))
        simulate = executors.in_time(_ready(study, end), resources.timeout)
        executor, slots = executors.chosen(stack, simulate, resources)
        presence = Presence(slots=slots)
        shared = is_shared(journal.storage)
        stack.enter_context(presence.announced(journal.storage.greet, patience) if shared else nullcontext())
        total = end.budget or math.ceil(end.seconds or 0)
        opening = "" if journal.ledger.trials else f"initial design: {study.initial_design}"
        report = stack.enter_context(reporter(progress, total, end.done(study._journal.ledger), opening))
        jobs = executors.Jobs(executor, slots, simulate, resources)
        whole = _Run(study, end, resources, jobs, presence, patience, report, total, track)
        whole.go()
    advice = whole.advice()
    if advice and (shared or slots > 1):
        warnings.warn(advice, SlowNotice, stacklevel=3)


@dataclass
class _Run:
    """One run under way."""

    study: "Study"
    end: RunEnd
    resources: Resources
    jobs: executors.Jobs
    presence: Presence
    patience: Patience
    report: Progress
    total: int
    track: OnResult
    watch: Watch = field(default_factory=Watch)
    in_hand: list[tuple[Trial, Outcome]] = field(default_factory=list)  # simulated, and not told yet
    checked: int | None = None
    failed: int = 0  # without a single value
    begun: float = field(default_factory=lambda: _clock())
    asked: int = 0
    asking: float = 0.0  # seconds
    to_learn: bool = False  # the study, before more jobs end

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

    def go(self) -> None:
        """Run to the end; whatever happens, no value is lost, and trials without one are given back."""
        try:
            try:
                self._go()
            except StorageError:
                self._outlast()
                raise
        except BaseException as error:
            kept = self._leave()
            if kept and isinstance(error, StorageError):
                raise StorageError(f"{error} {kept}") from error
            if kept:
                warnings.warn(kept, OutageNotice, stacklevel=5)
            raise

    def _go(self) -> None:
        if is_shared(self.study._journal.storage):
            self.study.refresh()
            self._take_over()
        while not self._enough():
            self._fill()
            if self.jobs.under_way:
                self._collect(ahead=True)
            elif self._nobody_else():
                break
            else:
                time.sleep(_POLL)
                self.study.refresh()
        if recalled := self.jobs.recall():
            self.study._journal.give_back(recalled)
        while self.jobs.under_way:
            self._collect()

    def _outlast(self) -> None:
        """Wait for the simulations under way although the storage is gone: a file can keep their values."""
        if self.jobs.under_way:
            number = len(self.jobs.under_way)
            words = f"the storage is lost; waiting for {number} simulations, to keep their values."
            warnings.warn(words, OutageNotice, stacklevel=6)
        while self.jobs.under_way:
            with suppress(StorageError):
                self._collect()

    def _leave(self) -> str:
        """Return where values are kept that could not be told even now, "" if there are none."""
        self.patience.end()
        for job in self.jobs.under_way:
            job.cancel()
        journal, values = self.study._journal, [each for each in self.in_hand if each[1].value is not None]
        try:
            if values and not self.patience.in_vain:
                self._tell(values)
                values = []
            trials = [
                *(trials for trials, _ in self.jobs.under_way.values()),
                [trial for trial, _ in self.in_hand],
            ]
            if not self.patience.in_vain:
                left = [trial.id for each in trials for trial in each]
                journal.give_back(left, of=[self.presence.name])
        except (StorageError, KeyboardInterrupt):  # then others take them over, once this worker is silent
            self.patience.give_up()
        lost = [record(trial, outcome.value, outcome.seconds, journal.responses) for trial, outcome in values]
        return keep(journal.storage, self.presence.name, lost, journal.responses or ()) if lost else ""

    def _enough(self) -> bool:
        """Return whether the budget is spent or the stop rule met."""
        study, end = self.study, self.end
        if end.reached(study._journal.ledger) or finished(study.policy, study._journal.ledger.live):
            return True
        n = study.n_replications
        due = (
            self.checked is None
            or isinstance(end.stop, GuaranteedPCS)
            or schedule.due(study.model, study.refit_every, n, self.checked)
        )
        if end.stop is None or not due or study.n_queued or not n:
            return False
        self.checked = n
        return end.stop(study)

    def _fill(self, *, learning: bool = False) -> None:
        """Keep every slot busy, also while the study learns."""
        wanted, self.to_learn = max(self.jobs.wanted(learning), int(self.to_learn)), False
        while wanted > 0:
            some = min(wanted, self.jobs.at_a_time)
            wanted = wanted - some if self._ask(some) == some else 0

    def _ask(self, n: int) -> int:
        """Return how many more jobs were given to the executor, up to n."""
        journal, known = self.study._journal, self.study._journal.knowledge
        batch, since = self.resources.batch, _clock()
        trials = journal.ask(n * batch, worker=self.presence.name, room=self.end.room, policy=self._stage)
        if (now := journal.knowledge) and (known is None or known.n_fitted != now.n_fitted):
            self.jobs.learned(now.seconds, first=known is None)
        self.asked, self.asking = self.asked + len(trials), self.asking + _clock() - since
        for first in range(0, len(trials), batch):
            try:
                self.jobs.submit(trials[first : first + batch])
            except BaseException:
                journal.give_back([trial.id for trial in trials[first:]])
                raise
        return math.ceil(len(trials) / batch)

    def _stage(self, ledger: Ledger) -> Policy | None:
        """Return the policy of the last stage: of a guarantee, or once the rest of the budget is reserved."""
        if isinstance(self.end.stop, GuaranteedPCS):
            return registry.separation(self.end.stop.missing(self.study))
        if not self.end.confirm or self.end.budget is None:
            return None
        asked = ledger.n_replications + len(ledger.held)
        return registry.confirmation() if asked >= (1 - self.end.confirm) * self.end.budget else None

    def _collect(self, *, ahead: bool = False) -> None:
        """Tell the values of the jobs that have ended, or what went wrong; ``ahead``: more are to come."""
        for job in self.jobs.ended(self._fill if ahead else None):
            found = self.jobs.results(job)
            self.in_hand += ((trial, self._possible(each)) for trial, each in found)
            del self.jobs.under_way[job]
        if ahead:
            self._stock_up()
        while self.in_hand:
            self._settle()
        self.report(self.end.done(self.study._journal.ledger), self.total)

    def _possible(self, outcome: Outcome) -> Outcome:
        """Return the outcome, as a failure if the problem rules it out; the first one names the responses."""
        if outcome.value is not None:
            self.study._journal.name_by(outcome.value)
        return executors.possible(outcome, self.study.problem)

    def _stock_up(self) -> None:
        """Ask ahead if what is in hand makes the study learn again, as it does when asked the next time."""
        study, known = self.study, self.study._journal.knowledge
        n = study.n_replications + len(self.in_hand)
        if known is None or not schedule.due(study.model, study.refit_every, n, known.n_fitted):
            return
        if self.jobs.wanted(learning=True) > self.jobs.wanted():
            self._fill(learning=True)
            self.to_learn = True

    def _settle(self) -> None:
        """Tell the values in hand up to the first failure, in one transaction; or that failure."""
        journal = self.study._journal
        values = list(takewhile(lambda each: each[1].value is not None, self.in_hand))
        some = values or self.in_hand[:1]
        trial, outcome = some[0]
        self.presence.busy += sum(each.seconds for _, each in some)
        if not values and self.resources.on_failure == "raise":
            raise executors.failure(trial, outcome) from outcome.error
        if values:
            self._tell(values)
        else:
            with suppress(TrialError):  # another worker, who took this one for dead, was quicker
                journal.fail(trial, str(outcome.reason), again=True, seconds=outcome.seconds)
        del self.in_hand[: len(some)]
        self.failed = 0 if journal.ledger.records else self.failed + 1
        if self.failed >= HOPELESS:
            raise SimulationError(
                f"the first {self.failed} simulations all failed, the last one with: "
                f"{executors.quoted(str(outcome.reason))}. "
                "Fix the simulator and run again."
            )

    def _tell(self, values: list[tuple[Trial, Outcome]]) -> None:
        """Tell values; not those that another worker, who took this one for dead, was quicker to tell."""
        journal = self.study._journal
        told = [record(trial, outcome.value, outcome.seconds, journal.responses) for trial, outcome in values]
        before = journal.ledger.rewards_of
        kept = set(journal.tell_all(told))
        if remark := end_of_rate(self.study.problem, before, journal.ledger.rewards_of, told):
            warnings.warn(remark, DataNotice, stacklevel=8)
        for trial, outcome in values:
            if trial.id in kept and outcome.value is not None:
                self.track(trial, outcome.value)

    def _nobody_else(self) -> bool:
        """Return whether no other worker has trials under way; those of the dead are given back."""
        if self._take_over():
            return False
        return all(who == BY_HAND for who in self.study._journal.ledger.held.values())

    def _take_over(self) -> bool:
        """Return whether workers died with trials under way; these are given back, to be asked for first."""
        journal = self.study._journal
        held = {i: who for i, who in journal.ledger.held.items() if who != BY_HAND}
        if not held:
            return False
        known, deaf = {worker.name: worker for worker in journal.workers()}, self.patience.deaf
        dead = {who for who in held.values() if who not in known or self.watch.dead(known[who], deaf=deaf)}
        if dead:
            journal.give_back([i for i, who in held.items() if who in dead], of=dead)
        return bool(dead)


def _ready(study: "Study", end: RunEnd) -> Simulate:
    """Return the simulator, after checking that the run can begin."""
    if study.problem.simulate is None:
        raise InputError("this study has no simulator to run. Give its problem one, or use `ask` and `tell`.")
    question = shown_to_policies(study.problem.setting).question
    if end.confirm and end.budget is not None:  # all of this is refused before anything is simulated
        refuse_other_questions(registry.confirmation(), question)
    if isinstance(end.stop, GuaranteedPCS):
        _refuse_guarantee_of_other_questions(study)
        if study.problem.is_named:
            study.view().assumed(end.stop.assume)
    study._journal.begin(end.budget)
    ledger = study._journal.ledger
    due = study.n_queued + sum(ledger.trials.designed(i) for i in ledger.given_back)
    if due:
        n_own = len(ledger.enqueued)
        what = f"the initial design and the {n_own} enqueued" if n_own else "the initial design"
        afford(end.budget, study.n_replications + due + n_own, due=what)
    simulate: Simulate = study.problem.simulate
    if study.common_random_numbers:
        simulate = for_shared_seeds(simulate)
    return simulate


def _refuse_guarantee_of_other_questions(study: "Study") -> None:
    """Refuse a guarantee as a stop rule of another question than the best of every context."""
    view = study.view()
    if not view.asks_about_table:
        raise InputError(
            "GuaranteedPCS is about the best alternative of every context, and this study asks the question "
            f"{view.question.name!r}. Use ExpectedPCS or OpportunityCost, which are about its answer."
        )

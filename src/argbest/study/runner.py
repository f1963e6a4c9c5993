"""Running a study: ask, simulate, tell, until the budget is spent or a stop rule is met.

One loop for all: serial runs have one slot and simulate in this thread. As one result arrives one new pair is
asked for, so workers do not wait for each other.
"""

import math
import time
import warnings
from concurrent.futures import Executor, Future
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from argbest import registry
from argbest.core import schedule
from argbest.errors import (
    InputError,
    OutageNotice,
    SimulationError,
    SlowNotice,
    StorageError,
    TrialError,
)
from argbest.policies.base import Policy, finished
from argbest.problems.base import Simulate
from argbest.simulators.calling import Outcome, evaluate, for_shared_seeds
from argbest.storage.base import is_shared
from argbest.study import executors, undelivered
from argbest.study.journal import BY_HAND
from argbest.study.ledger import Ledger
from argbest.study.limits import Limits, Resources
from argbest.study.patience import Patience
from argbest.study.presence import Presence, Watch
from argbest.study.progress import OnResult, Progress, reporter, tracker
from argbest.study.stopping import Guaranteed
from argbest.study.trial import Trial, record

if TYPE_CHECKING:
    from argbest.study.study import Study

HOPELESS = 20  # failures without a single value after which a run gives up
_WORTH_ADVICE = 60.0  # seconds of a run; shorter ones need no advice
_BATCH = 8  # replications at a time that are advised
_POLL = 0.2  # seconds between looks at what other processes do


def run(
    study: "Study",
    limits: Limits,
    resources: Resources,
    progress: bool | Progress,
    on_result: OnResult | None = None,
) -> None:
    """Simulate until the study holds the budget or the stop rule, asked at every refit, is met."""
    track = tracker(on_result)
    journal, patience = study._journal, Patience()
    with ExitStack() as stack:
        stack.enter_context(journal.patient(patience))
        simulate = executors.in_time(_ready(study, limits), resources.timeout)
        executor, slots = executors.chosen(stack, simulate, resources)
        presence = Presence(slots=slots)
        shared = is_shared(journal.storage)
        stack.enter_context(presence.shown(journal.storage, patience) if shared else nullcontext())
        total = limits.budget or math.ceil(limits.seconds or 0)
        opening = "" if journal.ledger.trials else f"initial design: {study.initial_design}"
        report = stack.enter_context(reporter(progress, total, limits.done(study._journal.ledger), opening))
        under_way = _Run(
            study, limits, resources, simulate, executor, slots, presence, patience, report, total, track
        )
        under_way.go()
    advice = under_way.advice()
    if advice and (shared or slots > 1):
        warnings.warn(advice, SlowNotice, stacklevel=3)


@dataclass
class _Run:
    """One run under way."""

    study: "Study"
    limits: Limits
    resources: Resources
    simulate: Simulate
    executor: Executor
    slots: int
    presence: Presence
    patience: Patience
    report: Progress
    total: int
    track: OnResult
    in_flight: dict["Future[list[Outcome]]", tuple[list[Trial], float]] = field(default_factory=dict)
    finished: "SimpleQueue[Future[list[Outcome]]]" = field(default_factory=SimpleQueue)
    lost: list["Future[list[Outcome]]"] = field(default_factory=list)  # out of time, and still running
    watch: Watch = field(default_factory=Watch)
    in_hand: list[tuple[Trial, Outcome]] = field(default_factory=list)  # simulated, and not told yet
    checked: int | None = None
    failed: int = 0  # without a single value
    begun: float = field(default_factory=time.monotonic)
    asked: int = 0
    asking: float = 0.0  # seconds

    def advice(self) -> str:
        """Return what to do if simulations waited for decisions most of the time, "" if they did not."""
        elapsed = time.monotonic() - self.begun
        if self.resources.batch > 1 or elapsed < _WORTH_ADVICE or self.asking < elapsed / 2:
            return ""
        return (
            f"the workers waited for decisions: each took {1000 * self.asking / max(self.asked, 1):.3g} ms, "
            f"{self.asking / elapsed:.0%} of the time. Let a worker take several replications at a time: "
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
            if self.in_flight:
                self._collect(self._first_finished(filling=True))
            elif self._nobody_else():
                break
            else:
                time.sleep(_POLL)
                self.study.refresh()
        while self.in_flight:
            self._collect(self._first_finished())

    def _outlast(self) -> None:
        """Wait for the simulations under way: the storage is lost, what they cost need not be."""
        if self.in_flight:
            words = (
                f"the storage is lost; waiting for {len(self.in_flight)} simulations under way to keep them."
            )
            warnings.warn(words, OutageNotice, stacklevel=6)
        while self.in_flight:
            with suppress(StorageError):
                self._collect(self._first_finished())

    def _leave(self) -> str:
        """Return where values are kept that could not be told even now, "" if there are none."""
        self.patience.end()
        journal, values = self.study._journal, [each for each in self.in_hand if each[1].value is not None]
        try:
            if values and not self.patience.in_vain:
                self._tell(values)
                values = []
            trials = [
                *(trials for trials, _ in self.in_flight.values()),
                [trial for trial, _ in self.in_hand],
            ]
            if not self.patience.in_vain:
                left = [trial.id for each in trials for trial in each]
                journal.give_back(left, of=[self.presence.name])
        except (StorageError, KeyboardInterrupt):  # then others take them over, once this worker is silent
            self.patience.give_up()
        lost = [record(trial, outcome.value, outcome.seconds) for trial, outcome in values]
        return undelivered.keep(journal.storage, self.presence.name, lost) if lost else ""

    def _enough(self) -> bool:
        """Return whether the budget is spent or the stop rule met."""
        study, limits = self.study, self.limits
        if limits.room(study._journal, mine=False) < 1 or finished(study.policy, study._journal.ledger.live):
            return True
        n = study.n_observations
        due = (
            self.checked is None
            or isinstance(limits.stop, Guaranteed)
            or schedule.due(study.model, study.refit_every, n, self.checked)
        )
        if limits.stop is None or not due or study.n_queued or not n:
            return False
        self.checked = n
        return limits.stop(study)

    def _fill(self) -> None:
        """Keep every slot busy."""
        self.lost = [future for future in self.lost if not future.done()]
        if len(self.lost) >= self.slots:
            raise SimulationError(
                f"all {self.slots} slots of the executor are stuck in simulations that ran out of time; what "
                "was told is kept. Restart its workers, then run again."
            )
        while len(self.in_flight) + len(self.lost) < self._slots():
            since = time.monotonic()
            trials = self.study._journal.ask(
                self.resources.batch,
                worker=self.presence.name,
                room=self.limits.room,
                policy=self._stage,
            )
            self.asked, self.asking = self.asked + len(trials), self.asking + time.monotonic() - since
            if not trials:
                return
            jobs = [(trial.alternative, trial.context, trial.seed) for trial in trials]
            try:
                future = self.executor.submit(evaluate, self.simulate, jobs)
            except BaseException:
                self.study._journal.give_back([trial.id for trial in trials])
                raise
            self.in_flight[future] = trials, time.monotonic()
            future.add_done_callback(self.finished.put)

    def _slots(self) -> int:
        """Return how many may simulate now: an executor whose workers come and go says who is present."""
        return min(self.slots, max(1, getattr(self.executor, "present", self.slots)))

    def _stage(self, ledger: Ledger) -> Policy | None:
        """Return the policy of the last stage: of a guarantee, or once the rest of the budget is reserved."""
        if isinstance(self.limits.stop, Guaranteed):
            return registry.separation(self.limits.stop.missing(self.study))
        if not self.limits.confirm or self.limits.budget is None:
            return None
        asked = ledger.n_observations + len(ledger.held)
        return registry.confirmation() if asked >= (1 - self.limits.confirm) * self.limits.budget else None

    def _first_finished(self, *, filling: bool = False) -> "Future[list[Outcome]]":
        """Return a future that has ended, or one that is out of time."""
        while True:
            try:
                return self.finished.get(timeout=_POLL)
            except Empty:
                late = self._late()
                if late is not None:
                    return late
                if filling and hasattr(self.executor, "present"):  # there may be more of them now
                    self._fill()

    def _late(self) -> "Future[list[Outcome]] | None":
        if self.resources.timeout is None or self.resources.executor is None:
            return None
        now = time.monotonic()
        for future, (trials, since) in self.in_flight.items():
            if now - since > self.resources.timeout * len(trials):
                return future
        return None

    def _collect(self, future: "Future[list[Outcome]]") -> None:
        """Tell the values of a future, or what went wrong."""
        if future not in self.in_flight:  # it was out of time before it ended
            return
        trials, since = self.in_flight[future]
        took = (time.monotonic() - since) / len(trials)
        if future.done():
            outcomes = executors.outcomes(future, len(trials), took)
        else:
            if not future.cancel():
                self.lost.append(future)
            outcomes = [Outcome(None, f"no value after {self.resources.timeout:g} s", took)] * len(trials)
        allowed = self.study.problem.reward_range
        self.in_hand += zip(trials, (executors.possible(each, allowed) for each in outcomes), strict=True)
        del self.in_flight[future]
        while self.in_hand:
            self._settle()
        self.report(self.limits.done(self.study._journal.ledger), self.total)

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
        told = [record(trial, outcome.value, outcome.seconds) for trial, outcome in values]
        kept = set(self.study._journal.tell_all(told))
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


def _ready(study: "Study", limits: Limits) -> Simulate:
    """Return the simulator, after checking that the run can begin."""
    if study.problem.simulate is None:
        raise InputError("this study has no simulator to run. Give its problem one, or use `ask` and `tell`.")
    study._journal.begin(limits.budget)
    ledger = study._journal.ledger
    due = study.n_queued + sum(ledger.trials.designed(i) for i in ledger.given_back)
    needed = study.n_observations + due
    if limits.budget is not None and limits.budget < needed and due:
        raise InputError(
            f"a budget of {limits.budget} is below the {needed} replications of the initial design; raise "
            "it, or choose a smaller initial design."
        )
    simulate: Simulate = study.problem.simulate
    if study.common_random_numbers:
        simulate = for_shared_seeds(simulate)
    return simulate

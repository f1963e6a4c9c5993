"""The ledger: what the events of a study add up to. Only `Study` keeps one, and only events change it."""

from collections.abc import Sequence

import numpy as np

from argbest import streams
from argbest.core import tally as tallies
from argbest.core.arrays import BoolArray
from argbest.errors import StorageError
from argbest.problems.base import Problem
from argbest.storage.base import Asked, Designed, Event, Failed, Parted, Passed, Readmitted, Told
from argbest.study.replications import Replications
from argbest.study.separations import Separations
from argbest.study.trial import Record, Trial, numbered

PENDING, WAITING, TOLD, FAILED = "pending", "waiting", "told", "failed"
SET_ASIDE_AFTER = (
    6  # failures in a row; a pair that fails once in five does so by chance in 1 of 15,000 cases
)


class Ledger:
    """Trials and what became of them, the tally, and what is left of the initial design."""

    def __init__(
        self,
        problem: Problem,
        design: Sequence[tuple[int, int]] | None,
        *,
        study: str,
        common: bool = False,
        numbers: Sequence[int] | None = None,
    ) -> None:
        self.problem = problem
        self.study = study
        self.design = design  # None until it is fixed
        self.design_reason = ""  # why this one, where argbest chose it
        self.queue = list(design or ())  # what is left of it
        self.numbers = numbers  # its replications, where these were made elsewhere
        self.first_free = 0 if numbers is None else 1 + max(numbers)  # later ones share nothing with those
        self._dropped: list[tuple[int, int]] = []  # of the queue, when a pair was set aside
        self.trials: list[Trial] = []
        self.asked: list[Asked] = []  # beside each trial
        self.status: list[str] = []
        self.held: dict[int, str] = {}  # trials under way, and who has them
        self.reasons: dict[int, str] = {}
        self.ended: dict[int, Told | Failed] = {}
        self.waiting: list[int] = []  # trials given back, to be asked for again
        self.records: list[Record] = []
        self.tally = tallies.empty(problem.shape, common=common)
        self.in_order = Replications(problem.shape)
        self.separations = Separations(problem, self.in_order)
        self.parted: int | None = None  # first number with seeds of its own, where they were shared before
        self.n_shared = 0  # trials asked until then
        self.replications = np.zeros(problem.shape, np.int64)  # the number that the next trial will have
        self.pending = np.zeros(problem.shape, np.int64)
        self.failures = np.zeros(problem.shape, np.int64)  # in a row
        self.failed_in_all = np.zeros(problem.shape, np.int64)
        self.timed = np.zeros(problem.shape, np.int64)  # replications whose run time is known
        self.seconds = np.zeros(problem.shape)  # their run time in all
        self.spent = 0.0  # run time of everything, failures included

    @property
    def n_observations(self) -> int:
        """Replications told so far."""
        return int(self.tally.count.sum())

    @property
    def set_aside(self) -> BoolArray:
        """[alternative, context] whether a pair has failed too often to be asked for again."""
        often = self.failures >= SET_ASIDE_AFTER
        return np.asarray(often & (self.failed_in_all > self.tally.count))

    @property
    def ruled_out(self) -> BoolArray | None:
        """[alternative, context] whether a pair was set aside without a single value; None where none was."""
        if not self.reasons:  # by far the most common
            return None
        out = self.set_aside & (self.tally.count == 0)
        return out if out.any() else None

    def first_own_number(self) -> int:
        """Return the number from which replications of a pair share no seed with any other, if parted now."""
        return int(streams.first_own_number(self.replications))

    def replicates(self) -> dict[tuple[int, int], list[float]]:
        """Return the single values told of each pair, in their order; summaries hold none."""
        values: dict[tuple[int, int], list[float]] = {}
        for entry in self.records:
            values.setdefault(entry.trial.pair, []).extend(entry.values or ())
        return values

    def apply(self, event: Event) -> None:
        """Take in what happened; refits and beginnings are the study's own business."""
        if isinstance(event, Asked):
            self._ask(event)
        elif isinstance(event, Told):
            self._tell(event)
        elif isinstance(event, Failed):
            self._fail(event)
        elif isinstance(event, Passed):
            self._pass(event)
        elif isinstance(event, Designed):
            self.design, self.design_reason, self.queue = event.pairs, event.reason, list(event.pairs)
        elif isinstance(event, Parted):
            self.parted, self.n_shared = self.first_own_number(), len(self.trials)
        elif isinstance(event, Readmitted):
            self.failures[:] = 0
            self.queue += self._dropped
            self._dropped = []

    def _ask(self, event: Asked) -> None:
        pair = event.alternative, event.context
        if event.trial != len(self.trials) or (event.designed and pair not in self.queue):
            raise StorageError(
                f"the stored trial {event.trial} does not follow the {len(self.trials)} before it; the study "
                "was changed by hand, or by a faulty storage. Put a backup back."
            )
        if event.designed:
            self.queue.remove(pair)
        self.trials.append(
            Trial(
                id=event.trial,
                alternative=self.problem.alternatives.item(event.alternative),
                context=self.problem.contexts.item(event.context),
                replication=event.replication,
                seed=event.seed,
                pair=pair,
                study=self.study,
            )
        )
        self.asked.append(event)
        self.status.append(PENDING)
        self.held[event.trial] = event.worker
        self.in_order.skip(pair, range(int(self.replications[pair]), event.replication))
        self.replications[pair] = max(self.replications[pair], event.replication + 1)
        self.pending[pair] += 1

    def _tell(self, event: Told) -> None:
        trial = self.trials[event.trial]
        entry = Record(trial, event.n, event.mean, event.m2, event.values)
        mean = np.asarray(self.problem.sign * event.mean)
        self.tally = tallies.add(self.tally, trial.decision, mean, n=event.n, m2=event.m2)
        shares = self.parted is None or trial.id < self.n_shared
        if self.tally.common is not None and event.values is not None and shares:
            numbers, values = zip(*numbered(entry), strict=True)
            signed = (self.problem.sign * value for value in values)
            self.tally = tallies.with_replications(self.tally, trial.decision, numbers, signed)
        self.records.append(entry)
        self.in_order.end(trial, event.values, summarised=0 if event.values else event.n)
        self.failures[trial.pair] = 0
        if event.seconds is not None:
            self.timed[trial.pair] += event.n
            self.seconds[trial.pair] += event.seconds
        self._close(event)

    def _fail(self, event: Failed) -> None:
        trial = self.trials[event.trial]
        self.in_order.end(trial, None)
        self.reasons[trial.id] = event.reason
        self.failures[trial.pair] += 1
        self.failed_in_all[trial.pair] += 1
        self._close(event)
        if event.again and self.asked[trial.id].designed:
            self.queue.append(trial.pair)
        if self.set_aside[trial.pair]:
            self._dropped += [pair for pair in self.queue if pair == trial.pair]
            self.queue = [pair for pair in self.queue if pair != trial.pair]

    def _pass(self, event: Passed) -> None:
        if event.trial in self.ended:  # nothing told is ever taken back
            return
        pair = self.trials[event.trial].pair
        self.pending[pair] -= self._let_go(event.trial)
        if event.worker:
            self.held[event.trial] = event.worker
            self.pending[pair] += 1
        else:
            self.waiting.append(event.trial)
        self.status[event.trial] = PENDING if event.worker else WAITING

    def _close(self, event: Told | Failed) -> None:
        self.pending[self.trials[event.trial].pair] -= self._let_go(event.trial)
        self.status[event.trial] = TOLD if isinstance(event, Told) else FAILED
        self.ended[event.trial] = event
        self.spent += event.seconds or 0.0

    def _let_go(self, trial: int) -> bool:
        """Return whether the trial was under way; it no longer is, nor does it wait."""
        if trial in self.waiting:
            self.waiting.remove(trial)
        return self.held.pop(trial, None) is not None

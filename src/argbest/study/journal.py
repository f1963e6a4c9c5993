"""The journal of a study: trials asked for, told and given back, and what is learned from them."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from argbest import jsonable, streams
from argbest.core.common_noise import goes_against
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError, SimulationError, TooFewDataError, TrialError
from argbest.models.base import Model
from argbest.policies.base import Policy
from argbest.problems.base import Problem
from argbest.problems.design import Automatic, for_model
from argbest.storage.base import (
    Asked,
    Begun,
    Designed,
    Event,
    Failed,
    Parted,
    Passed,
    Plain,
    Readmitted,
    Refit,
    Storage,
    Told,
    is_shared,
)
from argbest.study import asking
from argbest.study.learning import Knowledge, Learning, learned_costs
from argbest.study.ledger import GIVEN_BACK, PENDING, Ledger
from argbest.study.rewards import impossible, outside
from argbest.study.transcript import Transcript
from argbest.study.trial import Trial
from argbest.texts import capped

Room = Callable[["Journal"], int]
BY_HAND = "by hand"  # the worker of trials asked for outside `run`


class _Decided(NamedTuple):
    """What the policy decided: on which knowledge, what it becomes if it changes, both as events, pairs."""

    knowledge: Knowledge | None  # None: nothing was decided
    policy: Policy | None
    events: list[Event]
    pairs: list[tuple[int, int]]


class Journal(Transcript):
    """What a study asks, is told and learns, written to its storage."""

    def __init__(
        self, storage: Storage, stored: Plain, problem: Problem, policy: Policy, model: Model[Any]
    ) -> None:
        self.refit_every = stored["refit_every"]
        self.seeds = asking.Seeds(stored["seed"], stored["common_random_numbers"])
        self.cost = jsonable.decode(stored["cost"])  # a table, "measured" or None
        super().__init__(storage, stored, problem, policy, model)

    def ask(
        self,
        n: int,
        *,
        worker: str,
        only: int | None = None,
        room: Room | None = None,
        policy: Callable[[Ledger], Policy | None] | None = None,
    ) -> list[Trial]:
        """Return up to n trials for a worker; fewer, or none, where ``room`` says so.

        ``policy`` may name another one to decide in the place of the study's own.
        """
        decided = _Decided(None, None, [], [])

        def decide() -> list[Event]:
            nonlocal decided
            some = n if room is None else min(n, room(self))
            decided = _Decided(None, None, [], [])
            if some < 1:
                return []
            again = asking.given_back(self.ledger, some, only)
            designed = asking.of_design(self.ledger, some - len(again), only)
            due = designed + [self.ledger.trials.pair(i) for i in again]
            if len(due) < some:
                decided = self._decide(due, some - len(due), only, policy, patient=room is not None)
            parting = any(isinstance(event, Parted) for event in decided.events)
            issued = asking.issued(
                self.ledger, self.seeds, worker, again=again, designed=designed, chosen=decided.pairs,
                parted=self.ledger.first_own_number() if parting else self.ledger.parted,
            )  # fmt: skip
            return decided.events + issued

        def know() -> None:
            if (known := decided.knowledge) is not None:
                self._knowledge = lambda: known
            if decided.policy is not None:
                self.policy, self._begun = decided.policy, True

        if self.ledger.design is None:
            self.begin()
        self._learn_ahead(n)
        events = self._write(decide, know)
        return [self.ledger.trials[event.trial] for event in events if isinstance(event, (Asked, Passed))]

    def automatic(self, budget: int | None = None) -> Automatic:
        """Return the initial design for a budget, or for the planned one."""
        planned = self._stored["plan"].get("budget") if budget is None else budget
        return for_model(self.model, self.problem, planned)

    def begin(self, budget: int | None = None) -> None:
        """Fix the initial design, where the study left it open and nobody has fixed it yet."""

        def decide() -> list[Event]:
            if self.ledger.design is not None:
                return []
            best = self.automatic(budget)
            pairs = best.pairs(self.problem, streams.generator(self.seeds.root, streams.Purpose.DESIGN))
            return [Designed(tuple(pairs), best.reason(self.problem), time.time())]

        if self.ledger.design is None:
            self._write(decide)

    def tell(self, told: Told) -> None:
        """Keep what was told about a trial."""
        if told.values is None:
            wrong = outside(self.problem.reward_range, told.mean)
        else:
            wrong = impossible(self.problem, *told.values)
        if wrong:
            share = " Tell k successes of n as mean=k/n, n=n." if self.problem.rate else ""
            raise InputError(
                f"`tell` got an impossible reward for {self.ledger.trials[told.trial]}: {wrong}. "
                f"Correct the value, or the definition of the problem.{share}"
            )
        self._close(told)

    def tell_all(self, told: Sequence[Told]) -> list[int]:
        """Return the trials whose values were kept, in one transaction; others were told in the meantime."""

        def decide() -> list[Event]:
            return [event for event in told if self.ledger.status(event.trial) in (PENDING, GIVEN_BACK)]

        return [event.trial for event in self._write(decide) if isinstance(event, Told)]

    def fail(self, trial: Trial, reason: str, *, again: bool, seconds: float | None) -> None:
        """Keep that a trial gave no value; ``again``: its pair goes back to the initial design."""
        self._close(Failed(trial.id, capped(reason), again, seconds, time.time()))

    def give_back(self, trials: Sequence[int], *, of: Collection[str] | None = None) -> None:
        """Let trials that are under way be asked for again; ``of``: only what these workers still have."""

        def decide() -> list[Event]:
            now, held = time.time(), self.ledger.held
            return [Passed(i, "", now) for i in trials if i in held and (of is None or held[i] in of)]

        self._write(decide)

    def readmit(self) -> None:
        """Try the pairs set aside once more."""
        self._write(lambda: [Readmitted(time.time())])

    def open(self, trial: Trial | int) -> Trial:
        """Return the open trial meant, or say why there is none."""
        number = self._open(trial)
        return trial if isinstance(trial, Trial) else self.ledger.trials[number]

    def _open(self, trial: Trial | int) -> int:
        """Return the number of the open trial meant, or say why there is none."""
        trials = self.ledger.trials
        if isinstance(trial, Trial) and trial.study != self.ledger.study:
            raise TrialError(
                f"{trial} belongs to another study; tell it to the study whose `ask` returned it."
            )
        number = trial.id if isinstance(trial, Trial) else trial
        known = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if known and number >= len(trials):
            self.catch_up()  # another process may have asked for it
        if not known or not 0 <= number < len(trials):
            raise TrialError(
                f"unknown trial {trial!r}; this study has asked {len(trials)} trials. "
                "Pass a trial that `ask` returned, or its id."
            )
        if (status := self.ledger.status(number)) not in (PENDING, GIVEN_BACK):
            raise TrialError(
                f"{trials[number]} is {status} already; "
                "each trial is told once. Ask for a new one to add a replication."
            )
        return int(number)

    def learned(self) -> Knowledge:
        """Return the knowledge that takes in all records; looking at it changes nothing."""
        learning = self._known_learning() or self._new_learning(self.ledger.live)  # read at once: no copy
        found = learning.knowledge
        self._learning = learning
        return found

    def learning(self) -> Learning:
        """Return what will be learned from all records of now if somebody asks, whatever comes later."""
        if (learning := self._known_learning()) is None:
            learning = self._learning = self._new_learning(self.ledger.tally)
        return learning

    def _known_learning(self) -> Learning | None:
        """Return the last one if it is that of all records, None if it is not."""
        last = self._learning
        if last is None or last.n_records != len(self.ledger.records):
            return None
        return last if last.done or last.setting is self.open_setting() else None

    def _new_learning(self, tally: Tally) -> Learning:
        ledger = self.ledger
        return Learning(
            self.model, self.open_setting(), self._knowledge, tally, ledger.trials, ledger.records,
            n=ledger.n_observations, refit_every=self.refit_every, sign=self.problem.sign,
        )  # fmt: skip

    def costs(self) -> "np.ndarray[Any, Any] | None":
        """Return the cost of a replication per pair as it is known now, None where all cost alike."""
        if isinstance(self.cost, str):
            return learned_costs(self.ledger.timed, self.ledger.seconds)
        return self.cost  # type: ignore[no-any-return]

    def expected_seconds(self, trials: Sequence[int]) -> float:
        """Return how long the simulations of these trials will take, 0 where none was timed yet."""
        if not trials or not self.ledger.timed.any():
            return 0.0
        table = learned_costs(self.ledger.timed, self.ledger.seconds)
        return float(sum(table[self.ledger.trials.pair(i)] for i in trials))

    def _setting(self) -> Setting:
        """Return what the policy may know: costs, and the pairs set aside."""
        setting = self.open_setting()
        if setting.excluded is not None and setting.excluded.all():
            raise SimulationError(
                "every pair failed repeatedly and was set aside; the trials hold the reasons. Fix the "
                "simulator, readmit the pairs, and continue."
            )
        if self.cost is not None:
            setting = replace(setting, cost=self.costs())
        return setting

    def _learn_ahead(self, n: int) -> None:
        """Learn before others are locked out: fitting, let alone compiling for the first time, takes long."""
        if not is_shared(self.storage):
            return
        self.catch_up()
        if n > len(self.ledger.given_back) + len(self.ledger.queue):
            with suppress(TooFewDataError):  # whoever decides will say so
                self.learned()

    def _decide(
        self,
        due: list[tuple[int, int]],
        n: int,
        only: int | None,
        policy: Callable[[Ledger], Policy | None] | None,
        *,
        patient: bool,
    ) -> "_Decided":
        """Return the policy's n pairs; none if it needs more of the initial design, and that is coming."""
        try:
            knowledge, following, events = self._prepare()
            deciding = (policy and policy(self.ledger)) or following or self.policy
            pairs = asking.choose(
                self.ledger, knowledge, deciding, self._setting(), self.seeds, due, n=n, only=only
            )
        except TooFewDataError:
            coming = bool(due) or any(
                self.ledger.trials.designed(i) for i, who in self.ledger.held.items() if who != BY_HAND
            )
            if not patient or not coming:
                raise
            return _Decided(None, None, [], [])
        return _Decided(knowledge, following, events, pairs)

    def _prepare(self) -> tuple[Knowledge, Policy | None, list[Event]]:
        """Return the knowledge to decide on, the policy to go on with if it changes, and both as events."""
        knowledge = self.learned()
        events: list[Event] = []
        n_records = len(self.ledger.records)
        if self.knowledge is None or knowledge.n_fitted != self.knowledge.n_fitted:
            events.append(Refit(n_records, knowledge.n_fitted, self._plain(knowledge.params)))
            shared = self.ledger.parted is None and self.ledger.live.common is not None
            if shared and goes_against(self.ledger.live, knowledge.belief.noise):
                events.append(Parted(time.time()))
        following = None if self._begun else asking.begun(self.policy, self.ledger, self.open_setting())
        if following is not None:
            events.append(Begun(n_records))
        return knowledge, following, events

    def _plain(self, params: Any) -> Mapping[str, Any] | None:
        """Return parameters as plain values; in memory nobody may ever look, and any object will do."""
        if is_shared(self.storage):
            return jsonable.encode_fields(params)
        return jsonable.Later(params) if is_dataclass(params) else None

    def _close(self, event: Told | Failed) -> None:
        def decide() -> list[Event]:
            self._open(event.trial)  # somebody may have told it in the meantime
            return [event]

        self._write(decide)

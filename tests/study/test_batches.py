"""Several trials at once: those under way are counted, and values may come in any order."""

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from grids import mostly_slow
from study.conftest import SHAPE, answer, assert_same_belief, problem, simulate, started, where

from argbest import Study, TrialError
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws
from argbest.policies.ocba import GPCOCBA
from argbest.storage.base import Event, Told
from argbest.storage.memory import MemoryStorage
from argbest.study.trial import record

POLICY = pytest.mark.parametrize(
    "policy", mostly_slow(["gp-c-ocba", "equal", "random"], fast=["gp-c-ocba", "equal"])
)


@dataclass(frozen=True)
class Blind:
    """GP-C-OCBA without knowledge of the trials under way; keeps what it was told of them."""

    seen: list[int] = field(default_factory=list)

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        self.seen.append(int(pending.sum()))
        return GPCOCBA().propose(belief, tally, np.zeros_like(pending), setting, draws, n)


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_spreads_out_more_than_asking_blindly(seed: int) -> None:
    together = where(started(seed=seed).ask(20))
    blind = started(Blind(), seed=seed)
    repeated = [blind.ask()[0].pair for _ in range(20)]
    assert len(set(repeated)) == 1
    assert len(set(together)) > 1
    assert Counter(together).most_common(1)[0][1] <= 12


@pytest.mark.parametrize("seed", range(4))
def test_a_batch_is_what_asking_one_by_one_gives(seed: int) -> None:
    together = where(started(seed=seed).ask(20))
    study = started(seed=seed)
    assert [study.ask()[0].pair for _ in range(20)] == together
    study = started(seed=seed)
    assert where(study.ask(7)) + where(study.ask(13)) == together


def test_the_policy_is_told_how_many_trials_are_under_way() -> None:
    policy = Blind()
    study = started(policy)
    one, two, *_ = study.ask(5)
    study.ask(2)
    study.tell(one, 1.0)
    study.fail(two, "lost")
    study.ask(1)
    assert policy.seen == [0, 5, 5]


@POLICY
def test_twenty_trials_are_asked_without_being_told(policy: str) -> None:
    study = started(policy)
    trials = study.ask(20)
    assert len(trials) == 20
    assert len(set(where(trials))) > 1
    assert all(0 <= k < SHAPE[0] and 0 <= c < SHAPE[1] for k, c in where(trials))
    assert [trial.id for trial in trials] == list(range(12, 32))
    assert len({(trial.pair, trial.seed) for trial in trials}) == 20
    assert study.n_replications == 12


def test_equal_allocation_counts_trials_under_way() -> None:
    study = started("equal")
    asked = where(study.ask(5)) + where(study.ask(11)) + where(study.ask(8))
    assert set(Counter(asked).values()) == {2}
    assert len(set(asked)) == 12


def test_a_failed_trial_is_no_longer_under_way() -> None:
    study = started("equal")
    lost = study.ask(12)
    for trial in lost:
        study.fail(trial, "lost")
    again = study.ask(12)
    assert sorted(where(again)) == sorted(where(lost))
    assert {trial.replication for trial in again} == {2}
    assert study.allocation()["pending"].sum() == 12


def test_replications_are_numbered_within_a_batch() -> None:
    study = Study(problem(), initial=[("a", 0)] * 4)
    trials = study.ask(4)
    assert [trial.replication for trial in trials] == [0, 1, 2, 3]
    assert len({trial.seed for trial in trials}) == 4


@POLICY
def test_values_may_come_in_any_order(policy: str) -> None:
    study, backwards = started(policy), started(policy)
    for n in (6, 9, 4):
        answer(study, study.ask(n))
        answer(backwards, reversed(backwards.ask(n)))
        assert_same_belief(backwards._belief(), study._belief(), 1e-6)
    assert backwards.trials().equals(study.trials())
    assert backwards.observations()["trial"].tolist() != study.observations()["trial"].tolist()


def test_a_late_value_is_taken_after_other_batches_and_refits() -> None:
    study = started()
    late, *others = study.ask(4)
    answer(study, others)
    for _ in range(15):
        answer(study, study.ask(2))
    assert study.allocation()["pending"].sum() == 1
    before = study.n_replications
    answer(study, [late])
    assert study.n_replications == before + 1
    assert study.allocation()["pending"].sum() == 0
    assert study.observations()["trial"].tolist()[-1] == late.id


def test_workers_that_finish_at_different_times_keep_the_books_straight() -> None:
    study = Study(problem(), initial=1)
    waiting = study.ask(4)
    generator = np.random.default_rng(0)
    for _ in range(80):
        done = waiting.pop(int(generator.integers(len(waiting))))
        answer(study, [done])
        waiting += study.ask()
    assert study.n_replications == 80
    assert len(waiting) == 4
    frame = study.observations()
    expected = [
        simulate(a, c, s)
        for a, c, s in zip(frame["alternative"], frame["context"], frame["seed"], strict=True)
    ]
    assert frame["value"].tolist() == expected
    again = study.problem.tally(frame)
    np.testing.assert_array_equal(again.count, study.tally.count)
    np.testing.assert_allclose(again.mean, study.tally.mean, rtol=1e-12)


def test_a_run_leaves_trials_under_way_alone() -> None:
    study = Study(problem(), initial=1)
    mine = study.ask(3)
    study.run(40)
    assert study.n_replications == 40
    assert study.trials()["status"].value_counts().to_dict() == {"told": 40, "pending": 3}
    answer(study, mine)
    assert study.n_replications == 43


def test_a_batch_in_one_context_is_spread_over_its_alternatives() -> None:
    study = started()
    trials = study.ask(12, context=1)
    assert {c for _, c in where(trials)} == {1}
    assert len({k for k, _ in where(trials)}) > 1


def test_a_refused_value_keeps_its_trial_under_way() -> None:
    study = started()
    trial = study.ask()[0]
    with pytest.raises(ValueError, match="a reward must be finite"):
        study.tell(trial, float("nan"))
    assert study.allocation()["pending"].sum() == 1
    study.tell(trial, 1.0)
    with pytest.raises(TrialError, match="is told already"):
        study.tell(trial, 1.0)


def test_a_trial_that_travelled_to_another_process_is_still_ours() -> None:
    study = started()
    trial = pickle.loads(pickle.dumps(study.ask()[0]))  # noqa: S301
    study.tell(trial, 1.0)
    assert study.n_replications == 13


def test_the_values_of_a_batch_are_kept_in_one_transaction() -> None:
    class Counting(MemoryStorage):
        sizes: ClassVar[list[int]] = []

        def _keep(self, events: Sequence[Event]) -> None:
            self.sizes.append(sum(isinstance(event, Told) for event in events))
            super()._keep(events)

    told: list[int] = []
    study = Study(problem(), policy="equal", initial=1, storage=Counting())
    study.run(24, batch=6, on_result=lambda trial, _: told.append(trial.id))
    assert [size for size in Counting.sizes if size] == [6] * 4
    assert told == list(range(24))


def test_of_a_batch_only_what_nobody_else_has_told_is_kept() -> None:
    study = Study(problem(), policy="equal", initial=1)
    trials = study.ask(3)
    study.tell(trials[1], 5.0)
    told = [record(trial, float(trial.id)) for trial in trials]
    assert study._journal.tell_all(told) == [0, 2]
    assert study.observations()["value"].tolist() == [5.0, 0.0, 2.0]

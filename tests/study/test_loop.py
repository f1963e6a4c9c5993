"""The loop: asking and telling by hand is what `run` does, reproducibly, and looking changes nothing."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from grids import mostly_slow
from hypothesis import given, settings
from hypothesis import strategies as st
from study.conftest import (
    SHAPE,
    answer,
    assert_close,
    assert_same_frames,
    pairs,
    problem,
    simulate,
    started,
    where,
)

from argbest import Problem, RandomContexts, Study, Trial
from argbest.core.arrays import IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.policies.base import Draws
from argbest.policies.equal import Equal

POLICIES = ("gp-c-ocba", "equal", "random")
POLICY = pytest.mark.parametrize("policy", mostly_slow(POLICIES, fast=["gp-c-ocba", "equal"]))


def look(study: Study) -> None:
    study._belief()
    study.selection()
    study.certificate(0.1)
    study.predict([0.5, 9])
    study.predict_proba([1])
    study.observations()
    study.allocation()
    study.trials()


@POLICY
def test_asking_and_telling_by_hand_equals_run(policy: str) -> None:
    by_hand = Study(problem(), policy=policy, seed=5)
    while by_hand.n_replications < 60:
        trial = by_hand.ask()[0]
        by_hand.tell(trial, simulate(str(trial.alternative), int(str(trial.context)), trial.seed))
    run = Study(problem(), policy=policy, seed=5).run(60)
    assert_same_frames(by_hand, run)
    pd.testing.assert_frame_equal(by_hand.selection(), run.selection())


@pytest.mark.parametrize("budget", [24, 25, 47])
def test_run_stops_at_exactly_its_budget(budget: int) -> None:
    study = Study(problem()).run(budget)
    assert study.n_replications == budget
    assert len(study.observations()) == budget
    assert study.allocation()["n"].sum() == budget
    assert not study.allocation()["pending"].any()


def test_run_counts_observations_told_by_hand() -> None:
    study = Study(problem(), initial=0)
    study.tell(study.ask()[0], [1.0, 2.0, 3.0, 4.0])
    assert study.run(30).n_replications == 30
    assert len(study.trials()) == 27


@POLICY
def test_a_run_goes_on_where_the_last_one_ended(policy: str) -> None:
    in_parts = Study(problem(), policy=policy, initial=2).run(31).run(60).run(60).run(100)
    assert_same_frames(in_parts, Study(problem(), policy=policy, initial=2).run(100))


@pytest.mark.parametrize("budget", [40, 30])
def test_a_budget_already_spent_simulates_nothing(budget: int) -> None:
    study = Study(problem()).run(40)
    assert study.run(budget).n_replications == 40
    assert len(study.trials()) == 40


def test_run_returns_the_study_itself() -> None:
    study = Study(problem())
    assert study.run(24) is study


@POLICY
def test_a_study_is_a_function_of_its_seed(policy: str) -> None:
    one, same, other = (Study(problem(), policy=policy, seed=seed).run(50) for seed in (1, 1, 2))
    assert_same_frames(one, same)
    pd.testing.assert_frame_equal(one.selection(), same.selection())
    assert set(one.trials()["seed"]).isdisjoint(other.trials()["seed"])
    assert pairs(one) != pairs(other)


def test_trials_carry_distinct_seeds_and_count_their_replications() -> None:
    frame = Study(problem(), policy="random", common_random_numbers=False).run(150).trials()
    assert frame["seed"].is_unique
    assert frame["trial"].tolist() == list(range(150))
    for _, group in frame.groupby(["alternative", "context"]):
        assert group["replication"].tolist() == list(range(len(group)))


def test_the_seed_of_a_replication_does_not_depend_on_the_policy() -> None:
    key = ["alternative", "context", "replication"]
    one, two = (
        Study(problem(), policy=policy).run(80).trials().set_index(key)["seed"]
        for policy in ("equal", "random")
    )
    common = one.index.intersection(two.index)
    assert len(common) > 40
    assert one[common].tolist() == two[common].tolist()


@POLICY
def test_common_random_numbers_are_shared_by_the_alternatives_of_a_context(policy: str) -> None:
    frame = Study(problem(), policy=policy, common_random_numbers=True).run(90).trials()
    shared = frame.groupby(["context", "replication"])["seed"]
    assert (shared.nunique() == 1).all()
    assert shared.first().is_unique
    assert shared.size().max() == SHAPE[0]


def test_without_common_random_numbers_alternatives_have_seeds_of_their_own() -> None:
    frame = Study(problem(), initial=3, common_random_numbers=False).run(36).trials()
    assert frame.groupby(["context", "replication"])["seed"].nunique().eq(SHAPE[0]).all()


@POLICY
def test_looking_changes_no_later_decision(policy: str) -> None:
    plain, watched = started(policy), started(policy)
    for n in (1, 4, 7, 1, 3):
        for study in (plain, watched):
            for i, trial in enumerate(study.ask(n)):
                answer(study, [trial])
                if study is watched and i == 1:
                    look(study)
    assert_same_frames(plain, watched)
    pd.testing.assert_frame_equal(plain.selection(), watched.selection())


def test_looking_before_the_initial_design_is_complete_changes_nothing() -> None:
    plain, watched = Study(problem()), Study(problem())
    for study in (plain, watched):
        for n in range(30):
            answer(study, study.ask())
            if study is watched and n % 8 == 0:
                look(study)
    assert_same_frames(plain, watched)


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["look", "last", "first", "fail"]),
        st.integers(1, 6),
        st.tuples(st.just("context"), st.integers(0, 3)),
    ),
    max_size=25,
)


def take(study: Study, steps: list[Any], *, looking: bool) -> list[Trial]:
    """Do the steps: ask for so many, tell the oldest or the newest, fail, ask in a context, look."""
    waiting: list[Trial] = []
    for step in steps:
        if step == "look":
            if looking and study.n_replications:
                look(study)
        elif isinstance(step, int):
            waiting += study.ask(step)
        elif isinstance(step, tuple):
            waiting += study.ask(context=step[1])
        elif waiting and step == "fail":
            study.fail(waiting.pop(), "gone")
        elif waiting:
            answer(study, [waiting.pop(0 if step == "first" else -1)])
    return waiting


@settings(max_examples=15, deadline=None)
@given(steps=STEPS, initial=st.sampled_from([0, 1, RandomContexts(2)]), every=st.integers(1, 5))
def test_any_sequence_of_calls_is_reproducible_and_blind_to_looking(
    steps: list[Any], initial: Any, every: int
) -> None:
    watched, plain = (Study(problem(), initial=initial, refit_every=every, seed=3) for _ in range(2))
    waiting = take(watched, steps, looking=True)
    take(plain, steps, looking=False)
    assert_same_frames(watched, plain)
    assert where(copy.deepcopy(watched).ask(4)) == where(copy.deepcopy(plain).ask(4))
    allocation, trials = watched.allocation(), watched.trials()
    assert allocation["pending"].sum() == len(waiting) == (trials["status"] == "pending").sum()
    assert allocation["n"].sum() == (trials["status"] == "told").sum() == watched.n_replications


def test_progress_is_reported_after_every_observation() -> None:
    calls: list[tuple[int, int]] = []
    Study(problem()).run(26, progress=lambda done, budget: calls.append((done, budget)))
    assert calls == [(n, 26) for n in range(1, 27)]


def test_the_progress_bar_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    Study(problem()).run(24, progress=True)
    captured = capfd.readouterr()
    assert "24/24" in captured.err
    assert captured.out == ""


def test_the_certificate_is_reproducible_and_in_line_with_the_selection() -> None:
    study = Study(problem(), seed=4).run(60)
    one, two, selection = study.certificate(), study.certificate(), study.selection()
    assert float(one.p_all) == float(two.p_all)
    assert_close(one.pcs, selection["p_best"], 1e-12)
    assert_close(one.expected_loss, selection["expected_loss"], 1e-12)
    assert (
        np.asarray(study.problem.alternatives.labels)[one.selected].tolist() == selection["selected"].tolist()
    )
    assert float(one.p_all) <= float(one.pcs_m) + 3 * float(one.p_all_se)
    assert float(study.certificate(delta=1.0).pcs_e) > float(one.pcs_e)


@dataclass(frozen=True)
class Begins:
    """Equal allocation that notes how many observations there were when it was told to begin."""

    at: int = 0

    def begin(self, setting: Setting, tally: Tally) -> "Begins":
        assert len(setting.weights) == tally.shape[-1]
        return replace(self, at=int(tally.count.sum()))

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        return Equal().propose(belief, tally, pending, setting, draws, n)


def test_a_policy_with_a_second_stage_begins_once_when_the_initial_design_is_in() -> None:
    study = Study(problem(), policy=Begins(), initial=1).run(30)
    assert study.policy == Begins(at=12)
    early = Study(problem(), policy=Begins(), initial=1)
    trials = early.ask(14)  # two beyond the design, decided while all of it is under way
    assert early.policy == Begins()
    for trial in trials:
        early.tell(trial, 1.0 + trial.id)
    early.ask()
    assert early.policy == Begins(at=14)


def test_a_tally_that_was_handed_out_stays_as_it_was() -> None:
    study = Study(Problem(["a", "b"], [1, 2]), initial=1)
    trials = study.ask(4)
    study.tell(trials[0], 1.0)
    held = study.tally
    for trial in trials[1:]:
        study.tell(trial, 2.0)
    assert held.count.sum() == 1
    assert study.tally.count.sum() == study.n_replications == 4

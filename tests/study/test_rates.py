"""Rates: rewards that are 0 or 1, declared or told as truth values, and what is reported of them."""

import json
import sqlite3
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from study.conftest import succeeds

import argbest
from argbest import InputError, Problem, SimulationError, Study, batched
from argbest.errors import DataNotice
from argbest.experiment import Experiment
from argbest.experiment.spec import _described
from argbest.simulators.calling import Outcome, evaluate
from argbest.study import checking
from argbest.study.rewards import RewardKind

QUICK: dict[str, Any] = {"policy": "equal", "model": "independent", "initial": 2}


def as_number(alternative: str, context: int, seed: int) -> float:
    return float(succeeds(alternative, context, seed))


def two(simulate: Any = None, **options: Any) -> Problem:
    return Problem(["a", "b"], [0, 1], simulate, **options)


def study_of(*values: Any, **options: Any) -> Study:
    """A study that has been told these values, one trial after the other."""
    study = Study(two(**options), **{**QUICK, "initial": max(1, -(-len(values) // 4))})
    for trial, value in zip(study.ask(len(values)), values, strict=True):
        study.tell(trial, value)
    return study


# Declared rates


def test_a_declared_rate_takes_zeros_ones_and_truth_values() -> None:
    study = study_of(0, 1.0, True, np.False_, [0, 1, 1], np.array([True, False]), rate=True)
    assert study.rate
    assert study.reward_range == study.problem.reward_range == (0.0, 1.0)
    assert study.n_replications == 9
    assert study.observations()["value"].tolist() == [0, 1, 1, 0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize("value", [0.3, 2, -1, [0, 1, 0.5], 1e-12])
def test_other_values_of_a_declared_rate_are_refused(value: Any) -> None:
    study = Study(two(rate=True), **QUICK)
    with pytest.raises(InputError, match="neither 0 nor 1, but rate=True. Correct .*mean=k/n, n=n"):
        study.tell(study.ask()[0], value)
    assert study.n_replications == 0


def test_another_value_is_a_failure_of_its_trial_in_a_run() -> None:
    def shares(alternative: str, context: int, seed: int) -> float:
        return 0.3 if alternative == "b" and context == 1 else 1.0

    problem = two(shares, rate=True)
    with pytest.raises(SimulationError, match="an impossible reward: 0.3 is neither 0 nor 1, but rate=True"):
        Study(problem, **QUICK).run(8)
    study = Study(problem, **QUICK).run(12, on_failure="record")
    assert study.set_aside == [("b", 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1}, "rate must be True or False, got 1"),
        ({"rate": "yes"}, "rate must be True or False, got 'yes'"),
        ({"rate": True, "reward_range": (0, 2)}, r"rate=True and reward_range=\(0, 2\); .* Leave out one"),
    ],
)
def test_wrong_declarations_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        two(**options)


def test_a_rate_may_repeat_its_range() -> None:
    assert two(rate=True, reward_range=(0, 1)).reward_range == (0.0, 1.0)
    assert not two(reward_range=(0, 1)).rate
    assert study_of(0.5, reward_range=(-2, 2)).reward_range == (-2.0, 2.0)
    assert study_of(0.5).reward_range is None


def test_select_declares_a_rate() -> None:
    study = argbest.select(
        as_number, ["a", "b"], [0], budget=12, rate=True, policy="equal", model="independent"
    )
    assert study.rate
    assert study.selection()["mean"].between(0, 1).all()


# k of n


def test_k_of_n_is_what_n_single_values_are() -> None:
    summed, single = (Study(two(rate=True), **QUICK) for _ in range(2))
    summed.tell(summed.ask()[0], mean=3 / 7, n=7)
    single.tell(single.ask()[0], [1, 1, 1, 0, 0, 0, 0])
    for name in ("count", "mean", "m2"):
        np.testing.assert_allclose(getattr(summed.tally, name), getattr(single.tally, name), rtol=1e-14)
    assert summed._journal.ledger.rewards.kind == RewardKind.BINARY


@pytest.mark.parametrize(
    "summary",
    [
        {"mean": 0.3, "n": 10, "variance": 0.3 * 0.7 * 10 / 9},
        {"mean": 1, "n": 5, "variance": 0},
        {"mean": 0.0, "n": 1},
        {"mean": 1 / 3, "n": 3 * 10**9},
    ],
)
def test_summaries_of_a_rate_that_agree_are_taken(summary: dict[str, Any]) -> None:
    study = Study(two(rate=True), **QUICK)
    study.tell(study.ask()[0], **summary)
    assert study.n_replications == summary["n"]


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        ({"mean": 0.3, "n": 7}, "mean times n counts those that are 1: expected a whole number from 0 to 7"),
        ({"mean": 1.2, "n": 10}, "expected a whole number from 0 to 10"),
        ({"mean": float("nan"), "n": 10}, "expected a whole number from 0 to 10"),
        ({"mean": "0.3", "n": 10}, "expected a whole number from 0 to 10"),
        ({"mean": 0.5, "n": 1}, "expected a whole number from 0 to 1"),
        (
            {"mean": 0.3, "n": 10, "variance": 0.21},
            r"3 ones among 10 .* variance 0.233333 .*Leave the variance",
        ),
        ({"mean": 0.3, "n": 10, "variance": "no"}, "Leave the variance out"),
        ({"mean": 0.3, "n": 0}, "n counts replications"),
    ],
)
def test_wrong_summaries_of_a_rate_are_refused(summary: dict[str, Any], message: str) -> None:
    study = Study(two(rate=True), **QUICK)
    with pytest.raises(InputError, match=message):
        study.tell(study.ask()[0], **summary)


def test_a_summary_without_variance_needs_a_declared_rate() -> None:
    study = Study(two(), **QUICK)
    trial = study.ask()[0]
    with pytest.raises(
        InputError, match="needs their variance.*declare rate=True: then mean and n are enough"
    ):
        study.tell(trial, mean=0.3, n=10)
    with pytest.raises(
        InputError, match=r"needs their variance: that of one replication, with divisor n - 1\.$"
    ):
        study.tell(trial, mean=3, n=10)
    told = study_of(True)  # truth values so far do not declare what comes
    with pytest.raises(InputError, match="declare rate=True"):
        told.tell(told.ask()[0], mean=0.5, n=2)


# Truth values


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (True, [1]),
        (np.False_, [0]),
        (np.array(True), [1]),
        ([True, False], [1, 0]),
        ([np.True_, False], [1, 0]),
        (np.array([False, True]), [0, 1]),
        (pd.Series([True, True, False]), [1, 1, 0]),
        (np.ma.array([True, False]), [1, 0]),
    ],
    ids=repr,
)
def test_truth_values_make_a_rate(value: Any, told: list[int]) -> None:
    study = study_of(value)
    assert study.observations()["value"].tolist() == told
    assert study.rate
    assert study.reward_range == (0.0, 1.0)
    assert study.problem.reward_range is None


@pytest.mark.parametrize(
    "value", [[True, 0.5], [1, True], [], [[True]], np.array([[True]]), {True: 1}, {True}]
)
def test_what_is_no_row_of_truth_values_is_refused(value: Any) -> None:
    study = Study(two(), **QUICK)
    with pytest.raises(InputError, match="`tell` got"):
        study.tell(study.ask()[0], value)


def test_a_masked_truth_value_is_refused() -> None:
    study = Study(two(), **QUICK)
    with pytest.raises(InputError, match="an array of bool is not of numbers|masked"):
        study.tell(study.ask()[0], np.ma.array([True, False], mask=[False, True]))


def test_nothing_told_is_no_rate() -> None:
    study = Study(two(), **QUICK)
    assert not study.rate
    assert study.reward_range is None


@pytest.mark.parametrize("other", [1.0, 0.3, [1, 0]])
def test_a_number_among_truth_values_ends_the_rate_with_a_notice(other: Any) -> None:
    study = study_of(True, False)
    trial = study.ask()[0]
    with pytest.warns(
        DataNotice,
        match=r"were True or False, .*; trial 2 returned .*, a number, so they no longer are.*rate=True",
    ):
        study.tell(trial, other)
    assert not study.rate
    study.tell(study.ask()[0], True)
    assert not study.rate


def test_goal_min_counts_truth_values_like_numbers() -> None:
    study = Study(two(succeeds, goal="min"), **QUICK).run(40)
    other = Study(two(as_number, goal="min", rate=True), **QUICK).run(40)
    assert study.rate
    pd.testing.assert_frame_equal(study.selection(), other.selection())
    pd.testing.assert_frame_equal(study.observations(), other.observations())
    assert study.selection()["selected"].tolist() == ["a", "a"]
    assert study.selection()["mean"].between(0, 1).all()


def test_common_random_numbers_take_truth_values() -> None:
    study = Study(two(succeeds), policy="equal", model="gp", initial=3).run(24)
    other = Study(two(as_number, rate=True), policy="equal", model="gp", initial=3).run(24)
    pd.testing.assert_frame_equal(study.selection(), other.selection())
    assert study.guarantee().frame["replications"].sum() == other.guarantee().frame["replications"].sum()


# How truth values travel


def test_jobs_keep_truth_values() -> None:
    @batched
    def both(alternative: Any, context: Any, seeds: list[int]) -> Any:
        return np.array([True, False])

    values = [outcome.value for outcome in evaluate(both, [("a", 0, 1), ("a", 0, 2)])]
    assert [type(value) for value in values] == [bool, bool]
    assert values == [True, False]


def test_processes_return_truth_values() -> None:
    study = Study(two(succeeds), **QUICK).run(16, workers=2)
    assert study.rate
    pd.testing.assert_frame_equal(study.selection(), Study(two(succeeds), **QUICK).run(16).selection())


def test_foreign_executors_return_truth_values() -> None:
    with ThreadPoolExecutor(2) as executor:
        assert Study(two(succeeds), **QUICK).run(16, executor=executor, batch=2).rate


def test_tasks_of_an_array_return_truth_values(tmp_path: Path) -> None:
    from argbest.array.folder import Delivery, Folder

    folder = Folder(tmp_path)
    (tmp_path / "results").mkdir()
    sent = Delivery({"1": Outcome(True, None, 0.5), "2": Outcome(0.5, None, 0.5)})
    folder.deliver("t", "job", sent)
    found = folder.delivered(folder.results()[0])
    assert found is not None
    assert [repr(each.value) for each in found.outcomes.values()] == ["True", "0.5"]


@pytest.mark.parametrize("values", [[True, False, True], [1.0, 0.0, 1.0], [True, 1.0, 0.0]], ids=repr)
def test_a_stored_study_knows_whether_its_values_were_truth_values(values: list[Any], tmp_path: Path) -> None:
    study = Study(two(), storage=tmp_path / "study.db", **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        for trial, value in zip(study.ask(3), values, strict=True):
            study.tell(trial, value)
    again = Study.load(tmp_path / "study.db")
    assert again.rate == study.rate == all(isinstance(value, bool) for value in values)
    assert again._journal.ledger.rewards == study._journal.ledger.rewards
    with sqlite3.connect(tmp_path / "study.db") as connection:
        rows = connection.execute('SELECT "values" FROM argbest_observations ORDER BY trial').fetchall()
    assert [json.loads(row[0]) for row in rows] == [[value] for value in values]


@pytest.mark.parametrize("values", [[True, False], [1.0, 0.0], [1.0, 0.5]], ids=repr)
def test_a_snapshot_knows_it_too(values: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "EVERY", 20)
    study = Study(two(), storage=tmp_path / "study.db", **{**QUICK, "initial": 10})
    for i, trial in enumerate(study.ask(35)):
        study.tell(trial, values[i % 2])
    again = Study.load(tmp_path / "study.db")
    storage = again._journal.storage
    assert storage.paged()[0] > 40  # type: ignore[attr-defined]
    assert again._journal.ledger.rewards == study._journal.ledger.rewards
    assert again.rate == isinstance(values[0], bool)
    assert checking.check(storage, again.definition).sound


def test_older_snapshots_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from argbest.storage import pages

    pack = pages.pack
    monkeypatch.setattr(checking, "EVERY", 20)
    monkeypatch.setattr(
        pages,
        "pack",
        lambda arrays, words: pack({k: v for k, v in arrays.items() if k != "told truths"}, words),
    )
    study = Study(two(), storage=tmp_path / "study.db", **{**QUICK, "initial": 10})
    for trial in study.ask(35):
        study.tell(trial, 1.0)
    again = Study.load(tmp_path / "study.db")
    assert again._journal.ledger.rewards == study._journal.ledger.rewards == (RewardKind.BINARY, 35, 35.0)


def test_a_stored_declaration_comes_back_and_others_are_stored_as_ever(tmp_path: Path) -> None:
    Study(two(rate=True), storage=tmp_path / "rate.db", **QUICK)
    plain = Study(two(), storage=tmp_path / "plain.db", **QUICK)
    assert Study.load(tmp_path / "rate.db").rate
    assert "rate" not in plain.definition["problem"]
    assert not Study.load(tmp_path / "plain.db").problem.rate


def test_the_description_of_other_problems_is_as_ever() -> None:
    def same(alternative: str, context: int, seed: int) -> float:
        return 0.0

    described = _described(Problem(["a", "b"], [0], same, truth=[[0.0], [1.0]]))
    assert described != _described(Problem(["a", "b"], [0], same, truth=[[0.0], [1.0]], rate=True))
    kept = Experiment(
        Problem(["a", "b"], [0], same, truth=[[0.0], [1.0]], rate=True),
        "equal",
        replications=1,
        weights="uniform",
    )
    assert kept.first_problem().rate


# The notice


def test_the_end_of_zeros_and_ones_is_noticed_once() -> None:
    study = study_of(*[1.0, 0.0] * 12)
    assert not study.rate
    assert study._journal.ledger.rewards == (RewardKind.BINARY, 24, 12.0)
    trials = study.ask(2)
    words = "all 24 rewards so far were 0 or 1 and .*; trial 24 returned 0.3, so they are treated as ordinary"
    with pytest.warns(DataNotice, match=words):
        study.tell(trials[0], 0.3)
    study.tell(trials[1], 0.4)  # a warning would be an error


def test_a_few_zeros_and_ones_or_zeros_alone_are_no_pattern() -> None:
    study_of(*[1.0, 0.0] * 9, 0.3)
    study_of(*[0.0] * 30, 0.3)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_run_gives_the_notice_too(batch: int) -> None:
    def mixed(alternative: str, context: int, seed: int) -> float:
        mixed.calls += 1  # type: ignore[attr-defined]
        return 0.25 if mixed.calls > 30 else float(seed % 2)  # type: ignore[attr-defined]

    mixed.calls = 0  # type: ignore[attr-defined]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Study(two(mixed), **QUICK).run(40, batch=batch)
    said = [str(each.message) for each in caught if "trial 30 returned 0.25" in str(each.message)]
    assert len(said) == 1


def test_a_run_of_undeclared_zeros_and_ones_says_how_to_declare_them() -> None:
    with pytest.warns(
        DataNotice, match="all 40 rewards are 0 or 1, so they are treated as a rate.*rate=True"
    ):
        Study(two(as_number), **QUICK).run(40)
    Study(two(as_number, rate=True), **QUICK).run(40)
    Study(two(succeeds), **QUICK).run(40)


@pytest.mark.parametrize("value", [True, 1.0, 0.0])
def test_contexts_without_any_value_are_no_trouble_where_seeds_are_shared(value: float) -> None:
    study = Study(Problem(["a", "b"], [1, 2]))
    study.tell(study.ask(1)[0], value)
    assert np.isfinite(study.selection()["p_best"]).all()

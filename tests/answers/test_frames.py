"""The frames of a study: tidy, complete, and with the user's own names."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from study.conftest import answer, assert_close, noise, problem, started

from argbest import Problem, Study
from argbest.core.arrays import Array
from argbest.core.belief import best
from argbest.study.view import Inference

STAFF = [{"servers": 1, "fast": True}, {"servers": 2, "fast": False}, {"servers": 2, "fast": True}]
DEMAND = pd.DataFrame({"rate": [0.5, 1.0, 2.0], "shift": ["day", "day", "night"]})


def queue(alternative: dict[str, int], context: dict[str, float], seed: int) -> float:
    return alternative["servers"] * context["rate"] + noise(seed)


def staffing() -> Study:
    return Study(Problem(STAFF, DEMAND, queue), initial=1).run(20)


def test_observations_name_the_coordinates() -> None:
    frame = staffing().observations()
    assert list(frame.columns) == [
        "trial",
        "alternative.servers",
        "alternative.fast",
        "context.rate",
        "context.shift",
        "replication",
        "seed",
        "value",
        "n",
        "variance",
    ]
    expected = frame["alternative.servers"] * frame["context.rate"] + frame["seed"].map(noise)
    assert_close(frame["value"], expected, 1e-14)
    first = frame.iloc[:9]
    assert first["alternative.servers"].tolist() == [1, 1, 1, 2, 2, 2, 2, 2, 2]
    assert first["alternative.fast"].tolist() == [True] * 3 + [False] * 3 + [True] * 3
    assert first["context.shift"].tolist() == ["day", "day", "night"] * 3
    assert (frame["n"] == 1).all()
    assert frame["variance"].isna().all()


def test_observations_give_the_tally_back() -> None:
    study = staffing()
    again = study.problem.tally(study.observations())
    np.testing.assert_array_equal(again.count, study.tally.count)
    assert_close(again.mean, study.tally.mean, 1e-12)
    assert_close(again.m2, study.tally.m2, 1e-12)


def test_plain_labels_are_single_columns() -> None:
    frame = started().observations()
    assert list(frame.columns[:3]) == ["trial", "alternative", "context"]
    assert frame["alternative"].tolist() == ["a"] * 4 + ["b"] * 4 + ["c"] * 4
    assert frame["context"].tolist() == [0, 1, 2, 3] * 3


def test_labelled_rows_keep_label_and_coordinates() -> None:
    contexts = DEMAND.set_axis(["mon", "tue", "wed"], axis=0)
    study = Study(Problem(STAFF, contexts, queue), initial=1).run(9)
    frame = study.selection()
    assert list(frame.columns[:3]) == ["context", "context.rate", "context.shift"]
    assert frame["context"].tolist() == ["mon", "tue", "wed"]
    assert study.ask(context="tue")[0].context == {"rate": 1.0, "shift": "day"}


def test_replications_are_rows_and_a_summary_is_one_row() -> None:
    study = Study(problem(None))
    one, two, three = study.ask(3)
    study.tell(three, mean=7.0, variance=2.5, n=4)
    study.tell(one, [1.0, 2.0])
    study.tell(two, 5.0)
    frame = study.observations()
    assert frame["trial"].tolist() == [2, 0, 0, 1]
    assert frame["value"].tolist() == [7.0, 1.0, 2.0, 5.0]
    assert frame["n"].tolist() == [4, 1, 1, 1]
    assert frame["variance"][0] == pytest.approx(2.5, rel=1e-14)
    assert frame["variance"][1:].isna().all()
    assert frame["seed"].tolist() == [three.seed, one.seed, one.seed, two.seed]
    assert frame["n"].sum() == study.n_replications == 7


def test_a_summary_of_one_has_no_variance_to_show() -> None:
    study = Study(problem(None))
    study.tell(study.ask()[0], mean=7.0, n=1)
    row = study.observations().iloc[0]
    assert row["n"] == 1
    assert study.allocation()["n"][0] == 1
    assert np.isnan(study.allocation()["sd"][0])


def test_trials_say_what_became_of_each() -> None:
    study = Study(problem(None))
    told, failed, _ = study.ask(3)
    study.tell(told, 1.0)
    study.fail(failed, "the queue exploded")
    frame = study.trials()
    assert list(frame.columns) == [
        "trial",
        "alternative",
        "context",
        "replication",
        "seed",
        "status",
        "reason",
    ]
    assert frame["status"].tolist() == ["told", "failed", "pending"]
    assert frame["reason"].tolist() == ["", "the queue exploded", ""]


def test_allocation_counts_every_pair() -> None:
    study = Study(problem()).run(60)
    answer(study, study.ask())
    under_way = study.ask(2)
    frame = study.allocation()
    assert list(frame.columns) == ["alternative", "context", "n", "share", "pending", "mean", "sd"]
    assert len(frame) == 12
    assert frame["share"].sum() == pytest.approx(1.0, rel=1e-12)
    values = study.observations().groupby(["alternative", "context"])["value"]
    by_pair = frame.set_index(["alternative", "context"])
    assert by_pair["n"].to_dict() == values.count().to_dict()
    assert_close(by_pair["mean"].sort_index(), values.mean().sort_index(), 1e-12)
    assert_close(by_pair["sd"].sort_index(), values.std().sort_index(), 1e-12)
    assert frame["pending"].sum() == 2
    for trial in under_way:
        assert by_pair.loc[(trial.alternative, trial.context), "pending"] > 0  # type: ignore[index]


def test_allocation_shows_no_mean_where_nothing_was_observed() -> None:
    study = Study(problem(None), initial=[("b", 3)])
    study.tell(study.ask()[0], 2.0)
    frame = study.allocation()
    assert frame["mean"].notna().sum() == 1
    assert frame["sd"].isna().all()
    assert frame.loc[frame["mean"].notna(), ["alternative", "context", "n", "share"]].to_numpy().tolist() == [
        ["b", 3, 1, 1.0]
    ]


def test_selection_shows_what_the_belief_says() -> None:
    study = Study(problem()).run(60)
    belief, frame = study._belief(), study.selection()
    assert list(frame.columns) == [
        "context",
        "selected",
        "runner_up",
        "mean",
        "gap",
        "gap_sd",
        "p_best",
        "expected_loss",
        "state",
    ]
    chosen = best(belief)
    labels = np.array(study.problem.alternatives.labels)
    ranked = np.argsort(-belief.mean, axis=0, kind="stable")
    assert frame["selected"].tolist() == labels[chosen].tolist() == labels[ranked[0]].tolist()
    assert frame["runner_up"].tolist() == labels[ranked[1]].tolist()
    first, second = (np.take_along_axis(belief.mean, ranked[i : i + 1], axis=0)[0] for i in (0, 1))
    assert_close(frame["mean"], first, 1e-14)
    assert_close(frame["gap"], first - second, 1e-12)
    spread = np.take_along_axis(belief.difference_var(chosen), ranked[1:2], axis=0)[0]
    assert_close(frame["gap_sd"], np.sqrt(spread), 1e-12)
    np.testing.assert_array_equal(frame["p_best"], study.certificate().pcs)
    assert frame["state"].tolist() == study.certificate().states(study.indifference()).tolist()
    assert (frame["expected_loss"] > 0).all()


def test_rows_of_several_columns_are_named_by_their_text() -> None:
    frame = staffing().selection()
    assert list(frame.columns[:2]) == ["context.rate", "context.shift"]
    assert set(frame["selected"]) <= {"servers=1, fast=True", "servers=2, fast=False", "servers=2, fast=True"}


def test_frames_before_the_first_trial_are_empty_but_have_their_columns() -> None:
    study = Study(problem())
    assert len(study.observations()) == len(study.trials()) == 0
    assert {"value", "seed", "alternative", "context"} <= set(study.observations().columns)
    assert study.allocation()["n"].tolist() == [0] * 12
    assert study.allocation()["share"].tolist() == [0.0] * 12


def test_changing_a_frame_or_a_trial_does_not_change_the_study() -> None:
    study = staffing()
    frame = study.observations()
    frame["value"] = 0.0
    trial = study.ask()[0]
    assert isinstance(trial.alternative, dict)
    trial.alternative["servers"] = 99
    assert study.observations()["value"].abs().sum() > 0
    assert study.trials()["alternative.servers"].max() == 2
    assert study.problem.alternatives.item(0) == STAFF[0]


def test_a_study_says_what_it_is() -> None:
    assert (
        repr(Study(problem(), initial=1).run(20))
        == "<Study of 'best alternative per context': 3 alternatives x 4 contexts, 20 replications>"
    )


def test_trials_can_be_kept_in_a_set_or_as_keys() -> None:
    study = Study(Problem(STAFF, DEMAND, queue))
    trials = study.ask(3)
    values = {trial: float(trial.id) for trial in trials}
    for trial, value in values.items():
        study.tell(trial, value)
    assert study.observations()["value"].tolist() == [0.0, 1.0, 2.0]


def test_a_selection_makes_no_joint_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    usual = Inference.normals

    def noted(inference: Inference, multiple: int) -> Iterator[Array]:
        made.append(1)
        return usual(inference, multiple)

    monkeypatch.setattr(Inference, "normals", noted)
    study = staffing()
    study.selection()
    assert made == []
    assert 0.0 <= study.certificate().p_all <= 1.0
    assert made == [1]

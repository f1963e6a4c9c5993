"""How far a study is, against what `argbest status` says and against small cases."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from serve.crowd import create

from argbest import Study
from argbest.answers.overview import overview, pace
from argbest.serve.watch import MOST_POINTS, Point, Reading, extended, past, standing
from argbest.storage.base import Worker
from argbest.study.journal import Request

SAME = ("replications", "budget", "seconds_spent", "seconds_budget", "trials")


def failing(alternative: str, context: object, seed: int) -> float:
    if alternative == "small":
        raise RuntimeError("out of paper")
    return 1.0


def test_progress_is_what_the_status_says(study: Study, file: Path) -> None:
    storage = Reading(file)
    found, expected = standing(Study.load(storage)), overview(study)
    assert {name: found[name] for name in SAME} == {name: expected[name] for name in SAME}
    (worker,), (known,) = found["workers"], expected["workers"]
    assert {**worker, "silent": 0} == {**known, "silent": 0}
    assert 0 < worker["utilisation"] <= 1
    assert not worker["alive"]  # its run has ended
    assert 0 <= worker["silent"] < 60
    assert (found["finished"], found["queued"], found["failures"]) == (False, 0, [])


def test_a_study_is_finished_when_its_budget_is_reached(study: Study) -> None:
    assert standing(study.run(40))["finished"]


def test_what_remains_of_the_budget_is_to_come(study: Study) -> None:
    left = 40 - study.n_replications
    assert left > 3
    assert standing(study)["to_come"] == left
    study._journal.ask(Request(3, "here"))
    found = standing(study)
    assert (found["queued"], found["trials"]["pending"], found["to_come"]) == (0, 3, left - 3)
    assert standing(study.run(40))["to_come"] == 0


def test_without_a_budget_what_is_queued_is_to_come(file: Path) -> None:
    study = create(file)
    assert standing(study)["to_come"] == standing(study)["queued"] == 24
    assert (standing(study)["per_second"], standing(study)["seconds_left"]) == (None, None)


def test_rate_and_time_left_are_those_of_late_while_somebody_simulates(study: Study) -> None:
    assert standing(study)["per_second"] is None  # the run has ended
    study._journal.ask(Request(1, "here"))
    found = standing(study)
    assert found["per_second"] > 0
    assert found["seconds_left"] == pytest.approx((40 - study.n_replications) / found["per_second"])


def test_a_pace_forgets_a_pause_and_slows_down_when_nothing_comes() -> None:
    n = np.ones(20)
    steady = np.arange(1000.0, 1020.0)
    assert pace(steady, n, 1019.0) == pytest.approx(1.0)
    assert pace(steady, 2 * n, 1019.0) == pytest.approx(2.0)
    assert pace(steady, n, 1038.0) == pytest.approx(0.5)
    after = np.concatenate([steady[:10] - 1e5, steady[10:]])
    assert pace(after, n, 1019.0) == pytest.approx(1.0)
    slow = 3600.0 * np.arange(1.0, 21.0)
    assert pace(slow, n, slow[-1]) == pytest.approx(1 / 3600)
    assert pace(slow[:1], n[:1], 1e6) == pace(slow[:0], n[:0], 1e6) == 0.0
    assert pace(np.full(9, 5.0), np.ones(9), 5.0) == 0.0


def test_a_worker_that_vanished_is_gone_but_keeps_what_it_had(study: Study) -> None:
    study._journal.ask(Request(2, "lost"))
    lost = Worker("lost", "elsewhere", 1, 0.0, 100.0, 4, 200.0)
    study._journal.storage.greet(lost)
    (found,) = (each for each in standing(study)["workers"] if each["name"] == "lost")
    assert not found["alive"]
    assert (found["under_way"], found["utilisation"]) == (2, 0.5)


def test_failures_come_latest_first_and_pairs_set_aside_with_their_labels(file: Path) -> None:
    create(file, initial=1)
    study = Study.load(file, simulate=failing)
    study.run(60, on_failure="record")
    found = standing(study)
    assert found["trials"]["failed"] == len(study.trials().query("status == 'failed'"))
    assert len(found["failures"]) == 20 < found["trials"]["failed"]
    trials = [row[0] for row in found["failures"]]
    assert trials == sorted(trials, reverse=True)
    assert all(row[1] == "small" and row[3] == "RuntimeError: out of paper" for row in found["failures"])
    assert found["set_aside"]["total"] == len(study.set_aside) > 0
    assert ["small", "4"] in found["set_aside"]["pairs"]


def test_the_course_keeps_its_ends_and_stays_short() -> None:
    course: list[Point] = []
    for n in range(1, 1001):
        course = extended(course, (n, 0.5, 0.5, None, 1.0))
        assert (course[0][0], course[-1][0]) == (1, n)
        assert len(course) <= MOST_POINTS + 1
        assert [point[0] for point in course] == sorted({point[0] for point in course})
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(course)]
    assert max(gaps) <= 20


def test_a_point_takes_the_place_of_one_with_as_many_replications() -> None:
    assert extended([(1, 0.1, 0.1, 0.1, 0.1)], (1, 0.2, 0.2, 0.2, 0.2)) == [(1, 0.2, 0.2, 0.2, 0.2)]


def test_the_past_is_the_study_s_history(study: Study) -> None:
    frame = study.history(4)
    found = past(study, 4)
    assert [point[0] for point in found] == frame["replications"].tolist()[:-1]
    assert [point[1] for point in found] == frame["pcs_e"].tolist()[:-1]
    assert [point[4] for point in found] == frame["eoc"].tolist()[:-1]

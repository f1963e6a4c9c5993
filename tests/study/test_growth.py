"""Studies to which alternatives and contexts are added, or from which some are retired."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import Problem, Study, registry

SMALL = {"initial": [(0, 0), (1, 1), (2, 0)] * 2, "seed": 4}


def part(whole: Problem, alternatives: list[int], contexts: list[int], **options: Any) -> Problem:
    """Return some rows of a problem, as a problem of its own."""
    said = {
        "goal": whole.goal,
        "limits": whole.limits or None,
        "responses": whole.responses or None,
        **options,
    }
    rows, columns = (
        [axis.item(i) for i in places]
        for axis, places in ((whole.alternatives, alternatives), (whole.contexts, contexts))
    )
    return Problem(rows, columns, whole.simulate, rate=whole.rate or False, **said)


def simulated(study: Study, trial: Any) -> Any:
    simulate = study.problem.simulate
    assert simulate is not None
    return simulate(trial.alternative, trial.context, trial.seed)


def twin_of(grown: Study, problem: Problem, **options: Any) -> Study:
    """Return a study that had all rows from the start, and was told the same of the same trials."""
    twin = Study(problem, initial=[], **options)
    values = dict(told(grown))
    for trial in grown.asked:
        twin.enqueue(trial.alternative, trial.context)
        same = twin.ask_one()
        assert (same.pair, same.seed, same.replication) == (trial.pair, trial.seed, trial.replication)
        twin.tell(same, values[trial.id])
    return twin


def told(study: Study) -> list[tuple[int, Any]]:
    names = study.problem.responses
    frame = study.observations()
    values = frame[list(names)].to_dict("records") if names else frame["value"].tolist()
    return list(zip(frame["trial"].tolist(), values, strict=True))


def go_on_alike(one: Study, other: Study, steps: int) -> None:
    for _ in range(steps):
        first, second = one.ask_one(), other.ask_one()
        assert (first.pair, first.seed, first.replication) == (second.pair, second.seed, second.replication)
        value = simulated(one, first)
        one.tell(first, value)
        other.tell(second, value)


MODELS = ("additive-gp", "gp", "independent")
PLACES = {  # rows at first, and all of them
    "newsvendor": ([0, 2, 4, 6], [1, 3, 5, 7], [0, 2, 4, 6, 1, 7], [1, 3, 5, 7, 0]),
    "queue-staffing": ([1, 3, 4], [0, 4, 9], [1, 3, 4, 0, 7], [0, 4, 9, 2, 6]),
    "most-probable-best": ([0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3, 7], [0, 1, 2, 30]),
    "call-rush": ([0, 1, 2], [1, 4, 8], [0, 1, 2, 3], [1, 4, 8, 0]),
}


@pytest.mark.parametrize("common", [True, False])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", PLACES)
def test_a_study_that_grew_decides_as_one_that_had_all_rows(name: str, model: str, common: bool) -> None:
    whole = registry.problem(name)
    rows, columns, all_rows, all_columns = PLACES[name]
    policy = "dvr-loss" if whole.limits else {"additive-gp": "dvr", "gp": "gp-c-ocba"}.get(model, "c-ocba")
    options: dict[str, Any] = {
        "model": model, "policy": policy, "seed": 3, "common_random_numbers": common, "refit_every": 5,
    }  # fmt: skip
    small, large = part(whole, rows, columns), part(whole, all_rows, all_columns)
    grown = Study(small, initial=2, **options)
    grown.run(2 * len(rows) * len(columns) + 6)
    grown.add_alternatives([whole.alternatives.item(i) for i in all_rows[len(rows) :]])
    grown.add_contexts([whole.contexts.item(i) for i in all_columns[len(columns) :]])
    while grown.n_queued:
        trial = grown.ask_one()
        grown.tell(trial, simulated(grown, trial))
    assert grown.problem.shape == large.shape
    if grown.view().parted is not None:
        pytest.skip("its alternatives have seeds of their own from a trial on that the twin cannot know")
    twin = twin_of(grown, large, **options)
    np.testing.assert_array_equal(twin.problem.weights, grown.problem.weights)
    assert twin.problem.bounds == grown.problem.bounds
    go_on_alike(grown, twin, 8)
    pd.testing.assert_frame_equal(grown.selection(), twin.selection())


def peak(servers: dict[str, Any], demand: dict[str, Any], seed: int) -> float:
    noise = np.random.default_rng(seed).normal()
    return float(-((servers["servers"] - demand["rate"]) ** 2) + noise)


def small_study(**options: Any) -> Study:
    """Return a study of three numbers of servers in three contexts, with its first 24 values."""
    problem = Problem([{"servers": n} for n in (1, 2, 3)], [{"rate": r} for r in (1.0, 2.0, 3.0)], peak)
    return Study(problem, **{"seed": 2, **options}).run(24)


def test_a_stored_study_keeps_what_was_added_and_retired(tmp_path: Path) -> None:
    study = small_study(storage=tmp_path / "s.db")
    study.add_alternatives([{"servers": 4}])
    study.add_contexts([{"rate": 4.0}], weights=0.4)
    study.retire(alternative={"servers": 1})
    study.run(40)
    again = Study.load(tmp_path / "s.db", simulate=peak)
    assert again.problem.shape == (4, 4)
    assert again.retired == {"alternatives": [{"servers": 1}], "contexts": []}
    np.testing.assert_array_equal(again.problem.weights, study.problem.weights)
    assert again.problem.weights.tolist() == pytest.approx([0.2, 0.2, 0.2, 0.4])
    twin = copied(tmp_path)
    go_on_alike(study, twin, 6)


def copied(folder: Path) -> Study:
    """Return a study of its own with all that was stored of another one."""
    with sqlite3.connect(folder / "s.db") as one, sqlite3.connect(folder / "copy.db") as other:
        one.backup(other)
    return Study.load(folder / "copy.db", simulate=peak)


def test_another_worker_sees_a_new_row_when_it_asks_next(tmp_path: Path) -> None:
    study = small_study(storage=tmp_path / "s.db", model="independent", policy="c-ocba")
    other = Study.load(tmp_path / "s.db", simulate=peak)
    study.add_alternatives([{"servers": 9}])
    assert other.ask_one().alternative == {"servers": 9}  # the initial design covers what is new
    assert other.n_queued == 5
    assert study.refresh().pending()[0].alternative == {"servers": 9}


def test_a_snapshot_holds_a_table_that_grew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from argbest.storage.opening import opened
    from argbest.study import checking

    monkeypatch.setattr(checking, "EVERY", 20)
    study = small_study(storage=tmp_path / "s.db", model="independent", policy="c-ocba")
    study.add_alternatives([{"servers": 4}])
    study.ask(3)
    study.retire(alternative={"servers": 4}, context={"rate": 1.0})
    study.run(60)
    with opened(tmp_path / "s.db", name="study") as storage:
        assert storage.paged()[0] > 0  # type: ignore[attr-defined]
        found = checking.check(storage, study.definition)
        assert found.sound, found
    again = Study.load(tmp_path / "s.db", simulate=peak)
    assert again.n_queued == study.n_queued
    assert again.view().separations.generations == study.view().separations.generations
    study.readmit(alternative={"servers": 4}, context={"rate": 1.0})
    assert again.refresh().n_queued == study.n_queued > 0
    third = Study.load(tmp_path / "s.db", simulate=peak)
    assert third.n_queued == study.n_queued
    third.run(90)
    pd.testing.assert_frame_equal(third.selection(), again.refresh().selection())

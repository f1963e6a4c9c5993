"""Studies to which alternatives and contexts are added, or from which some are retired."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import Problem, Study, registry
from argbest.errors import InputError

SMALL = {"initial": [(0, 0), (1, 1), (2, 0)] * 2, "seed": 4}


def part(whole: Problem, alternatives: list[int], contexts: list[int], **options: Any) -> Problem:
    """Return some rows of a problem, as a problem of its own."""
    said = {"goal": whole.goal, "limits": whole.limits or None, "responses": whole.responses or None, **options}
    rows = [
        [axis.item(i) for i in places]
        for axis, places in ((whole.alternatives, alternatives), (whole.contexts, contexts))
    ]
    return Problem(*rows, whole.simulate, rate=whole.rate or False, **said)


def simulated(study: Study, trial: Any) -> Any:
    simulate = study.problem.simulate
    assert simulate is not None
    return simulate(trial.alternative, trial.context, trial.seed)


def twin_of(grown: Study, problem: Problem, **options: Any) -> Study:
    """Return a study that had all rows from the start, and was told the same of the same trials."""
    twin = Study(problem, initial=[], **options)
    values = {trial: rows for trial, rows in told(grown)}
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

from typing import Any

import numpy as np
import pytest
import small_problems

from argbest import InputError, Problem, Study
from argbest.report import plot_contention
from argbest.report.tables import contenders


def test_those_in_the_running_are_the_fewest_that_reach_the_level() -> None:
    study = Study(Problem(["b", "c", "a"], [3.0, 1.0, 2.0]), policy="gp-c-ocba", initial=1)
    values = np.random.default_rng(0).normal(0, 0.3, (3, 3))
    for trial in study.ask(9):
        study.tell(trial, mean=float(values[trial.pair]), variance=1.0, n=30)
    found = contenders(study, level=0.8)
    chance = study.certificate().best_probability[:, [1, 2, 0]]  # contexts by size
    for c in range(3):
        order = sorted(range(3), key=lambda k: -chance[k, c])
        size = next(m for m in (1, 2, 3) if sum(chance[k, c] for k in order[:m]) >= 0.8 - 1e-12)
        assert found.size[c] == size
        for k in range(3):
            expected = chance[k, c] if k in order[:size] else np.nan
            np.testing.assert_equal(found.probability[k, c], expected)
    assert found.contexts.labels == ("1", "2", "3")
    assert len(set(found.size.tolist())) > 1


def test_bars_above_a_coordinate_count_the_alternatives_left() -> None:
    study = Study(small_problems.table(), initial=2).run(45)
    ax: Any = plot_contention(study)
    (strip,) = ax.child_axes
    found = contenders(study)
    heights = {round(bar.get_x() + 0.4): bar.get_height() for bar in strip.patches}
    assert [heights[c] for c in range(5)] == found.size.tolist()
    written = [text.get_text() for text in ax.texts if text.get_text()]
    assert written == [f"{p:.2f}" for p in found.probability.ravel() if np.isfinite(p)]


def test_numbers_beside_a_table_count_the_alternatives_left() -> None:
    study = Study(Problem(["A", "B"], ["x", "y"]), initial=1)
    for trial in study.ask(4):
        study.tell(trial, mean=float(trial.pair == (0, 0)) * 9.0, variance=1.0, n=20)
    ax: Any = plot_contention(study)
    (beside,) = ax.child_axes
    assert [label.get_text() for label in beside.get_yticklabels()] == ["1", "2"]


def test_a_level_is_a_probability() -> None:
    with pytest.raises(InputError, match="level must be a number between 0 and 1"):
        contenders(Study(small_problems.table(), initial=2).run(40), level=1.0)

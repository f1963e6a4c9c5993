from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems

from argbest import InputError, Study
from argbest.answers import overview
from argbest.report import plot_progress
from argbest.report.comparison import progress


@cache
def study() -> Study:
    return Study(small_problems.table(), initial=2).run(46)


@cache
def course() -> pd.DataFrame:
    return overview.history(study().view())


def test_the_curve_is_the_history_of_the_study() -> None:
    told, frame = study(), course()
    for measure in ("pcs_e", "eoc"):
        band = progress(told, measure)
        np.testing.assert_array_equal(band.replications, frame["replications"])
        np.testing.assert_array_equal(band.value, frame[measure])
        np.testing.assert_array_equal(band.low, frame[f"{measure}_low"])
        np.testing.assert_array_equal(band.high, frame[f"{measure}_high"])
    worst = progress(told, "pcs_m", points=2)
    np.testing.assert_array_equal(worst.low, worst.value)


def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(InputError, match="unknown measure of a study 'pcs'; known are eoc, pcs_e, pcs_m"):
        progress(study(), "pcs")


def test_the_picture_shows_the_curve_and_its_band(monkeypatch: pytest.MonkeyPatch) -> None:
    told, frame = study(), course()
    monkeypatch.setattr(overview, "history", lambda *_, **__: frame)
    ax: Any = plot_progress(told, measure="eoc")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), frame["eoc"])
    assert len(ax.collections) == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("replications", "expected opportunity cost")


def test_the_results_of_an_experiment_are_compared() -> None:
    summary = pd.DataFrame(
        {"contender": ["a", "a"], "replications": [0, 5], "pcs_e": [0.5, 0.9], "pcs_e_se": [0.1, 0.0]}
    )
    ax: Any = plot_progress(summary)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.9])
    with pytest.raises(InputError, match="got dict; expected the results of an experiment"):
        plot_progress({})

"""Curves of an experiment: the numbers exactly, the drawing by what it shows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems

from argbest import InputError
from argbest.experiment import Contender, Experiment, run
from argbest.report import comparison, plot_comparison, style

SUMMARY = pd.DataFrame(
    {
        "contender": ["b", "b", "a$", "a$"],
        "replications": [0, 10, 0, 10],
        "pcs_e": [0.5, 0.99, 0.4, 0.6],
        "pcs_e_se": [0.1, 0.02, np.nan, np.nan],
        "p_all": [0.01, 0.5, 0.0, 1.0],
        "p_all_se": [0.01, 0.05, 0.0, 0.0],
        "eoc": [3.0, 0.1, 2.0, 1.0],
        "eoc_se": [0.5, 0.1, 0.1, 0.1],
    }
)


def test_bands_reach_196_standard_errors_and_stay_in_the_range_of_the_measure() -> None:
    first, second = comparison.bands(SUMMARY, "pcs_e")
    assert (first.label, second.label) == ("b", "a$")
    np.testing.assert_allclose(first.low, [0.5 - 0.196, 0.99 - 0.0392])
    np.testing.assert_allclose(first.high, [0.5 + 0.196, 1.0])
    np.testing.assert_array_equal(second.low, second.value)  # a single macro-replication
    np.testing.assert_array_equal(second.high, second.value)
    np.testing.assert_allclose(comparison.bands(SUMMARY, "p_all")[0].low, [0.0, 0.5 - 0.098])
    cost = comparison.bands(SUMMARY, "eoc")[0]
    np.testing.assert_allclose(cost.low, [3.0 - 0.98, 0.0])
    np.testing.assert_allclose(cost.high, [3.0 + 0.98, 0.296])


def test_every_panel_has_a_line_and_a_band_per_contender() -> None:
    figure = comparison.plot(SUMMARY, title="a $ problem")
    assert [ax.get_ylabel() for ax in figure.axes] == list(comparison.MEASURES.values())
    for ax, measure in zip(figure.axes, comparison.MEASURES, strict=True):
        assert [line.get_label() for line in ax.lines] == ["b", "a$"]
        assert len(ax.collections) == 2
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), SUMMARY[measure][:2])


def test_a_picture_is_written(tmp_path: Path) -> None:
    path = style.save(comparison.plot(SUMMARY, title="problem"), tmp_path / "curves.png")
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_many_contenders_are_told_apart_by_marks_and_dashes() -> None:
    many = pd.concat([SUMMARY.iloc[:2].assign(contender=f"p{i}") for i in range(12)], ignore_index=True)
    lines: list[Any] = list(comparison.plot(many).axes[0].lines)
    assert len({(line.get_marker(), str(line._dash_pattern)) for line in lines}) == 12  # also without colour


def test_an_interval_of_the_summary_takes_the_place_of_standard_errors() -> None:
    given = SUMMARY.assign(pcs_e_low=0.1, pcs_e_high=0.8)
    band = comparison.bands(given, "pcs_e")[0]
    assert (band.low.tolist(), band.high.tolist()) == ([0.1, 0.1], [0.8, 0.8])


def test_results_runs_and_summary_give_the_same_curves() -> None:
    contenders = [Contender("equal", "gp", label="b"), Contender("random", "gp", label="a")]
    results = run(
        Experiment(small_problems.table(), contenders, replications=20, macroreps=3, checkpoint_every=10)
    )
    summary = results.summary()
    for source in (results, results.runs, summary):
        for measure in comparison.NAMES:
            ax = plot_comparison(source, measure=measure)
            assert ax.get_ylabel() == comparison.NAMES[measure]
            for line, label in zip(ax.lines, ("b", "a"), strict=True):
                own = summary[summary["contender"] == label]
                np.testing.assert_array_equal(line.get_ydata(), own[measure])
                np.testing.assert_array_equal(line.get_xdata(), own["replications"])


def test_unknown_measures_and_sources_are_refused() -> None:
    with pytest.raises(InputError, match="unknown measure 'pcs'; known are"):
        plot_comparison(SUMMARY, measure="pcs")
    with pytest.raises(InputError, match="got DataFrame; expected the results of an experiment"):
        plot_comparison(SUMMARY.drop(columns="replications"))

"""Calibration against literal code."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems

from argbest import InputError
from argbest.experiment import Contender, Experiment, run
from argbest.report import plot_calibration
from argbest.report.calibration import calibration


def runs(n_runs: int = 7, looks: int = 6, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (label, r, rng.random(), rng.integers(0, 5) / 4)
        for label in ("one", "other")
        for r in range(n_runs)
        for _ in range(looks)
    ]
    return pd.DataFrame(rows, columns=["contender", "macroreplication", "claim", "share_correct"])


def test_bins_hold_equally_many_looks_in_the_order_of_their_claims() -> None:
    given = runs()
    found = calibration(given, bins=4)
    assert found["looks"].tolist() == [11, 11, 10, 10] * 2
    for label in ("one", "other"):
        looks = sorted(given[given["contender"] == label]["claim"])
        own = found[found["contender"] == label]
        expected = [np.mean(looks[:11]), np.mean(looks[11:22]), np.mean(looks[22:32]), np.mean(looks[32:])]
        np.testing.assert_allclose(own["claimed"], expected)


def test_the_standard_error_is_that_of_clusters() -> None:
    given = runs()
    [row] = calibration(given[given["contender"] == "one"], bins=1).to_dict("records")
    own = given[given["contender"] == "one"]
    mean = own["share_correct"].mean()
    total = 0.0
    for number in range(7):
        inside = [y - mean for y in own[own["macroreplication"] == number]["share_correct"]]
        total += sum(inside) ** 2
    assert row["achieved"] == pytest.approx(mean)
    assert row["se"] == pytest.approx(np.sqrt(7 / 6 * total) / 42)
    assert row["macroreplications"] == 7


def test_with_one_look_per_run_it_is_the_usual_standard_error() -> None:
    given = runs(n_runs=20, looks=1)
    own = given[given["contender"] == "one"]["share_correct"]
    first = calibration(given, bins=1).iloc[0]
    assert first["se"] == pytest.approx(own.std(ddof=1) / np.sqrt(20))


def test_clustering_matters_when_looks_repeat_each_other() -> None:
    once = runs(n_runs=20, looks=1)
    thrice = pd.concat([once] * 3, ignore_index=True)
    assert calibration(thrice, bins=1)["se"].tolist() == pytest.approx(
        calibration(once, bins=1)["se"].tolist()
    )


def test_a_single_run_has_no_standard_error_and_no_claim_no_row() -> None:
    assert calibration(runs(n_runs=1), bins=2)["se"].isna().all()
    silent = runs()
    silent.loc[silent["contender"] == "one", "claim"] = np.nan
    assert calibration(silent)["contender"].unique().tolist() == ["other"]


def test_results_of_an_experiment_are_read() -> None:
    contenders = [Contender("equal", "gp"), Contender("random", "gp")]
    results = run(
        Experiment(small_problems.table(), contenders, samples=20, macroreps=3, checkpoint_every=10)
    )
    found = calibration(results, bins=2)
    pd.testing.assert_frame_equal(found, calibration(results.runs, bins=2))
    assert found["looks"].tolist() == [5, 4, 5, 4]
    ax: Any = plot_calibration(results, bins=2)
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.get_legend().get_title().get_text() == "table"


def test_what_is_no_frame_of_runs_is_refused() -> None:
    with pytest.raises(InputError, match="got list; expected the results of an experiment"):
        calibration([])
    with pytest.raises(InputError, match="got DataFrame; expected the results of an experiment"):
        calibration(runs().drop(columns="claim"))

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


def test_claims_of_single_contexts_are_binned_by_their_edges() -> None:
    given = pd.DataFrame(
        {
            "contender": "one",
            "macroreplication": [0, 0, 1],
            "claim": 0.5,
            "share_correct": 0.5,
            "correct": ["101", "111", "011"],
            "claims": ["950099990400", "960099000900", "999904000300"],
        }
    )
    found = calibration(given, bins=[0.0, 0.5, 0.9, 0.99, 1.0])
    # Below 0.5: 0.04 and 0.09 of run 0, 0.04 and 0.03 of run 1; in 0.9 to 0.99 two; above 0.99 the rest.
    assert found["looks"].tolist() == [4, 2, 3]
    np.testing.assert_allclose(found["claimed"], [0.05, 0.955, (0.9999 + 0.99 + 0.9999) / 3])
    np.testing.assert_allclose(found["achieved"], [1.0, 1.0, 1 / 3])
    assert found["macroreplications"].tolist() == [2, 1, 2]


def test_intervals_are_those_of_as_many_independent_looks() -> None:
    given = runs()
    row = calibration(given[given["contender"] == "one"], bins=1).iloc[0]
    p, n = row["achieved"], row["achieved"] * (1 - row["achieved"]) / row["se"] ** 2
    z = 1.959963984540054
    ends = [
        (p + z**2 / 2 / n + s * z * np.sqrt(p * (1 - p) / n + (z / 2 / n) ** 2)) / (1 + z**2 / n)
        for s in (-1, 1)
    ]
    assert [row["low"], row["high"]] == pytest.approx(ends)
    sure = calibration(given.assign(share_correct=1.0), bins=1).iloc[0]
    assert (sure["achieved"], sure["se"], sure["high"]) == (1.0, 0.0, 1.0)
    assert sure["low"] == pytest.approx(7 / (7 + z**2))


def test_results_of_an_experiment_are_read_context_by_context() -> None:
    contenders = [Contender("equal", "gp"), Contender("random", "gp")]
    results = run(Experiment(small_problems.table(), contenders, replications=20, macroreps=3, certify=True))
    found = calibration(results, bins=2)
    pd.testing.assert_frame_equal(found, calibration(results.runs, bins=2))
    assert found["looks"].tolist() == [23, 22, 23, 22]  # 3 runs, 3 checkpoints, 5 contexts
    share = results.runs.groupby("contender", sort=False)["correct"].apply(lambda texts: "".join(texts))
    mean = found["achieved"] * found["looks"]
    assert [mean[0] + mean[1], mean[2] + mean[3]] == pytest.approx([text.count("1") for text in share])
    ax: Any = plot_calibration(results, bins=2)
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.get_legend().get_title().get_text() == "table"


def test_runs_without_claims_of_contexts_are_looked_at_as_a_whole() -> None:
    given = runs()
    old = given.assign(claims="", correct="1")
    pd.testing.assert_frame_equal(calibration(old, bins=3), calibration(given, bins=3))


def test_runs_that_claim_nothing_have_no_picture() -> None:
    with pytest.raises(InputError, match="these runs claim nothing. Repeat the experiment with certify=True"):
        plot_calibration(runs().assign(claim=np.nan))


@pytest.mark.parametrize("bins", [[0.5], [0.5, 0.2], [0.0, np.nan], 0])
def test_bins_that_are_none_are_refused(bins: Any) -> None:
    with pytest.raises(InputError, match="bins"):
        calibration(runs(), bins=bins)


def test_what_is_no_frame_of_runs_is_refused() -> None:
    with pytest.raises(InputError, match="got list; expected the results of an experiment"):
        calibration([])
    with pytest.raises(InputError, match="got DataFrame; expected the results of an experiment"):
        calibration(runs().drop(columns="claim"))

"""Measures on cases worked out by hand, ties included, and against literal loops."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from argbest import Problem
from argbest.core import tally as tallies
from argbest.core.arrays import IntArray
from argbest.experiment import measures
from argbest.experiment.loop import PARTS, Trace

WEIGHTS = [0.5, 0.3, 0.2]
# Context 0 has a clear best, 1 is a tie of A and B, in 2 B is 0.1 better than A.
TRUTH = [[2.0, 1.0, 0.0], [0.0, 1.0, 0.1], [1.0, 0.0, -1.0]]
TIED = Problem(["A", "B", "C"], ["x", "y", "z"], weights=WEIGHTS, truth=TRUTH)


def left_behind(selected: object, claim: float = 0.9) -> Trace:
    """A trace [checkpoint, run, context] of nothing but selections."""
    chosen: IntArray = np.array(selected)
    shape = chosen.shape[:2]
    seconds = {part: np.arange(1.0, shape[0] + 1) for part in ("all", *PARTS)}
    nothing = np.zeros((0, shape[1]), np.int64)
    full = (shape[1], 3, 3)
    return Trace(chosen, np.full(chosen.shape, claim), seconds, nothing, nothing, tallies.empty(full), 18)


def frame(selected: object, delta: float = 0.0, problem: Problem = TIED) -> pd.DataFrame:
    trace = left_behind(selected)
    n_checkpoints, n_runs, _ = trace.selected.shape
    checkpoints = 10 * np.arange(n_checkpoints)
    return measures.scored(trace, [problem] * n_runs, np.arange(n_runs), checkpoints, delta)


def test_runs_are_scored_as_by_hand() -> None:
    runs = frame([[[0, 0, 1], [0, 1, 0]], [[2, 0, 2], [1, 2, 1]]])
    assert runs["macroreplication"].tolist() == [0, 0, 1, 1]
    assert runs["replications"].tolist() == [0, 10, 0, 10]
    assert runs["correct"].tolist() == ["111", "010", "100", "001"]
    np.testing.assert_allclose(runs["share_correct"], [1.0, 0.3, 0.5, 0.2])
    assert runs["all_correct"].tolist() == [1, 0, 0, 0]
    # The tied alternative B of context 1 is good, though not the one counted as correct.
    np.testing.assert_allclose(runs["share_good"], [1.0, 0.3, 0.8, 0.2])
    np.testing.assert_allclose(runs["cost"], [0.0, 0.5 + 0.2 * 1.1, 0.2 * 0.1, 0.5 * 2 + 0.3], atol=1e-15)
    assert (runs["n_initial"] == 18).all()
    np.testing.assert_allclose(runs["claim"], 0.9)
    assert (runs["claims"] == "900090009000").all()
    # Two runs shared the processor time of each part, one second up to the first checkpoint.
    np.testing.assert_allclose(runs["refit_seconds"], [0.5, 1.0, 0.5, 1.0])


def test_within_delta_of_the_best_is_good() -> None:
    runs = frame([[[0, 0, 0], [2, 2, 2]]], delta=0.1)
    np.testing.assert_allclose(runs["share_good"], [1.0, 0.0])
    np.testing.assert_allclose(frame([[[0, 0, 0], [2, 2, 2]]], delta=0.09)["share_good"], [0.8, 0.0])
    np.testing.assert_allclose(frame([[[0, 0, 0], [2, 2, 2]]], delta=1.0)["share_good"], [1.0, 0.8])


def test_a_random_choice_among_ties_reaches_the_ceiling_and_no_more() -> None:
    both = Problem(["A", "B"], ["x", "y"], truth=[[1.0, 1.0], [1.0, 1.0]])
    assert both.pcs_ceiling == 0.5
    every_choice = [[[a, b] for a in (0, 1) for b in (0, 1)]]
    runs = frame(every_choice, problem=both)
    table = measures.summary(runs)
    assert table["pcs_e"].tolist() == [both.pcs_ceiling]
    assert table["p_all"].tolist() == [0.25]
    assert table["pgs"].tolist() == [1.0]
    assert table["eoc"].tolist() == [0.0]


def test_smaller_is_better_when_the_problem_says_so() -> None:
    flipped = Problem(["A", "B", "C"], ["x", "y", "z"], weights=WEIGHTS, truth=-np.array(TRUTH), goal="min")
    chosen = [[[0, 0, 1], [0, 1, 0]], [[2, 0, 2], [1, 2, 1]]]
    pd.testing.assert_frame_equal(frame(chosen), frame(chosen, problem=flipped))


def test_runs_with_a_truth_of_their_own_are_scored_by_it() -> None:
    other = Problem(["A", "B", "C"], ["x", "y", "z"], weights=WEIGHTS, truth=np.array(TRUTH)[::-1])
    chosen = left_behind([[[0, 0, 1], [0, 0, 1]]])
    runs = measures.scored(chosen, [TIED, other], np.arange(2), np.arange(1), 0.0)
    assert runs["correct"].tolist() == ["111", "001"]


def test_the_worst_context_is_that_of_all_runs_and_not_of_each() -> None:
    # Every run errs once, each in another context: PCS(c) is 2/3 everywhere, and no run is all right.
    table = measures.summary(frame([[[2, 0, 1], [0, 2, 1], [0, 0, 2]]]))
    np.testing.assert_allclose(table["pcs_m"], [2 / 3])
    assert table["p_all"].tolist() == [0.0]
    low, high = stats.binomtest(2, 3).proportion_ci(method="wilson")
    np.testing.assert_allclose(table[["pcs_m_low", "pcs_m_high"]].to_numpy()[0], [low, high])


def test_the_summary_equals_literal_loops() -> None:
    chosen = np.random.default_rng(3).integers(0, 3, (4, 7, 3))
    table = measures.summary(frame(chosen, delta=0.1))
    assert table["replications"].tolist() == [0, 10, 20, 30]
    for i, row in enumerate(table.to_dict("records")):
        rights = [[int(chosen[i, r, c]) == [0, 0, 1][c] for c in range(3)] for r in range(7)]
        shares = [sum(w for w, right in zip(WEIGHTS, run, strict=True) if right) for run in rights]
        costs = [
            sum(WEIGHTS[c] * (max(line[c] for line in TRUTH) - TRUTH[chosen[i, r, c]][c]) for c in range(3))
            for r in range(7)
        ]
        for name, values in (
            ("pcs_e", shares),
            ("p_all", [float(all(run)) for run in rights]),
            ("eoc", costs),
        ):
            mean = sum(values) / 7
            error = math.sqrt(sum((v - mean) ** 2 for v in values) / 6 / 7)
            np.testing.assert_allclose([row[name], row[f"{name}_se"]], [mean, error], atol=1e-15)
        assert row["pcs_m"] == min(sum(run[c] for run in rights) for c in range(3)) / 7
        np.testing.assert_allclose([row["certificate"], row["certificate_se"]], [0.9, 0.0], atol=1e-15)


def test_the_order_of_rows_does_not_matter() -> None:
    runs = frame(np.random.default_rng(4).integers(0, 3, (3, 6, 3)))
    shuffled = runs.sample(frac=1.0, random_state=0)
    pd.testing.assert_frame_equal(measures.summary(runs), measures.summary(shuffled))


def test_one_macroreplication_has_no_standard_error() -> None:
    table = measures.summary(frame([[[0, 0, 1]]]))
    assert table["pcs_e"].tolist() == [1.0]
    assert np.isnan(table["pcs_e_se"]).all()
    assert 0.0 < table["p_all_low"].item() < 0.3


@given(st.integers(1, 400), st.data())
def test_the_interval_is_wilsons(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    interval = stats.binomtest(hits, n).proportion_ci(confidence_level=0.95, method="wilson")
    low, high = measures.wilson(np.array(hits), n)
    np.testing.assert_allclose([low, high], [interval.low, interval.high], atol=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (10, 10)])
def test_the_interval_is_never_empty(hits: int, n: int) -> None:
    low, high = measures.wilson(np.array(hits), n)
    assert high - low > 0.2


def curves(**columns: list[float]) -> pd.DataFrame:
    """The summary of one contender with checkpoints every 10 replications."""
    n = len(next(iter(columns.values())))
    return pd.DataFrame({"contender": "one", "replications": 10 * np.arange(n), **columns})


def test_replications_to_a_goal_are_where_the_curve_last_gets_there() -> None:
    found = measures.reached(curves(pcs_e=[0.5, 0.95, 0.8, 1.0], eoc=[4.0, 2.0, 1.0, 0.0]), pcs=0.9, loss=1.5)
    assert found["replications_to_pcs"].tolist() == pytest.approx([25.0])
    assert found["replications_to_loss"].tolist() == pytest.approx([15.0])


def test_a_goal_never_reached_or_not_kept_has_no_number_and_one_met_at_once_is_zero() -> None:
    found = measures.reached(curves(pcs_e=[0.95, 0.95, 0.85], eoc=[0.1, 0.1, 0.1]), pcs=0.9, loss=0.1)
    assert math.isnan(found["replications_to_pcs"][0])
    assert found["replications_to_loss"].tolist() == [0.0]


def test_the_usual_loss_is_a_tenth_of_the_largest_at_the_beginning() -> None:
    one, other = (curves(pcs_e=[0.5, 1.0], eoc=[first, 0.0]) for first in (2.0, 3.0))
    both = pd.concat([one, other.assign(contender="other")])
    assert measures.usual_loss(both) == pytest.approx(0.3)
    found = measures.reached(both)
    assert found["replications_to_loss"].tolist() == pytest.approx([10 * (2 - 0.3) / 2, 10 * (3 - 0.3) / 3])

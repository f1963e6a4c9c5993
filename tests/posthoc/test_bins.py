"""Contexts that never repeat, put into bins; what cannot be one is refused."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argbest import InputError, Study
from argbest.posthoc.observed import observe


def drawn(n: int = 200, **columns: Any) -> pd.DataFrame:
    r = np.random.default_rng(5)
    frame = pd.DataFrame({"alternative": np.tile(["a", "b"], n // 2), "context": r.exponential(3.0, n)})
    return frame.assign(value=r.normal(size=n), **columns)


def test_a_column_that_numbers_the_runs_is_named() -> None:
    frame = drawn(run=[f"run {i}" for i in range(200)])
    with pytest.raises(InputError, match="Leave out 'run' if it only numbers the runs"):
        Study.from_observations(frame, context="run")


def test_alternatives_that_never_repeat_are_refused_without_such_an_offer() -> None:
    frame = drawn().rename(columns={"alternative": "context", "context": "alternative"})
    with pytest.raises(InputError, match="200 different alternatives.*what you can choose"):
        Study.from_observations(frame)


def test_a_few_contexts_need_not_repeat() -> None:
    frame = drawn(30)
    assert observe(frame).problem.n_contexts == 30
    assert observe(pd.concat([drawn(100)] * 2)).problem.n_contexts == 100


def test_numbers_that_never_repeat_are_a_population_and_bins_are_none() -> None:
    assert observe(drawn()).problem.population is not None
    assert observe(drawn(), bins=8).problem.population is None
    rows = [(k, c, 0.0) for k in "abc" for c in range(501)]
    frame = pd.DataFrame(rows, columns=["alternative", "context", "value"])
    assert observe(frame).problem.n_contexts == 500
    assert observe(pd.concat([frame, frame])).problem.n_contexts == 501


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-8, 8).map(lambda i: i / 4) | st.floats(-1e6, 1e6), min_size=8, max_size=60),
    st.integers(2, 7),
)
def test_bins_are_those_of_quantiles_and_lie_at_their_means(x: list[float], n: int) -> None:
    if len(set(np.round(x, 6))) <= n:
        return
    frame = pd.DataFrame({"alternative": [i % 2 for i in range(len(x))], "context": x, "value": 0.0})
    frame["context"] = np.round(frame["context"], 6) + 0.0
    found = observe(frame, bins=n)
    edges = sorted({float(np.quantile(frame["context"], q / n)) for q in range(1, n)})
    expected = [sum(value > edge for edge in edges) for value in frame["context"]]  # the upper edge belongs
    assert pd.Series(expected).rank(method="dense").astype(int).sub(1).tolist() == found.context.tolist()
    for c, label in enumerate(found.problem.contexts.labels):
        own = frame["context"][found.context == c]
        assert own.min() <= label <= own.max()
        assert label == pytest.approx(own.mean(), rel=1e-9, abs=1e-9)
    assert found.problem.bounds == {"context": (frame["context"].min(), frame["context"].max())}


def test_bins_hold_about_as_many_rows_each() -> None:
    found = observe(drawn(), bins=8)
    assert np.bincount(found.context).tolist() == [25] * 8
    assert list(found.problem.contexts.labels) == sorted(found.problem.contexts.labels)
    [note] = found.notes
    assert note.startswith("context is in 8 bins, each taken as one context at its mean: ")
    assert note.count(" for ") == 8


def test_columns_with_few_values_and_columns_not_named_stay_as_they_are() -> None:
    frame = drawn(day=np.tile([1, 2, 3, 4], 50), zone=np.tile(list("xy"), 100))
    columns = ["day", "context", "zone"]
    for bins in (5, {"context": 5}, {"context": 5, "day": 5}):
        problem = observe(frame, context=columns, bins=bins).problem
        assert set(problem.contexts.columns["day"]) == {1, 2, 3, 4}
        assert set(problem.contexts.columns["zone"]) == {"x", "y"}
        assert len(set(problem.contexts.columns["context"])) == 5
    assert len(set(observe(frame, context=columns, bins=2).problem.contexts.columns["day"])) == 2


def test_equal_numbers_make_a_bin_at_that_number() -> None:
    x = [0.1] * 50 + np.linspace(1, 2, 30).tolist()
    frame = pd.DataFrame({"alternative": [0, 1] * 40, "context": x, "value": 0.0})
    assert observe(frame, bins=4).problem.contexts.labels[0] == 0.1


def test_bins_of_an_exported_frame_drop_its_labels() -> None:
    frame = drawn().rename(columns={"context": "context.rate"}).assign(context=[f"c{i}" for i in range(200)])
    problem = observe(frame, bins={"context.rate": 4}).problem
    assert not problem.contexts.named
    assert problem.n_contexts == 4
    assert list(problem.contexts.columns) == ["rate"]


def test_a_bin_weighs_as_much_as_the_contexts_in_it() -> None:
    frame = pd.DataFrame({"alternative": [0, 1] * 6, "context": np.repeat(range(6), 2), "value": 0.0})
    frame["w"] = frame["context"] + 1.0
    found = observe(frame, bins=3, weights="w")
    np.testing.assert_allclose(found.problem.weights, np.array([3, 7, 11]) / 21)


def test_given_bounds_take_the_place_of_the_data_s() -> None:
    frame = drawn(day=np.tile([1, 2, 3, 4], 50))
    problem = observe(frame, context=["day", "context"], bins=4, bounds={"day": (0, 7)}).problem
    assert problem.bounds == {"day": (0, 7), "context": (frame["context"].min(), frame["context"].max())}
    assert observe(frame, bins=4, bounds=(0, 99)).problem.bounds == {"context": (0, 99)}


def test_predictions_within_the_data_are_no_extrapolation() -> None:
    frame = drawn()
    study = Study.from_observations(frame, bins=5)
    ends = [frame["context"].min(), frame["context"].max(), frame["context"].max() + 1]
    assert study.predict(ends)["extrapolated"].tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ({"contxt": 4}, "unknown context column with bins 'contxt'.*Did you mean 'context'"),
        ({"zone": 4}, "bins for 'zone', which holds no numbers"),
        ({"context": 1}, "bins of 'context' must be a whole number ≥ 2, got 1"),
        (0, "bins of 'context' must be a whole number ≥ 2, got 0"),
        (True, "must be a whole number ≥ 2, got True"),
        ({}, r"bins=\{\}, but no context column"),
    ],
)
def test_bins_that_make_no_sense_are_refused(bins: Any, message: str) -> None:
    frame = drawn(zone=np.tile(list("xy"), 100))
    with pytest.raises(InputError, match=message):
        Study.from_observations(frame, context=["context", "zone"], bins=bins)


def test_bins_without_numbers_are_refused() -> None:
    frame = drawn(zone=np.tile(list("xy"), 100))
    with pytest.raises(InputError, match=r"bins=4, but no context column holds numbers: \['zone'\]"):
        Study.from_observations(frame, context="zone", bins=4)

"""Profiles: their numbers against the public predictions of a study."""

from typing import Any

import numpy as np
import pytest
import small_problems
from report.page_studies import told
from scipy.stats import norm

from argbest import InputError, Problem, Study, streams
from argbest.answers.predicting import posterior
from argbest.report import plot_profiles
from argbest.report.profiles import profiles


def simulate(alternative: str, context: Any, seed: int) -> float:
    gain = float(context["rate"]) - 1.0
    return "ABC".index(alternative) * gain + float(streams.standard_normal(seed)) / 4


GRID = [{"rate": r, "shift": s} for r in (2.0, 0.0, 1.0) for s in ("day", "night")]


def grid_study(**options: Any) -> Study:
    return Study(Problem(list("ABC"), GRID, simulate, name="grid", **options), initial=2).run(50)


def test_mean_and_interval_are_those_of_the_posterior() -> None:
    study = Study(small_problems.table(goal="min"), initial=2).run(60)
    found = profiles(study, leading=4, level=0.8, points=5)
    assert (found.coordinate, found.held, found.joined) == ("x", {}, True)
    assert found.at == (0.0, 0.25, 0.5, 0.75, 1.0)
    table = posterior(study.view())
    for i, k in enumerate(found.leaders):
        own = table[table["alternative"] == "ABCD"[k]]
        np.testing.assert_allclose(found.mean[i], own["mean"], rtol=1e-9, atol=1e-9)
        reach = norm.isf(0.1) * own["sd"]
        np.testing.assert_allclose(found.low[i], own["mean"] - reach, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.high[i], own["mean"] + reach, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found.p_best[i], own["p_best"], atol=1e-8)


def test_leaders_are_those_likeliest_best_somewhere() -> None:
    study = Study(small_problems.table(), initial=2).run(60)
    found = profiles(study, leading=2)
    chance = study.predict_proba([{"x": x} for x in found.at]).to_numpy()
    assert sorted(found.leaders.tolist()) == sorted(np.argsort(-chance.max(axis=0))[:2].tolist())
    assert found.labels == tuple("ABCD"[k] for k in found.leaders)


def steps(n: int, seen: int) -> Study:
    """As many alternatives as contexts, each the best in its own; then ones that are never best."""
    where = np.arange(float(n))
    truth = -np.abs(np.arange(float(n + seen))[:, None] - where[None, :]) * 50.0
    return told(Problem(range(n + seen), where.tolist(), demanding), truth, spread=0.1)


def demanding(order: int, demand: float, seed: int) -> float:
    return -abs(order - demand)


@pytest.mark.parametrize(("n", "shown"), [(2, 4), (6, 6), (8, 8), (10, 8)])
@pytest.mark.fast_cases("2-4", "10-8")
def test_all_selected_alternatives_are_shown_but_at_least_four_and_at_most_eight(n: int, shown: int) -> None:
    study = steps(n, 3)
    found = profiles(study)
    assert len(found.leaders) == len(set(found.leaders.tolist())) == shown
    selected = set(study.selection()["selected"])
    assert len(selected) == n
    assert len(selected & set(found.leaders.tolist())) == min(n, 8)
    assert len(profiles(study, leading=3).leaders) == 3


def test_what_is_selected_elsewhere_is_not_shown_unless_it_is_likely_here() -> None:
    rows = [{"x": x, "site": s} for s in "ab" for x in (0.0, 1.0, 2.0)]
    truth = 9.0 * np.eye(6)  # each is the best in one context
    study = told(Problem(range(6), rows), truth, spread=0.01, model="independent")
    assert set(profiles(study, context=rows[0]).leaders[:3].tolist()) == {0, 1, 2}
    assert set(profiles(study, context=rows[5]).leaders[:3].tolist()) == {3, 4, 5}


def test_the_axis_has_the_name_that_the_simulator_gives_the_context() -> None:
    assert plot_profiles(steps(3, 0)).get_xlabel() == "demand"
    assert plot_profiles(grid_study()).get_xlabel() == "rate"


def test_other_coordinates_are_held_at_the_context_given() -> None:
    study = grid_study()
    found = profiles(study, context={"rate": 1.0, "shift": "night"}, points=3)
    assert (found.coordinate, found.held, found.at) == ("rate", {"shift": "night"}, (0.0, 1.0, 2.0))
    table = posterior(study.view())
    for i, k in enumerate(found.leaders):
        mine = table[(table["alternative"] == "ABC"[k]) & (table["context.shift"] == "night")]
        np.testing.assert_allclose(found.mean[i], mine.sort_values("context.rate")["mean"], rtol=1e-9)


def test_by_default_they_are_held_at_the_least_certain_context() -> None:
    study = grid_study()
    worst = GRID[int(study.selection()["p_best"].argmin())]
    assert profiles(study).held == {"shift": worst["shift"]}


def test_the_data_are_the_sample_means_on_the_line_in_the_users_sign() -> None:
    study = grid_study(goal="min")
    found = profiles(study, context={"rate": 1.0, "shift": "day"})
    table = study.allocation()
    assert len(found.data) == 9
    for row in found.data.to_dict("records"):
        label = "ABC"[found.leaders[row["leader"]]]
        here = (table["context.rate"] == row["at"]) & (table["context.shift"] == "day")
        [cell] = table[here & (table["alternative"] == label)].to_dict("records")
        assert (row["mean"], row["n"]) == (pytest.approx(cell["mean"]), cell["n"])


def test_text_is_shown_value_by_value() -> None:
    found = profiles(grid_study(), coordinate="shift", context={"rate": 2.0, "shift": "day"})
    assert (found.at, found.joined, found.held) == (("day", "night"), False, {"rate": 2.0})
    assert found.mean.shape == (3, 2)


def test_other_coordinates_may_be_held_where_nothing_was_simulated() -> None:
    loads = [{"rate": r, "load": x} for r in (0.0, 1.0, 2.0) for x in (1.0, 2.0)]
    study = Study(Problem(list("ABC"), loads, simulate), initial=2).run(40)
    found = profiles(study, context={"rate": 0.0, "load": 1.5}, points=3)
    assert (found.at, found.held, len(found.data)) == ((0.0, 1.0, 2.0), {"load": 1.5}, 0)
    told = study.predict([{"rate": r, "load": 1.5} for r in found.at])
    np.testing.assert_allclose(found.mean.max(axis=0), told["mean"], rtol=1e-12)
    assert plot_profiles(study, context={"rate": 0.0, "load": 1.5}) is not None


def test_a_model_without_predictions_shows_the_simulated_contexts() -> None:
    study = Study(small_problems.table(), policy="c-ocba", refit_every=1).run(60)
    found = profiles(study)
    assert (found.joined, found.at) == (False, (0.0, 0.25, 0.5, 0.75, 1.0))
    np.testing.assert_allclose(found.mean, study.tally.mean[found.leaders], rtol=1e-12)
    grid = Study(Problem(list("ABC"), GRID, simulate), policy="c-ocba", refit_every=1).run(50)
    assert profiles(grid, context=GRID[1]).at == (0.0, 1.0, 2.0)
    with pytest.raises(InputError, match="none of the simulated contexts"):
        profiles(grid, context={"rate": 0.0, "shift": "noon"})


def test_an_unknown_context_is_refused_where_there_is_nothing_else_to_hold() -> None:
    study = Study(small_problems.table(), initial=2).run(40)
    assert profiles(study, context={"x": 0.25}).held == {}
    with pytest.raises(InputError, match="unknown context {'x': 99"):
        plot_profiles(study, context={"x": 99.0})
    labels = Study(Problem(list("ABC"), [0.0, 1.0], lambda a, c, seed: float(seed % 7)), initial=2).run(20)
    with pytest.raises(InputError, match=r"unknown context 99\.0"):
        profiles(labels, context=99.0)


def test_what_cannot_be_shown_is_refused() -> None:
    study = grid_study()
    with pytest.raises(InputError, match="unknown context coordinate 'rats'.* Did you mean 'rate'"):
        profiles(study, coordinate="rats")
    with pytest.raises(InputError, match="level must be a number between 0 and 1"):
        profiles(study, level=95)
    with pytest.raises(InputError, match="leading must be a whole number"):
        profiles(study, leading=0)
    with pytest.raises(InputError, match="rows with the columns"):
        profiles(study, context={"rate": 1.0})


def test_the_picture_has_a_line_a_band_and_marks_per_leader() -> None:
    ax: Any = plot_profiles(grid_study(), context={"rate": 1.0, "shift": "day"}, leading=2)
    assert len([line for line in ax.lines if len(line.get_xdata()) == 121]) == 2
    assert len(ax.collections) == 4  # two bands, two sets of marks
    assert ax.get_ylabel() == "mean reward\n(larger is better)"
    title = ax.get_legend().get_title().get_text().replace("\n", " ")
    assert title == "grid: leading alternatives, 95% intervals, at shift = day"

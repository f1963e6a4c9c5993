"""The page shows the numbers of the library, and works out none but those between listed ones."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answers.test_reported import successes
from grids import mostly_slow
from report.page_studies import CONDITIONED, Named, anywhere, line, list_all, mixed, values
from scipy.special import ndtr

from argbest import Problem, Study
from argbest.answers.predicting import posterior, prediction_kit
from argbest.report.page import write_report

Open = Callable[..., Any]
PREDICT = "({kit, rows}) => { const p = argbest.predictor(kit); return rows.map((row) => p.at(row)); }"
MODELS: tuple[Named, ...] = (*CONDITIONED, "linear", "independent")


@pytest.fixture(scope="module")
def page(open_page: Open, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return open_page(write_report(line(), tmp_path_factory.mktemp("page") / "report.html"))


def listed(study: Study, n: int) -> list[dict[str, Any]]:
    """Return some contexts that a kit lists: combinations of stops that were not simulated, and contexts."""
    kit = prediction_kit(study.view())
    names = [each["name"] for each in kit["coordinates"]]
    own = list(zip(*study.problem.contexts.coordinates.values(), strict=True))
    grid = [row for row in itertools.product(*(kit["stops"] or [[]])) if row and row not in set(own)]
    some = [grid[i] for i in np.linspace(0, len(grid) - 1, n).round().astype(int)] if grid else []
    return [dict(zip(names, row, strict=True)) for row in (*some, *own)]


def assert_as_predicted(
    page: Any, study: Study, rows: list[dict[str, Any]], *, between: float | None = None
) -> None:
    """Check that the page says what the study says; of rows ``between`` listed ones, about that."""
    found = page.evaluate(
        PREDICT, {"kit": prediction_kit(study.view()), "rows": [values(row) for row in rows]}
    )
    frame, chance = study.predict(rows), study.predict_proba(rows).to_numpy()
    labels = study.problem.alternatives.labels
    assert {each["interpolated"] for each in found} == {between is not None}
    close = 1e-5 if between is None else between
    np.testing.assert_allclose([each["probability"] for each in found], chance, atol=close)
    here = np.array([each["selected"] for each in found])
    assert [labels[k] for k in here] == frame["selected"].tolist()
    np.testing.assert_allclose([each["pBest"] for each in found], frame["p_best"], atol=close)
    losses = [each["expectedLoss"] for each in found]
    np.testing.assert_allclose(losses, frame["expected_loss"], atol=close if between is None else 0.05)
    np.testing.assert_allclose([each["mean"][each["selected"]] for each in found], frame["mean"], atol=close)
    if between is None:
        assert [labels[each["runnerUp"]] for each in found] == frame["runner_up"].tolist()
        for name, column in (("gap", "gap"), ("gapSd", "gap_sd")):
            np.testing.assert_allclose([each[name] for each in found], frame[column], atol=close)


@pytest.mark.parametrize("model", mostly_slow(MODELS, fast=MODELS[::2]), ids=str)
@pytest.mark.fast_cases("additive-gp", "independent")
def test_predictions_of_every_model_are_the_library_s(page: Any, model: Named) -> None:
    for study in (line(model), mixed(model), line(model, names=True)):
        assert_as_predicted(page, study, listed(study, 12))


@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear"])
@pytest.mark.fast_cases("gp", "linear")
def test_between_listed_contexts_the_page_interpolates(
    page: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_all(monkeypatch)
    assert_as_predicted(page, line(model), anywhere(line(model), 12, seed=3), between=0.02)
    assert_as_predicted(page, mixed(model), anywhere(mixed(model), 12, seed=3), between=0.04)


@pytest.mark.parametrize("goal", ["max", "min"])
@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear", "independent"])
def test_means_of_a_rate_are_the_library_s_and_within_0_and_1(page: Any, model: str, goal: str) -> None:
    study = successes(goal, model)
    assert_as_predicted(page, study, listed(study, 6))
    found = page.evaluate(
        "(kit) => { const p = argbest.predictor(kit), m = p.moments([0]);"
        " return m.centre.map((c, k) => p.interval(c, m.sd[k], 1.96)); }",
        prediction_kit(study.view()),
    )
    frame = posterior(study.view(), [{"x": 0.0}], level=2 * ndtr(1.96) - 1)
    np.testing.assert_allclose(found, frame[["low", "high"]], atol=1e-5)


def failed(model: Named, failing: list[tuple[int, int]]) -> Study:
    """Some alternatives along a line of contexts, of which pairs fail from the first time on."""
    study = line(model)
    given = study.problem
    pairs = [pair for pair in np.ndindex(given.shape) for _ in range(6 if pair in failing else 2)]
    named = [(given.alternatives.item(k), given.contexts.item(c)) for k, c in pairs]
    broken = Study(Problem(given.alternatives, given.contexts), initial=named, model=model, policy="equal")
    noise = np.random.default_rng(2).normal(0.0, 0.3, len(pairs))
    for trial, spread in zip(broken.ask(len(named)), noise.tolist(), strict=True):
        if trial.pair in failing:
            broken.fail(trial, "no licence")
        else:
            broken.tell(trial, float(study.tally.mean[trial.pair]) + spread)
    return broken


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.fast_cases("gp", "additive-gp")
def test_what_is_ruled_out_is_not_selected_in_the_page_either(page: Any, model: Named) -> None:
    study = failed(model, [(3, c) for c in range(5)] + [(0, 1)])
    rows = [{"x": x} for x in (0.0, 2.0, 3.0, 7.0, 10.0)]
    assert_as_predicted(page, study, listed(study, 5))
    found = page.evaluate(
        PREDICT, {"kit": prediction_kit(study.view()), "rows": [values(row) for row in rows]}
    )
    assert all(each["probability"][3] < 1e-12 for each in found)
    assert found[1]["probability"][0] < 1e-12
    none = failed(model, [(k, 1) for k in range(4)] + [(k, 2) for k in range(3)])
    given = {"kit": prediction_kit(none.view()), "rows": [[2.0], [3.0]]}
    nobody, alone = page.evaluate(PREDICT, given)
    assert (nobody["selected"], nobody["pBest"], nobody["runnerUp"]) == (None, None, None)
    assert (alone["selected"], alone["runnerUp"], alone["gap"]) == (3, None, None)
    assert alone["pBest"] == pytest.approx(1.0, abs=1e-9)


def test_the_page_says_where_there_is_no_answer(open_page: Open, tmp_path: Path) -> None:
    study = failed("gp", [(k, 1) for k in range(4)] + [(k, 2) for k in range(3)])
    shown = open_page(write_report(study, tmp_path / "report.html"))
    assert "1 of 5 contexts has no answer, because every alternative failed there: x 2." in shown.inner_text(
        "body"
    )
    assert "no answer: every alternative failed here" in shown.inner_text("#decisions")
    shown.select_option("#explore .choice select", index=2)
    shown.locator("#predicted", has_text="no answer").wait_for()
    assert "there is no answer: every alternative failed here." in shown.inner_text("#explore .verdict")
    shown.select_option("#explore .choice select", index=3)
    shown.locator("#predicted", has_not_text="no answer").wait_for()
    assert "the only alternative that did not fail here" in shown.inner_text("#explore .verdict")
    assert shown.heard == []


def test_the_explorer_says_of_a_simulated_context_what_the_tables_say(
    open_page: Open, tmp_path: Path
) -> None:
    study = line("additive-gp")
    shown, frame = open_page(write_report(study, tmp_path / "report.html")), study.selection()
    found = study.certificate()
    assert not np.allclose(found.pcs, study.certificate(integrate=False).pcs, atol=1e-3)
    for c, position in enumerate(range(1, study.problem.n_contexts + 1)):
        shown.select_option("#explore .choice select", index=position)
        shown.wait_for_function("c => argbest.current.context[0] === c", arg=study.problem.contexts.labels[c])
        said = shown.evaluate("argbest.current")
        assert said["pBest"] == pytest.approx(frame["p_best"][c], rel=1e-5)
        assert said["expectedLoss"] == pytest.approx(frame["expected_loss"][c], rel=1e-5)
        np.testing.assert_allclose(said["probability"], found.best_probability[:, c], atol=1e-6)
        labels = study.problem.alternatives.labels
        assert labels[said["runnerUp"]] == frame["runner_up"][c]

"""One number per thing: whoever says it, in tables, text, pages and predictions."""

import functools
import re
from typing import Any

import numpy as np
import pytest

from argbest import Problem, Study
from argbest.answers.predicting import prediction_kit
from argbest.cli.stored import show_answer
from argbest.core.belief import best
from argbest.report import wording
from argbest.report.page.studies import payload
from argbest.theory import contention

pytestmark = pytest.mark.usefixtures("few_draws")

CONTEXTS = [0.0, 1.0, 2.0, 3.0]


def simulate(alternative: float, context: float, seed: int) -> float:
    """Neighbours are nearly equal, and the last alternative is much noisier than the others."""
    rng = np.random.default_rng(seed)
    return float(-((alternative - context) ** 2) / 8 + (3.0 if alternative == 5.0 else 0.8) * rng.normal())


@functools.cache
def study(model: str, contexts: int = 4, common: bool = False) -> Study:
    """Three replications of every pair of a study with close calls."""
    problem = Problem([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], CONTEXTS[:contexts], simulate)
    made = Study(problem, model=model, initial=3, seed=4, common_random_numbers=common)
    return made.run(18 * contexts)


MODELS = ["additive-gp", "gp", "independent"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.fast_cases("True-additive-gp", "False-gp")
def test_the_selected_is_as_likely_the_best_in_every_table(model: str, common: bool) -> None:
    one = study(model, common=common)
    frame, certificate = one.selection(), one.certificate()
    chosen, own = best(certificate.belief), np.arange(4)
    np.testing.assert_array_equal(certificate.best_probability[chosen, own], frame["p_best"])
    np.testing.assert_allclose(certificate.best_probability.sum(axis=0), 1.0, rtol=1e-12)
    chance = one.posterior().set_index(["alternative", "context"])["p_best"]
    for where in zip(frame["selected"], frame["context"], frame["p_best"], strict=True):
        assert chance[where[:2]] == where[2]
    page = payload(one)
    labels = one.problem.alternatives.labels
    for c, row in enumerate(frame.itertuples()):
        shown = page["certainty"]["probability"][labels.index(row.selected)][c]
        assert (
            shown
            == dict(zip(page["decisions"]["columns"], page["decisions"]["rows"][c], strict=True))["p_best"]
        )


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("integrate", [False, True])
def test_a_prediction_at_a_simulated_context_is_the_answer_of_the_study(model: str, integrate: bool) -> None:
    one = study(model)
    rows = CONTEXTS if model == "independent" else [*CONTEXTS, 0.5, 2.5, *np.linspace(0.0, 2.9, 30).tolist()]
    found = one.predict(rows, integrate=integrate)[:4]
    certificate = one.certificate(integrate=integrate)
    np.testing.assert_array_equal(found["p_best"], certificate.pcs)
    np.testing.assert_array_equal(found["expected_loss"], certificate.expected_loss)
    chance = one.predict_proba(rows, integrate=integrate).to_numpy()[:4].T
    np.testing.assert_allclose(chance, certificate.best_probability, rtol=1e-12)
    alone = one.predict(CONTEXTS[2:3], integrate=integrate)
    assert alone["p_best"][0] == found["p_best"][2]
    if integrate:
        assert found["runner_up"].tolist() == one.selection()["runner_up"].tolist()


def test_a_kit_holds_the_numbers_of_the_answer() -> None:
    one = study("additive-gp", common=True)
    kit = prediction_kit(one.view())
    frame, [stops] = one.selection(), kit["stops"]
    for c, x in enumerate(CONTEXTS):
        row = stops.index(x)
        said = kit["probability"][row][kit["selected"][row]], kit["expected_loss"][row]
        assert said == (pytest.approx(frame["p_best"][c], rel=1e-5), frame["expected_loss"][c])


@pytest.mark.parametrize("model", MODELS)
def test_in_one_context_all_probabilities_of_being_right_are_one(model: str) -> None:
    one = study(model, contexts=1)
    certificate, frame = one.certificate(), one.selection()
    said = {float(getattr(certificate, name)) for name in ("pcs_e", "pcs_m", "p_all")}
    assert said == {frame["p_best"][0]}
    figures = payload(one)["certainty"]
    assert {figures[name] for name in ("pcs_e", "pcs_m", "p_all")} == said
    assert (figures["draws"], figures["p_all_se"]) == (0, 0.0)


@pytest.mark.parametrize("model", MODELS)
def test_the_runner_up_is_who_the_text_and_the_tables_name_first(model: str) -> None:
    one = study(model)
    frame, chance = one.selection(), one.certificate().best_probability
    labels = np.array(one.problem.alternatives.labels)
    running = contention(one, level=0.999)
    for c, row in enumerate(frame.itertuples()):
        others = {label: chance[k, c] for k, label in enumerate(labels) if label != row.selected}
        assert others[row.runner_up] == max(others.values())
        assert next(each for each in running["contenders"][c] if each != row.selected) == row.runner_up
        line = wording.one_by_one(one)[c]
        if row.state == "open":
            assert re.search(r"or alternative ([\d.]+)", line)[1] == f"{frame['runner_up'][c]:g}"  # type: ignore[index]


def overruled() -> Study:
    """A study of one context in which a noisy alternative is likelier the best than the best mean."""
    problem = Problem(["calm", "middle", "wild"], ["now"], never)
    values = {"calm": [1.0, 1.1, 0.9, 1.0], "middle": [0.95, 1.05, 0.85, 0.95], "wild": [5.0, -5.2, 3.1, 0.9]}
    told = Study(problem, model="independent", policy="equal", initial=4)
    for trial in told.ask(12):
        told.tell(trial, values[str(trial.alternative)][trial.replication])
    return told


def never(alternative: Any, context: Any, seed: int) -> float:
    raise AssertionError("all values are told")


def test_where_another_is_likelier_the_best_than_the_best_mean_every_answer_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = overruled()
    frame, certificate = told.selection(), told.certificate()
    assert (frame["selected"][0], frame["runner_up"][0]) == ("calm", "wild")
    assert certificate.best_probability[2, 0] > frame["p_best"][0]
    assert frame["note"][0].startswith("wild is more likely the best (0.")
    assert "but calm has the better mean" in frame["note"][0]
    line = str(wording.choices(told)[0])
    assert "or wild" in line
    assert "; wild is more likely the best, but calm has the better mean)" in line
    assert payload(told)["decisions"]["rows"][0][-1] == frame["note"][0]
    show_answer(told)
    assert "they differ at now: wild is more likely the best" in " ".join(capsys.readouterr().out.split())

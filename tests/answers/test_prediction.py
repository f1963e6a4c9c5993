"""Prediction: at known contexts the selection, elsewhere what the model says, marked where it reaches out."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from study.conftest import apart, assert_close, noise, problem

from argbest import GP, InputError, Problem, Study
from argbest.answers import predicting
from argbest.errors import ExtrapolationNotice
from argbest.problems.axis import Axis
from argbest.study.view import View

NUMBERS = ["mean", "gap", "gap_sd", "p_best", "expected_loss"]
ROWS = pd.DataFrame({"rate": [0.5, 1.0, 2.0, 3.0], "shift": ["day", "night", "day", "night"]})


def rate(alternative: int, context: dict[str, Any], seed: int) -> float:
    return float(alternative * (1.0 - context["rate"]) + (context["shift"] == "day") + noise(seed))


def by_rows(**options: Any) -> Study:
    return apart(Problem([0, 1], ROWS, rate, **options), seed=1).run(60)


def labelled() -> Study:
    contexts = ROWS.set_axis(list("wxyz"), axis=0)
    return apart(Problem([0, 1], contexts, rate), seed=1).run(40)


@pytest.fixture(scope="module")
def study() -> Study:
    return apart(problem(bounds=(-1, 4)), seed=1).run(75)


def test_predictions_at_known_contexts_are_the_selection(study: Study) -> None:
    for known in (study, by_rows(), by_rows(goal="min"), labelled()):
        selection = known.selection()
        predicted = known.predict(known.problem.contexts)
        assert list(predicted.columns) == [*selection.columns, "extrapolated"]
        names = [name for name in selection.columns if name not in NUMBERS]
        pd.testing.assert_frame_equal(predicted[names], selection[names])
        for name in NUMBERS:
            assert_close(predicted[name], selection[name], 1e-6)
        assert not predicted["extrapolated"].any()


def test_probabilities_at_known_contexts_are_those_of_the_certificate(study: Study) -> None:
    for known in (study, by_rows(), labelled()):
        probability = known.predict_proba(known.problem.contexts)
        assert list(probability.columns) == list(known.problem.alternatives.labels)
        assert_close(probability, known.certificate().best_probability.T, 1e-6)


def test_a_context_may_come_alone_in_a_list_in_an_array_or_in_a_series(study: Study) -> None:
    alone = study.predict(1.5)
    assert alone["context"].tolist() == [1.5]
    for given in ([1.5], (1.5,), np.array([1.5]), pd.Series([1.5], index=[4])):
        pd.testing.assert_frame_equal(study.predict(given), alone)
    assert study.predict(np.float64(1.5)).equals(alone)


def test_new_rows_may_be_dicts_or_a_frame() -> None:
    study = by_rows()
    rows = [{"rate": 0.75, "shift": "night"}, {"rate": 1.0, "shift": "day"}]
    from_dicts = study.predict(rows)
    assert from_dicts[["context.rate", "context.shift"]].to_numpy().tolist() == [
        [0.75, "night"],
        [1.0, "day"],
    ]
    pd.testing.assert_frame_equal(study.predict(pd.DataFrame(rows)), from_dicts)
    pd.testing.assert_frame_equal(study.predict(pd.DataFrame(rows)[["shift", "rate"]]), from_dicts)
    pd.testing.assert_frame_equal(study.predict(rows[0]), from_dicts.iloc[:1])
    assert study.predict_proba(rows).index.tolist() == [(0.75, "night"), (1.0, "day")]


def test_known_rows_may_be_named_by_their_label() -> None:
    study = labelled()
    assert study.predict(["y", "w"])["context"].tolist() == ["y", "w"]
    assert_close(study.predict("y")["mean"], study.selection()["mean"][2:3], 1e-6)


def test_plain_labels_may_come_as_the_column_of_a_frame_or_of_dicts(study: Study) -> None:
    plain = study.predict([0.5, 1.5])
    for given in (
        pd.DataFrame({"context": [0.5, 1.5]}),
        pd.DataFrame({"context": [0.5, 1.5]}, index=["p", "q"]),
        [{"context": 0.5}, {"context": 1.5}],
    ):
        pd.testing.assert_frame_equal(study.predict(given), plain)
        assert (
            study.predict_proba(given).to_numpy().tolist()
            == study.predict_proba([0.5, 1.5]).to_numpy().tolist()
        )


@pytest.mark.parametrize("model", ["gp", "additive-gp"])
def test_a_row_among_many_has_the_probabilities_it_has_alone(model: str) -> None:
    """However many rows there are, all plausible hyper-parameters count: fewer were .015 off."""
    study = apart(problem(bounds=(-1, 4)), seed=1, model=model).run(40)
    rows = np.linspace(-1.0, 4.0, 60).tolist()
    together, losses = study.predict_proba(rows), study.predict(rows)["expected_loss"]
    for i in (0, 7, 59):
        assert_close(together.iloc[[i]], study.predict_proba(rows[i]), 1e-12)
        assert_close(losses[i], study.predict(rows[i])["expected_loss"], 1e-12)


def test_each_row_is_predicted_by_itself(study: Study) -> None:
    together = study.predict([0.5, 2.5, 0.5, -7])
    for i, context in enumerate([0.5, 2.5, 0.5, -7]):
        assert_close(together.iloc[[i]][NUMBERS], study.predict(context)[NUMBERS], 1e-12)
    assert together[NUMBERS].iloc[0].equals(together[NUMBERS].iloc[2])


def test_what_lies_out_of_bounds_is_marked(study: Study) -> None:
    contexts = [-1.001, -1, 0, 3.5, 4, 4.001]
    assert study.predict(contexts)["extrapolated"].tolist() == [True, False, False, False, False, True]


def test_without_given_bounds_those_of_the_contexts_count() -> None:
    rows = [
        {"rate": 0.5, "shift": "night"},
        {"rate": 0.4, "shift": "night"},
        {"rate": 3.1, "shift": "day"},
        {"rate": 1.0, "shift": "noon"},
    ]
    with pytest.warns(ExtrapolationNotice, match="shift 'noon'"):
        predicted = by_rows().predict(rows)
    assert predicted["extrapolated"].tolist() == [False, True, True, True]


def test_certainty_falls_with_the_distance_from_the_data(study: Study) -> None:
    predicted = study.predict([3, 5, 8, 1000])
    assert predicted["gap_sd"].is_monotonic_increasing
    assert predicted["p_best"][3] < predicted["p_best"][0]
    far = study.predict([1000, 2000])
    assert_close(far.loc[0, NUMBERS], far.loc[1, NUMBERS], 1e-9)


@pytest.mark.parametrize(("policy", "tolerance"), [("gp-c-ocba", 1e-9), ("dvr", 0.01)])  # by random draws
def test_probabilities_are_probabilities(policy: str, tolerance: float) -> None:
    study = apart(problem(bounds=(-1, 4)), policy=policy, seed=1).run(75)
    contexts = np.linspace(-5, 9, 40)
    probability = study.predict_proba(contexts)
    assert_close(probability.sum(axis=1), np.ones(40), 1e-9)
    assert ((probability >= 0) & (probability <= 1)).all(axis=None)
    predicted = study.predict(contexts)
    for i, selected in enumerate(predicted["selected"]):
        assert probability.iloc[i][selected] == pytest.approx(predicted["p_best"][i], abs=tolerance)
    assert probability.index.name == "context"
    assert probability.index.tolist() == contexts.tolist()


def test_prediction_between_contexts_lies_near_the_truth() -> None:
    study = apart(problem(model_line), initial=40).run(480)
    predicted = study.predict([0.5, 1.5, 2.5])
    np.testing.assert_allclose(predicted["mean"], [4.5, 3.5, 7.5], atol=1.2)
    assert predicted["selected"].tolist()[0] == "a"
    assert predicted["selected"].tolist()[2] == "c"


def model_line(alternative: str, context: int, seed: int) -> float:
    line = {"a": 5.0 - context, "b": 0.0, "c": 3.0 * context}
    return line[alternative] + noise(seed)


def test_new_text_is_as_far_as_any_other_text() -> None:
    study = apart(Problem([0, 1], ["x", "y", "z"], lambda a, c, s: a * len(c) + noise(s)), seed=2).run(30)
    with pytest.warns(ExtrapolationNotice, match="never simulated: context 'new', 'other' .known: 'x', 'y'"):
        predicted = study.predict(["x", "new", "other"])
    assert predicted["extrapolated"].tolist() == [False, True, True]
    assert predicted[NUMBERS].iloc[1].equals(predicted[NUMBERS].iloc[2])
    with pytest.warns(ExtrapolationNotice, match="never simulated: context 'new'"):
        assert_close(study.predict_proba(["new"]).sum(axis=1), [1.0], 1e-9)


def test_a_new_category_is_warned_of_once_per_call_with_its_column_and_the_known_ones() -> None:
    study = by_rows()
    rows = [{"rate": 1.0, "shift": new} for new in ("dawn", "day", "dusk", "dawn")]
    for ask in (study.predict, study.predict_proba, study.posterior):
        with pytest.warns(ExtrapolationNotice) as caught:
            answer = ask(rows)
        (notice,) = caught
        said = "never simulated: shift 'dawn', 'dusk' (known: 'day', 'night'). The answer takes it as unlike"
        assert str(notice.message).startswith(said)
        assert notice.filename == __file__
        assert np.isfinite(answer.select_dtypes(float).to_numpy()).all()


def test_of_many_categories_a_warning_names_some() -> None:
    study = apart(Problem(["a", "b"], [f"site {i}" for i in range(9)]))
    for trial in study.ask(36):
        study.tell(trial, float(trial.id % 5))
    with pytest.warns(ExtrapolationNotice, match="'site 4' and 4 more\\)"):
        study.predict(["elsewhere"])


def test_known_categories_and_numbers_out_of_range_are_not_warned_of() -> None:
    predicted = by_rows().predict([{"rate": 99.0, "shift": "day"}])
    assert predicted["extrapolated"].tolist() == [True]


def test_predictions_follow_every_value_told(study: Study) -> None:
    again = apart(problem(bounds=(-1, 4)), seed=1).run(75)
    before = again.predict([1.5])["mean"][0]
    trial = again.ask(context=1)[0]
    again.tell(trial, [50.0] * 5)
    assert again.predict([1.5])["mean"][0] != before
    assert study.predict([1.5])["mean"][0] == before


def test_a_known_table_of_noise_serves_new_contexts_too() -> None:
    study = apart(problem(), model=GP(noise_sd=np.ones((3, 4)))).run(40)
    assert np.isfinite(study.predict([0.5])[NUMBERS].to_numpy(float)).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "got no contexts; at least one needed"),
        ("x", "got 'x' \\(text\\) for 'context'"),
        ([True], "got True \\(boolean\\)"),
        ([float("nan")], "expected text, a boolean or a finite number"),
        ([None], "is None"),
        ([{"rate": 1.0}], "got contexts \\['rate'\\]"),
        (None, "got None as contexts"),
        ([[1.0]], "expected text, a boolean or a finite number"),
        (np.ones((2, 2)), "Give a list of labels, a list of dicts or a DataFrame"),
    ],
)
def test_what_is_no_context_cannot_be_predicted(study: Study, given: Any, message: str) -> None:
    for ask in (study.predict, study.predict_proba):
        with pytest.raises(InputError, match=message):
            ask(given)


def test_rows_must_have_the_columns_of_the_contexts() -> None:
    with pytest.raises(
        InputError, match="Give rows with the columns 'rate' \\(number\\), 'shift' \\(text\\)"
    ):
        by_rows().predict([{"rate": 1.0}])


def test_an_axis_of_new_contexts_is_taken(study: Study) -> None:
    assert study.predict(Axis.of("context", [0.5, 1.5]))["context"].tolist() == [0.5, 1.5]


def test_many_contexts_are_looked_at_some_at_a_time(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [9.0, 0.5, 0.5, 1.0, 2.5, 0.0, 7.0]
    whole, chances = study.predict(given), study.predict_proba(given)
    seen: list[int] = []
    usual = predicting.certificate_at

    def looked(of: View, rows: Any, **options: Any) -> Any:
        seen.append(len(rows))
        return usual(of, rows, **options)

    monkeypatch.setattr(predicting, "certificate_at", looked)
    monkeypatch.setattr(
        predicting, "_MOST_NUMBERS", 3 * study.problem.n_alternatives * int((study._tally.count > 0).sum())
    )
    pd.testing.assert_frame_equal(study.predict(given), whole, rtol=1e-9)
    pd.testing.assert_frame_equal(study.predict_proba(given), chances, rtol=1e-9)
    assert seen == [3, 3, 1] * 2


def test_predictions_and_probabilities_can_stand_side_by_side(study: Study) -> None:
    for known, given in ((study, [0.5, 1.5]), (by_rows(), [{"rate": 0.75, "shift": "day"}])):
        rows, chance = known.predict(given), known.predict_proba(given)
        both = known.predict(given, indexed=True).join(chance)
        assert both["p_best"].tolist() == rows["p_best"].tolist()
        assert both.index.equals(chance.index)
        plain = known.predict_proba(given, indexed=False)
        names = [name for name in rows.columns if name in known.problem.contexts.frame().columns]
        assert plain[names].to_numpy().tolist() == rows[names].to_numpy().tolist()
        np.testing.assert_array_equal(plain.drop(columns=names), chance)

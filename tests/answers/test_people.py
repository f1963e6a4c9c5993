"""Answers for populations: groups, people never seen, and what is shown first."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import InputError, Population, Problem, Study
from argbest.answers.people import Average
from argbest.report.notebook import of_study
from argbest.report.page.studies import payload

pytestmark = pytest.mark.usefixtures("few_draws")

DRUGS = ["none", "aspirin", "statin"]


def person(generator: np.random.Generator) -> dict[str, Any]:
    return {
        "age": float(generator.uniform(50, 80)),
        "smoker": bool(generator.random() < 0.3),
        "town": str(generator.choice(list("ab"))),
    }


def years(drug: str, person: dict[str, Any], seed: int) -> float:
    k = DRUGS.index(drug)
    mean = 10 + k * (1.0 if person["smoker"] else -1.0) + 0.05 * (person["age"] - 65) * (k == 1)
    return float(mean + np.random.default_rng(seed).normal(0, 0.5))


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(Problem(DRUGS, Population(person, n=60), years)).run(200)


def test_an_average_over_people_has_the_error_of_drawing_them() -> None:
    equal = Average.of(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    assert equal.mean == 0.5
    assert equal.se == pytest.approx(np.sqrt(0.125))
    assert Average.of(np.array([3.0, 3.0]), np.array([0.2, 0.8])).se == pytest.approx(0.0, abs=1e-15)


def test_groups_say_what_the_selection_says(study: Study) -> None:
    selection, found = study.selection(), study.groups("smoker")
    certificate = study.certificate()
    assert found["group"].tolist() == ["smoker = False", "smoker = True"]
    for value, row in zip((False, True), found.to_dict("records"), strict=True):
        inside = (selection["context.smoker"] == value).to_numpy()
        assert row["n_contexts"] == inside.sum()
        shares = selection["selected"][inside].value_counts(normalize=True)
        assert (row["selected"], row["share"]) == (shares.index[0], pytest.approx(shares.iloc[0]))
        assert row["p_right"] == pytest.approx(certificate.pcs[inside].mean())
        assert row["expected_loss"] == pytest.approx(certificate.expected_loss[inside].mean())


def test_the_groups_of_every_column_hold_everybody_once(study: Study) -> None:
    found = study.groups(n=4)
    assert found.groupby("column")["weight"].sum().to_numpy() == pytest.approx(1.0)
    assert found.groupby("column")["n_contexts"].sum().tolist() == [60, 60, 60]
    ages = found[found["column"] == "age"]
    assert len(ages) == 4
    assert ages["n_contexts"].min() >= 14
    with pytest.raises(InputError, match="unknown context column 'size'"):
        study.groups("size")


def test_a_check_is_what_predict_says_of_the_fresh_people(study: Study) -> None:
    found = study.check_population(50)
    people = found.table.rename(columns=lambda name: name.removeprefix("context."))[["age", "smoker", "town"]]
    said = study.predict(people)
    assert found.n == 50
    assert found.table["selected"].tolist() == said["selected"].tolist()
    np.testing.assert_allclose(found.table["expected_loss"], said["expected_loss"])
    assert found.p_right.mean == pytest.approx(found.table["p_right"].mean())
    assert found.own_p_right == pytest.approx(float(study.certificate().pcs_e))
    assert "50 people never seen (drawn by the sampler)" in str(found)
    assert study.n_replications == 200


def test_people_given_are_checked_instead_and_odd_ones_counted(study: Study) -> None:
    given = pd.DataFrame({"town": ["a", "b"], "age": [60.0, 120.0], "smoker": [True, False]})
    found = study.check_population(people=given)
    assert (found.n, found.n_extrapolated) == (2, 1)
    assert "1 of them are outside the range" in str(found)
    with pytest.raises(InputError, match="got contexts"):
        study.check_population(people=[{"age": 3.0}])


def test_contexts_that_are_no_population_have_nobody_to_check() -> None:
    study = Study(Problem(["a", "b"], [1, 2]))
    for trial in study.ask(8):
        study.tell(trial, float(trial.seed % 5))
    with pytest.raises(InputError, match="are no population"):
        study.check_population()
    assert str(study) == repr(study)


def test_the_rule_and_the_groups_come_first(study: Study) -> None:
    lines = str(study).splitlines()
    assert lines[0] == "years: 60 people, drawn by the sampler; 200 replications"
    rule = study.answer("rule").choice.sentences()
    assert lines[1 : 1 + len(rule)] == rule
    assert lines[1 + len(rule)].startswith("The rule costs")
    assert any(line.startswith("smoker = True (") for line in lines)
    shown = payload(study, anywhere=False)
    assert [f"{where}: {what}" for where, what, _ in shown["choices"]][: len(rule)] == rule
    assert shown["answer"][1].startswith("The rule costs")
    assert "<svg" not in of_study(study)


def test_a_study_of_people_without_values_says_so_in_a_line() -> None:
    study = Study(Problem(DRUGS, Population(person, n=5), years))
    assert str(study) == "<Study of 'years': 3 alternatives x 5 contexts, 0 replications>"


def test_where_nobody_has_a_choice_within_the_limits_none_is_named() -> None:
    def outcome(drug: str, who: dict[str, Any], seed: int) -> dict[str, float]:
        harm = DRUGS.index(drug) + (5.0 if who["smoker"] else 0.0)
        return {
            "years": years(drug, who, seed),
            "harm": harm + np.random.default_rng(seed + 1).normal(0, 0.1),
        }

    people = Population(person, n=20)
    limited = Study(Problem(DRUGS, people, outcome, goal="max years", limits=["harm <= 1.5"])).run(150)
    free, barred = limited.groups("smoker").to_dict("records")
    assert free["selected"] in DRUGS[:2]
    assert (barred["selected"], barred["share"]) == (None, 1.0)
    table = limited.check_population(20).table
    np.testing.assert_array_equal(table["selected"].isna(), table["context.smoker"])
    assert any(
        "smoker = True" in line and "none keeps the limits" in line for line in str(limited).splitlines()
    )

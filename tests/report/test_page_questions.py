"""What a page says of other questions is what the study answers; what is left out is said."""

import json
from typing import Any

import numpy as np
import pytest
from report.page_studies import line, told

from argbest import Problem, Study
from argbest.report.page import payload, questions
from argbest.texts import chance, number


@pytest.fixture(scope="module")
def study() -> Study:
    return line()


@pytest.fixture(scope="module")
def shown(study: Study) -> dict[str, Any]:
    found: dict[str, Any] = payload(study, ahead=True, anywhere=False)["questions"]
    return found


def test_every_question_has_an_answer_and_best_is_first(shown: dict[str, Any]) -> None:
    names = [each["name"] for each in shown["answers"]]
    assert names == ["best", "overall", "worst-case", "regret", "top", "most-probable-best", "rule"]
    assert [each["label"] for each in shown["answers"]][4] == "top 3"
    assert shown["own"] == "best"
    assert all(each["asks"].startswith("Which") for each in shown["answers"])
    json.dumps(shown, allow_nan=False)


def test_figures_sentences_and_tables_are_those_of_the_study(study: Study, shown: dict[str, Any]) -> None:
    for each in shown["answers"]:
        answer = study.answer(each["name"])
        figures = {name: value for name, value, _ in each["figures"]}
        assert figures["Expected loss"] == number(answer.expected_loss, 2)
        assert figures["P(right)"] == chance(answer.p_right)
        if each["name"] != "best":
            assert len(each["table"]["rows"]) == len(answer.table)
            assert each["pictures"]
        assert (each["tailoring"] is not None) == (each["name"] in ("best", "overall"))
        if answer.state == "open" and answer.halving is not None:  # else there is nothing to say
            assert any("replications" in said for said in each["said"])
    assert shown["answers"][-1]["lines"] == study.answer("rule").choice.sentences()


def test_a_live_view_looks_not_ahead(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argbest.answers.answering.halving_of", lambda *_: pytest.fail("a forecast was made"))
    assert payload(line(), anywhere=False)["questions"]["answers"]


def test_the_question_of_the_study_is_chosen_and_added_if_it_is_another() -> None:
    problem = Problem(list("abc"), [1.0, 2.0, 3.0], question="top:m=2", name="own")
    study = told(problem, np.eye(3))
    found = questions.questions(study, ahead=False)
    assert found is not None
    assert found["own"] == "top:m=2"
    assert [each["name"] for each in found["answers"]][-1] == "top:m=2"


def test_with_one_context_only_questions_are_shown_that_differ() -> None:
    for names, shown in (("abcd", ["best", "top"]), ("abc", ["best"])):  # three are no shortlist of three
        problem = Problem(list(names), ["only"], name="one")
        found = questions.questions(told(problem, np.arange(len(names))[:, None] * 1.0), ahead=False)
        assert [each["name"] for each in found["answers"]] == shown


def test_of_too_many_pairs_other_questions_are_left_out_and_that_is_said(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "MOST_PAIRS", 10)
    found = questions.questions(study, ahead=False)
    assert found is not None
    assert [each["name"] for each in found["answers"]] == ["best"]
    assert "for more than 10 pairs their answers take long" in found["left_out"]


def test_with_limits_a_page_says_what_a_broken_one_costs() -> None:
    def clinic(plan: int, load: int, seed: int) -> dict[str, float]:
        noise = np.random.default_rng(seed).standard_normal(2)
        return {"cost": plan + noise[0], "delay": load - plan + noise[1]}

    problem = Problem([1, 2], [1, 2], clinic, goal="min cost", limits=["delay <= 0.5"], price=3.0)
    found = questions.questions(Study(problem, seed=1).run(20), ahead=False)
    said = {each["name"]: " ".join(each["said"]) for each in found["answers"]}
    assert list(said) == list(questions.USUAL)
    assert "a broken limit counts as a loss of its price, 3." in said["overall"]

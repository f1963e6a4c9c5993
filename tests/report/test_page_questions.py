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
        found = questions.questions(
            told(problem, np.arange(len(names), dtype=np.float64)[:, None]), ahead=False
        )
        assert [each["name"] for each in found["answers"]] == shown


def test_of_too_many_pairs_other_questions_are_left_out_and_that_is_said(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "MOST_PAIRS", 10)
    found = questions.questions(study, ahead=False)
    assert found is not None
    assert [each["name"] for each in found["answers"]] == ["best"]
    assert "for more than 10 pairs their answers take long" in found["left_out"]


def several(**wanted: Any) -> Study:
    """A study of three plans at two loads, whose simulator returns a cost and a delay."""
    options = {"responses": ["cost", "delay"], "goal": "min cost", "name": "several"} | wanted
    problem = Problem([1, 2, 3], [1, 2], **options)
    study = Study(problem, initial=1, policy="equal", model="gp", common_random_numbers=False)
    noise = np.random.default_rng(4).normal(size=(4, 2, 3, 2))
    for trial in study.ask(6):
        k, c = trial.pair
        cost, delay = noise[:, 0, k, c] + k, noise[:, 1, k, c] + 2 * c - k
        study.tell(trial, {problem.responses[0]: cost.tolist(), problem.responses[1]: delay.tolist()})
    return study


@pytest.mark.parametrize(
    ("wanted", "goals"),
    [
        ({"goal": "min cost + 2 * delay"}, "min cost and min delay"),
        ({"goal": "min cost - 2 * delay"}, "min cost and max delay"),
        ({"limits": ["delay <= 1"]}, "min cost and min delay"),
        ({"limits": ["delay >= 1"]}, "min cost and max delay"),
    ],
)
def test_where_senses_are_known_a_page_shows_what_is_non_dominated(
    wanted: dict[str, Any], goals: str
) -> None:
    study = several(**wanted)
    found = questions.questions(study, ahead=False)
    shown, answer = found["answers"][-1], study.answer("pareto")
    assert found["pareto"] is None
    assert shown["label"] == "non-dominated"
    assert shown["headline"] == answer.headline
    assert shown["asks"] == f"Which alternative is non-dominated by {goals}, for each context?"
    assert shown["figures"][0][:2] == ["P(right)", chance(answer.p_right)]
    place = shown["table"]["columns"].index("p_non_dominated")
    told_there = [row[place] for row in shown["table"]["rows"]]
    assert told_there == pytest.approx(answer.table["p_non_dominated"].tolist(), rel=1e-5)
    assert all(each.startswith("<svg") for each in shown["pictures"])
    json.dumps(shown, allow_nan=False)


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({}, "study.answer('pareto:min cost,min delay')"),
        ({"goal": "max delay"}, "study.answer('pareto:min cost,max delay')"),
        ({"limits": ["delay <= 4", "delay >= -4"]}, "study.answer('pareto:min cost,max delay')"),
        (
            {"goal": "min c", "responses": ["c", "it's late"]},
            'study.answer("pareto:min c,min `it\'s late`")',
        ),
    ],
)
def test_where_a_sense_would_be_guessed_a_page_says_what_to_type(
    wanted: dict[str, Any], command: str
) -> None:
    study = several(**wanted)
    found = questions.questions(study, ahead=False)
    assert "pareto" not in [each["name"] for each in found["answers"]]
    assert found["pareto"][1] == command
    assert eval(command, {"study": study}).form == "non-dominated per context"  # noqa: S307 (what readers type)


def test_of_one_response_a_page_says_nothing_of_the_non_dominated(shown: dict[str, Any]) -> None:
    assert shown["pareto"] is None


def test_with_limits_a_page_says_what_a_broken_one_costs() -> None:
    def clinic(plan: int, load: int, seed: int) -> dict[str, float]:
        noise = np.random.default_rng(seed).standard_normal(2)
        return {"cost": plan + noise[0], "delay": load - plan + noise[1]}

    problem = Problem([1, 2], [1, 2], clinic, goal="min cost", limits=["delay <= 0.5"], price=3.0)
    found = questions.questions(Study(problem, seed=1).run(20), ahead=False)
    said = {each["name"]: " ".join(each["said"]) for each in found["answers"]}
    usual = [name for name in questions.USUAL if name != "top"]  # two are no shortlist of three
    assert list(said) == [*usual, "pareto"]
    assert "a broken limit counts as a loss of its price, 3." in said["overall"]

"""Questions in the user's words and units, and what to do next with a study."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report.page_studies import line, told

from argbest import InputError, Problem, Study, registry, select
from argbest.problems.units import declared_units
from argbest.report.next_steps import next_step
from argbest.report.question_words import asked, html, plain
from argbest.report.wording import answer, choices

# Few replications are noticed; what follows from them is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")


def staffing(**options: Any) -> Problem:
    def cost(servers: int, rate: float, seed: int) -> float:
        return (servers - rate) ** 2 + 0.1 * (seed % 7)

    units = {"reward": "dollars", "rate": "calls per hour"}
    given: dict[str, Any] = {"goal": "min", "reward": "cost per hour", "unit": units, **options}
    return Problem([1, 2, 3], [1.0, 3.0], cost, **given)


def test_the_question_has_the_users_names_and_units() -> None:
    words = asked(staffing())
    assert plain(words) == ("Which servers minimise cost per hour (dollars), for each rate (calls per hour)?")
    assert [text for text, name in words if name] == [
        "servers",
        "cost per hour (dollars)",
        "rate (calls per hour)",
    ]
    assert html([("a<b", True), ("?", False)]) == "<em>a&lt;b</em>?"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("overall", "Which servers minimise cost per hour, averaged over every rate?"),
        ("worst-case", "Which servers minimise cost per hour, in the worst rate?"),
        ("regret", "Which servers stay nearest to the best cost per hour, in the worst rate?"),
        ("top:m=2", "Which are the 2 best servers by cost per hour, for each rate?"),
        ("most-probable-best", "Which servers most often minimise cost per hour, over every rate?"),
        ("rule", "Which simple rule of rate chooses the servers that minimise cost per hour?"),
    ],
)
def test_other_questions_have_words_of_their_own(question: str, said: str) -> None:
    assert plain(asked(staffing(unit=None, question=question))) == said
    assert plain(asked(staffing(unit=None), question)) == said


def test_limits_several_columns_and_one_context_are_said() -> None:
    clinic = Problem(
        [{"nurses": n, "rooms": r} for n in (1, 2) for r in (1, 2)],
        ["monday"],
        goal="min cost",
        limits=["wait <= 12"],
        responses=["cost", "wait"],
        unit={"cost": "€", "wait": "minutes"},
    )
    assert plain(asked(clinic)) == ("Which nurses and rooms minimise cost (€) and keep wait <= 12 minutes?")
    assert plain(asked(Problem(["a", "b"], ["x", "y"]))) == (
        "Which alternative maximises reward, for each context?"
    )


def test_units_are_kept_with_a_study_and_follow_the_goal(tmp_path: Path) -> None:
    file = tmp_path / "study.db"
    Study(staffing(), storage=file).close()
    assert Study.load(file).problem.unit == {"reward": "dollars", "rate": "calls per hour"}
    centre = registry.problem("call-centre")
    assert centre.goal_unit == "dollars per hour"
    assert centre.asking(goal="min late", limits=()).goal_unit == ""
    total = Problem([1, 2], [1], goal="min cost + 2 * wait", responses=["cost", "wait"], unit="points")
    assert total.goal_unit == "points"
    assert total.asking(goal="min wait").goal_unit == ""
    simulate = staffing().simulate
    assert simulate is not None
    assert select(simulate, [1, 2], [1.0, 2.0], budget=8, unit="h").problem.goal_unit == "h"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (7, "expected a text, the unit of the reward, or a dict by name"),
        ({"rat": "h"}, "unknown name of a unit 'rat'.*Did you mean 'rate'"),
        ({"rate": " "}, "got the unit ' ' of 'rate'; expected a text such as 'minutes'"),
    ],
)
def test_a_unit_is_a_text_of_something_known(given: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        staffing(unit=given)


def test_responses_that_come_later_may_have_units() -> None:
    problem = Problem([1, 2], [1], goal="min cost", unit={"late": "%"})
    assert problem.naming(["cost", "late"]).unit == {"late": "%"}
    with pytest.raises(InputError, match="unknown name of a unit 'late'"):
        problem.naming(["cost"])
    assert declared_units(None, problem.aim, (), (), complete=True) == {}


def test_every_within_has_its_unit() -> None:
    problem = Problem(["a", "b"], ["x", "y"], unit="minutes")
    study = Study(problem, initial=1, model="independent", policy="equal")
    means = np.array([[0.0, 5.0], [0.0001, 0.0]])
    for trial in study.ask(4):
        study.tell(trial, mean=float(means[trial.pair]), variance=0.002, n=500)
    zone = f"{study.indifference():.2g} minutes"
    assert f"within {zone}" in str(choices(study)[0])
    assert f"within {zone} of the best" in answer(study, study.selection(), study.certificate())[0]
    assert "within 0.5 minutes of the best" in str(study.certificate(0.5))
    assert "within 0.5 minutes of the best" in str(study.guarantee(delta=0.5))
    said = str(study.answer("overall"))
    assert "minutes; P(right)" in said
    step = next_step(study)
    assert step.sentence == (
        f"Nothing is open. Where choices are equal, they differ by at most {zone}: any will do. "
        "Take the choices away:"
    )
    assert step.command == 'study.selection().to_csv("choices.csv")'


def test_the_next_step_always_names_a_command(tmp_path: Path) -> None:
    study = Study(staffing(), seed=1)
    assert next_step(study).sentence == "Nothing is simulated yet."
    assert next_step(study).command.startswith("study.run(")
    study.run(30)
    assert next_step(study).command == 'study.selection().to_csv("choices.csv")'
    unsure = told(Problem(["a", "b"], [1.0, 2.0]), np.zeros((2, 2)), model="independent", spread=3.0)
    sentence, command = next_step(unsure)
    worst = unsure.selection()["p_best"].min()
    assert sentence.startswith("Least sure: context ")
    assert f"P(best) {worst:.3f}" in sentence
    assert command == "study.ask(20)"  # nothing simulates here


def test_a_study_that_a_command_makes_anew_names_that_command() -> None:
    problem = registry.problem("queue-staffing")
    open_ = Study(problem, seed=0).run(100)
    found = next_step(open_, again="argbest demo --out demo")
    assert found.command == "argbest demo --out demo --budget 200"
    sure = told(Problem(["a", "b"], [1.0, 2.0]), np.array([[9.0, 0.0], [0.0, 9.0]]), spread=0.01)
    assert (sure.selection()["state"] == "sure").all()
    assert next_step(sure, again="argbest demo") == (
        "Nothing is open: every choice is sure. Begin a study of your own:",
        "argbest init",
    )


def test_a_stored_study_goes_on_by_a_command_with_its_own_name(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    problem = registry.problem("newsvendor")
    own = Study(problem, storage="my study.db", name="one", seed=0).run(120)
    open_ = (own.selection()["state"] == "open").any()
    command = next_step(own).command
    assert command == (
        "study.run(240)" if open_ else 'study.selection().to_csv("choices.csv")'
    )  # its simulator is known to Python alone
    told_ = told(
        Problem(["a", "b"], [1.0, 2.0]), np.array([[9.0, 0.0], [0.0, 9.0]]), model="independent",
        spread=0.01, storage="told.db", name="two",
    )  # fmt: skip
    command = next_step(told_).command
    assert command in (
        "argbest export told.db --name two --table selection --out choices.csv",
        "argbest ask told.db --name two -n 20",
    )


def test_an_answer_to_another_question_has_a_next_step_too() -> None:
    study = line(names=True)
    other = Study(study.problem.asking("overall"), initial=1, model="gp", policy="dvr-loss")
    noise = np.random.default_rng(1).normal(0.0, 3.0, 40)
    for trial, value in zip(other.ask(20), noise.tolist(), strict=False):
        other.tell(trial, [value, -value])
    sentence, command = next_step(other)
    assert sentence.startswith("P(right) ")
    assert command == "study.ask(20)"

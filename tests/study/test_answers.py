"""A study answers any question from what it knows, and decides for the one it was made for."""

from pathlib import Path

import numpy as np
import pytest

import argbest
from argbest.answers import tailoring
from argbest.errors import InputError
from argbest.problems.axis import Axis

pytestmark = pytest.mark.usefixtures("few_draws")

NAMES = ("best", "overall", "worst-case", "regret", "top:m=2", "most-probable-best", "rule", "rule:depth=3")


@pytest.fixture(scope="module")
def study() -> argbest.Study:
    return argbest.Study(argbest.registry.problem("newsvendor"), seed=1).run(90)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.fast_cases("best", "overall", "regret", "top*", "most*", "rule")
def test_every_question_has_an_answer_in_words_numbers_and_html(study: argbest.Study, name: str) -> None:
    found = study.answer(name)
    assert str(found).startswith(name.removesuffix(":depth=2"))
    assert 0.0 <= found.p_right <= found.p_within <= 1.0
    assert found.expected_loss >= 0.0
    assert "<table" in found._repr_html_()
    assert found.plain()["expected_loss"] == found.expected_loss
    assert (found.tailoring is not None) == (name in ("best", "overall"))
    assert study.answer(name) is found  # worked out once


def test_the_answer_for_all_contexts_is_that_of_the_means(study: argbest.Study) -> None:
    problem, mean = study.problem, study.view().belief.mean
    found = study.answer("overall")
    assert found.choice == problem.alternatives.labels[int(np.argmax(mean @ problem.weights))]
    assert found.value is not None
    assert found.table["p_right"].sum() == pytest.approx(1.0)
    assert found.value.low <= found.value.mean <= found.value.high


def test_tailoring_gains_with_every_alternative_that_is_added(study: argbest.Study) -> None:
    found = study.answer("best").tailoring
    assert found is not None
    assert found.value.mean >= 0
    assert np.all(np.diff(found.curve["gain"]) >= 0)
    assert found.curve["share"].iloc[-1] <= 1.0


def test_a_rule_is_said_in_words_python_and_csv_and_chooses_for_contexts_never_simulated(
    study: argbest.Study,
) -> None:
    rule = study.answer("rule").choice
    scope: dict[str, object] = {}
    exec(rule.python(), scope)  # noqa: S102
    for c in range(study.problem.n_contexts):
        context = study.problem.contexts.item(c)
        row = context if isinstance(context, dict) else {study.problem.contexts.word or "context": context}
        asked = {each.column for each in rule.conditions}
        assert scope["choose"](**{name: row[name] for name in asked}) == rule.choose(context)  # type: ignore[operator]
    assert len(rule.sentences()) == len(rule.ends) == len(rule.csv().splitlines()) - 1


def test_a_study_is_made_and_stored_for_its_question(tmp_path: Path) -> None:
    problem = argbest.registry.problem("newsvendor")
    made = argbest.Study(problem, question="top:m=2", seed=2, storage=tmp_path / "a.db").run(75)
    assert made.answer().question == "top:m=2"
    made.close()
    again = argbest.Study.load(tmp_path / "a.db")
    assert again.problem.question == argbest.questions.Top(2)
    assert again.answer().choice == made.answer().choice
    twin = argbest.Study(problem, question="top:m=2", seed=2).run(75)
    assert [each.pair for each in again.ask(3)] == [each.pair for each in twin.ask(3)]


def test_questions_are_refused_that_do_not_exist_or_do_not_fit_the_policy() -> None:
    problem = argbest.registry.problem("newsvendor")
    with pytest.raises(InputError, match="question"):
        argbest.Study(problem, question="overal")
    with pytest.raises(InputError, match="decides only for the question 'best', not for 'overall'"):
        argbest.Study(problem, question="overall", policy="gp-c-ocba")


def test_policies_are_compared_by_the_loss_of_the_question() -> None:
    spec = argbest.experiment.Experiment(
        "newsvendor", ["dvr-loss", "equal"], replications=10, macroreps=2, question="overall", certify=True
    )
    summary = argbest.experiment.run(spec).summary()
    assert np.all(summary["eoc"] >= 0)
    assert np.all(summary["certificate"].between(0, 1))


def test_a_shortlist_of_all_alternatives_is_refused_before_anything_is_simulated() -> None:
    def never(*_: object) -> float:
        pytest.fail("simulated")

    problem = argbest.Problem(list(range(8)), [0, 1], never)
    for m in (8, 99):
        said = f"'top:m={m}', which names {m} alternatives, and there are 8; .* at most 7: 'top:m=7'"
        with pytest.raises(argbest.InputError, match=said):
            argbest.Study(problem, question=f"top:m={m}").run(40)
        with pytest.raises(argbest.InputError, match=said):
            problem.put(f"top:m={m}")
    assert problem.put("top:m=7") == argbest.questions.Top(7)


def test_an_unknown_question_is_told_of_pareto_too() -> None:
    with pytest.raises(argbest.InputError, match=r"overall, pareto, regret.*Did you mean 'pareto'\?"):
        argbest.questions.question("paretto")


def test_tailoring_says_how_much_each_number_of_alternatives_keeps() -> None:
    draws = np.array([[[9.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 2.0]]])
    said = str(tailoring.of_draws(draws, np.full(3, 1 / 3), 0, Axis.of("alternative", list("abcd"))))
    assert said.endswith("over a everywhere; two alternatives keep 60 % of it, three 100 %")

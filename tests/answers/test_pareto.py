"""`study.answer("pareto")`: probabilities, words, table, picture; and where it is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from argbest import InputError, Problem, Study
from argbest.answers.pareto import NAMED_FROM, ParetoAnswer
from argbest.cli import main
from argbest.core.arrays import Array

# Few replications are noticed; what follows from them is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::argbest.errors.DataNotice")
PLANS, HOURS = ["a", "b", "c"], [0, 1]
COST = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
WAIT = np.array([[9.0, 1.0], [5.0, 5.0], [5.2, 9.0]])  # hour 0: a and b, c about as b; hour 1: a alone
BOTH = "pareto:min cost,min wait"
ASKED: dict[str, Any] = {"policy": "equal", "model": "gp", "initial": 1, "common_random_numbers": False}


def told(values: dict[str, Array], noise: Array, goal: str = "min cost", **options: Any) -> Study:
    """A study told as many values of every pair as the noise [n, response, alternative, context] has."""
    names = list(values)
    problem = Problem(PLANS, HOURS, goal=goal, responses=names, name="clinic")
    study = Study(problem, **(ASKED | options))
    for trial in study.ask(len(PLANS) * len(HOURS)):
        study.tell(
            trial,
            {
                name: (values[name][trial.pair] + noise[:, i, *trial.pair]).tolist()
                for i, name in enumerate(names)
            },
        )
    return study


def made(seed: int = 1, **options: Any) -> Study:
    noise = np.random.default_rng(seed).normal(size=(8, 2, 3, 2)) * np.array([0.3, 1.0])[:, None, None]
    return told({"cost": COST, "wait": WAIT}, noise, **options)


@pytest.fixture(scope="module")
def study() -> Study:
    return made()


@pytest.fixture(scope="module")
def answer(study: Study) -> Any:
    return study.answer(BOTH)


def chances(answer: Any) -> Array:
    """P(non-dominated), [alternative, context]."""
    table = answer.table.set_index(["alternative", "context"])["p_non_dominated"]
    return np.array([[table[plan, hour] for hour in HOURS] for plan in PLANS])


def test_what_no_other_plan_beats_is_named_in_every_context(answer: ParetoAnswer) -> None:
    found = chances(answer)
    assert found[0] == pytest.approx(1.0)
    assert found[1, 0] > 0.95
    assert (found[1:, 1] < 0.05).all()
    assert 0.05 < found[2, 0] < 0.95  # as good as b in one response, for all that is known
    likely = [tuple(np.array(PLANS)[np.argsort(-found[:, c], kind="stable")]) for c in (0, 1)]
    named = [tuple(p for p in likely[c] if found[PLANS.index(p), c] >= NAMED_FROM) for c in (0, 1)]
    assert answer.choice == named


def test_probabilities_are_shares_of_the_joint_draws(study: Study, answer: ParetoAnswer) -> None:
    """The draws of cost and wait are those of a study with a limit on wait; dominance is found by hand."""
    draws = study.view().asking(limits=["wait <= 7"]).certificate(0.0).of_draws(lambda some: some)
    cost, wait = -draws[:, 0], 7 - draws[:, 1]  # [draw, alternative, context]
    for k in range(3):
        beaten = [(cost[:, j] < cost[:, k]) & (wait[:, j] < wait[:, k]) for j in range(3)]
        assert chances(answer)[k] == pytest.approx(1.0 - np.any(beaten, axis=0).mean(axis=0), abs=1e-12)


def test_a_response_that_repeats_another_changes_nothing_and_its_opposite_everything() -> None:
    """Of cost twice only the best is non-dominated. Of cost and its opposite every alternative is.

    Were the two drawn independently, the probabilities of hour 0, where the plans are close, would differ by
    more than 0.2.
    """
    close = np.array([[1.0, 1.0], [1.1, 3.0], [5.0, 5.0]])
    noise = np.repeat(np.random.default_rng(4).normal(0.0, 0.5, size=(25, 1, 3, 2)), 2, axis=1)
    twice = told({"cost": close, "again": close}, noise)
    found, best = chances(twice.answer("pareto:min cost,min again")), twice.certificate().best_probability
    assert 0.05 < best[1, 0] < 0.95
    assert found == pytest.approx(best, abs=0.05)
    assert chances(twice.answer("pareto:min cost,max again")).min() > 0.9


def test_senses_turn_the_answer(study: Study) -> None:
    found = chances(study.answer("pareto:max cost,max wait"))
    assert (found[0] < 0.05).tolist() == [False, True]
    assert found[2] == pytest.approx([1.0, 1.0], abs=0.01)


def test_the_table_has_means_and_intervals_as_a_selection_has_them(study: Study, answer: Any) -> None:
    names = [f"{end}.{goal}" for goal in ("cost", "wait") for end in ("mean", "low", "high")]
    assert list(answer.table) == ["context", "alternative", *names, "p_non_dominated"]
    assert len(answer.table) == 6
    own = study.answer("best", goal="min wait").table
    row = answer.table.set_index(["context", "alternative"])
    for hour, selected, mean in zip(own["context"], own["selected"], own["mean"], strict=True):
        assert row.loc[(hour, selected), "mean.wait"] == pytest.approx(mean)
    assert (answer.table["low.cost"] < answer.table["mean.cost"]).all()
    assert (answer.table["high.cost"] > answer.table["mean.cost"]).all()


def test_it_says_by_what_rule_plans_are_named(answer: Any) -> None:
    said = str(answer)
    assert said.startswith(f"{BOTH}: ")
    assert "of 3 alternatives non-dominated in each of 2 contexts by min cost and min wait" in said
    assert "named is what has P(non-dominated) of 0.5 or more" in said
    assert "\nin context 1: a" in said
    assert 0.0 < answer.p_right < 1.0
    assert answer.state == "open"
    plain = answer.plain()
    assert json.loads(json.dumps(plain))["choice"][1] == ["a"]
    assert plain["goals"] == ["min cost", "min wait"]
    assert answer.halving is None


def test_limits_give_senses_and_are_not_looked_at(study: Study, answer: Any) -> None:
    found = study.answer("pareto", limits=["wait <= 5"])
    assert chances(found) == pytest.approx(
        chances(answer), abs=0.04
    )  # at least 3.6 standard errors of 4,096 draws
    assert "whether an alternative keeps wait <= 5 is not looked at" in str(found)


def test_a_sum_may_be_one_of_the_goals(study: Study) -> None:
    found = study.answer("pareto:min cost + 0.1 * wait,min wait")
    assert "mean.cost + 0.1 * wait" in found.table


def test_notebooks_show_two_pictures_with_marks_of_two_shapes(answer: Any) -> None:
    shown = answer._repr_html_()
    assert shown.count("<svg") == 2
    assert "rotate(45" in shown  # diamonds
    assert "<circle" in shown
    assert "non-dominated (P of 0.5 or more)" in shown


def test_the_figure_has_a_panel_per_context(answer: Any) -> None:
    pytest.importorskip("matplotlib")
    figure = answer.plot(theme="dark")
    assert [each.get_title() for each in figure.axes] == ["context 0", "context 1"]
    assert figure.axes[0].get_xlabel() == "cost"
    markers = {line.get_marker() for line in figure.axes[0].get_lines()}
    assert {"D", "o"} <= markers


def test_three_responses_have_a_table_and_no_picture(study: Study) -> None:
    found = study.answer("pareto:min cost,min wait,min cost + wait")
    assert "<svg" not in found._repr_html_()
    with pytest.raises(InputError, match="no picture of 3 responses at once"):
        found.plot()


def test_columns_have_the_bare_names_of_responses_as_those_of_a_selection_have() -> None:
    names = ["cost", "wait (min)", "late"]
    noise = np.random.default_rng(2).normal(size=(4, 3, 3, 2))
    study = told(dict(zip(names, (COST, WAIT, COST), strict=True)), noise)
    found = study.answer("pareto:min cost,min `wait (min)`,min late")
    assert {f"mean.{name}" for name in names} <= {*found.table} & {*study.selection()}
    with pytest.raises(InputError, match=r"as in 'pareto:min cost,min `wait \(min\)`'"):
        found.plot()


def test_a_pair_that_failed_neither_dominates_nor_is_named() -> None:
    problem = Problem(PLANS, HOURS, goal="min cost", responses=["cost", "wait"])
    study = Study(problem, **ASKED)
    noise = np.random.default_rng(3).normal(size=(8, 2))
    for trial in study.ask(6):
        if trial.pair == (0, 1):
            study.fail(trial, "broken")
        else:
            k, c = trial.pair
            study.tell(
                trial,
                {"cost": (COST[k, c] + noise[:, 0]).tolist(), "wait": (WAIT[k, c] + noise[:, 1]).tolist()},
            )
    while study.view().ruled_out is None:
        (trial,) = study.ask(1)
        if trial.pair == (0, 1):
            study.fail(trial, "broken")
        else:
            study.tell(trial, {"cost": COST[trial.pair], "wait": WAIT[trial.pair]})
    found = study.answer(BOTH)
    assert "a" not in found.choice[1]
    assert "b" in found.choice[1]
    row = found.table[(found.table["alternative"] == "a") & (found.table["context"] == 1)]
    assert row["p_non_dominated"].isna().all()


def test_what_is_equal_without_noise_dominates_by_the_other_response() -> None:
    noise = np.random.default_rng(3).normal(size=(4, 2, 3, 2)) * np.array([0.0, 0.1])[:, None, None]
    equal = np.full((3, 2), 2.5)
    for values in ({"cost": equal, "wait": WAIT}, {"wait": WAIT, "cost": equal}):
        silent = noise if next(iter(values)) == "cost" else noise[:, ::-1]
        found = told(values, silent).answer("pareto:min cost,min wait")
        assert [set(each) <= {"a", "b", "c"} and len(each) <= 2 for each in found.choice] == [True, True]
        assert found.choice[1] == ("a",)


def test_retired_contexts_and_alternatives_are_left_out(tmp_path: Path) -> None:
    study = made()
    study.retire(context=0)
    study.retire(alternative="c")
    found = study.answer(BOTH)
    assert found.choice == [("a",)]
    assert "in context 1: a" in str(found)
    assert "in context 0" not in str(found)
    assert len(found.table) == 2
    assert study.report(tmp_path / "page.html").exists()


def test_a_study_cannot_be_run_for_it() -> None:
    with pytest.raises(InputError, match=r"names no single choice, so no policy can decide for it"):
        made(question="pareto")


def test_one_number_is_too_few() -> None:
    study = Study(Problem(PLANS, HOURS, goal="min"), **ASKED)
    for trial in study.ask(6):
        study.tell(trial, [1.0, 2.0])
    with pytest.raises(InputError, match="compares several responses, and this study has one number"):
        study.answer("pareto")


def test_the_command_line_answers_it(tmp_path: Path) -> None:
    made(storage=tmp_path / "study.db").close()
    call = ["answer", str(tmp_path / "study.db"), "--question"]
    said = CliRunner().invoke(main, [*call, BOTH])
    assert said.exit_code == 0, said.output
    words = " ".join(said.output.split())
    assert "non-dominated in each of 2 contexts by min cost and min wait" in words
    found = CliRunner().invoke(main, [*call, BOTH, "--json"])
    assert json.loads(found.output)["choice"][1] == ["a"]
    written = CliRunner().invoke(main, [*call, BOTH, "--out", str(tmp_path / "front.csv")])
    assert written.exit_code == 0, written.output
    assert "p_non_dominated" in (tmp_path / "front.csv").read_text()
    refused = CliRunner().invoke(main, [*call, "pareto"])
    assert refused.exit_code == 2
    assert "do not say that of 'wait'" in refused.output.replace("\n", " ")

"""Pictures of answers: their numbers are those of the answers, and every drawing holds what it should."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from report.page_studies import HOSTILE, hostile, line, mixed, told

from argbest import Problem, Study, report
from argbest.answers.answering import Answer
from argbest.core.questions.trees import Leaf
from argbest.errors import InputError
from argbest.report import answer_numbers as numbers
from argbest.report import curves
from argbest.report.answer_sketches import sketches, tailoring_sketch

QUESTIONS = (
    "best",
    "overall",
    "worst-case",
    "regret",
    "top:m=2",
    "most-probable-best",
    "rule",
    "rule:depth=3",
)


@cache
def once(made: Callable[[], Study]) -> Study:
    """A study, made once for all tests."""
    return made()


@pytest.fixture(scope="module")
def study() -> Study:
    return line(goal="min")


@pytest.mark.parametrize("name", ["overall", "worst-case", "regret", "most-probable-best"])
def test_values_are_those_of_the_table_with_the_chosen_first(study: Study, name: str) -> None:
    answer = study.answer(name)
    shown = numbers.values(answer)
    for column in ("value", "low", "high"):
        np.testing.assert_array_equal(getattr(shown, column), answer.table[column])
    assert shown.mark[0] == "chosen"
    assert (len(shown.worst) > 0) == (name in ("worst-case", "regret"))
    assert shown.from_zero == (name in ("regret", "most-probable-best"))


def test_the_worst_context_is_where_the_means_are_worst_if_all_is_known(study: Study) -> None:
    problem = study.problem
    truth = np.array(
        [[3.0, 1.0, 2.0, 0.0, 5.0], [1.0, 4.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 9.0, 0.0], [2.0] * 4 + [7.0]]
    )
    known = told(
        Problem(problem.alternatives.frame()["alternative.a"].tolist(), problem.contexts.labels, goal="min"),
        truth,
        spread=1e-4,
        policy="equal",
        model="gp",
    )
    for name, worst in (
        ("worst-case", truth.argmax(axis=1)),
        ("regret", (truth - truth.min(axis=0)).argmax(axis=1)),
    ):
        table = known.answer(name).table
        for k, label in enumerate(known.problem.alternatives.labels):
            row = table[table["alternative"] == label].iloc[0]
            assert row["worst_context"] == known.problem.contexts.labels[worst[k]], (name, k)
            assert row["p_worst"] > 0.9


def test_places_are_those_of_the_choice(study: Study) -> None:
    answer = study.answer("top:m=2")
    shown, problem = numbers.shortlist(answer), study.problem
    assert set(np.unique(shown.place)) == {0, 1, 2}
    for i, c in enumerate(shown.contexts.order):
        for place in (1, 2):
            [row] = np.flatnonzero(shown.place[:, i] == place)
            assert problem.alternatives.labels[shown.alternatives.order[row]] == answer.choice[c][place - 1]


def test_a_rule_is_drawn_as_it_chooses(study: Study) -> None:
    answer = study.answer("rule")
    shown, problem = numbers.rule_map(answer), study.problem
    for i, c in enumerate(shown.contexts.order):
        chosen = answer.choice.tree.choose({"x": problem.contexts.columns["x"][c]})
        assert shown.leaders[shown.named[i]] == curves.row_labels(problem.alternatives)[chosen]
    ends = [node for node in shown.tree if node.leader >= 0]
    assert len(ends) == len(answer.choice.ends)
    assert [node.across for node in ends] == sorted(node.across for node in ends)
    assert max(node.down for node in shown.tree) == answer.choice.tree.depth
    for node in shown.tree[1:]:
        assert shown.tree[node.parent].down == node.down - 1


def test_the_curve_of_tailoring_is_that_of_the_answer(study: Study) -> None:
    found = study.answer("best").tailoring
    assert found is not None
    shown = numbers.curve(found, study.problem.alternatives)
    np.testing.assert_array_equal(shown.gain, found.curve["gain"])
    assert shown.whole == found.value.mean


@pytest.mark.parametrize("low_high", [(0.0, 1.0), (-3.2, 12000.0), (1e-9, 3e-9), (5.0, 5.0), (-1e12, 1e12)])
def test_ticks_are_round_within_and_few(low_high: tuple[float, float]) -> None:
    low, high = low_high
    found = numbers.ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low - 1e-9 * abs(high) <= tick <= high + 1e-9 * abs(high) for tick in found)


def drawn(answer: Answer) -> list[ET.Element]:
    """The pictures of an answer, read as XML."""
    made = sketches(answer)
    if answer.tailoring is not None:
        made.append(tailoring_sketch(answer.tailoring, answer.view.problem.alternatives))
    return [ET.fromstring(svg) for svg in made if svg]  # noqa: S314 (our own)


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("made", [line, hostile, mixed], ids=["line", "hostile", "mixed"])
@pytest.mark.fast_cases("hostile*", "line-[!r]*", "mixed-[!r]*", "line-rule")
def test_sketches_hold_no_markup_of_labels_and_no_number_that_is_none(made: Any, name: str) -> None:
    answer = once(made).answer(name)
    for picture in drawn(answer):
        tags = {each.tag.rpartition("}")[2] for each in picture.iter()}
        assert tags <= {"svg", "rect", "text", "line", "circle", "polyline", "path", "g"}
        values = [v for each in picture.iter() for v in each.attrib.values()]
        assert not any(v in ("nan", "inf", "-inf") or "nan" in v.split() for v in values)
    shown = answer._repr_html_()
    assert not any(label in shown for label in HOSTILE[:2])
    assert "<table" in shown


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_has_a_picture_in_both_themes(study: Study, name: str, theme: str) -> None:
    figure: Any = study.answer(name).plot(theme=theme)
    figure.canvas.draw()
    assert figure.get_facecolor()[:3] == (
        (1.0, 1.0, 1.0) if theme == "light" else pytest.approx((20 / 255, 24 / 255, 29 / 255))
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_drawn_on_axes_that_are_given(name: str) -> None:
    from matplotlib.figure import Figure

    ax: Any = Figure(figsize=(6, 5), layout="constrained").add_subplot()
    assert report.plot_answer(once(mixed).answer(name), ax=ax) is ax
    ax.figure.canvas.draw()


def test_a_rule_without_conditions_is_drawn_too() -> None:
    problem = Problem(list("ab"), [1.0, 2.0], name="flat")
    answer = told(problem, np.array([[5.0, 5.0], [0.0, 0.0]]), policy="equal", model="gp").answer("rule")
    assert isinstance(answer.choice.tree, Leaf)
    answer.plot()
    assert drawn(answer)


def test_tailoring_is_drawn_of_answers_that_have_it(study: Study) -> None:
    ax: Any = report.plot_tailoring(study.answer("overall"))
    assert ax.get_ylabel() == "gain in reward"
    assert study.plot.tailoring() is not None
    with pytest.raises(InputError, match="'regret' says nothing of tailoring. Ask 'best' or 'overall'"):
        report.plot_tailoring(study.answer("regret"))


def test_an_unknown_theme_is_refused_for_rules_as_elsewhere(study: Study) -> None:
    with pytest.raises(InputError, match="theme"):
        study.answer("rule").plot(theme="pink")

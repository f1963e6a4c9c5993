"""What is non-dominated: against the definition, pair by pair; and how it is asked for."""

import numpy as np
import pytest

from argbest import InputError
from argbest.core.goals import read_goal, read_limits
from argbest.core.pareto import Pareto, non_dominated, read_pareto
from argbest.questions import question

NAMES = ("cost", "wait")


def by_definition(table: np.ndarray, out: np.ndarray) -> np.ndarray:
    """[outcome, alternative, context] → [alternative, context], by comparing every two alternatives."""
    _, k, c = table.shape
    found = ~out
    for context in range(c):
        for one in range(k):
            for other in range(k):
                a, b = table[:, one, context], table[:, other, context]
                if not out[other, context] and all(b >= a) and any(b > a):
                    found[one, context] = False
    return found


@pytest.mark.parametrize("outcomes", [1, 2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_it_is_what_no_other_alternative_beats(outcomes: int, whole: bool) -> None:
    generator = np.random.default_rng(outcomes)
    draws = generator.normal(size=(20, outcomes, 7, 3))
    draws = draws.round() if whole else draws  # whole numbers have many ties
    out = generator.random((7, 3)) < 0.2
    found = non_dominated(draws, out)
    for draw, own in zip(draws, found, strict=True):
        np.testing.assert_array_equal(own, by_definition(draw, out))


def test_equal_alternatives_do_not_dominate_each_other_and_a_single_table_will_do() -> None:
    table = np.array([[[1.0], [1.0], [0.0]], [[2.0], [2.0], [2.0]]])
    assert non_dominated(table)[:, 0].tolist() == [True, True, False]


def test_scales_and_the_order_of_alternatives_do_not_matter() -> None:
    draws = np.random.default_rng(1).normal(size=(5, 2, 6, 2))
    found, order = non_dominated(draws), np.array([3, 1, 5, 0, 2, 4])
    np.testing.assert_array_equal(non_dominated(draws[:, :, order]), found[:, order])
    np.testing.assert_array_equal(non_dominated(np.exp(draws)), found)


@pytest.mark.parametrize(
    ("given", "of"),
    [
        ("pareto", ()),
        ("pareto: min cost , max wait", ("min cost", "max wait")),
        ("pareto:min `a, b`,min wait", ("min `a, b`", "min wait")),
        ({"name": "pareto", "of": ["min cost", "min wait"]}, ("min cost", "min wait")),
        (Pareto(("min cost", "min wait")), ("min cost", "min wait")),
    ],
)
def test_texts_tables_and_objects_are_read(given: object, of: tuple[str, ...]) -> None:
    found = read_pareto(given)
    assert found is not None
    assert found.of == of
    assert read_pareto(str(found)) == found


@pytest.mark.parametrize("given", ["best", None, "top:m=2", {"name": "top"}])
def test_other_questions_are_none_of_its_business(given: object) -> None:
    assert read_pareto(given) is None


def said(given: str, aim: str = "min cost", limits: object = (), names: tuple[str, ...] = NAMES) -> list[str]:
    asked = read_pareto(given)
    assert asked is not None
    return [str(each) for each in asked.goals(read_goal(aim), read_limits(limits), names)]


def test_senses_are_those_given_or_follow_from_the_goal_and_the_limits() -> None:
    assert said("pareto:max cost,min wait") == ["max cost", "min wait"]
    assert said("pareto", limits=["wait <= 5"]) == ["min cost", "min wait"]
    assert said("pareto", limits=["wait >= 5"]) == ["min cost", "max wait"]
    assert said("pareto", "max cost - 0.2 * wait") == ["max cost", "min wait"]
    assert said("pareto:min cost + wait,min wait") == ["min cost + wait", "min wait"]


@pytest.mark.parametrize(
    ("given", "aim", "limits", "names", "words"),
    [
        (
            "pareto",
            "min cost",
            (),
            NAMES,
            "do not say that of 'wait'. Say it with min or max, as in 'pareto:min",
        ),
        ("pareto", "max cost", ["cost <= 3"], NAMES, "disagree on that of 'cost'"),
        ("pareto", "min", (), (), "this study has one number without a name"),
        ("pareto", "min cost", (), ("cost",), "this study has one, 'cost'"),
        ("pareto:min cost", "min cost", (), NAMES, "1 different goal of 1; expected at least two"),
        ("pareto:min cost,max cost", "min cost", (), NAMES, "1 different goal of 2; expected at least two"),
        ("pareto:min cost,min", "min cost", (), NAMES, "the goal 'min' names no response"),
        (
            "pareto:min cost,min wiat",
            "min cost",
            (),
            NAMES,
            "no response 'wiat'; known are cost, wait. Did you",
        ),
        ("pareto:cost,wait", "min cost", (), NAMES, "begins with 'cost'; expected max or min"),
    ],
)
def test_nothing_is_guessed(given: str, aim: str, limits: object, names: tuple[str, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        said(given, aim, limits, names)


def test_other_options_and_other_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="has no option 'm'; expected of"):
        read_pareto({"name": "pareto", "m": 2})
    with pytest.raises(InputError, match="expected goals such as"):
        Pareto("min cost")  # type: ignore[arg-type]


def test_no_policy_can_be_asked_to_decide_for_it() -> None:
    with pytest.raises(
        InputError,
        match="names no single choice.*question such as 'best', and ask this one of what it then knows",
    ):
        question("pareto:min cost,min wait")

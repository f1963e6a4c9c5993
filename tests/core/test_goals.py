"""Goals and limits as texts: what is read, what is written again, what is refused and with which advice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest.core.goals import (
    Goal,
    Limit,
    Sum,
    checked_names,
    outcomes,
    read_goal,
    read_limit,
    read_limits,
)
from argbest.errors import InputError

RESPONSES = "cost", "wait", "late calls"


@pytest.mark.parametrize(
    ("text", "sense", "terms"),
    [
        ("min cost", "min", (("cost", 1.0),)),
        ("  max   throughput ", "max", (("throughput", 1.0),)),
        ("min cost + 0.2 * wait", "min", (("cost", 1.0), ("wait", 0.2))),
        ("min cost+.2*wait-`late calls`", "min", (("cost", 1.0), ("wait", 0.2), ("late calls", -1.0))),
        ("max -cost", "max", (("cost", -1.0),)),
        ("max profit * 1e3 - cost / 4", "max", (("profit", 1e3), ("cost", -0.25))),
        ("min cost + wait + 2 * cost", "min", (("cost", 3.0), ("wait", 1.0))),
        ("min kosten_für.gäste", "min", (("kosten_für.gäste", 1.0),)),
        ("min cost − 2 · wait", "min", (("cost", 1.0), ("wait", -2.0))),  # noqa: RUF001
        ("min min", "min", (("min", 1.0),)),
    ],
)
def test_a_goal_is_read_as_a_weighted_sum(
    text: str, sense: str, terms: tuple[tuple[str, float], ...]
) -> None:
    assert read_goal(text) == Goal(sense, Sum(terms))
    assert read_goal(str(read_goal(text))) == read_goal(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("late <= 0.05", Limit(Sum((("late", 1.0),)), "<=", 0.05)),
        ("wait>=3", Limit(Sum((("wait", 1.0),)), ">=", 3.0)),
        ("`late calls` + 2*gone <= -1e-3", Limit(Sum((("late calls", 1.0), ("gone", 2.0))), "<=", -1e-3)),
        ("wait ≤ 12", Limit(Sum((("wait", 1.0),)), "<=", 12.0)),
    ],
)
def test_a_limit_is_read_as_a_sum_and_a_bound(text: str, limit: Limit) -> None:
    assert read_limit(text) == limit
    assert read_limit(str(limit)) == limit


def test_max_and_min_alone_are_goals_of_a_single_response() -> None:
    assert read_goal("max") == Goal("max")
    assert str(read_goal("min")) == "min"
    assert read_goal("min").form(["wait"]).of(np.array([[3.0], [-1.0]])).tolist() == [-3.0, 1.0]
    with pytest.raises(
        InputError,
        match=r"2 responses \(cost, `late calls`\), and the goal 'min' names none.*goal='min cost'",
    ):
        read_goal("min").form(["cost", "late calls"])


def test_outcomes_are_the_goal_with_more_being_better_and_slacks_of_at_least_0_where_limits_are_kept() -> (
    None
):
    forms = outcomes(
        read_goal("min cost + 0.5 * wait"), read_limits(["wait <= 4", "`late calls` >= -2"]), RESPONSES
    )
    values = np.array([[10.0, 3.0, -2.5], [8.0, 6.0, 1.0]])  # [replication, response]
    assert [form.of(values).tolist() for form in forms] == [[-11.5, -11.0], [1.0, -2.0], [-0.5, 3.0]]
    assert [form.of_tables(values.T).tolist() for form in forms] == [
        form.of(values).tolist() for form in forms
    ]
    means = dict(zip(RESPONSES, values[0], strict=True))
    assert read_goal("min cost + 0.5 * wait").value(means) == 11.5


numbers = st.floats(-1e12, 1e12, allow_nan=False).filter(bool)
names = st.text(st.characters(exclude_characters="`", exclude_categories=["Cs"]), min_size=1).filter(
    str.strip
)
sums = st.dictionaries(names, numbers, min_size=1, max_size=4).map(lambda terms: Sum(tuple(terms.items())))


@given(sums, st.sampled_from(("max", "min")), st.sampled_from(("<=", ">=")), st.floats(-1e9, 1e9))
def test_every_goal_and_limit_is_read_again_from_its_text(
    total: Sum, goal: str, side: str, bound: float
) -> None:
    assert read_goal(str(Goal(goal, total))) == Goal(goal, total)
    assert read_limit(str(Limit(total, side, bound))) == Limit(total, side, bound)


@given(st.text(max_size=30))
def test_whatever_is_typed_is_read_or_refused_in_words(text: str) -> None:
    for read in (read_goal, read_limit):
        try:
            read(text)
        except InputError:
            continue


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("late < 0.05", "< and <= are the same for a mean that is never known exactly. Write <=:"),
        ("late > 0.05", "Write >=:"),
        ("late = 0.05", "a mean cannot be held at one value exactly. Write <= or >=:"),
        ("late <= ", "the bound is missing"),
        ("late <= wait", "'wait' stands where only a number can. Bring all responses to the left"),
        ("late <= 3 + wait", r"'\+' stands where only a number can"),
        ("0.05 >= late", "a bound stands on the left. Write the responses on the left"),
        ("0 <= late <= 0.05", "two bounds stand in one limit. Give two limits"),
        ("late <= 5 %", "a percentage cannot be read. Write 5 % as 0.05"),
        ("late <= 0,05", "a number has a comma. Write it with a point"),
        ("late calls <= 1", "two names stand side by side: 'late calls'. If it is one, write `late calls`"),
        ("2 * (late + wait) <= 3", "after 2 \\* a response is expected, not '\\('"),
        ("(late) <= 3", "parentheses are not understood"),
        ("late + 1 <= 3", "the number 1 is no factor of a response"),
        ("late", "<= or >= is missing"),
        ("late ! 3", "'! 3' cannot be read. Put names with other signs in backquotes"),
        ("`late <= 3", "the backquote before 'late <= 3' is not closed"),
        ("`` <= 3", "nothing between the backquotes"),
        ("late * wait <= 3", "after \\* or / a number is expected, not 'wait'"),
        ("late / 0 <= 3", "a response is divided by 0"),
        ("late - late <= 3", "nothing is left of the sum"),
        ("1e308 * late + 1e308 * late <= 3", "a factor is too large"),
        ("late <= 1e999", "1e999 is too large"),
        ("late <= 3 4", "'4' stands where only a number can"),
        ("", "got the limit ''; expected a text"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_with_advice(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_limit(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minimise cost", r"begins with 'minimise'; expected max or min.*Did you mean 'min cost'\?"),
        ("Max", r"Did you mean 'max'\?"),
        ("cost", "begins with 'cost'; expected max or min"),
        ("min cost <= 3", "'<=' cannot stand there. A bound belongs into the limits"),
        (3, "got goal=3; expected a text"),
        ("min +", "a response is expected where 'the end' stands"),
    ],
)
def test_a_goal_that_cannot_be_meant_is_refused_with_advice(text: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_goal(text)


def test_names_that_are_not_known_are_answered_with_those_that_are() -> None:
    with pytest.raises(
        InputError,
        match=r"there is no response 'cots'; known are cost, wait, `late calls`. Did you mean cost\?",
    ):
        read_goal("min cots", RESPONSES)
    with pytest.raises(InputError, match=r"limit 'calls <= 0.1'.*Did you mean `late calls`\?"):
        read_limit("calls <= 0.1", RESPONSES)
    with pytest.raises(InputError, match=r"no response 'profit'; known are cost, wait, `late calls`\.$"):
        read_limits(["wait <= 3", "profit >= 3"], RESPONSES)
    assert read_limit(read_limit("wait <= 3"), RESPONSES) == read_limit("wait <= 3")
    with pytest.raises(InputError, match="no response 'profit'"):
        read_goal(read_goal("max profit"), RESPONSES)


def test_limits_are_one_text_or_several_and_none_twice() -> None:
    assert read_limits(None) == ()
    assert read_limits("wait <= 3") == read_limits(["wait <= 3"]) == (read_limit("wait <= 3"),)
    with pytest.raises(InputError, match="the limit 'wait <= 3' is given twice"):
        read_limits(["wait <= 3", "wait<=3.0"])
    for wrong in (3, {"wait": 3}):
        with pytest.raises(InputError, match="expected a list of texts"):
            read_limits(wrong)


def test_names_of_responses_can_be_told_apart() -> None:
    assert checked_names(["cost", "late calls"]) == ("cost", "late calls")
    for wrong, message in (
        (["a", "a"], "two responses are called 'a'"),
        (["a`b"], "no backquote"),
        ([" "], "empty"),
        ([1], "called 1"),
    ):
        with pytest.raises(InputError, match=message):
            checked_names(wrong)

"""Rules as people use them: sentences, Python that runs by itself, tables, and contexts never simulated."""

import csv
import io
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from report.page_studies import told

from argbest import Problem, Study
from argbest.answers import rules
from argbest.answers.rules import ChosenRule
from argbest.core.belief import BlockBelief
from argbest.core.questions.contexts import Column, Contexts
from argbest.core.questions.rule import BestRule
from argbest.core.questions.trees import THRESHOLDS, Condition, Conditions, Leaf, Split, _between
from argbest.errors import InputError
from argbest.problems.axis import Axis

pytestmark = pytest.mark.usefixtures("few_draws")

UGLY = ['it\'s "A"', "B\nsecond line", "=1+1", "{C}\\n"]


def rule_of(
    contexts: Any, truth: Any, alternatives: Any = UGLY, question: str = "rule", **options: Any
) -> ChosenRule:
    """The rule of a study that knows the truth well."""
    problem = Problem(alternatives, contexts, name="ugly", **options)
    study = told(problem, np.asarray(truth, float), spread=0.01, policy="equal", model="gp")
    found: ChosenRule = study.answer(question).choice
    return found


def run(rule: ChosenRule, row: dict[str, Any], name: str = "choose") -> Any:
    """What the exported function returns for a context, in a namespace of its own."""
    scope: dict[str, Any] = {}
    exec(rule.python(name), scope)  # noqa: S102
    text = rule.python(name)
    asked = dict.fromkeys(each.column for each in rule.conditions)
    words = text[text.index("(") + 1 : text.index(")")].split(", ") if asked else []
    return scope[name](**{word: row[column] for word, column in zip(words, asked, strict=True)})


def test_python_with_quotes_newlines_and_backslashes_in_labels_says_what_the_rule_says() -> None:
    x = np.arange(8.0)
    truth = np.where(x // 2 == np.arange(4)[:, None], 5.0, 0.0)
    rule = rule_of([{"arrivals per hour": v} for v in x], truth)
    assert len(rule.ends) == 4
    for v in (-3.0, 0.0, 1.2, 2.9, 4.0, 5.4, 6.0, 100.0):
        assert run(rule, {"arrivals per hour": v}) == rule.choose({"arrivals per hour": v}) == rule.choose(v)
    assert rule.choose(0.0) == UGLY[0]
    assert "# arrivals_per_hour: 'arrivals per hour'" in rule.python()


def test_the_exported_function_runs_in_a_fresh_interpreter() -> None:
    rule = rule_of(
        [{"x": v} for v in (1.0, 2.0, 3.0)], [[1, 1, 0], [0, 0, 1]], alternatives=["it's", 'say "b"']
    )
    code = rule.python("pick") + "print(pick(1.0), pick(3.0), sep='|')"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'it\'s|say "b"'


def test_alternatives_that_are_rows_are_returned_as_the_simulator_receives_them() -> None:
    rows = [{"order": 1, "fast": True}, {"order": 2, "fast": False}]
    rule = rule_of(["low", "high"], [[1, 0], [0, 1]], alternatives=rows)
    assert rule.choose("low") == rows[0]
    assert run(rule, {rule.conditions[0].column: "high"}) == rows[1]


def test_contexts_that_are_names_are_told_apart_by_name_and_an_unknown_one_is_otherwise() -> None:
    names = ["Mon", "Tue", "Wed", "Thu", "Fri", 'it\'s "Sat"']
    truth = np.zeros((3, 6))
    truth[0, :5], truth[1, 5] = 1.0, 4.0
    rule = rule_of(names, truth, alternatives=list("abc"))
    assert rule.sentences() == ['context is it\'s "Sat": b', 'context is not it\'s "Sat": a']
    assert [rule.choose(name) for name in names] == [*"aaaaa", "b"]
    assert rule.choose("Sunday") == "a"
    assert run(rule, {"context": names[5]}) == "b"


def test_columns_of_numbers_names_and_truth_values_go_together() -> None:
    contexts = [
        {"rate": r, "day": d, "wet": w}
        for r in (1.0, 2.0, 3.0)
        for d in ("week", "end")
        for w in (True, False)
    ]
    truth = np.array([[1.0 * bool(row["wet"]), 0.5, 2.0 * (row["day"] == "end")] for row in contexts]).T
    rule = rule_of(contexts, truth, alternatives=list("abc"))
    assert {each.column for each in rule.conditions} == {"day", "wet"}
    assert any("wet is" in each for each in rule.sentences())  # not "wet < 0.5"
    for row, own in zip(contexts, truth.T.argmax(axis=1).tolist(), strict=True):
        assert rule.choose(row) == run(rule, row) == "abc"[own]


def test_a_single_context_and_alternatives_that_are_equal_give_a_rule_without_conditions() -> None:
    alone = rule_of(["only"], [[1.0], [2.0]], alternatives=list("ab"))
    assert alone.sentences() == ["always: b"]
    assert alone.choose("anything") == run(alone, {}) == "b"
    assert alone.csv() == "where,alternative\nalways,b\n"
    size = Column("size", (1.0, 2.0, 3.0), categorical=False)
    equal = BlockBelief(np.zeros((3, 3)), np.stack([np.eye(3)] * 3), np.ones((3, 3)))
    assert BestRule(Contexts(np.full(3, 1 / 3), (size,)), 2).tree(equal) == Leaf(0)


@pytest.mark.parametrize("seed", range(5))
def test_no_condition_is_kept_that_gains_less_than_its_uncertainty(seed: int) -> None:
    problem = Problem(list("abcd"), [float(v) for v in range(6)], name="noise")
    study = told(problem, np.zeros((4, 6)), seed=seed, spread=3.0, policy="equal", model="gp")
    answer = study.answer("rule:depth=2")
    belief, bound = answer.view.belief, answer.bound
    rng = np.random.default_rng(0)
    tables = belief.draw(rng.standard_normal((4000, 4, 6)))
    shares = problem.weights

    def gains(tree: Any, inside: Any) -> None:
        if isinstance(tree, Leaf):
            return
        named = bound.conditions.choices(tree)  # type: ignore[attr-defined]
        single = int((belief.mean[:, inside] @ shares[inside]).argmax())
        gain = ((tables[:, named, np.arange(6)] - tables[:, single]) * shares * inside).sum(axis=1)
        # Monte Carlo errs by less than 6 % here with a probability above 1 - 1e-6.
        assert gain.mean() >= 0.9 * gain.std(), tree
        held = np.array([tree.condition.holds(v) for v in range(6)])
        gains(tree.yes, inside & held)
        gains(tree.no, inside & ~held)

    gains(answer.choice.tree, np.ones(6, bool))


def test_depth_three_divides_what_depth_two_cannot() -> None:
    x = np.arange(8.0)
    truth = np.where(x == np.arange(8)[:, None], 5.0, 0.0)
    flat = rule_of([{"x": v} for v in x], truth, alternatives=list("abcdefgh"))
    deep = rule_of([{"x": v} for v in x], truth, alternatives=list("abcdefgh"), question="rule:depth=3")
    named = [
        sum(rule.choose(v) == right for v, right in zip(x, "abcdefgh", strict=True)) for rule in (flat, deep)
    ]
    assert named[0] == len(flat.ends) == 4
    assert named[1] == len(deep.ends) > 6  # of 8: its first condition is that of the best tree of depth 2


def by_hand(columns: list[str]) -> ChosenRule:
    """A rule that asks for some columns, one after the other."""
    tree: Any = Leaf(0)
    for column in columns:
        tree = Split(Condition(column, below=0.5), Leaf(1), tree)
    return ChosenRule(
        tree,
        Axis.of("alternative", ["a", "b"]),
        Axis.of("context", [dict.fromkeys(columns, 1.0), dict.fromkeys(columns, 0.0)]),
    )


@pytest.mark.parametrize(
    "columns",
    [
        ["class", "None", "x²"],
        ["a b", "a-b", "a_b"],
        ["ﬁt", "fit"],
        ["1st", "größe", "数"],
        ["choose", "\n", "'"],
    ],
)
def test_columns_may_be_called_anything(columns: list[str]) -> None:
    rule = by_hand(columns)
    compile(rule.python(), "rule", "exec")
    for i, column in enumerate(columns):
        row = dict.fromkeys(columns, 1.0) | {column: 0.0}
        assert run(rule, row) == rule.choose(row) == "b", i
    assert run(rule, dict.fromkeys(columns, 1.0)) == "a"


def test_the_table_of_a_rule_is_read_back_without_formulas_and_leads_every_context_to_one_row() -> None:
    x = np.arange(8.0)
    truth = np.where(x // 2 == np.arange(4)[:, None], 5.0, 0.0)
    rule = rule_of([{"x": v, "day": "a" if v % 2 else "b"} for v in x], truth)
    frame = pd.read_csv(io.StringIO(rule.csv()))
    assert "'=1+1" in set(frame["alternative"])
    for v in x:
        low, high = frame["x from"].fillna(-np.inf), frame["x below"].fillna(np.inf)
        [row] = np.flatnonzero((low <= v) & (v < high))
        assert rule.ends[row][1] == rule.choose({"x": v})


def test_conditions_in_a_row_on_one_column_of_names_are_said_as_what_they_leave() -> None:
    names = ("a", "b; c", 'so "d"', " e")
    first, second = Condition("day", names=names[:2]), Condition("day", names=(names[1], names[2]))
    tree = Split(first, Split(second, Leaf(0), Leaf(1)), Split(second, Leaf(2), Leaf(3)))
    rule = ChosenRule(
        tree, Axis.of("alternative", [1, 2, 3, 4]), Axis.of("context", [{"day": n} for n in names])
    )
    assert [rules.where(path) for path, _ in rule.ends] == [
        "day is b; c", "day is a", 'day is so "d"', 'day is none of a, b; c, so "d"'
    ]  # fmt: skip
    frame = pd.read_csv(io.StringIO(rule.csv()), keep_default_na=False)
    allowed, barred = (
        [next(csv.reader([cell], delimiter=";", skipinitialspace=True)) for cell in frame[column]]
        for column in ("day is", "day is not")
    )
    assert allowed == [["b; c"], ["a"], ['so "d"'], []]
    assert barred == [[], [], [], ["a", "b; c", 'so "d"']]


@pytest.mark.parametrize(
    ("context", "said"),
    [({}, "without 'x', which the rule asks for"), ({"x": "much"}, "x='much'; the rule compares it"),
     ({"x": float("nan")}, "x=nan"), ({"x": None}, "x=None")],
)  # fmt: skip
def test_contexts_that_the_rule_cannot_place_are_refused(context: Any, said: str) -> None:
    rule = rule_of([{"x": v} for v in (1.0, 2.0)], [[1, 0], [0, 1]], alternatives=list("ab"))
    with pytest.raises(InputError, match=said):
        rule.choose(context)


def test_the_name_of_the_function_must_be_one() -> None:
    with pytest.raises(InputError, match="got name='class'; expected the name of a Python function"):
        by_hand(["x"]).python("class")


@pytest.mark.parametrize(
    ("low", "high", "threshold"),
    [
        (15.0, 18.0, 16.5),
        (0.1, 0.2, 0.15),
        (1234567.0, 1234568.0, 1234567.5),
        (0.0, 1e-300, 5e-301),
        (-3.0, 4.0, 0.5),
    ],
)
def test_thresholds_have_few_digits(low: float, high: float, threshold: float) -> None:
    assert _between(low, high) == pytest.approx(threshold, rel=1e-12)
    assert len(repr(_between(low, high))) <= len(repr(threshold))


def test_a_threshold_between_neighbouring_numbers_parts_them() -> None:
    low = 0.1
    high = float(np.nextafter(low, 1.0))
    found = _between(low, high)
    assert low < found <= high


def test_contexts_without_any_answer_are_not_called_wrong() -> None:
    problem = Problem(list("ab"), [1.0, 2.0, 3.0], name="lost")
    study = Study(problem, policy="equal", model="gp", initial=1)
    for trial in study.ask(6):
        if trial.pair[1] == 1:
            study.fail(trial, "never")
        else:
            study.tell(trial, [float(trial.pair[0] == (trial.pair[1] == 2)), 0.1 + trial.pair[0]])
    assert not any("2.0" in each for each in study.answer("rule").wrong)


def test_a_bare_number_is_said_with_the_name_of_its_column() -> None:
    contexts = Axis.of("context", [{"rate": 1.0}, {"rate": 2.0}])
    tree = Split(Condition("rate", below=1.5), Leaf(0), Leaf(1))
    numbers = Axis.of("alternative", [{"servers": 2}, {"servers": 3}])
    rule = ChosenRule(tree, numbers, contexts)
    assert rule.sentences() == ["rate < 1.5: servers 2", "rate ≥ 1.5: servers 3"]
    assert rule.frame()["alternative"].tolist() == [2, 3]
    names = Axis.of("alternative", ["a", "b"])
    assert ChosenRule(tree, names, contexts).sentences() == ["rate < 1.5: a", "rate ≥ 1.5: b"]


@pytest.mark.parametrize("n", [30, 2000])
def test_thresholds_of_many_values_have_few_digits_and_divide_them_evenly(n: int) -> None:
    for values in (
        np.random.default_rng(n).lognormal(3.0, 1.0, n),
        1e6 + np.random.default_rng(n).random(n),
        np.round(np.random.default_rng(n).exponential(2.0, n)),  # ties
    ):
        column = Column("age", tuple(values.tolist()), False)
        found = Conditions.about(Contexts(np.full(n, 1 / n), (column,)))
        shares = np.sort(found.holds.mean(axis=1))
        wanted = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
        if len(np.unique(values)) == n:
            assert np.abs(shares - wanted).max() < 0.11 / (THRESHOLDS + 1) + 1 / n
            if n == 2000 and values.max() < 1e6:
                assert all(each.below == float(f"{each.below:.4g}") for each in found.each)
        for each, holds in zip(found.each, found.holds, strict=True):
            assert each.below is not None
            assert holds.tolist() == (values < each.below).tolist()

"""Trees: the best of all that there are, by enumeration; few thresholds; conditions that are worth it."""

import itertools

import numpy as np
import pytest

from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import CellBelief
from argbest.core.questions.contexts import Column, Contexts
from argbest.core.questions.rule import BestRule, Rule
from argbest.core.questions.trees import THRESHOLDS, Condition, Conditions, Leaf, Split, best_trees, search

GRID = [(x, y) for x in range(4) for y in ("a", "b", "c")]
COLUMNS = (
    Column("x", tuple(float(x) for x, _ in GRID), False),
    Column("y", tuple(y for _, y in GRID), True),
)


def contexts(rng: np.random.Generator) -> Contexts:
    weights = rng.random(len(GRID)) + 0.1
    return Contexts(weights / weights.sum(), COLUMNS)


def divisions(inside: BoolArray) -> list[tuple[BoolArray, BoolArray]]:
    """All ways to divide some contexts by a threshold of x, or by one of the names of y."""
    x, y = np.array([x for x, _ in GRID]), np.array([y for _, y in GRID])
    marks = [x < t for t in (0.5, 1.5, 2.5)] + [y == name for name in "abc"]
    return [(inside & mark, inside & ~mark) for mark in marks]


def best_value(weighed: Array, inside: BoolArray, depth: int) -> float:
    """The value of the best tree, by trying all of them; weighed is [alternative, context]."""
    leaf = float(weighed[:, inside].sum(axis=1).max()) if inside.any() else 0.0
    if depth == 0:
        return leaf
    return max(
        leaf,
        *(
            best_value(weighed, a, depth - 1) + best_value(weighed, b, depth - 1)
            for a, b in divisions(inside)
        ),
    )


@pytest.mark.parametrize("depth", [1, 2])
def test_the_best_tree_is_as_good_as_any(depth: int) -> None:
    rng = np.random.default_rng(1)
    asked = contexts(rng)
    conditions, everywhere = Conditions.about(asked), np.ones(len(GRID), bool)
    rewards = rng.normal(size=(25, 6, len(GRID)))
    value, choices = best_trees(rewards, asked.weights, conditions, depth)
    for table, found, named in zip(rewards, value, choices, strict=True):
        assert found == pytest.approx(best_value(table * asked.weights, everywhere, depth), abs=1e-12)
        own = table[named, np.arange(len(GRID))] @ asked.weights
        assert found == pytest.approx(own, abs=1e-12)


def test_a_third_level_gains_and_never_passes_the_best() -> None:
    rng = np.random.default_rng(2)
    asked = contexts(rng)
    conditions, everywhere = Conditions.about(asked), np.ones(len(GRID), bool)
    rewards = rng.normal(size=(6, 4, len(GRID)))
    two, three = (best_trees(rewards, asked.weights, conditions, depth)[0] for depth in (2, 3))
    most = [best_value(table * asked.weights, everywhere, 3) for table in rewards]
    assert np.all(three >= two - 1e-12)
    assert np.all(three <= np.array(most) + 1e-12)
    assert np.any(three > two + 1e-6)
    assert np.mean(three - two) > 0.6 * np.mean(np.array(most) - two)  # on noise, the hardest case


def test_a_tree_names_the_same_alternatives_by_row_and_by_position() -> None:
    rng = np.random.default_rng(3)
    asked = contexts(rng)
    conditions = Conditions.about(asked)
    for tree in search(rng.normal(size=(10, 5, len(GRID))), asked.weights, conditions, 3):
        named = [tree.choose({"x": x, "y": y}) for x, y in GRID]
        assert conditions.choices(tree).tolist() == named


def test_of_equal_trees_the_one_with_fewer_conditions_is_named() -> None:
    asked = Contexts(np.full(len(GRID), 1 / len(GRID)), COLUMNS)
    conditions = Conditions.about(asked)
    step = np.array([[1.0 if x < 2 else 0.0 for x, _ in GRID], [0.0 if x < 2 else 1.0 for x, _ in GRID]])
    assert search(step[None], asked.weights, conditions, 2) == [
        Split(Condition("x", below=1.5), Leaf(0), Leaf(1))
    ]
    assert search(np.ones((1, 3, len(GRID))), asked.weights, conditions, 3) == [Leaf(0)]


def test_a_column_of_many_values_has_few_thresholds_that_divide_evenly() -> None:
    values = tuple(np.random.default_rng(4).normal(size=200).tolist())
    found = Conditions.about(Contexts(np.full(200, 1 / 200), (Column("x", values, False),)))
    assert len(found.each) == THRESHOLDS
    shares = np.sort(found.holds.mean(axis=1))
    # Half a value, and a tenth of the way to the next threshold by which a short number may miss.
    even = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
    np.testing.assert_allclose(shares, even, atol=0.5 / 200 + 0.1 / (THRESHOLDS + 1))


def test_names_are_divided_by_subsets_where_they_are_few_and_one_by_one_where_they_are_many() -> None:
    def sizes(n: int) -> list[int]:
        names = tuple(map(str, range(n)))
        asked = Contexts(np.full(n, 1 / n), (Column("k", names, True),))
        return [len(each.names) for each in Conditions.about(asked).each]

    assert sizes(2) == [1]
    assert sizes(4) == [1, 1, 1, 1, 2, 2, 2]  # each pair of two once
    assert sizes(6) == [1] * 6


def test_a_column_that_repeats_another_adds_nothing() -> None:
    weights = np.full(len(GRID), 1 / len(GRID))
    twice = Column("twice", tuple(2.0 * float(x) for x, _ in GRID), False)
    same = Conditions.about(Contexts(weights, (*COLUMNS, twice)))
    assert same.each == Conditions.about(Contexts(weights, COLUMNS)).each


def test_a_name_never_seen_belongs_to_the_rest() -> None:
    tree = Split(Condition("y", names=("a", "b")), Leaf(0), Leaf(1))
    assert [tree.choose({"y": y}) for y in ("a", "b", "c", "never seen")] == [0, 0, 1, 1]


@pytest.mark.parametrize(("sd", "depth"), [(0.01, 1), (10.0, 0)])
def test_a_condition_must_gain_more_than_its_uncertainty(sd: float, depth: int) -> None:
    """The step from one alternative to the other gains 0.5 on average; it stays if that is known well."""
    step = np.array([[1.0 if x < 2 else 0.0 for x, _ in GRID], [0.0 if x < 2 else 1.01 for x, _ in GRID]])
    belief = CellBelief(step, np.full(step.shape, sd**2), np.ones(step.shape))
    asked = Contexts(np.full(len(GRID), 1 / len(GRID)), COLUMNS)
    bound = Rule(2).about(asked)
    assert bound.tree(belief).depth == depth
    assert bound.choice(belief).tolist() == ([0] * 6 + [1] * 6 if depth else [1] * 12)


def test_the_gain_of_a_condition_is_counted_in_its_standard_deviations() -> None:
    """Gain Σ w (f₁ − f₀) over the right half; its variance is that of the twelve rewards in it."""
    step = np.array([[1.0 if x < 2 else 0.0 for x, _ in GRID], [0.0 if x < 2 else 1.01 for x, _ in GRID]])
    asked = Contexts(np.full(12, 1 / 12), COLUMNS)
    gain = 6 / 12  # of alternative 0 on the left half, where the single best alternative is 1
    for sd in (gain / np.sqrt(2 * 6) * 12 * np.array([0.99, 1.01])).tolist():
        belief = CellBelief(step, np.full(step.shape, sd**2), np.ones(step.shape))
        assert BestRule(asked, 1).tree(belief).depth == (1 if sd < gain / np.sqrt(12) * 12 else 0)


def test_every_context_comes_to_one_end() -> None:
    rng = np.random.default_rng(5)
    bound = Rule(3).about(contexts(rng))
    [tree] = search(rng.normal(size=(1, 5, len(GRID))), bound.contexts.weights, bound.conditions, 3)
    ends = bound.ends(tree)
    assert len(ends) == len(list(tree.leaves()))
    assert np.array_equal(np.sum([inside for _, inside in ends], axis=0), np.ones(len(GRID)))
    for (one, inside), (other, _) in itertools.product(ends, ends):
        assert one == other or np.all(bound.conditions.choices(tree)[inside] == one.alternative)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_what_many_trees_name_is_what_each_of_them_names(depth: int) -> None:
    """Some of the tables have one alternative that is the best everywhere: no condition is worth it there."""
    rng = np.random.default_rng(9)
    asked = contexts(rng)
    conditions = Conditions.about(asked)
    rewards = rng.normal(size=(40, 5, len(GRID)))
    rewards[::4, 2] += 9.0
    _, choices = best_trees(rewards, asked.weights, conditions, depth)
    for named, tree in zip(choices, search(rewards, asked.weights, conditions, depth), strict=True):
        np.testing.assert_array_equal(named, conditions.choices(tree))
    assert np.all(choices[::4] == 2)

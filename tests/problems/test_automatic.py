"""The automatic initial design: every pair of a small table, some pairs of a large one, by the budget."""

from collections import Counter

import numpy as np
import pytest

from argbest.core.tally import Tally
from argbest.models.additive_gp import AdditiveGP
from argbest.models.frequentist import Independent
from argbest.models.gp import GP
from argbest.problems.base import Problem
from argbest.problems.design import (
    USUAL_BUDGET,
    Automatic,
    Design,
    EveryPair,
    MostlyOnce,
    SpaceFilling,
    for_model,
)

GRID = Problem([{"x": x, "y": y} for x in range(20) for y in range(15)], list(range(10)))
NAMES = Problem([f"plan {i}" for i in range(30)], list(range(10)))
MANY = Problem([f"plan {i}" for i in range(500)], ["low", "high"])
SINGLE = Problem([f"plan {i}" for i in range(1000)], ["any"])


def design_of(problem: Problem, budget: int | None, parameters: int | None = 8) -> Design:
    return Automatic(parameters, budget).chosen(problem)


@pytest.mark.parametrize("budget", [12_000, 50_000])
def test_every_pair_begins_where_that_takes_half_of_the_budget_at_most(budget: int) -> None:
    assert design_of(GRID, budget) == EveryPair(2)


def test_some_pairs_begin_where_all_would_take_more_than_half_of_the_budget() -> None:
    assert design_of(GRID, 11_999) == SpaceFilling(80, 2)


@pytest.mark.parametrize("budget", [2, 3, 4, 17, 100, 319])
def test_a_small_budget_is_spent_by_half_at_most_if_two_replications_fit_in_it(budget: int) -> None:
    chosen = design_of(GRID, budget)
    assert isinstance(chosen, SpaceFilling)
    assert chosen.number == max(1, budget // 4)


def test_names_without_coordinates_get_three_pairs_each_if_the_budget_allows_it() -> None:
    assert design_of(NAMES, 590) == SpaceFilling(90, 2)
    pairs = Automatic(8, 590).pairs(NAMES, np.random.default_rng(1))
    assert set(Counter(k for k, _ in pairs).values()) == {6}
    contexts = {k: {c for j, c in pairs if j == k} for k in range(30)}
    assert all(len(each) == 3 for each in contexts.values())
    assert design_of(NAMES, 100) == SpaceFilling(25, 2)


def test_a_table_of_fewer_pairs_than_parameters_need_is_not_exceeded() -> None:
    small = Problem([1, 2, 3], [1, 2])
    assert design_of(small, 23, parameters=9) == SpaceFilling(5, 2)
    assert design_of(small, 24, parameters=9) == EveryPair(2)


def test_without_a_budget_a_usual_one_is_assumed() -> None:
    for problem in (GRID, NAMES):
        assert design_of(problem, None) == design_of(problem, USUAL_BUDGET)


def test_a_model_that_learns_each_pair_by_itself_begins_with_every_pair() -> None:
    assert for_model(GP(), GRID, 100).chosen(GRID) == EveryPair(2)
    assert "this model learns each by itself" in for_model(GP(), GRID, 100).reason(GRID)


def test_the_additive_model_tells_how_many_parameters_it_learns() -> None:
    # Lengths of the trend, of x and y, of the contexts; four scales; noise.
    assert AdditiveGP().n_parameters(GRID.shape, GRID.setting) == 1 + 2 + 1 + 4 + 1
    assert AdditiveGP(parts=("own",)).n_parameters(GRID.shape, GRID.setting) == 1 + 1 + 1
    # Names have no lengths and no joint part.
    assert AdditiveGP().n_parameters(NAMES.shape, NAMES.setting) == 1 + 1 + 3 + 1


def test_the_reason_names_the_numbers_that_decide() -> None:
    reason = Automatic(8, 1_500).reason(GRID)
    assert reason == (
        "80 of 3,000 pairs, spread evenly, twice each (160 replications): every pair twice would take 6,000, "
        "more than half of the budget of 1,500"
    )
    assert Automatic(8, 20_000).reason(GRID) == (
        "every pair twice (6,000 replications), at most half of the budget of 20,000"
    )
    assert Automatic(8).reason(NAMES).endswith("more than half of a budget of 1,000")


@pytest.mark.parametrize("budget", [2, 100, 700, 100_000])
@pytest.mark.parametrize("problem", [GRID, NAMES, MANY, SINGLE])
def test_the_size_is_the_number_of_pairs_to_come(problem: Problem, budget: int) -> None:
    best = Automatic(8, budget)
    assert best.size(problem) == len(best.pairs(problem, np.random.default_rng(0)))


@pytest.mark.parametrize("budget", [2, 5, 9, 30])
def test_the_additive_model_can_begin_with_what_a_tiny_budget_allows(budget: int) -> None:
    model, rng = AdditiveGP(), np.random.default_rng(0)
    pairs = for_model(model, GRID, budget).pairs(GRID, rng)
    count = np.zeros(GRID.shape, np.int64)
    for pair in pairs:
        count[pair] += 1
    tally = Tally(count, np.where(count > 0, rng.normal(size=GRID.shape), 0.0), np.where(count > 1, 1.0, 0.0))
    belief = model.posterior(tally, GRID.setting, model.fit(tally, GRID.setting))
    assert np.all(np.isfinite(belief.mean))
    assert np.all(belief.var > 0)


@pytest.mark.parametrize("budget", [None, 100, 1_500, 3_999])
def test_thousands_of_pairs_are_seen_once_by_a_model_that_lends_noise(budget: int | None) -> None:
    best = for_model(Independent(), MANY, budget)
    assert best.chosen(MANY) == MostlyOnce(1000, 60)
    pairs = best.pairs(MANY, np.random.default_rng(1))
    assert Counter(Counter(pairs).values()) == {1: 940, 2: 60}
    assert len({k for k, _ in pairs[1000:]}) > 50  # not the first names


def test_every_pair_twice_begins_where_that_fits_and_where_a_model_needs_it() -> None:
    assert for_model(Independent(), MANY, 4_000).chosen(MANY) == EveryPair(2)
    assert for_model(Independent(), NAMES, 10).chosen(NAMES) == EveryPair(2)
    assert for_model(GP(), MANY, 1_500).chosen(MANY) == EveryPair(2)


def test_thousands_of_names_are_seen_once_as_far_as_half_of_the_budget_goes() -> None:
    assert design_of(SINGLE, 3_999) == MostlyOnce(1000, 60)
    assert design_of(SINGLE, 1_500) == MostlyOnce(690, 60)
    assert design_of(SINGLE, 479) == SpaceFilling(119, 2)
    assert design_of(GRID, 1_500) == SpaceFilling(80, 2)
    assert design_of(MANY, 1_500) == SpaceFilling(375, 2)  # one context tells of the other
    pairs = Automatic(8, 1_500).pairs(SINGLE, np.random.default_rng(1))
    assert Counter(Counter(pairs).values()) == {1: 630, 2: 60}
    assert len({k for k, _ in pairs}) == 690


def test_the_reason_says_what_is_seen_again() -> None:
    assert for_model(Independent(), MANY, 1_500).reason(MANY) == (
        "every pair, once, 60 of them again (1,060 replications): every pair twice would take 2,000, "
        "more than half of the budget of 1,500"
    )
    assert (
        Automatic(8)
        .reason(SINGLE)
        .startswith("440 of 1,000 pairs, once, 60 of them again (500 replications)")
    )


def test_names_in_one_context_are_taken_in_turn_without_a_loop() -> None:
    alone, beside = (Problem([f"plan {i}" for i in range(50)], contexts) for contexts in (["x"], ["x", "y"]))
    pairs = SpaceFilling(20, 1).pairs(alone, np.random.default_rng(3))
    turn = np.random.default_rng(3).permutation(50)
    assert [k for k, _ in pairs] == np.argsort(turn)[:20].tolist()
    assert [k for k, _ in SpaceFilling(20, 1).pairs(beside, np.random.default_rng(3))] == [
        k for k, _ in pairs
    ]

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from argbest import InputError, Problem, SpaceFilling, Study


def pairs(problem: Problem, number: int, seed: int = 0, replications: int = 1) -> list[tuple[int, int]]:
    return SpaceFilling(number, replications).pairs(problem, np.random.default_rng(seed))


def grid(k: int, c: int) -> Problem:
    return Problem(list(range(k)), [float(x) for x in range(c)])


@pytest.mark.parametrize("number", [1, 2, 7, 64, 240])
def test_no_pair_comes_twice_before_all_come_again(number: int) -> None:
    found = pairs(grid(12, 20), number, replications=3)
    assert len(set(found[:number])) == number
    assert found == found[:number] * 3


def test_pairs_are_spread_over_both_coordinates() -> None:
    """The closest two lie farther apart than of nearly all random designs of that size."""
    rng = np.random.default_rng(1)
    problem = grid(40, 40)

    def closest(chosen: list[tuple[int, int]]) -> float:
        return float(np.mean(np.sort(pdist(np.array(chosen)))[:20]))

    ours = closest(pairs(problem, 60))
    others = [closest([(int(k), int(c)) for k, c in rng.integers(0, 40, (60, 2))]) for _ in range(200)]
    assert ours > np.quantile(others, 0.95)
    halves = np.array(pairs(problem, 64)) >= 20
    counts = [int(np.sum((halves == corner).all(axis=1))) for corner in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert min(counts) >= 12


def test_names_are_used_alike_and_at_spread_contexts() -> None:
    problem = Problem([f"plan {i}" for i in range(25)], [float(x) for x in range(30)])
    found = pairs(problem, 50)
    assert {int(n) for n in np.bincount([k for k, _ in found], minlength=25)} == {2}
    assert len({c for _, c in found}) >= 20


def test_every_category_is_visited() -> None:
    plans: list[dict[str, Any]] = [
        {"servers": s, "rule": r, "late": b} for s in range(10) for r in "abc" for b in (True, False)
    ]
    found = pairs(Problem(plans, [1.0]), 24)
    assert {plans[k]["rule"] for k, _ in found} == set("abc")
    assert {plans[k]["late"] for k, _ in found} == {True, False}
    servers = [plans[k]["servers"] for k, _ in found]
    assert min(servers) <= 1
    assert max(servers) >= 8


def test_the_same_seed_gives_the_same_design_and_another_another() -> None:
    assert pairs(grid(20, 20), 30) == pairs(grid(20, 20), 30)
    assert pairs(grid(20, 20), 30) != pairs(grid(20, 20), 30, seed=1)


def test_a_large_table_costs_little() -> None:
    problem = Problem(list(range(20_000)), [0.0, 1.0, 2.0, 3.0])
    assert len(set(pairs(problem, 40))) == 40


def test_more_pairs_than_there_are_is_refused() -> None:
    with pytest.raises(InputError, match="asks for 241 pairs; the problem has 12"):
        pairs(grid(12, 20), 241)


@pytest.mark.parametrize("options", [(0, 2), (5, 0), (2.5, 1), ("9", 2)])
def test_wrong_numbers_are_refused(options: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="whole number"):
        SpaceFilling(*options)


def test_a_study_begins_with_it() -> None:
    study = Study(grid(12, 20), model="additive-gp", initial=SpaceFilling(15), seed=4)
    assert study.n_queued == 30

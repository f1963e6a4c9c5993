"""The test of the share that the whole initial design may take: its budgets, its rule and its result."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest import EveryPair, SpaceFilling
from argbest.experiment import Experiment, run
from argbest.options import POLICY
from argbest.problems import design
from argbest.problems.base import Problem
from experiments import beginning
from experiments.beginning import HALF, NEIGHBOURS, PROBLEMS, THIRD, TWO_THIRDS

STORED = Path(beginning.__file__).parent / "stored" / "beginning.csv"


def first(name: str) -> Problem:
    return Experiment(name, POLICY, replications=0, seed=beginning.SEED).first_problem()


def scored(third: float, two_thirds: float, *, se: float = 0.1) -> pd.DataFrame:
    """The scores of both pairs of neighbours."""
    return pd.DataFrame({"taken": [0.42, 0.58], "score": [third, two_thirds], "score_se": se})


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("taken", NEIGHBOURS)
def test_the_larger_share_begins_with_every_pair_and_the_smaller_with_what_it_may(
    name: str, taken: float
) -> None:
    problem = first(name)
    total = beginning.budget(problem, taken)
    assert 2 * np.prod(problem.shape) / total == pytest.approx(taken, abs=0.002)
    smaller, larger = (beginning.beginning(problem, total, share) for share in NEIGHBOURS[taken])
    assert larger.chosen(problem) == EveryPair(2)
    assert isinstance(smaller.chosen(problem), SpaceFilling)
    assert smaller.size(problem) <= NEIGHBOURS[taken][0] * total


def test_a_share_of_one_half_begins_as_a_study_does() -> None:
    problem = first("queue-staffing")
    model = beginning.RULE.make()[1]
    for taken in NEIGHBOURS:
        total = beginning.budget(problem, taken)
        usual = design.for_model(model, problem, total).chosen(problem)
        assert beginning.beginning(problem, total, HALF).chosen(problem) == usual


def test_the_difference_is_a_share_of_the_mean_loss_with_the_error_of_pairs() -> None:
    fewer, every = np.random.default_rng(3).gamma(2.0, size=(2, 40)) + np.linspace(0.0, 3.0, 40)
    found, se = beginning.difference(fewer, every)
    means, step = np.array([fewer.mean(), every.mean()]), 1e-6

    def share(at: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float:
        return float((at[1] - at[0]) / at.mean())

    slope = [(share(means + step * unit) - share(means - step * unit)) / (2 * step) for unit in np.eye(2)]
    assert found == pytest.approx(share(means))
    assert se == pytest.approx(np.sqrt(slope @ np.cov(fewer, every) @ slope / 40), rel=1e-6)


def test_losses_of_zero_do_no_harm() -> None:
    nothing, some = np.zeros(4), np.array([0.0, 1.0, 0.0, 2.0])
    assert beginning.difference(nothing, nothing) == (0.0, 0.0)
    assert beginning.difference(nothing, some)[0] == 2.0
    assert beginning.difference(some, nothing)[0] == -2.0


def test_scores_are_means_over_problems_whose_errors_are_independent() -> None:
    rows = pd.DataFrame(
        {"taken": [0.42, 0.42, 0.58], "difference": [0.1, 0.3, -0.2], "difference_se": [0.3, 0.4, 0.1]}
    )
    found = beginning.scores(rows)
    assert found["taken"].tolist() == [0.42, 0.58]
    assert found["score"].tolist() == pytest.approx([0.2, -0.2])
    assert found["score_se"].tolist() == pytest.approx([0.25, 0.1])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (scored(0.19, -0.19), HALF),  # neither by two standard errors
        (scored(0.21, -0.19), THIRD),  # every pair at 0.42 of the budget loses more
        (scored(0.19, -0.21), TWO_THIRDS),  # every pair at 0.58 of the budget loses less
        (scored(-0.5, 0.5), HALF),  # one half is better than both
        (scored(0.5, -0.5), HALF),  # a contradiction
        (scored(0.0, 0.0, se=0.0), HALF),
    ],
)
def test_one_half_stays_unless_another_share_is_better_by_two_standard_errors(
    found: pd.DataFrame, expected: float
) -> None:
    assert beginning.decision(found) == expected


@pytest.mark.slow
def test_a_duel_spends_the_same_budget_on_both_sides(tmp_path: Path) -> None:
    row = beginning.duel("newsvendor", 0.58, tmp_path, macroreps=2)
    assert (row["budget"], row["initial_fewer"], row["initial_every"]) == (221, 110, 128)
    for side, initial in (("fewer", SpaceFilling(55)), ("every", EveryPair(2))):
        replications = 221 - int(str(row[f"initial_{side}"]))
        asked = Experiment(
            "newsvendor",
            beginning.RULE,
            replications=replications,
            macroreps=2,
            initial=initial,
            seed=beginning.SEED,
            common_random_numbers=False,
        )
        last = run(asked).runs.query("replications == @replications")
        assert last["n_initial"].tolist() == [row[f"initial_{side}"]] * 2
        assert row[f"loss_{side}"] == pytest.approx(last["cost"].mean(), rel=1e-9)


def test_the_stored_result_is_complete_and_leads_to_the_share_in_use() -> None:
    rows = pd.read_csv(STORED)
    assert set(zip(rows["problem"], rows["taken"], strict=True)) == {
        (p, t) for p in PROBLEMS for t in NEIGHBOURS
    }
    assert beginning.decision(beginning.scores(rows)) == design.SHARE

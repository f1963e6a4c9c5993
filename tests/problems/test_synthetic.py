"""Synthetic problems: the paper's Branin, against its printed figures and its published runs."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from argbest.errors import InputError
from argbest.problems.base import Problem
from argbest.problems.synthetic import branin
from argbest.streams import cell_seed, standard_normal

REFERENCE = Path(__file__).parents[3] / "shared" / "reference"


@pytest.fixture(scope="module")
def problem() -> Problem:
    return branin()


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    file = REFERENCE / "branin_trajectories.csv"
    if not file.exists():
        message = f"the published trajectories are not at {file}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return pd.read_csv(file)


def test_branin_is_the_papers_ten_by_ten(problem: Problem) -> None:
    assert problem.shape == (10, 10)
    assert problem.goal == "max"
    assert problem.bounds == {"x2": (0.0, 15.0)}
    np.testing.assert_allclose(problem.weights, [0.03, 0.07, 0.2, 0.1, 0.15, 0.2, 0.02, 0.08, 0.1, 0.05])
    x1 = np.array(problem.alternatives.columns["x1"], dtype=float)
    np.testing.assert_allclose(x1, -5 + 15 * np.arange(10) / 9, atol=1e-14)
    units = np.array(problem.contexts.columns["x2"], dtype=float)[:4] / 15
    np.testing.assert_allclose(units, [0.970053, 0.707820, 0.459383, 0.920748], atol=5e-7)
    assert problem.noise_sd is not None
    assert np.unique(problem.noise_sd).tolist() == [3.0]


def test_branin_takes_its_known_value_where_the_cosine_is_one(problem: Problem) -> None:
    # At x1 = 0 the function is -((x2 - 6)^2 + 10 (1 - t) + 10).
    assert problem.truth is not None
    k = problem.alternatives.index(0.0)
    x2 = np.array(problem.contexts.columns["x2"], dtype=float)
    np.testing.assert_allclose(problem.truth[k], -0.370 * ((x2 - 6) ** 2 + 20 - 10 / (8 * np.pi)), rtol=1e-13)


def test_branin_has_no_ties_and_gaps_that_are_small_against_its_noise(problem: Problem) -> None:
    assert problem.best.tolist() == [1, 1, 2, 1, 2, 1, 5, 9, 2, 9]
    assert problem.pcs_ceiling == pytest.approx(1.0)
    assert problem.gap_over_noise.min() == pytest.approx(0.0552, abs=5e-5)
    assert problem.gap_over_noise.max() == pytest.approx(2.763, abs=5e-4)


def test_the_published_runs_average_to_the_truth_up_to_the_scale_of_each_run(
    problem: Problem, published: pd.DataFrame
) -> None:
    assert problem.truth is not None
    scales = []
    # The three policies of a seed start from the same samples, which count once.
    for _, run in published.drop_duplicates(["seed", "value"]).groupby("seed"):
        mean, value = problem.truth[run["alternative"], run["context"]], run["value"].to_numpy()
        scale = float(mean @ value / (mean @ mean))
        cells = pd.Series((value - scale * mean) / 3).groupby(
            (run["alternative"] * 10 + run["context"]).to_numpy()
        )
        z = cells.mean().to_numpy() * np.sqrt(cells.count().to_numpy())
        assert len(z) == 100
        # z is standard normal but for the policies' adaptation: false-alarm rate 1e-4 per run.
        assert abs((z**2).mean() - 1) < 4 * np.sqrt(2 / 100)
        assert abs(z).max() < 5
        scales.append(0.370 * scale)
    assert 0.31 < min(scales) < np.mean(scales) < max(scales) < 0.42


def test_the_simulator_adds_noise_that_is_a_function_of_the_seed(problem: Problem) -> None:
    assert problem.simulate is not None
    assert problem.truth is not None
    replications = np.arange(4)
    seeds = cell_seed(1, 23, replications, n_cells=100)
    live = [
        problem.simulate(problem.alternatives.item(2), problem.contexts.item(3), int(seed)) for seed in seeds
    ]
    assert all(type(value) is float for value in live)
    np.testing.assert_allclose(live, problem.truth[2, 3] + 3 * standard_normal(seeds), rtol=1e-13)


def test_the_simulator_takes_plain_values_too_and_refuses_unknown_ones(problem: Problem) -> None:
    assert problem.simulate is not None
    row = problem.contexts.item(0)
    assert problem.simulate(-5.0, row, 7) == problem.simulate({"x1": -5.0}, row, 7)
    with pytest.raises(InputError, match=r"unknown alternative 0\.5"):
        problem.simulate(0.5, row, 7)

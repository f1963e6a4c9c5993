"""What every shipped problem must do: score itself, simulate one by one and many at once, travel."""

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from argbest.problems import synthetic
from argbest.problems.base import Problem
from argbest.problems.inventory import newsvendor
from argbest.problems.noisy_table import classical, gp_draws, metric_draws, trend_draws
from argbest.problems.prevention import barrett_prevention
from argbest.problems.queues import queue_staffing

MAKERS: dict[str, Callable[[], Problem]] = {
    "branin": synthetic.branin,
    "branin-text": synthetic.branin_text,
    "branin-separated": synthetic.branin_separated,
    "griewank": synthetic.griewank,
    "griewank-text": synthetic.griewank_text,
    "griewank-separated": synthetic.griewank_separated,
    "hartmann3": synthetic.hartmann3,
    "hartmann3-separated": synthetic.hartmann3_separated,
    "cosine8": synthetic.cosine8,
    "cosine8-separated": synthetic.cosine8_separated,
    "gp-draws": lambda: gp_draws().draw(1),
    "trend-draws": lambda: trend_draws().draw(1),
    "metric-draws": lambda: metric_draws().draw(1),
    "queue-staffing": queue_staffing,
    "newsvendor": newsvendor,
    "barrett-prevention": lambda: barrett_prevention(20),
    "classical": classical,
}


@pytest.fixture(scope="module", params=MAKERS)
def problem(request: pytest.FixtureRequest) -> Problem:
    made = MAKERS[request.param]()
    assert made.name == request.param
    return made


def simulator(problem: Problem) -> Any:
    assert problem.simulate is not None
    return problem.simulate


def test_many_at_once_give_what_single_calls_give(problem: Problem) -> None:
    draws = np.random.default_rng(0)
    k, c = draws.integers(0, problem.shape, (25, 2)).T
    seeds = draws.integers(0, 2**31, 25)
    alone = [
        simulator(problem)(problem.alternatives.item(int(i)), problem.contexts.item(int(j)), int(seed))
        for i, j, seed in zip(k, c, seeds, strict=True)
    ]
    assert all(type(value) is float for value in alone)
    np.testing.assert_allclose(simulator(problem).many(k, c, seeds), alone, rtol=1e-13)
    grid = simulator(problem).many(k[:5, None], c[:5], seeds[:5])
    assert grid.shape == (5, 5)
    assert simulator(problem).many(k[:0], c[:0], seeds[:0]).shape == (0,)
    np.testing.assert_allclose(grid.diagonal(), alone[:5], rtol=1e-13)


@pytest.mark.fast_cases("[!b]*", "branin*")
def test_simulated_means_and_variances_are_those_stated(problem: Problem) -> None:
    # Two tests at 4 standard errors for up to 10 pairs of 16 problems: false-alarm rate 2 %, seeds fixed.
    assert problem.truth is not None
    assert problem.noise_sd is not None
    cells = np.linspace(0, problem.truth.size - 1, min(10, problem.truth.size)).astype(int)
    k, c = np.unravel_index(cells, problem.shape)
    n = 4000
    values = simulator(problem).many(k[:, None], c[:, None], np.arange(n * len(k)).reshape(-1, n))
    z = (values - problem.truth[k, c][:, None]) / problem.noise_sd[k, c][:, None]
    assert np.abs(z.mean(axis=1)).max() * np.sqrt(n) < 4
    square = (z**2).mean(axis=1)
    error = (z**2).std(axis=1) / np.sqrt(n)
    assert (np.abs(square - 1) / np.hypot(error, 0.01)).max() < 4


def test_the_summary_is_ready_for_json(problem: Problem) -> None:
    summary = json.loads(json.dumps(problem.summary(), allow_nan=False))
    assert summary["name"] == problem.name
    assert 0.49 < summary["pcs_ceiling"] <= 1.0 + 1e-12
    assert all(0 <= ratio < 10 for ratio in summary["gap_over_noise"])


def test_the_description_is_one_sentence_that_says_where_the_truth_comes_from(problem: Problem) -> None:
    assert problem.description.endswith(".")
    assert ". " not in problem.description
    assert "truth" in problem.description


def test_a_problem_survives_a_trip_to_another_process(problem: Problem) -> None:
    copy = pickle.loads(pickle.dumps(problem))  # noqa: S301
    where = np.arange(2), np.zeros(2, int), np.arange(2)
    np.testing.assert_array_equal(copy.simulate.many(*where), simulator(problem).many(*where))
    assert copy.summary() == problem.summary()


def test_the_description_counts_the_gaps_of_the_tables() -> None:
    ratio = synthetic.branin().gap_over_noise
    spread = f"{ratio.min():.2g} to {ratio.max():.2g} (median {np.median(ratio):.2g})"
    words = f"; the best leads by {spread} noise standard deviations."
    assert synthetic.branin().description.endswith(words)
    assert synthetic.cosine8().description.endswith("the best is tied in 40 of 40 contexts.")
    assert classical().description.endswith("the best leads by 0.55 noise standard deviations.")

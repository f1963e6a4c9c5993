"""The patient model: exact values against forward algebra and simulation."""

import numpy as np
import pytest

from argbest.problems import prevention
from argbest.problems.base import Problem


@pytest.fixture(scope="module")
def problem() -> Problem:
    return prevention.barrett_prevention(20)


def test_every_year_leads_somewhere(problem: Problem) -> None:
    people = prevention.columns(problem.contexts)
    for year in (0, 20):
        step = prevention.chances(np.arange(3)[:, None], people, year)
        np.testing.assert_allclose(step.sum(axis=-1), 1.0, rtol=1e-12)
        assert step.min() >= 0.0


def test_backward_recursion_agrees_with_forward_chances(problem: Problem) -> None:
    """Forward: the chances of all states, year by year, from the first; written out for one person."""
    assert problem.truth is not None
    people = prevention.columns(problem.contexts)
    for k, c in ((0, 0), (1, 3), (2, 7)):
        one = {name: values[c : c + 1] for name, values in people.items()}
        state = np.zeros(6)
        state[4 if k == 0 else 5] = 1.0
        quality = np.array([0.0, 0.5, 0.8, 0.93, 1.0, 1.0 - (0.0, 0.002, 0.004)[k]])
        total = 0.0
        for year in range(100 - int(one["age"][0])):
            total += float(state @ quality)
            state = state @ prevention.chances(np.array(k), one, year)[0]
        assert problem.truth[k, c] == pytest.approx(total, rel=1e-12)


def test_simulated_means_and_deviations_are_the_exact_ones(problem: Problem) -> None:
    """4,000 replications of three pairs: six comparisons at 4.5 standard errors, false alarms below 1e-4."""
    n = 4_000
    assert problem.simulate is not None
    assert problem.truth is not None
    assert problem.noise_sd is not None
    for k, c in ((0, 2), (1, 5), (2, 11)):
        seeds = np.random.default_rng(k).integers(0, 2**31, n)
        value = problem.simulate.many(np.array(k), np.array(c), seeds)  # type: ignore[attr-defined]
        sd = problem.noise_sd[k, c]
        assert abs(value.mean() - problem.truth[k, c]) < 4.5 * sd / np.sqrt(n)
        assert abs(value.std() / sd - 1.0) < 4.5 / np.sqrt(2 * n) * 1.1


def test_drugs_pay_where_the_risk_is_high_and_not_where_there_is_none() -> None:
    people = {
        "age": np.array([60.0, 60.0, 60.0]),
        "risk": np.array([0.0, 0.08, 0.08]),
        "aspirin": np.array([0.5, 0.9, 0.1]),
        "statin": np.array([0.5, 0.1, 0.9]),
    }
    mean, _ = prevention.value(people)
    assert mean.argmax(axis=0).tolist() == [0, 1, 2]

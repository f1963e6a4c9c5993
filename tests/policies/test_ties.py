"""The default policy pours no budget into ties while other contexts lose more."""

from collections.abc import Callable

import numpy as np
import pytest

from argbest import Problem, Study, registry
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import table_problem

ADAPTIVE = 200


def with_a_duplicate() -> Problem:
    """Four plans, the last of which is listed twice: it ties with itself wherever it is best."""
    truth = np.array([[np.sin(k + c) + 0.1 * k for c in range(6)] for k in (1, 2, 3, 4, 4)])
    names = Axis.of("alternative", ["a", "b", "c", "d", "d again"])
    return table_problem(names, Axis.of("context", range(6)), truth=truth, noise_sd=np.full((5, 6), 0.5))


def branin() -> Problem:
    return registry.problem("branin")


def exact_ties() -> Problem:
    return registry.problem("cosine8")


@pytest.mark.parametrize(
    ("make", "seed"),
    [(branin, 0), (branin, 1), (branin, 2), (with_a_duplicate, 0), (with_a_duplicate, 1)]
    + [pytest.param(branin, seed, marks=pytest.mark.slow) for seed in range(3, 8)]
    + [pytest.param(exact_ties, seed, marks=pytest.mark.slow) for seed in range(2)],
)
@pytest.mark.fast_cases("branin-0", "with_a_duplicate-0")
def test_no_context_takes_half_of_the_budget_while_another_loses_more(
    make: Callable[[], Problem], seed: int
) -> None:
    problem = make()
    study = Study(problem, seed=seed)
    begun = study.n_queued
    study.run(begun + ADAPTIVE)
    took = np.bincount(
        [t.pair[1] for t in study._journal.ledger.trials[-ADAPTIVE:]], minlength=problem.n_contexts
    )
    loss = problem.weights * study.selection()["expected_loss"].to_numpy()
    for context in np.flatnonzero(took > ADAPTIVE / 2):
        assert loss[context] >= np.delete(loss, context).max()
    assert took.max() > 0

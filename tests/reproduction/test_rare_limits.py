"""The problems with rates near their limits: their truth, and how versions are compared."""

import numpy as np
import pandas as pd
import pytest

from argbest.problems.noisy_table import SeveralResponses
from experiments import rare_limits

RUNS = 3_000
FARTHEST = 5.0  # standard errors, of some hundred pairs


@pytest.mark.parametrize("name", sorted(rare_limits.PROBLEMS))
def test_simulators_have_the_means_that_are_their_truth(name: str) -> None:
    problem = rare_limits.PROBLEMS[name]()
    k, c = np.indices((problem.n_alternatives, problem.n_contexts)).reshape(2, -1, 1)
    assert isinstance(problem.simulate, SeveralResponses)
    found = problem.simulate.many(k, c, np.arange(RUNS) + 7_000)
    for response, truth in problem.truths.items():
        values, own = np.asarray(found[response], float), np.asarray(truth)[k[:, 0], c[:, 0]]
        rate = response != problem.goal.split()[1]
        sd = np.sqrt(own * (1.0 - own)) if rate else values.std(axis=1)
        # A rate whose noise is nearly nothing may be off by an event or two.
        error = FARTHEST * np.maximum(sd, 1e-9) / np.sqrt(RUNS) + (2.0 / RUNS if rate else 1e-9)
        assert np.all(np.abs(values.mean(axis=1) - own) < error)


def test_the_problems_kept_back_have_the_structures_that_the_rule_names() -> None:
    made = {name: make() for name, make in rare_limits.KEPT_BACK.items()}
    feasible = {name: problem.feasible for name, problem in made.items()}
    assert feasible["lockers"].all()
    assert not feasible["ferry"].any(axis=0).all()
    assert len(made["dosing"].limits) == 2
    assert {name: problem.limits[0].bound for name, problem in made.items()} == {
        "depots": 0.2,
        "spillway": 0.01,
        "dosing": 0.2,
        "lockers": 0.05,
        "ferry": 0.05,
    }


def test_versions_are_compared_study_by_study() -> None:
    rows = pd.DataFrame({"problem": "ferry", "seed": [1, 1, 2, 2, 3], "loss": [0.2, 0.4, 0.5, 0.1, 9.0]})
    others = rows.assign(loss=[0.1, 0.1, 0.1, 0.1, 0.0])[:4]
    [row] = rare_limits.apart(rows, others).to_dict("records")
    assert row["size"] == 2
    assert row["mean"] == pytest.approx(0.2)
    assert not row["holds"]

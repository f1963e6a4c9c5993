"""Studies and runs that cannot be: refused before anything is spent."""

from typing import Any

import numpy as np
import pytest
from study.conftest import problem, refused, simulate, started

from argbest import GP, InputError, Problem, RandomContexts, Study
from argbest.policies.ocba import GPCOCBA


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"policy": "gp-ocba"},
            "unknown policy 'gp-ocba'; known are .*gp-c-ocba.* Did you mean 'gp-c-ocba'?",
        ),
        ({"policy": "GP_C_OCBA"}, "Did you mean 'gp-c-ocba'?"),
        ({"policy": "eqal"}, "Did you mean 'equal'?"),
        ({"policy": "zzz"}, "unknown policy 'zzz'; known are c-ocba, dsco, "),
        ({"policy": None}, "policy=None is neither a registered name nor an object"),
        ({"policy": 3}, "policy=3 is neither a registered name nor an object that can `propose`"),
        ({"policy": GPCOCBA}, "is neither a registered name nor an object"),
        ({"model": "gpp"}, "unknown model 'gpp'; known are .* Did you mean 'gp'?"),
        (
            {"model": 3},
            "model=3 is neither a registered name nor an object with check, fit, posterior, predict",
        ),
        ({"model": GP}, "is neither a registered name nor an object"),
        ({"seed": -1}, "seed must be a whole number ≥ 0 .*, got -1"),
        ({"seed": 1.0}, "seed must be a whole number ≥ 0 .*, got 1.0"),
        ({"seed": None}, "seed must be a whole number ≥ 0 .*, got None"),
        ({"seed": True}, "seed must be a whole number ≥ 0 .*, got True"),
        ({"seed": 2**64}, "seed"),
        ({"refit_every": 0}, "refit_every must be a whole number ≥ 1, got 0"),
        ({"refit_every": 2.5}, "refit_every must be a whole number ≥ 1, got 2.5"),
    ],
    ids=str,
)
def test_a_study_with_wrong_options_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Study(problem(), **options)


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, np.int64(7), np.uint64(2**63)])
def test_every_seed_of_64_bits_is_taken(seed: Any) -> None:
    study = Study(problem(), seed=seed).run(26)
    assert study.trials().groupby("context")["seed"].nunique().min() >= 2
    assert study.trials().equals(Study(problem(), seed=int(seed)).run(26).trials())


def test_a_study_needs_a_problem() -> None:
    with pytest.raises(InputError, match="a study needs an argbest.Problem, got list"):
        Study([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [0, -5, 30.0, "30", True, float("inf")])
def test_a_budget_is_a_positive_whole_number(budget: Any) -> None:
    study = started()
    with refused(study, InputError, "budget must be a whole number ≥ 1, got "):
        study.run(budget)


def test_a_run_needs_some_budget() -> None:
    study = started()
    with refused(study, InputError, "a run needs a budget: of replications, of seconds, or both"):
        study.run()


def test_a_numpy_integer_is_a_budget() -> None:
    assert started().run(np.int64(15)).n_replications == 15  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("initial", "needed"), [(2, 24), (1, 12), (RandomContexts(3), 9), ([("a", 0)] * 5, 5)]
)
def test_a_budget_below_the_initial_design_is_refused(initial: Any, needed: int) -> None:
    study = Study(problem(), initial=initial)
    message = f"a budget of {needed - 1} is below the {needed} replications of the initial design; raise it"
    with refused(study, InputError, message):
        study.run(needed - 1)


def test_a_budget_that_leaves_part_of_the_design_undone_is_refused() -> None:
    study = Study(problem())
    for trial in study.ask(10):
        study.tell(trial, [1.0, 2.0])
    with refused(study, InputError, "a budget of 33 is below the 34 replications"):
        study.run(33)


def test_a_study_without_a_simulator_cannot_run() -> None:
    study = Study(problem(None))
    with refused(study, InputError, "no simulator to run. Give its problem one, or use `ask` and `tell`"):
        study.run(100)


def test_a_rejected_option_of_the_problem_reaches_the_user_of_a_study() -> None:
    with pytest.raises(InputError, match="at least 2 needed"):
        Study(Problem(["a"], [0]))
    with pytest.raises(InputError, match="duplicate context labels"):
        Study(Problem(["a", "b"], [0, 0]))


def test_a_table_of_noise_of_the_wrong_shape_is_refused_before_anything_is_simulated() -> None:
    calls: list[int] = []

    def count(alternative: str, context: int, seed: int) -> float:
        calls.append(seed)
        return simulate(alternative, context, seed)

    with pytest.raises(InputError, match=r"noise_sd has shape \(2, 2\), expected .* \(3, 4\)"):
        Study(problem(count), model=GP(noise_sd=np.ones((2, 2)))).run(40)
    assert calls == []

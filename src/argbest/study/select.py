"""One call from a simulator to an answer."""

from collections.abc import Callable
from typing import Any

from argbest.problems.base import Problem
from argbest.study.progress import Progress
from argbest.study.stopping import Stop
from argbest.study.study import Study
from argbest.study.tracking import OnResult


def select(
    simulate: Callable[[Any, Any, int], float],
    alternatives: object,
    contexts: object,
    *,
    budget: int,
    goal: str = "max",
    weights: object = None,
    bounds: object = None,
    categorical: object = (),
    reward_range: object = None,
    progress: bool | Progress = False,
    on_result: OnResult | None = None,
    stop: Stop | None = None,
    **options: Any,
) -> Study:
    """Return a finished study of ``budget`` simulations: ask it for its selection() and certificate().

    ``on_result`` is called with (trial, value) once a value is kept. ``options`` are those of `Study`:
    policy, model, initial, seed, refit_every, common_random_numbers.
    """
    problem = Problem(
        alternatives,
        contexts,
        simulate,
        goal=goal,
        weights=weights,
        bounds=bounds,
        categorical=categorical,
        reward_range=reward_range,
    )
    return Study(problem, **options).run(budget, progress=progress, on_result=on_result, stop=stop)

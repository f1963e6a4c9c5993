"""One call from a simulator to an answer."""

from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any

from argbest.models.base import Model
from argbest.options import POLICY, Given
from argbest.policies.base import Policy
from argbest.problems.base import Problem, Simulate
from argbest.storage.base import Storage
from argbest.study.run_options import OnResult, Progress, RunEnd, Stop
from argbest.study.study import Study

if TYPE_CHECKING:
    import pandas as pd


def select(
    simulate: Simulate,
    alternatives: object,
    contexts: object,
    *,
    budget: int | None = None,
    seconds: float | None = None,
    goal: str = "max",
    limits: object = None,
    price: float | None = None,
    responses: object = None,
    reward: str = "reward",
    title: str | None = None,
    weights: object = None,
    bounds: object = None,
    categorical: object = (),
    reward_range: object = None,
    noise_sd: object = None,
    rate: object = False,
    question: object = None,
    policy: Given | Policy = POLICY,
    model: Given | Model[Any] | None = None,
    initial: object = "auto",
    seed: int = 0,
    refit_every: int | str = "auto",
    common_random_numbers: bool = True,
    cost: object = None,
    prior_runs: "pd.DataFrame | None" = None,
    storage: str | PathLike[str] | Storage | None = None,
    name: str = "study",
    load_if_exists: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    batch: int = 1,
    timeout: float | None = None,
    confirm: float = 0.0,
    on_failure: str = "raise",
    progress: bool | Progress = False,
    on_result: OnResult | None = None,
    stop: Stop | None = None,
) -> Study:
    """Return a finished study of ``budget`` replications: ask it for its selection() and certificate().

    ``budget`` and ``seconds`` of simulation time limit it; give one of them or both. The options from
    ``goal`` to ``question`` describe the `Problem`, those from ``policy`` to ``load_if_exists`` the `Study`,
    and the rest are those of `Study.run`. ``title`` is the name of the problem and ``reward`` what is
    simulated, for reports and pictures; ``name`` identifies the study in its ``storage``.
    """
    RunEnd(budget, seconds, confirm, stop)  # refused before anything is stored
    problem = Problem(
        alternatives, contexts, simulate, goal=goal, limits=limits, price=price, responses=responses,
        weights=weights, bounds=bounds, categorical=categorical, reward_range=reward_range,
        noise_sd=noise_sd, rate=rate, reward=reward, name=title, question=question,
    )  # fmt: skip
    study = Study(
        problem, policy=policy, model=model, initial=initial, seed=seed, refit_every=refit_every,
        common_random_numbers=common_random_numbers, cost=cost, prior_runs=prior_runs, storage=storage,
        name=name, load_if_exists=load_if_exists,
    )  # fmt: skip
    return study.run(
        budget, seconds=seconds, workers=workers, executor=executor, batch=batch, timeout=timeout,
        confirm=confirm, on_failure=on_failure, progress=progress, on_result=on_result, stop=stop,
    )  # fmt: skip

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
    unit: object = None,
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
    common_random_numbers: bool | None = None,
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

    Give a budget, or seconds, or both. The options from ``goal`` to ``question`` describe the `Problem`,
    those from ``policy`` to ``load_if_exists`` the `Study`, and the rest are those of `Study.run`.

    Args:
        simulate: A function of (alternative, context, seed) that returns one noisy reward, or a dict of
            responses; or a `Program`.
        alternatives (list, dicts or DataFrame): What there is to choose from: labels, or rows with named
            columns.
        contexts (list, dicts, DataFrame or Population): The situations to choose for: labels, rows, or people
            drawn from a `Population`.
        budget: The number of replications in total, those made before included.
        seconds: The limit of the total simulation time.
        goal: What is to be large or small: "max", "min", or with several responses "min cost" or "min cost +
            0.2 * wait".
        limits (text or list of texts): What a choice must keep, such as "late <= 0.05".
        price: What it costs to break a limit, in units of the goal; by default what is at stake in a context.
        responses (list of names): What the simulator returns, if it returns a dict; by default taken from the
            first result.
        reward: What is simulated, for pictures and pages: "waiting time".
        unit (text, or dict by name): The unit of the goal, "minutes", or units by name: of "reward" (the
            goal), of responses, and of columns of the alternatives and the contexts.
        title: The name of the problem, for reports and pictures; by default that of the simulator.
        weights (list or dict): How much each context counts; by default all alike.
        bounds (pair, dict or list of pairs): The range of the context coordinates; by default their extremes.
        categorical (names of columns): Columns whose numbers are only identifiers.
        reward_range (pair, or dict by response): An interval that holds every single reward; values outside
            it are refused, and `Study.guarantee` then needs no normal rewards.
        noise_sd (number or table): The standard deviation of the noise where it is known, with several
            responses a dict, of those where it is known; 0 says that there is none.
        rate (bool, or names of responses): Whether every single reward is 0 or 1, so that its mean is a rate;
            all other values are refused.
        question (name or question): What is to be chosen (`argbest.questions`), by default what the problem
            asks; the policy decides for it, and `Study.answer` answers it.
        policy: The rule that says what to simulate next: a name, with options if you like ("top-two:beta=0.3"
            or {"name": "top-two", "beta": 0.3}), or an object.
        model: What turns results into a belief, named as the policy is; by default the one that the policy is
            usually used with.
        initial (number, design or list of pairs): What is simulated before the policy decides: "auto" chooses
            by the budget, a number is that of replications of every pair; or a design such as
            `RandomContexts`, or (alternative, context) pairs.
        seed: The root of all random numbers of the study.
        refit_every: After how many replications the model's hyper-parameters are learned again; "auto": as
            the model asks.
        common_random_numbers: Whether the n-th replication of every alternative in a context has the same
            seed, so that noise which alternatives share cancels; None: yes, unless there are limits.
        cost (table or "measured"): What a replication of each pair costs, [alternative, context], or
            "measured": learned from run times; policies then weigh value per cost.
        prior_runs (DataFrame): Runs of an earlier source to begin with, a row each: old data, or another
            version of the simulator; a column "source" names several. The model learns how far each can be
            relied on; answers, certificates and budgets are about the simulator of this study alone.
        storage: Where the study is kept: None in memory, a file (SQLite), the URL of a database, or a
            storage.
        name: What tells this study from others in the same storage.
        load_if_exists: Whether a study of that name is continued where there is one; it must be the same
            study.
        workers: How many processes simulate at once.
        executor: What runs simulations instead, of the kind of `concurrent.futures`.
        batch: How many trials a worker gets at a time at most.
        timeout: After how many seconds a simulation is ended and counts as failed.
        confirm: The share of the budget that is reserved for the leaders of undecided contexts.
        on_failure: "raise" ends the run at the first failure and keeps the trial for the next one; "record"
            continues and sets aside pairs that fail repeatedly.
        progress: Whether a bar is shown; or what is called with (done, budget).
        on_result: What is called with (trial, value) once a value is stored; if it raises, a warning says so
            once, and the run continues.
        stop: When to end early: a rule such as `ExpectedPCS(0.95)` or a function of the study, checked
            whenever the hyper-parameters are learned again.
    """
    RunEnd(budget, seconds, confirm, stop)  # refused before anything is stored
    problem = Problem(
        alternatives, contexts, simulate, goal=goal, limits=limits, price=price, responses=responses,
        weights=weights, bounds=bounds, categorical=categorical, reward_range=reward_range,
        noise_sd=noise_sd, rate=rate, reward=reward, unit=unit, name=title, question=question,
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

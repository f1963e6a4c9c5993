"""Figure 4: PCS_E against wall clock on the testing-allocation problem, if a simulation takes 1 s or 10 s."""

import time

import numpy as np
import pandas as pd

from argbest import registry
from argbest.errors import InputError
from argbest.study.study import Study
from experiments import covid_drawing, covid_runs, papers
from experiments.models import first_below
from experiments.plan import Outcome, Plan, picture, write

SIMULATIONS = (1.0, 10.0)  # seconds
GOALS = (0.5, 0.6, 0.7)
MEASURED = 200  # decisions of a live study
_REFIT = 10  # replications between refits, the usual
_HOUR = 3600.0
_NOTHING = 0.01  # of the time: too little to see in a picture


def figure4(plan: Plan) -> Outcome:
    """Return Figure 4: the curves of Figure 3 over the time a study would take; nothing sleeps.

    n replications of which n₀ are initial take n s + (n − n₀) d seconds: s is the stated time of a
    simulation, d the measured processor time of a decision, the mean of the first ones taken for all.
    """
    plan = covid_runs.usual(plan)
    numbers = covid_runs.curves(plan)
    n = min(MEASURED, plan.length(MEASURED))
    measured = decisions(n, plan.seed)
    timed = by_time(numbers, measured)
    reached = hours(timed)
    paths = write(plan, {"fig4": timed, "fig4_decisions": measured, "fig4_hours": reached})
    drawn, missing = picture(
        plan,
        "fig4",
        lambda: covid_drawing.by_time(timed, covid_runs.POLICIES, tuple(covid_runs.PROBLEMS), SIMULATIONS),
    )
    notes = (
        f"ms: processor time of a decision, the mean of the first {n} of one live study each after its "
        f"initial design, a refit of the model every {_REFIT} replications included, simulations not. "
        "Measured on this machine, and counted for all later decisions too.",
        verdict(measured),
        "hours: until the mean PCS_E first reaches the level, linear between checkpoints; > if never.",
    )
    title = f"Figure 4, hours to reach a PCS_E, {plan.runs} macro-replications"
    return Outcome(title, _shown(measured, reached), notes + missing, paths + drawn)


def decisions(n: int, seed: int) -> pd.DataFrame:
    """Return the processor time of a decision per problem and policy: the first n of one live study."""
    rows = []
    for name in covid_runs.PROBLEMS:
        for policy in covid_runs.POLICIES:
            decision_seconds(name, policy, 1, seed)  # loads what is compiled
            rows.append((name, policy, n, decision_seconds(name, policy, n, seed)))
    return pd.DataFrame(rows, columns=["problem", "contender", "decisions", "seconds"])


def decision_seconds(name: str, policy: str, n: int, seed: int) -> float:
    """Return the mean processor time of asking and telling after the initial design, without simulations."""
    problem = registry.problem(name)
    if problem.simulate is None:
        raise InputError(f"problem {name!r} has no simulator. Name another.")
    initial = covid_runs.design(policy) or covid_runs.REPLICATIONS
    study = Study(
        problem,
        policy=policy,
        model=papers.model(policy),
        initial=initial,
        seed=seed,
        refit_every=_REFIT,
        common_random_numbers=False,
    )
    study.run(study.n_queued)
    spent = 0.0
    for _ in range(n):
        begin = time.process_time()
        [trial] = study.ask()
        spent += time.process_time() - begin
        value = problem.simulate(trial.alternative, trial.context, trial.seed)
        begin = time.process_time()
        study.tell(trial, value)
        spent += time.process_time() - begin
    return spent / n


def by_time(numbers: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the curves once per simulation time, with the seconds that a study would take to each point."""
    each = measured.set_index(["problem", "contender"])["seconds"]
    kept = numbers[["problem", "contender", "total", "n_initial", "pcs_e", "pcs_e_se"]]
    cost = np.array([each[key] for key in zip(kept["problem"], kept["contender"], strict=True)], float)
    deciding = cost * (kept["total"] - kept["n_initial"]).to_numpy(float)
    frames = [
        kept.assign(simulation_seconds=simulation, seconds=kept["total"] * simulation + deciding)
        for simulation in SIMULATIONS
    ]
    return pd.concat(frames, ignore_index=True)


def hours(timed: pd.DataFrame) -> pd.DataFrame:
    """Return when each curve first reaches each goal; infinite if it never does."""
    rows = []
    for key, curve in timed.groupby(["problem", "contender", "simulation_seconds"], sort=False):
        at, short = curve["seconds"].to_numpy(float) / _HOUR, 1.0 - curve["pcs_e"].to_numpy(float)
        rows += [(*key, goal, first_below(at, short, 1.0 - goal)) for goal in GOALS]
    return pd.DataFrame(rows, columns=["problem", "contender", "simulation_seconds", "goal", "hours"])


def verdict(measured: pd.DataFrame) -> str:
    """Return what share of the time decisions take, and whether it can change the order of policies."""
    share = (measured["seconds"] / (SIMULATIONS[0] + measured["seconds"])).to_numpy(float)
    percent = f"{100.0 * share.max():.2g} %"
    text = f"Decisions take at most {percent} of the time at {SIMULATIONS[0]:g} s per simulation"
    if share.max() < _NOTHING:
        return f"{text}: against wall clock the curves are those of Figure 3."
    return f"{text}, most of all those of {measured['contender'].iloc[int(share.argmax())]}."


def _shown(measured: pd.DataFrame, reached: pd.DataFrame) -> pd.DataFrame:
    """Return a row per problem and policy: a decision's time, and the hours to every goal."""
    table = reached.pivot(
        index=["problem", "contender"], columns=["simulation_seconds", "goal"], values="hours"
    )
    rows = []
    for problem, policy, _, seconds in measured.itertuples(index=False):
        found = table.loc[(problem, policy)]
        amounts = ["/".join(_amount(found[(s, goal)]) for goal in GOALS) for s in SIMULATIONS]
        rows.append((problem, policy, f"{1e3 * seconds:.2f}", *amounts))
    goals = "/".join(f"{goal:g}" for goal in GOALS)
    columns = [f"hours to {goals} at {s:g} s" for s in SIMULATIONS]
    return pd.DataFrame(rows, columns=["problem", "policy", "ms", *columns])


def _amount(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else ">"

"""Table 1: what 1,000 iterations of IKG and of GP-C-OCBA cost, beside the paper's wall clock."""

import time

import pandas as pd

from argbest import registry
from argbest.experiment import Experiment, run
from argbest.experiment.published import CORES, SECONDS
from argbest.study.study import Study
from experiments import papers
from experiments.figure2 import PROBLEMS
from experiments.plan import Outcome, Plan, texts, write

POLICIES = ("ikg", "gp-c-ocba")
_ITERATIONS = 1_000
_TOGETHER = 20  # macro-replications side by side


def table1(plan: Plan) -> Outcome:
    """Return Table 1: processor seconds per 1,000 iterations of a live study and of a run among several.

    Both include what an iteration includes in the paper: simulating, refits every 10 replications, the
    decision, and an estimate of PCS at checkpoints. ``replications`` and ``macroreps`` make it
    shorter, not longer.
    """
    length, runs = min(plan.length(), _ITERATIONS), min(plan.runs, _TOGETHER)
    rows = []
    for name in PROBLEMS:
        together = _together(plan, name, length, runs)
        for policy in POLICIES:
            alone = _alone(name, policy, length, plan.seed) * _ITERATIONS / length
            theirs = SECONDS[policy][name]
            rows.append(
                (name, policy, alone, together[policy], theirs, theirs / alone, theirs / together[policy])
            )
    columns = ["problem", "policy", "study", "in a batch", "paper", "paper/study", "paper/batch"]
    frame = pd.DataFrame(rows, columns=columns)
    frame["iterations"], frame["macroreps"] = length, runs
    forms = {"problem": "", "policy": "", "study": ".3g", "in a batch": ".3g", "paper": ",.0f"}
    forms |= {"paper/study": ",.0f", "paper/batch": ",.0f"}
    notes = (
        f"Processor seconds per 1,000 iterations, from {length} iterations of one study and of {runs} "
        f"macro-replications side by side (per macro-replication). The paper's are wall clock on "
        f"{CORES} cores.",
    )
    paths = write(plan, {"table1": frame})
    return Outcome("Table 1, seconds per 1,000 iterations", texts(frame, forms), notes, paths)


def _alone(name: str, policy: str, length: int, seed: int) -> float:
    """Return the processor seconds of a live study between its initial design and its last decision."""
    problem, initial = registry.problem(name), registry.problem_entry(name).initial
    for budget in (1, length):  # the first one loads what is compiled
        study = Study(
            problem,
            policy=policy,
            model=papers.model(policy),
            initial=initial,
            seed=seed,
            common_random_numbers=False,
        )
        n_initial = study.n_queued
        study.run(n_initial)
        begin = time.process_time()
        study.run(n_initial + budget)
        spent = time.process_time() - begin
    return spent


def _together(plan: Plan, name: str, length: int, runs: int) -> dict[str, float]:
    """Return the processor seconds per macro-replication and 1,000 iterations, in one process."""
    contenders = [papers.contender(policy) for policy in POLICIES]
    experiment = Experiment(
        name,
        contenders,
        replications=length,
        macroreps=runs,
        seed=plan.seed,
        checkpoint_every=length,
        common_random_numbers=False,
    )
    # Not kept: a stored time may be of another machine than that of the study beside it.
    summary = run(experiment, progress=plan.progress).summary()
    spent = summary.groupby("contender")["seconds"].agg(lambda values: values.iloc[-1] - values.iloc[0])
    return {policy: float(spent[policy]) * _ITERATIONS / length for policy in POLICIES}

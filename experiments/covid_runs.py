"""What Figures 3 and 4 share: runs of the paper's policies on two testing-allocation problems."""

from dataclasses import replace

import numpy as np
import pandas as pd

from argbest import registry
from argbest.experiment import Experiment, Results
from argbest.problems.base import Problem
from argbest.problems.design import ExtremeContexts
from experiments import papers
from experiments.plan import Plan

MACROREPS, TOTAL = 50, 5_000  # the authors'; replications include the initial design
REPLICATIONS = 2  # of every pair at the start, or of every alternative at the corners
EVERYWHERE = ("gp-c-ocba", "ikg", "ikg-noise-free", "c-ocba", "dsco")  # begin with all pairs
CORNERS = ("ts", "ts-plus")  # begin with the extreme contexts, and never leave them
POLICIES = (*EVERYWHERE, *CORNERS)
# The problem of a panel, and how many infections more than the least still count as good there.
PROBLEMS = {"covid-paper": 10.0, "covid-regional": 30.0}
# Replications between checkpoints: the number divides 384 - 96, so all policies are scored at equal totals.
_EVERY = 48
_MEASURES = (
    "pcs_e",
    "pcs_e_se",
    "pcs_m",
    "p_all",
    "pgs",
    "pgs_se",
    "eoc",
    "eoc_se",
    "certificate",
    "seconds",
)


def usual(plan: Plan) -> Plan:
    """Return the plan with the authors' number of macro-replications, unless it asks for another."""
    return replace(plan, macroreps=MACROREPS) if plan.macroreps is None else plan


def curves(plan: Plan) -> pd.DataFrame:
    """Return one row per problem, policy and checkpoint: every measure against the replications in all.

    ``total`` counts the initial design; all policies end at the same one, so TS and TS+, which begin with
    fewer replications, decide more often.
    """
    frames = []
    for name in PROBLEMS:
        for contenders in (EVERYWHERE, CORNERS):
            folder = f"fig3-{name}" + ("-corners" if contenders is CORNERS else "")
            frames.append(_curves(name, plan.run(folder, experiment(plan, name, contenders))))
    return pd.concat(frames, ignore_index=True)


def experiment(plan: Plan, name: str, policies: tuple[str, ...]) -> Experiment:
    """Return the experiment of policies that begin alike."""
    problem = registry.problem(name)
    full = REPLICATIONS * problem.n_alternatives * problem.n_contexts
    own = design(policies[0])
    spared = 0 if own is None else full - len(own.pairs(problem, np.random.default_rng(0)))
    return Experiment(
        name,
        [papers.contender(policy, initial=own) for policy in policies],
        replications=plan.length(TOTAL - full) + spared,
        macroreps=plan.runs,
        initial=REPLICATIONS,
        seed=plan.seed,
        checkpoint_every=_EVERY,
        certify=True,
        common_random_numbers=False,
        delta=PROBLEMS[name],
    )


def design(policy: str) -> ExtremeContexts | None:
    """Return the initial design of a policy that does not begin with all pairs."""
    return ExtremeContexts(REPLICATIONS) if policy in CORNERS else None


def _curves(name: str, results: Results) -> pd.DataFrame:
    summary = results.summary()
    initial = results.runs.groupby("contender", sort=False)["n_initial"].first()
    frame = pd.DataFrame({"problem": name, "contender": summary["contender"]})
    frame["n_initial"] = frame["contender"].map(initial)
    frame["total"] = frame["n_initial"] + summary["replications"]
    frame["macroreps"] = results.macroreps
    return pd.concat([frame, summary[list(_MEASURES)]], axis=1)


def truths() -> tuple[str, ...]:
    """Return what is true of the three editions, in a sentence each, from their truth tables."""
    true, paper, regional = (registry.problem(name) for name in ("covid", "covid-paper", "covid-regional"))
    same = int((paper.best == true.best).sum())
    return (
        f"covid (fresh runs): {_winners(true)}, {_gaps(true)}.",
        "covid-paper (30 stored runs of each pair, their mean taken for truth, noise shrunk to a quarter): "
        f"{_winners(paper)}, {_gaps(paper)}. It names the truly best alternative in {same} of "
        f"{paper.n_contexts} contexts: its context dependence is sampling error.",
        f"covid-regional (contexts say where the disease is): {_winners(regional)}, {_gaps(regional)}.",
    )


def _winners(problem: Problem) -> str:
    best = np.unique(problem.best)
    if len(best) == 1:
        shares = problem.alternatives.frame(best).iloc[0].tolist()
        split = ", ".join(f"{share:g}" for share in shares)
        return f"alternative {best[0]} ({split}) is best in all {problem.n_contexts} contexts"
    return f"{len(best)} of {problem.n_alternatives} alternatives are best somewhere"


def _gaps(problem: Problem) -> str:
    ratio = problem.gap_over_noise
    return f"by {ratio.min():.2g} to {ratio.max():.2g} standard deviations of the noise"

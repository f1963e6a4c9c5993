"""Figure 3: PCS_E against replications, for all policies of the paper on the testing-allocation problem."""

import pandas as pd

from experiments import covid_drawing, covid_runs
from experiments.plan import Outcome, Plan, picture, texts, write

SUBTITLES = {
    "covid-paper": "30 stored runs of each pair are the truth: its context dependence is sampling error",
    "covid-regional": "the truth is that of long runs, and the best split depends on the context",
}


def figure3(plan: Plan) -> Outcome:
    """Return Figure 3: run what is missing, write every measure by replications in all, and the picture.

    Two panels: the paper's experiment, and an edition in which the context truly matters.
    """
    plan = covid_runs.usual(plan)
    numbers = covid_runs.curves(plan)
    paths = write(plan, {"fig3": numbers})
    drawn, missing = picture(
        plan, "fig3", lambda: covid_drawing.by_replications(numbers, covid_runs.POLICIES, SUBTITLES)
    )
    good = ", ".join(
        f"{delta:g} infections of the least ({name})" for name, delta in covid_runs.PROBLEMS.items()
    )
    notes = (
        *covid_runs.truths(),
        f"Scored after {numbers['total'].max():,} replications, initial design included: "
        f"{_initial(numbers)}. ± one standard error. PGS: within {good}. EOC: infections more than the "
        "least. claim: the certificate's PCS_E.",
    )
    return Outcome(
        f"Figure 3, {plan.runs} macro-replications", _shown(numbers), notes + missing, paths + drawn
    )


def _initial(numbers: pd.DataFrame) -> str:
    sizes = numbers.groupby("contender", sort=False)["n_initial"].first()
    groups = sizes.groupby(sizes, sort=False).groups
    return "; ".join(f"{n} for {', '.join(map(str, policies))}" for n, policies in groups.items())


def _shown(numbers: pd.DataFrame) -> pd.DataFrame:
    last = numbers.groupby(["problem", "contender"], sort=False).tail(1)
    forms = {"problem": "", "contender": "", "pcs_e": ".3f", "pcs_e_se": ".3f", "pcs_m": ".2f", "pgs": ".3f"}
    names = {"contender": "policy", "pcs_e": "PCS_E", "pcs_e_se": "±", "pcs_m": "PCS_M", "pgs": "PGS"}
    names |= {"eoc": "EOC", "eoc_se": "± ", "certificate": "claim"}
    forms |= {"eoc": ".2f", "eoc_se": ".2f", "certificate": ".3f"}
    return texts(last, forms).rename(columns=names)

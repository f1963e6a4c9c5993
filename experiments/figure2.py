"""Figure 2: six panels of PCS over replications, all policies of the paper on its four synthetic problems."""

from typing import NamedTuple

import pandas as pd

from argbest.experiment import Experiment, Results
from experiments import drawing, papers, published
from experiments.papers import LOOKAHEAD, WITH_GP
from experiments.plan import Outcome, Plan, picture, texts, write

POLICIES = (*WITH_GP, "c-ocba", "dsco", "ts", "ts-plus")


class Panel(NamedTuple):
    """One panel: a problem, what is plotted, and the weights that IKG samples for."""

    problem: str
    measure: str
    weights: str
    title: str


PROBLEMS = {"branin": POLICIES, "griewank": POLICIES, "hartmann3": WITH_GP, "cosine8": WITH_GP}
PANELS = (
    Panel("branin", "pcs_e", "problem", "Branin, expected"),
    Panel("branin", "p_all", "uniform", "Branin, worst case"),
    Panel("griewank", "pcs_e", "problem", "Griewank, expected"),
    Panel("griewank", "p_all", "problem", "Griewank, worst case"),  # its weights are uniform already
    Panel("hartmann3", "pcs_e", "problem", "Hartmann, expected"),
    Panel("cosine8", "pcs_e", "problem", "Cosine8, expected"),
)
_EVERY = 25  # replications between checkpoints: the grid of the published curves
_KEYS = ["problem", "measure", "contender"]


def figure2(plan: Plan) -> Outcome:
    """Return Figure 2: run what is missing, write the numbers, the comparison, the times and the picture."""
    theirs = None if plan.published is None else published.read(plan.published)
    results = {
        (name, weights): plan.run(_folder(name, weights), experiment(plan, name, weights))
        for name, weights in runs()
    }
    ours = curves(results)
    frames = {"fig2": ours, "fig2_seconds": seconds(results)}
    notes: tuple[str, ...] = (
        "Worst-case panels show P_all, as the paper's do; PCS_M = min_c PCS(c) stands beside it.",
        "IKG was run with uniform weights for the worst-case panels. ± one standard error.",
    )
    (plan.out / "fig2_comparison.csv").unlink(missing_ok=True)  # of an earlier call, with other runs
    if theirs is not None:
        frames["fig2_comparison"] = published.compare(ours, theirs)
        notes += (
            "Published IKG is compared with ikg-noise-free, which it is, and with ikg. All policies, TS and "
            "TS+ too, are compared at equal replications after the initial design; the published "
            "iteration 1999 meets our 2000.",
        )
    paths = write(plan, frames)
    drawn, missing = picture(plan, "fig2", lambda: drawing.panels(ours, PANELS, POLICIES, theirs))
    table = _shown(ours, frames.get("fig2_comparison"))
    return Outcome(f"Figure 2, {plan.runs} macro-replications", table, notes + missing, paths + drawn)


def runs() -> list[tuple[str, str]]:
    """Return the problems and weights that the panels need."""
    needed = [(panel.problem, weights) for panel in PANELS for weights in ("problem", panel.weights)]
    return list(dict.fromkeys(needed))


def experiment(plan: Plan, name: str, weights: str) -> Experiment:
    """Return the experiment of a problem; with other weights only of policies that use them."""
    return Experiment(
        name,
        [papers.contender(policy) for policy in (PROBLEMS[name] if weights == "problem" else LOOKAHEAD)],
        replications=plan.length(),
        macroreps=plan.runs,
        seed=plan.seed,
        checkpoint_every=_EVERY,
        common_random_numbers=False,
        weights=weights,
    )


def curves(results: dict[tuple[str, str], Results]) -> pd.DataFrame:
    """Return the numbers of all panels: a row per panel, policy and checkpoint."""
    frames = []
    for panel in PANELS:
        summary = results[panel.problem, "problem"].summary()
        if panel.weights != "problem":
            other = results[panel.problem, panel.weights].summary()
            kept = summary[~summary["contender"].isin(LOOKAHEAD)]
            summary = pd.concat([kept, other], ignore_index=True)
        n = results[panel.problem, "problem"].macroreps
        frames.append(_panel(panel, summary, n))
    return pd.concat(frames, ignore_index=True)


def seconds(results: dict[tuple[str, str], Results]) -> pd.DataFrame:
    """Return the processor time of every policy's runs together, in all and by part."""
    rows = []
    for (problem, weights), found in results.items():
        last = found.summary().groupby("contender", sort=False).tail(1)
        times = [name for name in last.columns if name.endswith("seconds")]
        frame = pd.DataFrame({"problem": problem, "weights": weights, "contender": last["contender"]})
        frame["macroreps"], frame["replications"] = found.macroreps, last["replications"]
        rows.append(pd.concat([frame, last[times] * found.macroreps], axis=1))
    return pd.concat(rows, ignore_index=True)


def _panel(panel: Panel, summary: pd.DataFrame, n: int) -> pd.DataFrame:
    order = {name: i for i, name in enumerate(POLICIES)}
    summary = summary.sort_values("contender", key=lambda names: names.map(order), kind="stable")
    return pd.DataFrame(
        {
            "problem": panel.problem,
            "measure": panel.measure,
            "contender": summary["contender"],
            "replications": summary["replications"],
            "value": summary[panel.measure],
            "se": summary[f"{panel.measure}_se"],
            "n": n,
            "pcs_m": summary["pcs_m"],
            "eoc": summary["eoc"],
        }
    ).reset_index(drop=True)


def _folder(problem: str, weights: str) -> str:
    return f"fig2-{problem}" + ("" if weights == "problem" else f"-{weights}")


def _shown(ours: pd.DataFrame, comparison: pd.DataFrame | None) -> pd.DataFrame:
    """Return a row per panel and policy: what it reached, and how far from the published curve."""
    last = ours.groupby(_KEYS, sort=False).tail(1)
    forms = {"problem": "", "measure": "", "contender": "", "value": ".3f", "se": ".3f", "pcs_m": ".3f"}
    shown = texts(last, forms).rename(columns={"contender": "policy", "pcs_m": "PCS_M"})
    if comparison is None or comparison.empty:
        return shown
    worst = published.largest(comparison)
    keys = last[_KEYS].itertuples(index=False, name=None)
    shown["largest difference"] = [f"{worst[key]:+.1f} se" if key in worst else "-" for key in keys]
    return shown

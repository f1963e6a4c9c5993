"""What runs made elsewhere say: the answer, what their data leave open, and where the next ones should go."""

from typing import Any

import numpy as np
import pandas as pd

from argbest.answers import forecasting, normality, people
from argbest.core.states import LEVEL
from argbest.jsonable import records
from argbest.problems.population import RUNS
from argbest.study.study import Study
from argbest.texts import first_of
from argbest.theory import contention

_SPARSE_SHARE = 0.5  # of the contexts: an alternative that was run in fewer is named


def analysis(study: Study, remarks: list[str], *, delta: float = 0.0, n_next: int = 0) -> dict[str, Any]:
    """Return the whole analysis of a study as JSON-ready values; ``n_next`` trials are asked for.

    Within ``delta`` of the best counts as right; ``remarks`` are included as notes.
    """
    certificate, selection = study.certificate(delta), study.selection(equal_within=delta or None)
    measures = ("pcs_e", "pcs_m", "p_all", "p_all_se", "eoc")
    ahead = forecasting.quick_forecast(study.view(), LEVEL, delta=delta)
    guaranteed = study.guarantee(delta=delta)
    shown = {
        "problem": study.problem.name,
        "goal": study.problem.goal,
        "limits": [str(limit) for limit in study.problem.limits],
        "price": study.problem.price,
        "replications": study.n_replications,
        "alternatives": study.problem.n_alternatives,
        "contexts": study.problem.n_contexts,
        "notes": remarks,
        "selection": records(selection.assign(p_right=certificate.pcs)),
        "certificate": {
            "delta": delta,
            "equal_within": study.indifference(delta or None),
            **{name: float(getattr(certificate, name)) for name in measures},
        },
        "guarantee": {
            "alpha": guaranteed.alpha,
            "assume": guaranteed.assume,
            "said": str(guaranteed),
            "notes": list(guaranteed.notes),
            "rows": records(guaranteed.frame),
        },
        "contention": records(contention(study)[certificate.pcs < LEVEL]),
        "until": None if ahead is None else ahead.plain(),
        "forecast": _gain(study, n_next, delta),
    }
    if n_next:
        study.ask(n_next)
    return {**shown, "next": records(next_runs(study))}


def next_runs(study: Study) -> pd.DataFrame:
    """Return a row per pair that the next runs go to: its runs so far and the next ones, most first."""
    frame = study.allocation().rename(columns={"pending": "next"}).drop(columns=["share", "mean", "sd"])
    return frame[frame["next"] > 0].sort_values("next", ascending=False, kind="stable")


def _gain(study: Study, n_next: int, delta: float) -> dict[str, float] | None:
    """Return the PCS_E expected after the next runs, and what they add; None where that would take long."""
    gain = forecasting.gain(study.view(), n_next, delta=delta)
    if gain is None:
        return None
    return {
        "replications": n_next,
        "pcs_e": min(float(study.certificate(delta).pcs_e) + gain, 1.0),
        "gain": gain,
    }


def notes(study: Study) -> list[str]:
    """Return sentences on what the data of a study leave open: pairs hardly run, rewards far from normal."""
    count, who = study.tally.count, study.problem.population
    far = normality.of_study(study.view())
    if who is not None and who.source == RUNS:  # that pairs were never run, or once, is as it should be
        note = (
            f"{who.n:,} contexts that hardly repeat are taken for a population: noise is how far runs are "
            "from what their neighbours say."
        )
        return [note, *people.left_within_groups(study.view()), *([] if far is None else [far])]
    found = []
    never, once = int(np.sum(count == 0)), int(np.sum(count == 1))
    if never:
        found.append(
            f"{never} of {count.size} pairs were never run: their results depend on the model alone."
        )
    if once:
        found.append(f"{once} of {count.size} pairs have a single run, which says nothing about the noise.")
    met = np.sum(count > 0, axis=1)
    rare = [k for k in range(len(count)) if met[k] < _SPARSE_SHARE * count.shape[1]]
    if rare:
        labels = first_of([repr(study.problem.alternatives.labels[k]) for k in rare])
        fewest = f"{met[rare].min()} to {met[rare].max()}" if len(set(met[rare])) > 1 else f"{met[rare[0]]}"
        found.append(f"run in {fewest} of {count.shape[1]} contexts only: alternative {labels}.")
    return found if far is None else [*found, far]

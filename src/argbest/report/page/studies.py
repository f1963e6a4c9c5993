"""The page of a study: what it decided, how surely, and how that came about."""

import platform
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from argbest.core.certificate import Certificate
from argbest.errors import InputError
from argbest.experiment.fingerprint import text
from argbest.problems.axis import Axis
from argbest.report import curves
from argbest.report.page.document import Plain, destination, write
from argbest.report.page.hyperparameters import hyperparameters
from argbest.report.page.plain import table, value, values
from argbest.study import model_check
from argbest.study.prediction_kit import prediction_kit
from argbest.study.study import Study

FORMAT = 1  # of the payload; it grows when a name changes its meaning
MOST_FAILURES = 200  # listed in the page
MOST_PAIRS = 2000  # of the model check
_MOST_NAMED = 5  # contexts in a sentence
_LONGEST = 400  # characters of a description


def write_report(study: Study, path: str | Path, *, command: str = "") -> Path:
    """Return the path of the report page, written: one HTML file that needs no network.

    ``command`` is what was typed to get it, where something was.
    """
    place = destination(path)
    return write(payload(study, command=command), place)


def payload(study: Study, *, command: str = "") -> Plain:
    """Return everything the page of a study shows, as JSON-ready values.

    Tables [alternative][context] are in the order of the problem; ``order`` of both axes is that of reading.
    ``prediction`` is the study's `prediction_kit`.
    """
    selection, certificate = study.selection(), study.certificate()
    kit = prediction_kit(study)
    return {
        "format": FORMAT,
        "kind": "study",
        "title": study.problem.name,
        "answer": answer(study, selection, certificate),
        "goal": study.problem.goal,
        "alternatives": _axis(study.problem.alternatives),
        "contexts": _axis(study.problem.contexts),
        "decisions": table(selection),
        "certainty": _certainty(certificate),
        "allocation": _allocation(study),
        "check": _check(study),
        "failures": _failures(study),
        "prediction": kit,
        "hyperparameters": hyperparameters(kit, curves.row_labels(study.problem.alternatives)),
        "how": _how(study, command),
    }


def answer(study: Study, selection: pd.DataFrame, certificate: Certificate) -> list[str]:
    """Return the answer in sentences: what to choose, how surely, and where that is open."""
    names = _names(study.problem.alternatives)
    chosen = Counter(names[label] for label in selection["selected"])
    (first, most), n = chosen.most_common(1)[0], len(selection)
    if n == 1:
        choose = f"Choose {first}."
    elif len(chosen) == 1:
        choose = f"Choose {first} in every one of the {n} contexts."
    elif len(chosen) <= 3:
        parts = [f"{label} in {number}" for label, number in chosen.most_common()]
        choose = f"Of {n} contexts choose " + ", ".join(parts[:-1]) + f" and {parts[-1]}."
    else:
        choose = (
            f"The best choice depends on the context: {len(chosen)} of {study.problem.n_alternatives} "
            f"alternatives are chosen somewhere, {first} most often, in {most} of {n} contexts."
        )
    average, worst = float(certificate.pcs_e), float(certificate.pcs_m)
    this = "this is" if n == 1 else "these choices are"
    over = "" if n == 1 else f" on average over contexts and {_chance(worst)} in the worst"
    sure = (
        f"After {study.n_observations:,} replications {this} best with probability {_chance(average)}{over}."
    )
    return [choose, sure, _open(study, selection)]


def _names(axis: Axis) -> dict[Any, str]:
    """Return what to call each entry of an axis in a sentence: numbers need a word before them."""
    plain = axis.named and isinstance(axis.labels[0], str)
    return {
        label: name if plain else f"{axis.kind} {name}"
        for label, name in zip(axis.labels, curves.row_labels(axis), strict=True)
    }


def _chance(p: float) -> str:
    """Return a probability with three digits; what data tell is never written as certain."""
    return "above 0.999" if p >= 0.9995 else f"{p:.3f}"


def _open(study: Study, selection: pd.DataFrame) -> str:
    """Return a sentence on the contexts that are not decided yet."""
    bar = curves.DECIDED
    labels = curves.row_labels(study.problem.contexts)
    open_ones = [labels[c] for c in np.flatnonzero(selection["p_best"].to_numpy(float) < bar)]
    if not open_ones:
        return f"All contexts are decided with probability {bar:g} or more."
    if len(open_ones) == len(labels):
        return f"No context is decided with probability {bar:g} yet."
    named = ", ".join(open_ones[:_MOST_NAMED]) + (" and others" if len(open_ones) > _MOST_NAMED else "")
    return f"{len(open_ones)} of {len(labels)} contexts stay below probability {bar:g}: {named}."


def _axis(axis: Axis) -> Plain:
    side = curves.side(axis)
    return {
        "title": side.title,
        "labels": [str(label) for label in axis.labels],
        "names": list(_names(axis).values()),
        "short": curves.row_labels(axis),
        "order": side.order.tolist(),
    }


def _certainty(certificate: Certificate) -> Plain:
    figures = ("pcs_e", "pcs_m", "p_all", "p_all_se", "eoc")
    return {
        **{name: value(np.asarray(getattr(certificate, name)).item()) for name in figures},
        "decided": curves.DECIDED,
        "probability": values(certificate.best_probability),
    }


def _allocation(study: Study) -> Plain:
    frame = study.allocation()
    shaped: dict[str, Any] = {
        name: values(frame[name].to_numpy().reshape(study.problem.shape)) for name in ("n", "mean", "sd")
    }
    return {
        "total": study.n_observations,
        "pending": int(frame["pending"].sum()),
        "count": shaped["n"],
        "mean": shaped["mean"],
        "sd": shaped["sd"],
    }


def _check(study: Study) -> Plain:
    """Return whether pairs are as the others predict them, or why that cannot be told."""
    try:
        found = model_check.of_study(study)
    except InputError as reason:
        return {"verdict": f"Not checked: {reason}"}
    words, pairs = str(found), found.pairs
    if len(pairs) > MOST_PAIRS:
        worst = pairs["z"].abs().sort_values(ascending=False, kind="stable").index[:MOST_PAIRS]
        pairs = pairs.loc[np.sort(worst)]
    return {
        "verdict": f"{words[0].upper()}{words[1:]}.",
        "fits": bool(found.fits),
        "rms": value(found.rms),
        "p_value": value(found.p_value),
        "limit": value(found.limit),
        "total": len(found.pairs),
        **table(pairs),
    }


def _failures(study: Study) -> Plain:
    trials = study.trials()
    failed = trials[trials["status"] == "failed"].drop(columns="status")
    failed = failed.astype({"seed": str})  # beyond 2^53 a browser would round it
    return {"total": len(failed), **table(failed.tail(MOST_FAILURES))}


def _how(study: Study, command: str) -> list[list[Any]]:
    """Return names and values of everything that somebody needs to compute it again."""
    problem = study.problem
    rows: list[list[Any]] = [
        ["problem", problem.name],
        ["size", f"{problem.n_alternatives} alternatives, {problem.n_contexts} contexts"],
        ["goal", "largest reward" if problem.goal == "max" else "smallest reward"],
        ["policy", _short(text(study.policy))],
        ["model", _short(text(study.model))],
        ["replications", study.n_observations],
        ["seed", str(study.seed)],
        ["refit every", f"{study.refit_every} observations"],
        ["common random numbers", "yes" if study.common_random_numbers else "no"],
        ["versions", _versions()],
    ]
    if problem.description:
        rows.insert(1, ["description", problem.description])
    if command:
        rows.append(["command", command])
    return rows


def _versions() -> str:
    named = ", ".join(f"{name} {version(name)}" for name in ("argbest", "numpy", "scipy"))
    return f"{named}, Python {platform.python_version()}"


def _short(description: str) -> str:
    return description if len(description) <= _LONGEST else f"{description[: _LONGEST - 1]}…"

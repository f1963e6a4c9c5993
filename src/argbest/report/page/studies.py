"""The page of a study: what it decided, how surely, and how that came about."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from argbest.answers import frames, guarantee
from argbest.answers.predicting import kit_of_some, parameters, prediction_kit
from argbest.core import schedule
from argbest.core.arrays import IntArray
from argbest.core.certificate import Certificate
from argbest.core.states import LEVEL
from argbest.errors import TooFewDataError
from argbest.experiment.fingerprint import text
from argbest.jsonable import rounded, table, value, values
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.labels import word
from argbest.problems.units import of_column
from argbest.report import curves
from argbest.report.curves import Excerpt
from argbest.report.looks import middle_cut
from argbest.report.next_steps import need_values, next_step
from argbest.report.page.document import Plain, destination, versions, write
from argbest.report.page.questions import questions
from argbest.report.page.slider import slider
from argbest.report.question_words import asked
from argbest.report.sketch import sketch
from argbest.report.wording import answer, choices, count, in_the_running, names, set_aside
from argbest.study.study import Study
from argbest.texts import first_of

FORMAT = 1  # of the payload; it grows when a name changes its meaning
MOST_FAILURES = 200  # listed in the page
MOST_PAIRS = 2000  # of the model check
_LONG_TABLE = 2000  # pairs
_LONGEST_REASON = 240  # characters of why a trial failed, in a sentence
_MOST_RETIRED = 10  # alternatives, and contexts, named in the page
_LONGEST_DESCRIPTION = 400  # characters of a description


def write_report(study: Study, path: str | Path, *, command: str = "", again: str = "") -> Path:
    """Return the path of the report page, written: one HTML file that needs no network.

    ``command`` is what was typed to get it, where something was; ``again`` what to type with another budget.
    """
    place = destination(path)
    need_values(study, "a report")
    return write(payload(study, command=command, again=again, ahead=True), place)


def payload(
    study: Study, *, command: str = "", again: str = "", ahead: bool = False, anywhere: bool = True
) -> Plain:
    """Return everything the page of a study shows, as JSON-ready values.

    Tables [alternative][context] are in the order of the problem; ``order`` of both axes is that of reading.
    ``prediction`` is the study's `prediction_kit`, which takes about a second; None unless answers for
    contexts ``anywhere`` are wanted. ``ahead`` adds forecasts, which take a second or two.
    """
    selection, certificate = frames.selection(study.view(), study.indifference()), study.certificate()
    shown = curves.excerpt(study, selection)
    return {
        "format": FORMAT,
        "kind": "study",
        "title": study.problem.name,
        "asked": [list(part) for part in asked(study.problem)],
        "answer": answer(study, study.selection(), certificate),
        "next": list(next_step(study, ahead=ahead, again=again)),
        "choices": [list(line) for line in choices(study)],
        "map": sketch(study),
        "questions": questions(study, ahead=ahead),
        "selected": _places(certificate.selected, shown.alternatives),
        "left_out": shown.left_out,
        "goal": study.problem.aim.sense,
        "reward": study.problem.subject,
        "unit": study.problem.goal_unit,
        "units": _units(study.problem),
        "limits": [str(limit) for limit in study.problem.limits],
        "alternatives": _axis(study.problem, study.problem.alternatives, shown.alternatives),
        "contexts": {**_axis(study.problem, study.problem.contexts), "tabled": shown.contexts.tolist()},
        "decisions": _brief_table(_without_twins(study, selection)),
        "running": in_the_running(study),
        "certainty": _certainty(certificate, study.indifference(), shown),
        "allocation": _allocation(study, shown),
        "model": study.model_summary().plain(),
        "check": _check(study),
        "guarantee": _guarantee(study),
        "failures": _failures(study),
        "prediction": _prediction(study, shown) if anywhere else None,
        "slider": slider(study.view(), live=not anywhere),
        "hyperparameters": None if shown.left_out else hyperparameters(study),
        "how": _how(study, command),
    }


def _without_twins(study: Study, selection: pd.DataFrame) -> pd.DataFrame:
    """Return the selection without the mean of the response that is the goal: that is the column mean."""
    response = study.problem.goal_response if len(study.problem.responses) > 1 else None
    if response is None:
        return selection
    return selection.drop(columns=f"mean.{study.problem.responses[response]}")


def _units(problem: Problem) -> Plain:
    """Return the units of the columns of tables, by their names; of those that have one."""
    found = {
        f"{axis.kind}.{name}" if axis.columns else name: of_column(problem.unit, axis, name)
        for axis in (problem.alternatives, problem.contexts)
        for name in axis.coordinates
    }
    return {name: unit for name, unit in found.items() if unit}


def _axis(problem: Problem, axis: Axis, shown: IntArray | None = None) -> Plain:
    """Return the names of all entries, or of those shown, and the order in which to read them."""
    side, said, brief = curves.side(axis, problem.unit), names(axis), curves.row_labels(axis)
    some = list(range(len(axis))) if shown is None else shown.tolist()
    return {
        "title": side.title,
        "labels": [str(axis.labels[i]) for i in some],
        "names": [said[i] for i in some],
        "word": word(axis),
        "short": [brief[i] for i in some],
        "several": len(axis.columns) > 1 and not axis.named,  # columns that name an entry together
        "order": [i for i in np.argsort(side.rank[some], kind="stable").tolist() if side.rank[some[i]] >= 0],
        "total": len(side.order),
    }


def _places(positions: IntArray, shown: IntArray) -> list[int]:
    """Return where alternatives stand among those shown, -1 for the others."""
    place = np.minimum(np.searchsorted(shown, positions), len(shown) - 1)
    return np.where(shown[place] == positions, place, -1).tolist()  # type: ignore[no-any-return]


def _certainty(certificate: Certificate, delta: float, shown: Excerpt) -> Plain:
    figures = ("pcs_e", "pcs_m", "p_all", "p_all_se", "eoc")
    return {
        **{name: value(np.asarray(getattr(certificate, name)).item()) for name in figures},
        "draws": certificate.n_draws,
        "level": LEVEL,
        "delta": value(delta),
        "probability": values(_brief(shown.of(certificate.best_probability))),
        "none": None if certificate.options is None else values(certificate.p_none_feasible[shown.contexts]),
    }


def _allocation(study: Study, shown: Excerpt) -> Plain:
    told = study.tally
    n, mean, m2 = (shown.of(each) for each in (told.count, told.mean, told.m2))
    return {
        "total": study.n_replications,
        "pending": int(study.view().pending.sum()),
        "count": values(n),
        "mean": values(_brief(np.where(n > 0, mean, np.nan))),
        "sd": values(_brief(np.where(n > 1, np.sqrt(m2 / np.maximum(n - 1, 1)), np.nan))),
    }


def _brief_table(frame: pd.DataFrame) -> Plain:
    """Return a frame as `table` does; if it is long, with six digits that count."""
    if frame.size <= _LONG_TABLE:
        return table(frame)
    return table(frame.apply(lambda each: rounded(each.to_numpy()) if each.dtype.kind == "f" else each))


def _brief(table: Any) -> Any:
    """Return a large table with fewer digits, so that a page stays small."""
    return table if table.size <= _LONG_TABLE else rounded(table)


def _check(study: Study) -> Plain:
    """Return whether pairs are as the others predict them, or why that cannot be told."""
    try:
        found = study.doubts().check
    except TooFewDataError as reason:
        return {"verdict": f"Not checked: {reason}"}
    words, (pairs, shown) = str(found), _some(found.pairs)
    verdict = {"verdict": f"{words[0].upper()}{words[1:]}", "fits": bool(found.fits)}
    if not len(pairs):
        return verdict
    return {
        **verdict,
        "rms": value(found.rms),
        "p_value": value(found.p_value),
        "limit": value(found.limit),
        "unit": study.problem.unit.get(found.of, "") if found.of else study.problem.goal_unit,
        "total": len(found.pairs),
        "shown": shown,
        **_brief_table(pairs),
    }


def _guarantee(study: Study) -> Plain:
    """Return what the data alone certify, context by context in the order of reading."""
    found = guarantee.planned(study.view())
    columns = ["selected", "rival", "lower", "smallest_delta", "certified", "certified_all", "replications"]
    columns += ["feasible"] if study.problem.limits else []
    frame = found.frame[[*study.problem.contexts.frame().columns, *columns]]
    contexts = study.problem.contexts
    frame = frame.iloc[contexts.places[curves.side(contexts).order]]
    words = str(found)
    return {
        "sentence": f"{words[0].upper()}{words[1:]}.",
        "certified": found.n_certified,
        "notes": list(found.notes),
        **_brief_table(frame),
    }


def _some(pairs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return as many pairs as a page holds, in their order, and which they are; nothing where it is all.

    The others than the flagged ones are taken at even steps along their sorted z-scores: the picture has the
    spread of all of them, and the ends.
    """
    if len(pairs) <= MOST_PAIRS:
        return pairs, ""
    order = np.argsort(pairs["z"].to_numpy(float), kind="stable")
    flagged = pairs["flagged"].to_numpy(bool)[order]
    some = [_evenly(order[flagged], MOST_PAIRS)]
    some.append(_evenly(order[~flagged], MOST_PAIRS - len(some[0])))
    which = "all" if len(some[0]) == flagged.sum() else f"an even sample of the {flagged.sum():,}"
    return pairs.iloc[np.sort(np.concatenate(some))], (
        f"Shown are {MOST_PAIRS:,} of {len(pairs):,} pairs: {which} that are flagged"
        + (", and an even sample of the others." if len(some[1]) else ".")
    )


def _evenly(given: IntArray, most: int) -> IntArray:
    """Return at most so many of the entries, at even steps and with both ends."""
    return given if len(given) <= most else given[np.linspace(0, len(given) - 1, most).round().astype(int)]


def _failures(study: Study) -> Plain:
    trials = study.trials()
    failed = trials[trials["status"] == "failed"].drop(columns="status")
    failed = failed.astype({"seed": str})  # beyond 2^53 a browser would round it
    return {
        "total": len(failed),
        "reason": _usual_reason(failed["reason"].tolist()),
        "set_aside": set_aside(study),
        **table(failed.tail(MOST_FAILURES)),
    }


def _usual_reason(reasons: list[str]) -> str:
    """Return the most frequent reason of failures in a sentence; "" without failures."""
    if not reasons:
        return ""
    usual, times = Counter(" ".join(each.split()) for each in reasons).most_common(1)[0]
    often = "Reason" if times == len(reasons) else f"Most frequent reason ({times:,} of {len(reasons):,})"
    return f"{often}: {middle_cut(usual, _LONGEST_REASON)}"


def _how(study: Study, command: str) -> list[list[Any]]:
    """Return names and values of everything that somebody needs to compute it again."""
    problem = study.problem
    rows: list[list[Any]] = [
        ["problem", problem.name],
        ["size", f"{count(problem.in_use[0], 'alternative')}, {count(problem.in_use[1], 'context')}"],
        ["goal", f"{'largest' if problem.sign > 0 else 'smallest'} {problem.subject}"],
        ["policy", _short(text(study.policy))],
        ["model", _short(text(study.model))],
        ["replications", study.n_replications],
        ["initial design", study.initial_design],
        ["seed", str(study.seed)],
        ["refits", schedule.words(study.model, study.refit_every)],
        ["common random numbers", "yes" if study.common_random_numbers else "no"],
        ["versions", versions()],
    ]
    if problem.limits:
        rows.insert(3, ["limits", "; ".join(map(str, problem.limits))])
    for kind, some in study.retired.items():
        if some:
            rows.append([f"retired {kind}", first_of([str(each) for each in some], _MOST_RETIRED)])
    if problem.description:
        rows.insert(1, ["description", problem.description])
    if command:
        rows.append(["command", command])
    return rows


def _short(description: str) -> str:
    return (
        description
        if len(description) <= _LONGEST_DESCRIPTION
        else f"{description[: _LONGEST_DESCRIPTION - 1]}…"
    )


def _prediction(study: Study, shown: Excerpt) -> Plain:
    view = study.view()
    kit = kit_of_some(view, shown.alternatives, shown.contexts) if shown.left_out else prediction_kit(view)
    axis = study.problem.contexts
    for coordinate, name in zip(kit["coordinates"], axis.coordinates, strict=True):
        coordinate["unit"] = of_column(study.problem.unit, axis, name)
    if not axis.columns:
        kit["coordinates"][0]["name"] = word(axis)
    return kit


def hyperparameters(study: Study) -> Plain | None:
    """Return columns and rows, a row per alternative; None for a model that has none of this kind.

    Prior means are in the user's sign, scales and noise (averaged over contexts) are standard deviations, and
    lengthscales are in the units of their coordinate (of a text: 1 is the distance of two different ones).
    Coefficients are those of 1 and of coordinates that run from 0 to 1 between two ends.
    """
    learned, problem = parameters(study.view()), study.problem
    if learned is None:
        return None
    held = problem.contexts.coordinates
    said = list(held) if problem.contexts.columns else [word(problem.contexts)]
    if learned["family"] == "gp":
        bounds = [problem.bounds.get(name, (0.0, 1.0)) for name in held]
        names = ["prior mean", "prior sd", "noise sd", *(f"lengthscale of {name}" for name in said)]
        numbers = np.column_stack(
            [
                problem.sign * learned["constant"],
                np.sqrt(learned["scale"]),
                np.sqrt(learned["noise"].mean(axis=1)),
                learned["lengthscale"] * [high - low for low, high in bounds],
            ]
        )
    else:
        columns = list(held.values())
        slopes = [f"{said[j]} from {columns[j][a]} to {columns[j][b]}" for j, a, b in learned["ends"]]
        names, numbers = ["intercept", *slopes], problem.sign * learned["coefficients"]
    rows = [
        [label, *row]
        for label, row in zip(curves.row_labels(problem.alternatives), numbers.tolist(), strict=True)
    ]
    return {"columns": ["alternative", *names], "rows": values(rows)}

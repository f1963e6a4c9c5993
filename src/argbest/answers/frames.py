"""Tidy frames of a study's trials, observations, allocation and selections, in the user's units and sign."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from argbest.answers import doubts
from argbest.answers.reported import reported_mean
from argbest.core.arrays import AnyArray, BoolArray, IntArray
from argbest.core.belief import of_selected
from argbest.core.certificate import Certificate
from argbest.core.limits import NONE
from argbest.problems.axis import Axis, Label
from argbest.problems.base import Problem
from argbest.texts import chance as in_digits
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.study.view import View

RESPONSE = "response."  # before the name of a response whose column would be called as another one
NO_ANSWER = "no answer: every alternative failed here"
_NUMBER_COLUMNS = ("mean", "gap", "gap_sd", "p_best", "expected_loss")
_RIVAL_COLUMNS = ("runner_up", "gap", "gap_sd")


def of_trials(view: "View") -> pd.DataFrame:
    """Return one row per trial asked: where, with which seed, and what became of it."""
    frame, reasons = _pairs(view, np.arange(view.n_trials)), view.reasons
    frame["status"] = [view.status(i) for i in range(len(frame))]
    frame["reason"] = [reasons.get(i, "") for i in range(len(frame))]
    return frame


def with_details(frame: pd.DataFrame, view: "View") -> pd.DataFrame:
    """Return the trials with who had them, when they were asked for and ended, and how long they took."""
    told, failed = view.records.columns, view.failed
    ended, seconds = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    ended[told.numbers("trial")], seconds[told.numbers("trial")] = (
        told.numbers("time"),
        told.numbers("seconds"),
    )
    ended[list(failed)] = [event.time for event in failed.values()]
    seconds[list(failed)] = [np.nan if e.seconds is None else e.seconds for e in failed.values()]
    frame["worker"] = [view.held.get(i, worker) for i, worker in enumerate(view.trials.workers())]
    for name, stamps in (("asked", view.trials.columns.numbers("time")), ("ended", ended)):
        frame[name] = pd.to_datetime(stamps, unit="s", utc=True).round("ms")
    frame["seconds"] = seconds
    return frame


def of_observations(view: "View") -> pd.DataFrame:
    """Return one row per replication told; a summary (mean, variance, n) is one row with its n.

    A response has a column called as it is, `RESPONSE` before it where another one is called so already, and
    its variances are in a column such as variance.cost. One number without a name is in ``value``.
    """
    records, record = view.records, view.records.record_of_rows()
    trial, n, size = (records.columns.numbers(name)[record] for name in ("trial", "n", "size"))
    summary, names = size < 0, view.problem.responses
    frame = _pairs(view, trial)
    variances = [f"variance.{name}" for name in names] or ["variance"]
    taken = {*frame.columns, "n", *variances}
    shown = [f"{RESPONSE}{name}" if name in taken or name.startswith(RESPONSE) else name for name in names]
    for column, values in zip(shown or ["value"], records.values_of_rows(), strict=True):
        frame[column] = values
    frame["n"] = np.where(summary, n, 1)
    for column, squares in zip(variances, records.squares(), strict=True):
        frame[column] = np.where(summary, squares[record] / np.maximum(n - 1, 1), np.nan)
    return frame


def of_allocation(view: "View") -> pd.DataFrame:
    """Return one row per pair: replications so far, their share of all, and those under way."""
    problem, tally = view.problem, view.tally
    k, c = np.indices(problem.shape).reshape(2, -1)
    frame = pd.concat([problem.alternatives.frame(k), problem.contexts.frame(c)], axis=1)
    n = tally.count.ravel()
    observed = n > 0
    frame["n"] = n
    frame["share"] = n / max(int(n.sum()), 1)
    frame["pending"] = view.pending.ravel()
    frame["mean"] = np.where(observed, problem.sign * tally.mean.ravel(), np.nan)
    frame["sd"] = np.where(n > 1, np.sqrt(tally.m2.ravel() / np.maximum(n - 1, 1)), np.nan)
    return frame


def selection(view: "View", delta: float) -> pd.DataFrame:
    """Return the selections of a study, one row per context; a note says why one is not called sure."""

    def made() -> pd.DataFrame:
        known = view.problem.contexts, view.certificate(), view.ruled_out
        frame = of_selection(view.problem, *known, delta, rate=view.rate)
        return _with_doubts(frame, view, delta)

    return view.inference.once(("selection", delta), made).copy()


def of_selection(
    problem: Problem,
    contexts: Axis,
    certificate: Certificate,
    ruled_out: BoolArray | None,
    delta: float,
    *,
    rate: bool,
) -> pd.DataFrame:
    """Return one row per context: the selected alternative, its rival, and how sure the choice is.

    The rival is the alternative with the next largest P(best). The belief of the certificate is one
    `among_the_rest`, without the pairs ``ruled_out``. Notes tell of these, and where the rival is even
    likelier to be the best than the selected one. Within ``delta`` of the best counts as equal. Means of a
    ``rate`` are reported within 0 and 1.
    """
    belief = certificate.belief
    chosen, rival = certificate.choice, certificate.runner_up
    axis, frame = problem.alternatives, contexts.frame()
    labels = axis.labels
    frame["selected"] = [None if k == NONE else labels[k] for k in chosen.ravel()]
    behind = axis.columns if axis.named or len(axis.columns) > 1 else {}  # else the label is the value itself
    for name, values in behind.items():
        frame[f"selected.{name}"] = [None if k == NONE else values[k] for k in chosen.ravel()]
    frame["runner_up"] = [labels[k] for k in rival.ravel()]
    none, chosen = chosen == NONE, np.maximum(chosen, 0)
    mean, sd = of_selected(belief.mean, chosen), np.sqrt(of_selected(belief.var, chosen))
    frame["mean"] = reported_mean(problem.sign * mean, sd, rate=rate).ravel()
    frame["gap"] = (mean - of_selected(belief.mean, rival)).ravel()
    frame["gap_sd"] = np.sqrt(of_selected(belief.difference_var(chosen), rival)).ravel()
    frame["p_best"] = certificate.pcs.ravel()
    if problem.limits:
        frame["p_feasible"] = certificate.p_feasible.ravel()
    frame["expected_loss"] = certificate.expected_loss.ravel()
    frame["state"] = certificate.states(delta).ravel()
    for name in ("mean", "gap", "gap_sd") if none.any() else ():
        frame[name] = frame[name].where(~none.ravel())
    if ruled_out is not None:
        frame = _noted(frame, labels, _rows(ruled_out))
    return _with_notes(frame, likelier(problem, certificate))


def likelier(problem: Problem, certificate: Certificate) -> list[str]:
    """Return, per context, which alternative is likelier to be the best than the selected one; "" if none.

    The largest mean is selected, which is not always the largest P(best).
    """
    labels, chosen = problem.alternatives.labels, certificate.choice
    why = "loses less on average" if problem.limits else "has the better mean"
    differs = (certificate.likeliest != chosen) & (certificate.selected >= 0)
    chance = of_selected(certificate.best_probability, certificate.likeliest)
    return [
        f"{labels[other]} is more likely the best ({in_digits(p)}), but {labels[own]} {why}"
        if elsewhere
        else ""
        for elsewhere, other, own, p in zip(
            differs.ravel(), certificate.likeliest.ravel(), chosen.ravel(), chance.ravel(), strict=True
        )
    ]


def _with_notes(frame: pd.DataFrame, notes: Sequence[str]) -> pd.DataFrame:
    """Return the selection with these notes after those that it has; without the column if there are none."""
    if any(notes):
        before = frame["note"] if "note" in frame.columns else [""] * len(frame)
        frame["note"] = ["; ".join(filter(None, both)) for both in zip(before, notes, strict=True)]
    return frame


def _with_doubts(frame: pd.DataFrame, view: "View", delta: float) -> pd.DataFrame:
    """Return the selection with its final states; a note says why a choice is not called sure."""
    states = doubts.states(view, delta)
    withheld = states != frame["state"].to_numpy(object)
    if withheld.any():
        frame["state"] = states
        reasons = doubts.of_study(view).reasons
        frame = _with_notes(frame, [each if it else "" for each, it in zip(reasons, withheld, strict=True)])
    return frame


def of_probabilities(problem: Problem, contexts: Axis, certificate: Certificate) -> pd.DataFrame:
    """Return one row per context and one column per alternative: the probability of being best."""
    index = _indexed(contexts.frame(), len(contexts.frame().columns)).index
    probability = _rows(certificate.best_probability)
    return pd.DataFrame(probability, columns=list(problem.alternatives.labels), index=index)


def indexed_by_context(selection: pd.DataFrame) -> pd.DataFrame:
    """Return selections with the columns of their contexts, which come first, as the index."""
    return _indexed(selection, list(selection.columns).index("selected"))


def _indexed(frame: pd.DataFrame, n: int) -> pd.DataFrame:
    """Return a frame with its first n columns as the index."""
    names = list(frame.columns[:n])
    return frame.set_index(names[0] if n == 1 else names)


def _rows(table: AnyArray) -> AnyArray:
    """Return [context, alternative] of a table of one study, or of contexts each by itself."""
    return np.moveaxis(table, -2, -1).reshape(-1, table.shape[-2])


def _noted(frame: pd.DataFrame, labels: Sequence[Label], out: BoolArray) -> pd.DataFrame:
    """Return the selection with notes on what is ``out`` [context, alternative]; no answer where all are."""
    left = np.sum(~out, axis=1)
    for name in frame.columns[list(frame.columns).index("selected") :]:
        missing = left < (2 if name in _RIVAL_COLUMNS else 1)
        if missing.any() and name in _NUMBER_COLUMNS:
            frame[name] = frame[name].where(~missing)
        elif missing.any():
            frame[name] = frame[name].astype(object).where(~missing, None)
    frame["note"] = [_note(labels, row) for row in out]
    return frame


def _note(labels: Sequence[Label], out: BoolArray) -> str:
    """Return what to say of a context in which these alternatives cannot be selected."""
    if out.all():
        return NO_ANSWER
    named = [str(labels[k]) for k in np.flatnonzero(out).tolist()]
    return f"failed without a value, so not selected: {first_of(named, 5)}" if named else ""


def _pairs(view: "View", ids: IntArray) -> pd.DataFrame:
    names, columns, problem = (
        ("alternative", "context", "replication", "seed"),
        view.trials.columns,
        view.problem,
    )
    of = {name: columns.numbers(name)[ids] for name in names}
    where = problem.alternatives.frame(of["alternative"]), problem.contexts.frame(of["context"])
    frame = pd.concat(where, axis=1)
    frame.insert(0, "trial", ids)
    return frame.assign(replication=of["replication"], seed=of["seed"])

"""Tidy frames of a study's trials, observations, allocation and selections, in the user's units and sign."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from argbest.answers import doubts
from argbest.answers.reported import reported_interval, reported_mean
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import Belief, of_selected
from argbest.core.certificate import Certificate
from argbest.core.limits import NONE, nearness
from argbest.core.states import INTERVAL, NO_FEASIBLE
from argbest.problems.axis import Axis, Label
from argbest.problems.base import Problem
from argbest.texts import chance as in_digits
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.study.view import View

RESPONSE = "response."  # before the name of a response that another column has already
NO_ANSWER = "no answer: every alternative failed here"
RETIRED = "retired"
_NUMBER_COLUMNS = ("mean", "gap", "gap_sd", "p_best", "p_feasible", "expected_loss", "low", "high")
_RIVAL_COLUMNS = ("runner_up", "gap", "gap_sd")


def of_trials(view: "View") -> pd.DataFrame:
    """Return one row per trial asked: where, with which seed, and what became of it."""
    frame, reasons = _pairs(view, np.arange(view.n_trials)), view.reasons
    frame["status"] = [view.status(i) for i in range(len(frame))]
    frame["reason"] = [reasons.get(i, "") for i in range(len(frame))]
    return frame


def with_details(frame: pd.DataFrame, view: "View") -> pd.DataFrame:
    """Return the trials with their worker, the times at which they were asked for and ended, and seconds."""
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

    A response has a column with its name, after `RESPONSE` if another column has that name already, and its
    variances are in a column such as variance.cost. One number without a name is in ``value``.
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
    frame["mean"] = np.where(observed, problem.sign * tally.mean.ravel() + 0.0, np.nan)
    frame["sd"] = np.where(n > 1, np.sqrt(tally.m2.ravel() / np.maximum(n - 1, 1)), np.nan)
    return frame


class ResponseMeans(NamedTuple):
    """What is believed of the mean of one response, in the user's sign, [..., alternative, context]."""

    name: str
    mean: Array
    sd: Array
    ends: tuple[float, float] | None  # between which all values lie: means are reported within them

    @classmethod
    def of(cls, view: "View", response: int, belief: Belief) -> "ResponseMeans":
        """Return the means of a response, by its place, from a view of it alone and a belief about it."""
        name, ends = view.problem.responses[response], view.problem.range_of(response)
        sd = np.sqrt(belief.var)
        return cls(name, view.problem.sign * belief.mean, sd, (0.0, 1.0) if view.rate else ends)

    def reported(self, of_chosen: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
        """Return mean, and both ends of the 90 % interval, of what is chosen."""
        low, width = (0.0, 1.0) if self.ends is None else (self.ends[0], self.ends[1] - self.ends[0])
        mean, sd = (of_chosen(self.mean) - low) / width, of_chosen(self.sd) / width
        rate = self.ends is not None
        found = reported_mean(mean, sd, rate=rate), *reported_interval(mean, sd, INTERVAL, rate=rate)
        first, below, above = (low + width * each for each in found)
        return first, below, above


def of_responses(view: "View", belief_of: Callable[["View"], Belief]) -> tuple[ResponseMeans, ...]:
    """Return the means of all responses if there are several, each by the belief of the view of it alone."""
    if len(view.problem.responses) < 2:
        return ()
    return tuple(ResponseMeans.of(each, i, belief_of(each)) for i, each in enumerate(view.responses))


def of_active(frame: pd.DataFrame, *axes: Axis) -> pd.DataFrame:
    """Return the rows of a frame of all entries of an axis, or pairs of two, that are not retired."""
    marks = np.ones(1, bool)
    for axis in axes:
        marks = np.logical_and.outer(marks, axis.active).ravel()
    return frame if marks.all() else frame[marks].reset_index(drop=True)


def without_notes(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a selection without its column of notes if there are none."""
    return frame.drop(columns="note") if "note" in frame.columns and not frame["note"].any() else frame


def selection(view: "View", delta: float) -> pd.DataFrame:
    """Return the selections of a study, one row per context; a note says why one is not called sure.

    Retired contexts have a row without an answer: `of_active` leaves them out.
    """

    def made() -> pd.DataFrame:
        known = view.problem.contexts, view.certificate(), view.ruled_out
        responses = of_responses(view, lambda each: each.believed)
        frame = of_selection(view.problem, *known, delta, rate=view.rate, responses=responses)
        frame = _with_retired(frame, view.problem.contexts)
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
    responses: Sequence[ResponseMeans] = (),
) -> pd.DataFrame:
    """Return one row per context: the selected alternative, its rival, and how sure the choice is.

    The rival is the alternative with the next largest P(best). The belief of the certificate is one
    `among_the_rest`, without the pairs ``ruled_out``. Notes tell of these, and where the rival is even
    likelier to be the best than the selected one. Within ``delta`` of the best counts as equal. Means of a
    ``rate`` are reported within 0 and 1. With limits nothing is selected where that loses least on average:
    p_best is then the probability that no alternative keeps them. Of several ``responses`` the means of the
    selected alternative follow, with the ends of 90 % intervals.
    """
    belief = certificate.belief
    chosen, rival = certificate.choice.ravel(), certificate.runner_up
    axis, frame = problem.alternatives, contexts.frame()
    labels, none = axis.labels, chosen == NONE
    frame["selected"] = entries_of_chosen(labels, chosen)
    behind = axis.columns if axis.named or len(axis.columns) > 1 else {}  # else the label is the value itself
    for name, held in behind.items():
        frame[f"selected.{name}"] = entries_of_chosen(held, chosen)
    frame["runner_up"] = [labels[k] for k in rival.ravel()]
    known_choice = np.maximum(certificate.choice, 0)

    def of_chosen(table: Array) -> Array:
        return np.where(none, np.nan, of_selected(table, known_choice).ravel())

    mean, sd = of_chosen(belief.mean), np.sqrt(of_chosen(belief.var))
    frame["mean"] = reported_mean(problem.sign * mean, sd, rate=rate)
    frame["gap"] = mean - of_selected(belief.mean, rival).ravel()
    gap_sd = np.sqrt(of_selected(belief.difference_var(known_choice), rival)).ravel()
    frame["gap_sd"] = np.where(none, np.nan, gap_sd)
    frame["p_best"] = certificate.pcs.ravel()
    if problem.limits:
        frame["p_feasible"] = certificate.p_feasible.ravel()
    frame["expected_loss"] = certificate.expected_loss.ravel()
    frame["state"] = certificate.states(delta).ravel()
    for each in responses:
        for end, column in zip(("mean", "low", "high"), each.reported(of_chosen), strict=True):
            frame[f"{end}.{each.name}"] = column
    if ruled_out is not None:
        frame = _noted(frame, labels, _rows(ruled_out), axis.active)
    return _with_notes(frame, likelier(problem, certificate))


def _with_retired(frame: pd.DataFrame, contexts: Axis) -> pd.DataFrame:
    """Return the selection with a note on every context that is retired."""
    if contexts.retired:
        frame["note"] = frame["note"].where(contexts.active, RETIRED)
    return frame


def entries_of_chosen(held: Sequence[Any], chosen: IntArray) -> "pd.Series[Any]":
    """Return the entries of the chosen alternatives, None where none is chosen."""
    found = [None if k == NONE else held[k] for k in chosen.tolist()]
    return pd.Series(found, dtype=object if NONE in chosen else None)


def likelier(problem: Problem, certificate: Certificate) -> list[str]:
    """Return, per context, what is likelier to be right than what is selected; "" if nothing is.

    The largest mean is selected, which is not always the largest P(best); with limits what loses least. Where
    that is to choose none, it says which alternative is nearest to keeping the limits.
    """
    labels, chosen = problem.alternatives.labels, certificate.choice.ravel()
    answered = (certificate.selected >= 0).ravel()
    other, chance = certificate.likeliest.ravel(), certificate.best_probability
    p_other = of_selected(chance, certificate.likeliest).ravel()
    if certificate.options is None:
        return [
            f"{labels[k]} is more likely the best ({in_digits(p)}), but {labels[own]} has the better mean"
            if has_answer and k != own
            else ""
            for k, own, p, has_answer in zip(other, chosen, p_other, answered, strict=True)
        ]
    feasible, near = _rows(certificate.options.feasible[..., :-1, :]), _rows(nearness(certificate.belief))
    p_none, p_own = certificate.p_none_feasible.ravel(), certificate.pcs.ravel()
    known = ~np.isnan(p_own)
    notes = []
    for c, own in enumerate(chosen.tolist()):
        k, p = int(other[c]), float(p_other[c])
        if not known[c]:
            notes.append("")
        elif own == NONE:
            nearest = int(near[c].argmax())
            notes.append(
                f"nearest to keeping the limits: {labels[nearest]} (P(feasible) "
                f"{in_digits(feasible[c, nearest])})"
            )
        elif p_none[c] > max(p_own[c], p):
            notes.append(
                f"that none keeps the limits is more likely ({in_digits(p_none[c])}), but {labels[own]} "
                "loses less on average"
            )
        elif k != own and p > p_own[c]:
            notes.append(
                f"{labels[k]} is more likely the best ({in_digits(p)}), but {labels[own]} loses less on "
                "average"
            )
        else:
            notes.append("")
    return notes


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
    """Return one row per context and one column per alternative: the probability of being best.

    With limits a last column has the probability that no alternative keeps them: rows sum to 1.
    """
    index = _indexed(contexts.frame(), len(contexts.frame().columns)).index
    probability = _rows(certificate.best_probability)
    active = problem.alternatives.active
    labels = [label for label, there in zip(problem.alternatives.labels, active, strict=True) if there]
    frame = pd.DataFrame(probability[:, active], columns=labels, index=index)
    if problem.limits:
        frame[NO_FEASIBLE] = certificate.p_none_feasible.ravel()
    return frame


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


def _noted(frame: pd.DataFrame, labels: Sequence[Label], out: BoolArray, active: BoolArray) -> pd.DataFrame:
    """Return the selection with notes on what is ``out`` [context, alternative]; no answer where all are.

    Alternatives that are not ``active`` are not mentioned.
    """
    left = np.sum(~out, axis=1)
    for name in frame.columns[list(frame.columns).index("selected") :]:
        missing = left < (2 if name in _RIVAL_COLUMNS else 1)
        if missing.any() and name.partition(".")[0] in _NUMBER_COLUMNS:
            frame[name] = frame[name].where(~missing)
        elif missing.any():
            frame[name] = frame[name].astype(object).where(~missing, None)
    notes = [_note(labels, row, active) for row in out]
    if active.all() or any(notes):
        frame["note"] = notes
    return frame


def _note(labels: Sequence[Label], out: BoolArray, active: BoolArray) -> str:
    """Return the note on a context in which the alternatives ``out`` cannot be selected."""
    if out.all():
        return NO_ANSWER
    named = [str(labels[k]) for k in np.flatnonzero(out & active).tolist()]
    return f"failed without a value, so not selected: {first_of(named, 5)}" if named else ""


def _pairs(view: "View", ids: IntArray) -> pd.DataFrame:
    """Return one row per trial of these ids: where it was run, its replication number and its seed."""
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

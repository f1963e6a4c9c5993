"""Runs of earlier sources, a row each, as what a study begins with."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from argbest.core.arrays import BoolArray, IntArray
from argbest.errors import DataNotice, InputError, unknown_name
from argbest.posthoc import columns
from argbest.posthoc.columns import Located
from argbest.posthoc.observed import (
    Observed,
    ValueColumns,
    columns_of,
    listed,
    need_rows,
    observe,
    rows_told,
    used_columns,
    with_summaries,
)
from argbest.posthoc.representatives import MOST_PAIRS, represented
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.population import with_entries
from argbest.problems.prior_runs import PriorRuns, summed

SOURCE = "source"  # the column that names the source of a run, where there are several
_ONLY = "earlier"  # the only source, where no column names it
_MOST_SOURCES = 8  # each has two distances to learn


def beginning_with(problem: Problem, frame: object, *, source: str | None = None, level: int = 2) -> Problem:
    """Return the problem with the runs in a frame, those of earlier sources, to begin with.

    A row is a run, or a summary, as `Study.tell_frame` takes them; the column ``source`` (by default one of
    that name, if there is one) says which source it is from. Runs of alternatives that are none of the
    problem are left out, with a notice; contexts may be others, as long as they have the columns of the
    problem's. ``level`` says whose line the notice names.
    """
    if frame is None:
        return problem
    runs, notes = read(problem, frame, source=source)
    for note in notes:
        warnings.warn(note, DataNotice, stacklevel=level + 1)
    return problem.beginning_with(runs)


def observe_target(
    frame: pd.DataFrame, *, source: str | None = None, target: object = None, **columns_named: Any
) -> Observed:
    """Return the runs of one source as replications of a problem, which begins with those of the others.

    The column ``source`` says which source a run is from; those of ``target`` are what the answer is about.
    Without it that is all runs. The other options are those of `observe`.
    """
    if source is None and target is None:
        return observe(frame, **columns_named)
    if source is None or target is None:
        raise InputError(
            "got one of source and target (--source, --target); expected both: the column that says which "
            "source a run is from, and the source that the answer is about."
        )
    columns.check_name("source column", need_rows(frame), source)
    names = [str(name) for name in frame[source].tolist()]
    if str(target) not in names:
        raise unknown_name(f"{source} of the target", str(target), dict.fromkeys(names))
    own = np.array([name == str(target) for name in names])
    found = observe(frame[own].drop(columns=source).reset_index(drop=True), **columns_named)
    if own.all():
        return found
    given = {
        kind: None if columns_named.get(kind, kind) == kind else columns_named[kind]
        for kind in ("alternative", "context")
    }
    dropna, value = bool(columns_named.get("dropna")), columns_named.get("value")
    old = frame[~own].reset_index(drop=True)
    runs, notes = read(found.problem, old, source=source, value=value, dropna=dropna, **given)
    return replace(found, problem=found.problem.beginning_with(runs), notes=(*found.notes, *notes))


def read(
    problem: Problem,
    frame: object,
    *,
    source: str | None = None,
    alternative: str | Sequence[str] | None = None,
    context: str | Sequence[str] | None = None,
    value: str | Sequence[str] | None = None,
    dropna: bool = False,
) -> tuple[PriorRuns, list[str]]:
    """Return the runs, and what became of the rows where that may surprise."""
    frame = need_rows(frame)
    if source is None and SOURCE in frame.columns:
        source = SOURCE
    if source is not None:
        columns.check_name("source column", frame, source)
    sides = (problem.alternatives, alternative), (problem.contexts, context)
    found = [columns_of(axis, frame, given) for axis, given in sides]
    taken = [name for names, _ in found for name in names] + ([] if source is None else [source])
    values = _value_columns(frame, taken, problem, value)
    kept, _, told = rows_told(
        frame, used_columns(frame, taken, values), values, dropna=dropna, rate=problem.rate
    )
    names = [_ONLY] * len(kept) if source is None else [str(name) for name in kept[source].tolist()]
    sources = tuple(dict.fromkeys(names))
    if len(sources) > _MOST_SOURCES:
        raise InputError(
            f"the prior runs name {len(sources)} sources ({', '.join(sources[:3])}, ...); expected at most "
            f"{_MOST_SOURCES}. Give those that resemble each other one name."
        )
    k, known = _alternatives(problem.alternatives, kept, *found[0])
    where, there = _contexts(problem.contexts, kept, *found[1])
    some = known & there
    notes = [
        f"{int(np.sum(~marked)):,} of {len(kept):,} prior runs are left out: {why}."
        for marked, why in (
            (known, "their alternatives are none of this study"),
            (there | ~known, "their contexts do not have the columns of this study's"),
        )
        if not marked.all()
    ]
    if not some.any():
        raise InputError(
            f"none of the {len(kept):,} prior runs is of an alternative and a context that this study knows. "
            "Call alternatives as the study does, and give contexts in its columns."
        )
    place = np.array([sources.index(name) for name in names])[some]
    axis, column = _columns(where, np.flatnonzero(some), place, len(sources), problem.n_alternatives, notes)
    pairs, pair = np.unique(np.stack([k[some], column]), axis=1, return_inverse=True)
    n, variance = told.n[some], told.variance[:, some]
    mean = told.values[:, some]
    # Of a rate without a variance it follows from its mean: n p (1 − p) / (n − 1).
    variance = np.where(np.isnan(variance), mean * (1.0 - mean) * n / np.maximum(n - 1, 1), variance)
    count, means, products = summed(pair.ravel(), pairs.shape[1], n, mean, variance)
    of_column = np.zeros(len(axis), np.int64)
    of_column[column] = place
    return (
        PriorRuns(
            sources, told.responses, axis, of_column, alternative=pairs[0], column=pairs[1], count=count,
            mean=means, products=products,
        ),
        notes,
    )  # fmt: skip


def _value_columns(
    frame: pd.DataFrame, taken: Sequence[str], problem: Problem, value: str | Sequence[str] | None
) -> ValueColumns:
    """Return the columns of the responses that are there; one may lack, if it is not the only one."""
    names = problem.responses or problem.mentioned
    if isinstance(value, str):
        return with_summaries(frame, taken, [value], names[:1])
    there = {str(name).removeprefix("response."): str(name) for name in frame.columns if name not in taken}
    if not names:
        return with_summaries(frame, taken, ["value"], ())
    if len(names) == 1 and names[0] not in there and "value" in there:
        return with_summaries(frame, taken, ["value"], names)
    asked = [there[name] for name in names if name in there]
    if not asked:
        raise InputError(
            f"the prior runs have the columns {list(frame.columns)}; expected one of the responses "
            f"{list(names)}. Rename the column that holds it."
        )
    return listed(frame, taken, asked)


def _entries(axis: Axis, frame: pd.DataFrame, names: list[str], *, labels: bool) -> list[Any]:
    """Return what every row calls its alternative or context: a label, or a row as a dict."""
    if labels:
        return list(frame[names[0]].tolist())
    rows = zip(*(frame[name].tolist() for name in names), strict=True)
    return [dict(zip(axis.columns, row, strict=True)) for row in rows]


def _key(entry: Any) -> object:
    return tuple(entry.values()) if isinstance(entry, dict) else entry


def _alternatives(
    axis: Axis, frame: pd.DataFrame, names: list[str], labels: bool
) -> tuple[IntArray, BoolArray]:
    """Return the place of every row's alternative, and whether it has one."""
    known: dict[object, int] = {}
    found = np.empty(len(frame), np.int64)
    for row, entry in enumerate(_entries(axis, frame, names, labels=labels)):
        key = _key(entry)
        if key not in known:
            try:
                known[key] = axis.index(entry)
            except InputError:
                known[key] = -1
        found[row] = known[key]
    return found, found >= 0


def _contexts(axis: Axis, frame: pd.DataFrame, names: list[str], labels: bool) -> tuple[Located, BoolArray]:
    """Return the different contexts of the rows, each row's position among them, and which rows have one."""
    known: dict[object, int] = {}
    rows: list[Axis] = []
    found = np.empty(len(frame), np.int64)
    for row, entry in enumerate(_entries(axis, frame, names, labels=labels)):
        key = _key(entry)
        if key not in known:
            one = _context(axis, entry)
            known[key] = -1 if one is None else len(rows)
            rows += [] if one is None else [one]
        found[row] = known[key]
    values = {name: tuple(one.coordinates[name][0] for one in rows) for name in axis.coordinates}
    own = with_entries(replace(axis, people=None), values)
    return Located(own, found, {}, ()), found >= 0


def _context(axis: Axis, entry: Any) -> Axis | None:
    """Return a context of a row, as the study spells it where it is one of its own; None if it is none."""
    try:
        return axis.rows([axis.item(axis.index(entry))])
    except InputError:
        pass
    try:
        return axis.rows([entry])
    except InputError:
        return None


def _columns(
    where: Located, rows: IntArray, source: IntArray, n_sources: int, n_alternatives: int, notes: list[str]
) -> tuple[Axis, IntArray]:
    """Return the contexts of all sources, one source after the other, and the column of every row.

    Of very many, contexts near each other are taken as one (`argbest.posthoc.representatives`).
    """
    column, parts, size = np.empty(len(rows), np.int64), [], 0
    most = MOST_PAIRS // n_sources
    for i in range(n_sources):
        own = np.flatnonzero(source == i)
        if not len(own):
            continue
        used, position = np.unique(where.position[rows[own]], return_inverse=True)
        values = {
            name: tuple(each[j] for j in used.tolist()) for name, each in where.axis.coordinates.items()
        }
        found = Located(with_entries(where.axis, values), position.ravel(), {}, ())
        if len(used) * n_alternatives > most and len(own) > most:
            found, _, _ = represented(found, n_alternatives)
            notes += found.notes
        column[own] = size + found.position
        parts.append(found.axis)
        size += len(found.axis)
    values = {
        name: tuple(value for part in parts for value in part.coordinates[name])
        for name in where.axis.coordinates
    }
    return with_entries(where.axis, values), column

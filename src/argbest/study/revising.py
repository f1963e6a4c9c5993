"""The events that change the table of a study as its user wants, checked against the study as it is now."""

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest import streams
from argbest.checks import entries, real, table
from argbest.core.arrays import Array
from argbest.errors import InputError
from argbest.models.base import knows_new_contexts
from argbest.problems.axis import Axis, Kind
from argbest.problems.base import Problem, counting
from argbest.problems.design import of_new_rows
from argbest.problems.labels import is_frame
from argbest.storage.base import Revised
from argbest.study.growth import plain_rows, revised
from argbest.texts import first_of

if TYPE_CHECKING:
    from argbest.study.journal import Journal


def adding(journal: "Journal", kind: Kind, rows: object, weights: object, cost: object) -> Revised:
    """Return the event that adds alternatives or contexts to the table of a study."""
    problem, ledger = journal.problem, journal.ledger
    _refuse_old_seeds(journal)
    if kind == "context":
        _refuse_population(problem, "added")
    axis = problem.alternatives if kind == "alternative" else problem.contexts
    larger = axis.joined_by(rows)
    n = len(larger) - len(axis)
    shares = (
        ledger.shares if kind == "alternative" else _joined_shares(problem, ledger.shares, larger, weights)
    )
    axes = (larger, problem.contexts) if kind == "alternative" else (problem.alternatives, larger)
    return _event(journal, *axes, shares, _joined_costs(journal, kind, n, cost))


def retiring(journal: "Journal", alternative: object, context: object, *, back: bool) -> Revised:
    """Return the event that retires alternatives or contexts, or brings retired ones ``back``."""
    problem, ledger = journal.problem, journal.ledger
    if alternative is None and context is None:
        raise InputError("nothing is named. Name an alternative or a context that is to be retired.")
    if context is not None:
        _refuse_population(problem, "readmitted" if back else "retired")
    axes = (
        _retired(problem.alternatives, alternative, back=back),
        _retired(problem.contexts, context, back=back),
    )
    return _event(journal, *axes, ledger.shares, ledger.cost)


def repeated(journal: "Journal", change: Revised) -> Revised:
    """Return the event that makes the same change of the table as one in a copy of the study."""
    after, known = revised(journal.problem, change), journal.ledger.cost
    cost = known if change.cost is None else np.reshape(change.cost, after.shape)
    return _event(journal, after.alternatives, after.contexts, np.array(change.shares), cost)


def weighing(journal: "Journal", weights: object) -> Revised:
    """Return the event that gives contexts other weights."""
    problem, ledger = journal.problem, journal.ledger
    _refuse_population(problem, "given other weights")
    contexts, shares = problem.contexts, ledger.shares
    active = np.flatnonzero(contexts.active)
    given = _by_row(weights, contexts, active, "Give one weight for every context that is not retired")
    if (given < 0).any() or not 0 < given.sum() < np.inf:
        raise InputError(
            f"got weights {given.tolist()}; expected none negative and a positive, finite sum. "
            "Use 0 for a context that does not count in averages."
        )
    before = shares[active].sum()
    scaled = shares * (given.sum() / before if before > 0 else 1.0)  # retired ones keep their relative weight
    scaled[active] = given
    return _event(journal, problem.alternatives, contexts, scaled, ledger.cost)


def following(journal: "Journal", wanted: Problem, cost: object) -> Revised | None:
    """Return the event that adds to a study the rows that another problem has, and gives it its weights.

    None if nothing is new. ``cost`` is that problem's table of costs, if the study has one.
    """
    problem = journal.problem
    own, others = (problem.alternatives, problem.contexts), (wanted.alternatives, wanted.contexts)
    alternatives, contexts = (_united(*both) for both in zip(own, others, strict=True))
    rows, columns = (_located(*both) for both in zip((alternatives, contexts), others, strict=True))
    shares = _followed_shares(journal, wanted, contexts, columns)
    grown = (len(alternatives), len(contexts)) != problem.shape
    if not grown and np.allclose(counting(shares, contexts), problem.weights, rtol=1e-9, atol=0.0):
        return None
    if len(contexts) > problem.n_contexts:
        _refuse_population(problem, "added")
    if grown:
        _refuse_old_seeds(journal)
    bounds = problem.revised(alternatives, contexts, shares).bounds
    if bounds != wanted.bounds and not contexts.retired:
        raise InputError(
            f"the bounds of the contexts would be {bounds} with all rows, given is {wanted.bounds}. Leave "
            "the bounds out, or give these."
        )
    known = None if isinstance(journal.cost, str) else journal.costs()
    if known is not None:
        larger = np.full((len(alternatives), len(contexts)), known.mean())  # of rows that are retired
        larger[np.ix_(rows, columns)] = table("cost", cost, wanted.shape, above=0)
        larger[: known.shape[0], : known.shape[1]] = known
        known = larger
    return _event(journal, alternatives, contexts, shares, known)


def _followed_shares(journal: "Journal", wanted: Problem, contexts: Axis, where: list[int]) -> Array:
    """Return how much contexts count: as ``wanted`` says, or as now if nobody has ever given weights.

    Equal weights, there and at the beginning of the study, count as none given. ``where`` has the positions
    of the wanted contexts.
    """
    own, active = journal.ledger.shares, journal.problem.contexts.active
    alike = all(np.ptp(each) == 0.0 for each in (wanted.weights, journal.first_problem.weights))
    shares = np.full(len(contexts), own[active].mean())
    shares[: len(own)] = own
    if not alike:
        shares = shares / own[active].sum()
        shares[where] = wanted.weights
    return shares


def _united(own: Axis, other: Axis) -> Axis:
    """Return a study's axis with the entries that another has besides; none in use may be missing there."""
    if list(own.columns) != list(other.columns) or own.categorical != other.categorical:
        was, now = (
            ", ".join(f"{name} (categorical)" if name in axis.categorical else name for name in axis.columns)
            or "none"
            for axis in (own, other)
        )
        raise InputError(f"columns of {own.kind}s: stored is {was}, given is {now}. Give the same columns.")
    places = _located(own, other)
    left_out = sorted(set(np.flatnonzero(own.active).tolist()) - set(places))
    if left_out:
        row = json.dumps(own.item(left_out[0]), ensure_ascii=False)
        more = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        raise InputError(
            f"the {own.kind} {row}{more} of the stored study is left out. Rows can be added so, not taken "
            f"away: put it back, or retire it first. On the command line: argbest retire STORAGE "
            f"--{own.kind} {shlex.quote(row)}"
        )
    new = [i for i, place in enumerate(places) if place < 0]
    return own.joined_by(other.some(new)) if new else own


def _located(axis: Axis, other: Axis) -> list[int]:
    """Return the positions in this axis of the entries of another one, -1 of those that it has not."""
    found = (axis.place(other.labels[i] if axis.named else other.item(i)) for i in range(len(other)))
    return [-1 if place is None else place for place in found]


def _refuse_old_seeds(journal: "Journal") -> None:
    if journal.seeds.rule != streams.SeedsByIdentity():
        raise InputError(
            "this study was made by version 0.2 or an older one: its seeds depend on the number of "
            "alternatives and contexts, so that none can be added. Begin a new study with all of them, and "
            "tell it the replications of this one."
        )


def positions(axis: Axis, given: object) -> list[int]:
    """Return the positions of entries that are named by a label or a row, or by several of them."""
    if is_frame(given):
        return [axis.index(axis.rows(given).item(i)) for i in range(len(axis.rows(given)))]
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str | bytes):
        return [axis.index(each) for each in given]
    return [axis.index(given)]


def refuse_retired(problem: Problem, alternative: int | None, context: int | None) -> None:
    """Refuse an alternative or a context that is retired."""
    for axis, place in ((problem.alternatives, alternative), (problem.contexts, context)):
        if place is not None and place in axis.retired:
            name = axis.labels[place] if axis.named or not axis.columns else axis.item(place)
            raise InputError(
                f"the {axis.kind} {name!r} is retired, so it is not simulated. Readmit it first."
            )


def changes_in_words(before: Problem, after: Problem) -> list[str]:
    """Return what changed from one table to another, a sentence for each change."""
    found = []
    for old, axis in ((before.alternatives, after.alternatives), (before.contexts, after.contexts)):
        new = axis.labels[len(old) :]
        if new:
            several = "" if len(new) == 1 else "s"
            found.append(
                f"{len(new)} {axis.kind}{several} added: {first_of([str(each) for each in new], 5)}."
            )
    in_both = before.contexts.active & after.contexts.active[: before.n_contexts]
    was, now = (each[: before.n_contexts][in_both] for each in (before.weights, after.weights))
    if not np.allclose(was * now.sum(), now * was.sum(), rtol=1e-9, atol=0.0):
        found.append("The weights of the contexts were changed.")
    return found


def _event(
    journal: "Journal", alternatives: Axis, contexts: Axis, shares: Array, cost: Array | None
) -> Revised:
    """Return the event that leads to these rows; an error if the study cannot continue with them."""
    before, ledger, model = journal.problem, journal.ledger, journal.model
    counting(shares, contexts)
    after = before.revised(alternatives, contexts, shares)
    model.check(after.shape, after.setting)
    pairs: list[tuple[int, int]] = []
    if ledger.design is not None and after.shape != before.shape:
        pairs = of_new_rows(model, after, before.shape, knows_new_contexts=knows_new_contexts(model))
    seen = ledger.replications.max(axis=0).tolist() if len(ledger.records) else []
    return Revised(
        plain_rows(before.alternatives, alternatives),
        plain_rows(before.contexts, contexts),
        tuple(sorted(alternatives.retired)),
        tuple(sorted(contexts.retired)),
        tuple(shares.tolist()),
        tuple(pairs),
        None if cost is None else tuple(np.ravel(cost).tolist()),
        tuple(seen),
        time.time(),
    )


def _retired(axis: Axis, given: object, *, back: bool) -> Axis:
    """Return the axis with these entries retired, or with ``back`` in use again."""
    if given is None:
        return axis
    where = positions(axis, given)
    for place in where:
        if (place in axis.retired) != back:
            state = "not retired" if back else "retired already"
            raise InputError(f"the {axis.kind} {axis.item(place)!r} is {state}. Leave it out.")
    return axis.retiring(axis.retired - set(where) if back else axis.retired | set(where))


def _refuse_population(problem: Problem, done: str) -> None:
    if problem.population is not None:
        raise InputError(
            f"the contexts of this study are a population, so that single ones cannot be {done}. Begin a "
            "study of another population; alternatives can be added and retired."
        )


def _joined_shares(problem: Problem, shares: Array, contexts: Axis, weights: object) -> Array:
    """Return how much all contexts count, with those that are new at the end of the axis."""
    old, new = shares[problem.contexts.active], np.arange(len(shares), len(contexts))
    if weights is None:
        return np.concatenate([shares, np.full(len(new), old.mean())])
    single = real(weights)
    how = "Give a weight for every new context, as its part of 1"
    given = np.full(len(new), single) if single is not None else _by_row(weights, contexts, new, how)
    if (given < 0).any() or not given.sum() < 1:
        raise InputError(
            f"got weights {given.tolist()} of new contexts; expected none negative and a sum below 1: each "
            "is its part of the whole, and the other contexts share the rest as before. "
            "Or set the weights of all contexts."
        )
    return np.concatenate([shares * ((1.0 - given.sum()) / old.sum()), given])


def _by_row(weights: object, axis: Axis, where: Any, how: str) -> Array:
    """Return weights of some contexts in their order, from a dict by label or a list."""
    if isinstance(weights, Mapping):
        named = {axis.index(label): weight for label, weight in weights.items()}
        odd = [c for c in where.tolist() if c not in named] + [c for c in named if c not in where]
        if odd or len(named) < len(weights):
            what = f"are wrong at {axis.labels[odd[0]]!r}" if odd else "name one context twice"
            raise InputError(f"the weights {what}. {how}.")
        weights = [named[c] for c in where.tolist()]
    elif entries(weights) is None or len(entries(weights) or ()) != len(where):
        raise InputError(f"got weights {weights!r} for {len(where)} contexts. {how}.")
    return table("weights", weights, (len(where),))


def _joined_costs(journal: "Journal", kind: Kind, n: int, cost: object) -> Array | None:
    """Return the costs of all pairs, with those that are new; None where the study has no table of them."""
    known = None if isinstance(journal.cost, str) else journal.costs()
    if known is None:
        if cost is not None:
            raise InputError(
                "this study has no table of costs, so that new rows have none either. Leave cost out."
            )
        return None
    shape = (n, known.shape[1]) if kind == "alternative" else (known.shape[0], n)
    if cost is None:
        raise InputError(
            f"this study has a table of costs. Give cost=..., what a replication of each new pair costs: a "
            f"number, or a table of {shape[0]} alternatives x {shape[1]} contexts."
        )
    single = real(cost)
    more = table("cost", cost if single is None else np.full(shape, single), shape, above=0)
    return np.concatenate([known, more], axis=0 if kind == "alternative" else 1)

"""How far the selected alternatives are ahead of others, by the values alone."""

from typing import TYPE_CHECKING

import numpy as np

from argbest.core import sequences
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import best
from argbest.problems.base import Problem
from argbest.study.replications import Replications

if TYPE_CHECKING:
    from argbest.study.study import Study

_RESOLUTION = 1e-12  # of the largest reward: differences that vary by less are equal


class Separations:
    """Lower bounds of leads, worked out again only where values came or the selected one changed."""

    def __init__(self, problem: Problem, replications: Replications) -> None:
        self._problem, self._replications = problem, replications
        self._known: dict[tuple[int, int, float], tuple[int, Array]] = {}

    def lower(self, selected: IntArray, alpha: float) -> Array:
        """Return bounds of selected minus each alternative, [alternative, context]; alpha is of one context.

        An error needs a failing bound between the selected and the truly best one, so alpha / (K − 1) per
        alternative is enough. Compared are equally numbered replications: they share what random numbers they
        have in common, and which ones are compared depends on no value. The selected one itself has inf.
        """
        share = alpha / (self._problem.n_alternatives - 1)
        columns = [self._of_context(c, k, share) for c, k in enumerate(selected.tolist())]
        return np.stack(columns, axis=-1)

    def _of_context(self, context: int, chosen: int, alpha: float) -> Array:
        version = int(self._replications.version[context])
        known, found = self._known.get((context, chosen, alpha), (-1, np.empty(0)))
        if known != version:
            values = self._problem.sign * self._replications.of_context(context)
            scale = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
            exact = _vary(values) & _vary(values[chosen])
            found = self._bounds(_packed(values[chosen] - values), alpha, scale, exact)
            found[chosen] = np.inf
            self._known[context, chosen, alpha] = version, found
        return found

    def _bounds(self, differences: Array, alpha: float, scale: float, exact: BoolArray) -> Array:
        if self._problem.reward_range is None:
            resolution = _RESOLUTION * scale
            return sequences.normal_lower(differences, alpha, resolution=resolution, exact=exact)
        low, high = self._problem.reward_range
        return sequences.bounded_lower(differences, alpha, low - high, high - low)


def leads(study: "Study", alpha: float) -> Array:
    """Return lower bounds of selected minus each alternative, [alternative, context], alpha of one context.

    inf for the selected ones, and for pairs that are ruled out: these cannot be selected.
    """
    ledger, selected = study._journal.ledger, best(study._belief())
    lower, out = ledger.separations.lower(selected, alpha), study._ruled_out
    for k, c in ledger.in_order.sorted:
        lower[np.arange(len(lower)) != selected[c] if k == selected[c] else k, c] = -np.inf
    return lower if out is None else np.where(out, np.inf, lower)


def missing(study: "Study", alpha: float, delta: float) -> BoolArray:
    """Return the pairs of which a guarantee needs more replications, [alternative, context].

    In every context that is not certified: the selected alternative and the rivals not yet separated.
    """
    near = ~reached(leads(study, alpha), delta)
    near[best(study._belief()), np.arange(study.problem.n_contexts)] = near.any(axis=0)
    return np.asarray(near & answered(study))


def reached(lower: Array, delta: float) -> BoolArray:
    """Return whether the bounds certify the wish: a lag of at most delta or, if that is 0, a lead."""
    return np.asarray(lower >= -delta if delta > 0 else lower > 0)


def answered(study: "Study") -> BoolArray:
    """Return in which contexts some alternative can be selected."""
    out = study._ruled_out
    return np.ones(study.problem.n_contexts, bool) if out is None else np.any(~out, axis=0)


def _vary(rows: Array) -> BoolArray:
    """Return of which rows most values differ: then equal differences mean that all noise is common.

    Of rewards with few values, such as success and failure, equal differences say that others are rare.
    """
    different = np.sum(np.diff(np.sort(rows, axis=-1), axis=-1) > 0, axis=-1)
    return np.asarray(different >= 0.5 * np.sum(np.isfinite(rows), axis=-1))


def _packed(rows: Array) -> Array:
    """Return the rows with what is missing moved to their ends, the rest in order."""
    last = np.argsort(np.isnan(rows), axis=-1, kind="stable")
    return np.take_along_axis(rows, last, axis=-1)

"""What the data alone guarantee of a study's selections, whatever the model believes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.limits import NONE
from argbest.options import ALPHA
from argbest.study import assumptions, separations
from argbest.study.assumptions import Assumption
from argbest.study.separations import InOrder
from argbest.texts import Sentences

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.view import View

_FEWEST_DIFFERENCES = 20  # differences from which normal ones have a bound


@dataclass(frozen=True, eq=False, repr=False)
class Guarantee(Sentences):
    """What holds with confidence 1 − alpha without any model, for rewards as assumed.

    ``assume`` is "normal", "range" or "deterministic" (`Study.guarantee`), ``assumption`` the same in words.
    ``delta`` is how far from the best a selection may be. ``frame`` has one row per context. ``lower`` is a
    lower bound of the mean reward of the selected alternative minus that of the best other one (the other way
    round if smaller is better), and ``rival`` the one that keeps it down. ``smallest_delta`` is how far the
    selected one is from the best at most; 0: it is the best. ``certified`` says whether that is enough:
    within ``delta``, or with a ``delta`` of 0 a lead above 0. These hold in each context by itself; columns
    that end with ``_all`` hold in all contexts at once. ``replications`` were counted. How far ``lower`` is
    above 0 is a reserve: that the lead is so large has confidence 1 − 2 alpha.
    """

    alpha: float
    delta: float
    assume: str
    assumption: str  # follows "for": "normal rewards"
    frame: "pd.DataFrame"
    notes: tuple[str, ...]  # what was not counted, where a bound is withheld, and why

    @property
    def certified(self) -> bool:
        """Whether all contexts that have an answer are certified at once."""
        answered = self.frame["selected"].notna()
        return bool(answered.any() and self.frame["certified_all"][answered].all())

    @property
    def n_certified(self) -> int:
        """The number of contexts that are certified, each by itself."""
        return int(self.frame["certified"].sum())

    @property
    def smallest_delta(self) -> float:
        """Every selected alternative is within this of the best of its context, all at once."""
        return float(self.frame["smallest_delta_all"].max())

    @property
    def replications(self) -> int:
        """The number of replications counted."""
        return int(self.frame["replications"].sum())

    def __str__(self) -> str:
        claim = f"within {self.delta:g} of the best" if self.delta else "best"
        n, sure = len(self.frame), f"confidence {_confidence(self.alpha)}"
        if n == 1:
            yet = "" if self.certified else "not yet "
            return f"the selection is {yet}certified {claim}, {sure}, for {self.assumption}"
        at_once = "all of them at once" if self.certified else "not yet all at once"
        certified = f"{self.n_certified} of {n} contexts certified {claim}"
        return f"{certified}, {sure} in each, for {self.assumption}; {at_once}"


def of_study(view: "View", alpha: float, delta: float, assume: str | None = None) -> Guarantee:
    """Return what is guaranteed of a study's selections."""
    problem, answered, selected = view.problem, separations.answered(view), view.choice
    assumed = assumptions.of_rewards(view.reward_range, assume)
    each, together = (separations.leads(view, a, assumed) for a in (alpha, alpha / problem.n_contexts))
    counted = view.in_order
    frame = problem.contexts.frame()
    frame["selected"] = _labels(view, selected, answered & (selected != NONE))
    frame["rival"] = _labels(view, np.argmin(each, axis=0), answered & np.isfinite(each.min(axis=0)))
    for end, bounds in (("", each), ("_all", together)):
        lower = np.where(answered, bounds.min(axis=0), np.nan)
        frame[f"lower{end}"] = lower
        frame[f"smallest_delta{end}"] = np.maximum(-lower, 0.0)
        frame[f"certified{end}"] = separations.reached(lower, delta)
    frame["replications"] = counted.count.sum(axis=0)
    notes = [*_notes(view, counted), *_withheld(view, alpha, each, selected, assumed)]
    return Guarantee(alpha, delta, assumed.name, str(assumed), frame, tuple(notes))


def planned(view: "View") -> Guarantee:
    """Return the guarantee that the study was planned to stop with; if none was, the usual one."""
    rule = view.plan.get("stop")
    options = rule if isinstance(rule, Mapping) and rule.get("rule") == "guaranteed" else {}
    alpha, delta = float(options.get("alpha", ALPHA)), float(options.get("delta", 0.0))
    return of_study(view, alpha, delta, options.get("assume"))


def _confidence(alpha: float) -> str:
    """Return 1 − alpha in digits, or as a difference where six digits do not tell it."""
    digits = f"{1 - alpha:g}"
    return digits if math.isclose(1 - float(digits), alpha, rel_tol=0.01) else f"1 - {alpha:g}"


def _labels(view: "View", positions: IntArray, known: BoolArray) -> "pd.Series[Any]":
    """Return labels of alternatives, None where it is not known."""
    import pandas as pd

    labels = view.problem.alternatives.labels
    found = [labels[k] if there else None for k, there in zip(positions.tolist(), known, strict=True)]
    return pd.Series(found, dtype=None if known.all() else object)


def _notes(view: "View", counted: InOrder) -> list[str]:
    """Return sentences on what was not counted, and on what should be known."""
    notes, told = [], view.n_replications
    if view.problem.limits:
        notes.append("Nothing is certified: limits are not counted in a guarantee yet.")
    if counted.summarised:
        notes.append(
            f"{counted.summarised} replications told as summaries have no order and are not counted."
        )
    waiting = told - counted.summarised - int(counted.count.sum())
    if waiting:
        notes.append(f"{waiting} replications wait for earlier ones of their pairs and are not counted yet.")
    if counted.sorted:
        notes.append(
            f"The values of {len(counted.sorted)} pairs are sorted. A guarantee needs them in the order of "
            "the runs, so these pairs are not counted."
        )
    if view.n_failed:
        notes.append(
            f"{view.n_failed} replications failed. If failures depend on the reward, the guarantee is about "
            "replications in which neither of two compared alternatives fails."
        )
    if view.ruled_out is not None:
        notes.append("Alternatives that failed without a single value are not among the rivals.")
    return notes


def _withheld(view: "View", alpha: float, lower: Array, selected: IntArray, assumed: Assumption) -> list[str]:
    """Return sentences on contexts that have no bound because their values contradict the assumption."""
    if assumed.reward_range is not None or view.problem.limits:
        return []
    tied = skewed = 0
    enough = view.in_order.count[selected, np.arange(len(selected))] >= _FEWEST_DIFFERENCES
    for c in np.flatnonzero(enough & (lower == -np.inf).any(axis=0)).tolist():
        equal, leaning, values = view.separations.doubts(c, int(selected[c]), alpha)
        sorted_ = np.array([(k, c) in view.in_order.sorted for k in range(len(lower))])
        silent = (lower[:, c] == -np.inf) & (values >= _FEWEST_DIFFERENCES) & ~sorted_ & ~sorted_[selected[c]]
        tied, skewed = tied + bool((silent & equal).any()), skewed + bool((silent & leaning & ~equal).any())
    between = "differences between the selected alternative and a rival"
    exact = "" if assumed.exact else "; or assume='deterministic' if these alternatives differ by a constant"
    notes = []
    if tied:
        notes.append(
            f"In {tied} contexts too many {between} are equal for normal rewards, so there is no bound: "
            "other values may be rare. Give a reward_range, or let each replication be the mean of a batch"
            f"{exact}."
        )
    if skewed:
        notes.append(
            f"In {skewed} contexts the {between} are too skewed for normal rewards, so there is no bound "
            "yet. Give a reward_range, let each replication be the mean of a batch, or simulate more."
        )
    return notes

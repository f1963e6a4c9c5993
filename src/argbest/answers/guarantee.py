"""What the data alone guarantee of a study's selections, whatever the model believes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest.answers import frames
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.options import ALPHA
from argbest.study import separations
from argbest.study.assumptions import Assumed, Assumption
from argbest.study.growth import retired_pairs
from argbest.study.separations import InOrder
from argbest.texts import Sentences, with_unit

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.view import View

_FEWEST_DIFFERENCES = 20  # differences from which normal ones have a bound


@dataclass(frozen=True, eq=False, repr=False)
class Guarantee(Sentences):
    """What holds with confidence 1 − alpha without any model, for rewards as assumed.

    ``frame`` has one row per context. ``lower`` is a lower bound of the mean reward of the selected
    alternative minus that of the best other one (the other way round if smaller is better), and ``rival`` the
    one that keeps it down. ``smallest_delta`` is how far the selected one is from the best at most; 0: it is
    the best. ``certified`` says whether that is enough: within ``delta``, or with a ``delta`` of 0 a lead
    above 0. These hold in each context by itself; columns that end with ``_all`` hold in all contexts at
    once. ``replications`` were counted. How far ``lower`` is above 0 is a reserve: that the lead is so large
    has confidence 1 − 2 alpha.

    With limits ``feasible`` says whether the selected alternative is certified to keep all of them.
    ``certified`` needs that, and the others are those that may keep the limits: one that is certified to
    break them is no rival. Where none is selected it says that every alternative is certified to break one.
    All of it holds together with confidence 1 − alpha: a context with K alternatives and m limits has K − 1 +
    m bounds that could fail, and each has that share of alpha (`argbest.study.separations`).

    Attributes:
        alpha: One minus the confidence.
        delta: How far from the best a selection may be.
        assume: What is taken as given of the rewards: "normal", "range" or "deterministic".
        assumption: The same in words.
        frame: A row per context.
        notes: What a reader should know beside it.
        answered: Which contexts have an answer, [context].
    """

    alpha: float
    delta: float
    assume: str
    assumption: str  # follows "for": "normal rewards"
    frame: "pd.DataFrame"
    notes: tuple[str, ...]  # what was not counted, where a bound is withheld, and why
    answered: BoolArray  # [context]: whether there is an answer at all
    unit: str = ""  # of delta, if one was given

    @property
    def certified(self) -> bool:
        """Whether all contexts that have an answer are certified at once."""
        return bool(self.answered.any() and self.frame["certified_all"][self.answered].all())

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
        claim = f"within {with_unit(f'{self.delta:g}', self.unit)} of the best" if self.delta else "best"
        if "feasible" in self.frame.columns:
            claim += " of those that keep the limits"
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
    assumed = view.assumed(assume)
    at_once = view.separations.generations.of_contexts(alpha)
    each, together = (separations.claims(view, a, assumed, selected) for a in (alpha, at_once))
    counted, none = view.in_order, selected < 0
    frame = problem.contexts.frame()
    frame["selected"] = _labels(view, selected, answered & ~none)
    closest = np.argmin(each.lower, axis=0)
    frame["rival"] = _labels(view, closest, answered & np.isfinite(each.lower.min(axis=0)))
    for end, found in (("", each), ("_all", together)):
        lower = np.where(answered, found.lower.min(axis=0), np.nan)
        frame[f"lower{end}"] = lower
        frame[f"smallest_delta{end}"] = np.where(found.kept, np.maximum(-lower, 0.0), np.inf)
        frame[f"certified{end}"] = found.reached(delta) & answered
        if problem.limits:
            frame[f"feasible{end}"] = found.kept & answered & ~none
    frame["replications"] = counted.count.sum(axis=0)
    notes = [
        *_notes(view, counted),
        *_withheld(view, alpha, each.lower, np.maximum(selected, 0), assumed.goal),
        *_withheld_slacks(view, alpha, assumed),
    ]
    contexts = problem.contexts
    return Guarantee(
        alpha, delta, assumed.name, str(assumed), frames.of_active(frame, contexts), tuple(notes),
        answered[contexts.active], problem.goal_unit,
    )  # fmt: skip


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
    if view.ruled_out is not None and np.any(view.ruled_out & ~retired_pairs(view.problem)):
        notes.append("Alternatives that failed without a single value are not among the rivals.")
    generations = view.separations.generations
    if any(np.any(generations.of_context(c, 0).start) for c in range(view.problem.n_contexts)):
        notes.append(
            "Alternatives were added when values were known already. Comparisons with them count only "
            "replications whose numbers were new then."
        )
    return notes


def _withheld_slacks(view: "View", alpha: float, assumed: Assumed) -> list[str]:
    """Return sentences on limits that have no bound because their values contradict the assumption."""
    notes = []
    none, chosen, contexts = view.choice < 0, np.maximum(view.choice, 0), np.arange(len(view.choice))
    for i, (limit, own) in enumerate(zip(view.problem.limits, assumed.slacks, strict=True)):
        if own.reward_range is not None:
            continue
        bounds = view.separations.kept(i, alpha, own)[chosen, contexts]
        silent = 0
        for c in np.flatnonzero((bounds == -np.inf) & ~none).tolist():
            tied, skewed, n = (each[chosen[c]] for each in view.separations.slack_doubts(c, i, alpha))
            silent += bool(n >= _FEWEST_DIFFERENCES and (tied or skewed))
        if silent:
            name = limit.sum.names[0]
            notes.append(
                f"In {silent} contexts the values of the limit '{limit}' are too often equal, or too skewed, "
                f"for normal ones, so there is no bound. If they are 0 or 1, declare rate=[{name!r}] or tell "
                f"True and False; otherwise give a reward_range={{{name!r}: (low, high)}}, or let each "
                "replication be the mean of a batch."
            )
    return notes


def _withheld(view: "View", alpha: float, lower: Array, selected: IntArray, assumed: Assumption) -> list[str]:
    """Return sentences on contexts that have no bound because their values contradict the assumption."""
    if assumed.reward_range is not None:
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

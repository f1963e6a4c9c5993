"""Which alternatives no other one beats in every response, and how likely that is in every context."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers import doubts
from argbest.answers.answering import Answer
from argbest.answers.reported import reported_interval, reported_mean
from argbest.core.arrays import Array, IntArray
from argbest.core.goals import Goal, Limit
from argbest.core.pareto import Pareto, non_dominated
from argbest.core.states import INTERVAL, LEVEL, OPEN, SURE
from argbest.jsonable import records, values
from argbest.study.growth import retired_pairs
from argbest.texts import chance, first_of

if TYPE_CHECKING:
    from argbest.study.view import View

FORM = "non-dominated per context"
NAMED_FROM = 0.5  # P(non-dominated) of the alternatives that are named
COLUMN = "p_non_dominated"
_SHOWN = 6  # contexts in words


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ParetoAnswer(Answer):
    """Which alternatives no other one beats; ``goals`` are the goals that count.

    ``choice`` has a tuple per context: the alternatives with P(non-dominated) of 0.5 or more, likeliest
    first. ``table`` has a row per context and alternative: the means of all goals with the ends of their 90 %
    intervals, and p_non_dominated. ``p_right`` is the probability that exactly those named are non-dominated,
    averaged by the weights of the contexts. Nothing is lost by naming several, so ``expected_loss`` is NaN.
    """

    goals: tuple[Goal, ...]

    @property
    def halving(self) -> None:
        """None: there is no expected loss."""
        return

    @property
    def headline(self) -> str:
        """How many alternatives are named."""
        n = [len(each) for each in self.choice]
        between = f"{min(n)}" if min(n) == max(n) else f"{min(n)} to {max(n)}"
        where = f" in each of {len(n)} contexts" if len(n) > 1 else ""
        total = self.view.problem.n_alternatives
        return f"{between} of {total} alternatives non-dominated{where} by {self.goals_in_words}"

    @property
    def goals_in_words(self) -> str:
        """The goals in words."""
        *first, last = map(str, self.goals)
        return f"{', '.join(first)} and {last}"

    def details(self) -> list[str]:
        """Return, in words, the alternatives named in each context, what does not count, and doubts."""
        axis = self.view.problem.contexts
        labels = [axis.labels[c] for c in np.flatnonzero(axis.active).tolist()]
        lines = [
            f"in context {label}: {first_of(list(map(str, named)), _SHOWN) or 'no answer'}"
            for label, named in list(zip(labels, self.choice, strict=True))[:_SHOWN]
        ]
        if len(labels) > _SHOWN:
            lines.append(f"… and {len(labels) - _SHOWN} more contexts (see `choice`)")
        if self.view.problem.limits:
            kept = " and ".join(map(str, self.view.problem.limits))
            lines.append(f"whether an alternative keeps {kept} is not looked at")
        return [*lines, self.note] if self.note else lines

    def sentences(self) -> list[str]:
        """Return what is named, by what rule, and how sure that is."""
        return [
            f"named is what has P(non-dominated) of {NAMED_FROM} or more; "
            f"P(exactly these) {chance(self.p_right)} on average: {self.state}",
            *self.details(),
        ]

    def plain(self) -> dict[str, Any]:
        """Return the answer as JSON-ready values."""
        found = {
            "question": self.question,
            "form": self.form,
            "goals": [str(each) for each in self.goals],
            "choice": [list(each) for each in self.choice],
            "named_from": NAMED_FROM,
            "p_right": self.p_right,
            "state": self.state,
            "note": self.note,
            "table": records(self.table),
        }
        return {name: values(each) for name, each in found.items()}


def of_study(view: "View", asked: Pareto) -> ParetoAnswer:
    """Return which alternatives are non-dominated, from joint draws of all responses."""
    problem = view.problem
    goals = asked.goals(problem.aim, problem.limits, problem.responses)
    return view.inference.once(("pareto", goals), lambda: _answered(view, asked, goals))


def _answered(view: "View", asked: Pareto, goals: tuple[Goal, ...]) -> ParetoAnswer:
    """Return the answer for these goals, the first of which is the goal of the joint draws."""
    problem, labels = view.problem, view.problem.alternatives.labels
    # Joint draws of several goals, larger being better, are those of one goal and of the slacks of limits
    # that have a bound of 0.
    first, *others = goals
    as_limits = [Limit(each.sum, ">=" if each.sense == "max" else "<=", 0.0) for each in others if each.sum]
    joint = view.asking(goal=first, limits=as_limits)
    in_draws = joint.certificate(0.0).of_draws(lambda some: non_dominated(some, view.ruled_out).astype(float))
    likely = in_draws.mean(axis=0)  # [alternative, context]
    named = likely >= NAMED_FROM
    right = np.mean(np.all(in_draws == named, axis=-2), axis=0)  # [context]
    answered = np.ones(len(right), bool) if view.inference.answered is None else view.inference.answered
    weights = np.where(answered, problem.weights, 0.0)
    weights = weights if weights.any() else answered.astype(float)
    p_right = float(right @ weights / weights.sum()) if answered.any() else float("nan")
    order = np.argsort(-likely, axis=0, kind="stable")
    asked_about = np.flatnonzero(problem.contexts.active).tolist()
    choice = [tuple(labels[k] for k in order[:, c] if named[k, c]) for c in asked_about]
    note = _doubted(joint, goals)
    return ParetoAnswer(
        question=str(asked),
        form=FORM,
        goals=goals,
        choice=choice,
        expected_loss=float("nan"),
        p_right=p_right,
        delta=0.0,
        p_within=p_right,
        state=SURE if p_right >= LEVEL and not note else OPEN,
        runner_up=None,
        ties=(),
        value=None,
        table=_table(view, joint, goals, likely, order),
        bound=problem.asked,
        view=view,
        note=note,
        unit=problem.goal_unit,
    )


def _doubted(joint: "View", goals: tuple[Goal, ...]) -> str:
    """Return why the answer is not called sure, by the first goal that is in doubt; "" if none is."""
    for goal in goals:
        of_goal = joint.asking(goal=goal, limits=())
        found = doubts.of_study(of_goal)
        if found.some.any():
            return f"{_what(goal)}: {found.first(of_goal)}."
    return ""


def _what(goal: Goal) -> str:
    """Return what a goal is about: the bare name of one response, as in other tables, or the sum."""
    terms = () if goal.sum is None else goal.sum.terms
    return terms[0][0] if len(terms) == 1 and terms[0][1] == 1.0 else str(goal.sum)


def _table(
    view: "View", joint: "View", goals: tuple[Goal, ...], likely: Array, order: IntArray
) -> pd.DataFrame:
    """Return a row per context and alternative, in every context the likeliest first."""
    problem = view.problem
    k, c = order.T.ravel(), np.repeat(np.arange(problem.n_contexts), problem.n_alternatives)
    frame = pd.concat([problem.contexts.frame(c), problem.alternatives.frame(k)], axis=1)
    for goal in goals:
        of_goal = joint.asking(goal=goal, limits=())
        belief = of_goal.believed
        mean, sd = goal.sign * belief.mean[k, c], np.sqrt(belief.var[k, c])
        low, high = reported_interval(mean, sd, INTERVAL, rate=of_goal.rate)
        middle = reported_mean(mean, sd, rate=of_goal.rate)
        for end, values_of_end in (("mean", middle), ("low", low), ("high", high)):
            frame[f"{end}.{_what(goal)}"] = values_of_end
    frame[COLUMN] = likely[k, c]
    if view.ruled_out is not None:
        ruled_out = view.ruled_out[k, c]
        frame.loc[ruled_out, frame.columns[-1 - 3 * len(goals) :]] = np.nan
    active = ~retired_pairs(problem)[k, c]
    return frame if active.all() else frame[active].reset_index(drop=True)

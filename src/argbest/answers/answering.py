"""The answer to a question: what to choose, how much that may lose, and how sure it is."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from argbest.answers import doubts, frames, rules
from argbest.answers.halving import Halving
from argbest.answers.halving import of_study as halving_of
from argbest.answers.intervals import Estimate
from argbest.answers.tailoring import Tailoring
from argbest.answers.tailoring import of_study as tailoring_of
from argbest.core.abilities import offers
from argbest.core.arrays import Array, IntArray
from argbest.core.certificate import Certificate
from argbest.core.limits import NONE
from argbest.core.question import BEST, Question
from argbest.core.questions.one_for_all import ValuesAlternatives
from argbest.core.questions.rule import NamesRules
from argbest.core.questions.top import NamesSeveral
from argbest.core.states import EQUAL, LEVEL, OPEN, SURE, usual_delta
from argbest.errors import InputError
from argbest.problems.base import Problem
from argbest.questions import question as question_of
from argbest.questions import title
from argbest.texts import Sentences, as_html, chance, first_of, number

if TYPE_CHECKING:
    from argbest.study.view import View

_SHOWN = 6  # rows of a table in a notebook or a terminal


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Sentences):
    """What a study answers to a question; `str` says it in words, a notebook shows it as a table.

    ``choice`` is the label of one alternative, a list of labels (of `best` one per context, of `top` a
    tuple per context), or a `ChosenRule`. ``expected_loss`` is what it is expected to fall short of the
    right answer, ``p_right`` the probability that it is the right one, ``p_within`` that it loses no more
    than ``delta``; of questions with one choice per context these are averages by the weights. ``state``
    is sure, equal or open, as for contexts; a ``note`` says why a claim is not taken at its word.
    ``ties`` are other choices that are as good, but for ``delta``. ``table`` has a row per alternative,
    per context or per end of the rule. ``value`` is what the choice is worth, ``tailoring`` (of `best`
    and `overall`) what choosing per context gains, ``price`` (of a rule) what the rule loses against the
    table.
    """

    question: str
    choice: Any
    expected_loss: float
    p_right: float
    delta: float
    p_within: float
    state: str
    runner_up: Any
    ties: tuple[Any, ...]
    value: Estimate | None
    table: pd.DataFrame
    note: str = ""
    tailoring: Tailoring | None = None
    price: Estimate | None = None
    wrong: tuple[str, ...] = ()  # where a rule is surely wrong, in words
    unit: str = "reward"
    halve: Callable[[], Halving | None] = field(default=lambda: None, repr=False)

    @cached_property
    def halving(self) -> Halving | None:
        """How many more replications, chosen for this question, would halve the expected loss.

        None where there is nothing to halve, or where it would take long to work out.
        """
        return self.halve()

    @property
    def headline(self) -> str:
        """The choice in words."""
        if isinstance(self.choice, rules.ChosenRule):
            return "; ".join(self.choice.sentences())
        if isinstance(self.choice, list):
            n = len(self.choice)
            return f"one choice for each of {n} contexts (see `table`)" if n > 1 else str(self.choice[0])
        return str(self.choice)

    def __str__(self) -> str:
        said = [f"{self.question}: {self.headline}"]
        if self.value is not None:
            said.append(f"{_VALUES.get(self.question.partition(':')[0], 'value')} {self.value}")
        said.append(
            f"expected loss {number(self.expected_loss, 2)}; P(right) {chance(self.p_right)}; "
            f"P(loses at most {number(self.delta, 2)}) {chance(self.p_within)}: {self.state}"
        )
        if self.ties:
            said.append(f"as good, but for {number(self.delta, 2)}: {first_of(list(map(str, self.ties)))}")
        elif self.runner_up is not None:
            said.append(f"runner-up: {self.runner_up}")
        if self.price is not None:
            said.append(f"price of simplicity, against the best of every context: {self.price}")
        said += self.wrong[:3]
        if self.tailoring is not None:
            said.append(str(self.tailoring))
        if self.halving is not None and self.state == OPEN:
            said.append(str(self.halving))
        if self.note:
            said.append(self.note)
        return "\n".join(said)

    def plain(self) -> dict[str, Any]:
        """Return the answer as JSON-ready values."""
        rule = self.choice if isinstance(self.choice, rules.ChosenRule) else None
        more = self.halving
        return {
            "question": self.question,
            "choice": self.choice if rule is None else rule.sentences(),
            **{name: getattr(self, name) for name in ("expected_loss", "p_right", "p_within", "delta")},
            "state": self.state,
            "runner_up": self.runner_up,
            "ties": list(self.ties),
            "value": None if self.value is None else self.value._asdict(),
            "price": None if self.price is None else self.price._asdict(),
            "wrong": list(self.wrong),
            "tailoring": None if self.tailoring is None else {
                **self.tailoring.value._asdict(), "curve": self.tailoring.curve.to_dict("records")
            },
            "replications_to_halve": None if more is None else more.plain,
            "note": self.note,
        }  # fmt: skip

    def _repr_html_(self) -> str:
        first, *rest = str(self).splitlines()
        lines = "".join(f"<p>{as_html(line)}</p>" for line in rest)
        shown = self.table.head(_SHOWN).to_html(index=False, escape=True, float_format=lambda x: number(x))
        more = len(self.table) - _SHOWN
        left = f"<p>… and {more} more rows</p>" if more > 0 else ""
        return f"<p><b>{as_html(first)}</b></p>{lines}{shown}{left}"


_VALUES = {
    "overall": "average over contexts",
    "worst-case": "in its worst context",
    "regret": "largest loss to the best of a context",
    "most-probable-best": "best in this share of the contexts",
    "best": "average over contexts",
    "rule": "average over contexts",
}


def of_study(view: "View", question: object = None, delta: float | None = None) -> Answer:
    """Return the answer of a study to a question, by default its own."""
    asked = view.problem.question if question is None else question_of(question)
    return view.inference.once(("answer", title(asked), delta), lambda: _answered(view, asked, delta))


def _answered(view: "View", asked: Any, delta: float | None) -> Answer:
    problem = view.problem
    bound = problem.put(asked, view.inference.answered)
    if problem.limits and bound != BEST:
        raise InputError(
            f"limits go with the question {BEST.name!r} alone, not with {title(asked)!r}. Leave the limits "
            "out: answer(..., limits=[])."
        )
    if bound == BEST or delta is not None:
        zone = view.indifference(delta)
    else:
        zone = usual_delta(view.knowledge.belief.mean, view.ruled_out, bound)
    certificate = view.certificate(0.0) if bound == BEST else view.inference.certificate_of(bound, 0.0)
    common: dict[str, Any] = {
        "question": title(asked),
        "expected_loss": float(certificate.eoc),
        "p_right": float(certificate.pcs_e),
        "delta": zone,
        "p_within": _average(certificate, certificate.within(zone)),
        "note": doubts.sentence(view),
        "unit": problem.reward,
        "halve": lambda: None if problem.limits else halving_of(view, bound),
    }
    common["state"] = _state(common)
    if offers(bound, ValuesAlternatives):
        return Answer(**common, **_of_one(view, bound, certificate, zone))
    if offers(bound, NamesRules):
        return Answer(**common, **_of_rule(view, bound, certificate))
    if offers(bound, NamesSeveral):
        return Answer(**common, **_of_several(view, certificate, zone))
    if bound == BEST:
        return Answer(**common, **_of_contexts(view, certificate, zone))
    return Answer(**common, **_of_another(certificate))


def _named(rewards: Array, choice: IntArray) -> Array:
    """Return the rewards of the alternatives chosen for the contexts, [..., context]."""
    return np.asarray(rewards[..., choice, np.arange(len(choice))])


def _average(certificate: Certificate, each: Array) -> float:
    counted = certificate.counted
    return float(np.where(counted > 0, each, 0.0) @ counted)


def _state(said: dict[str, Any]) -> str:
    if said["note"]:
        return OPEN
    return SURE if said["p_right"] >= LEVEL else EQUAL if said["p_within"] >= LEVEL else OPEN


def _of_one(view: "View", bound: Any, certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return what is said of one alternative for all contexts."""
    problem, values, chosen = view.problem, certificate.drawn_values, int(certificate.choice)
    sign = _sign(problem, bound)
    largest = values.max(axis=1, keepdims=True)
    best = values == largest
    chance_of = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    loss = (largest - values).mean(axis=0)
    order = np.argsort(loss, kind="stable")
    order = np.concatenate([[chosen], order[order != chosen]])
    low, high = np.quantile(sign * values, [0.05, 0.95], axis=0)
    labels = problem.alternatives.labels
    frame = problem.alternatives.frame(order)
    frame["value"], frame["low"], frame["high"] = (sign * values.mean(axis=0))[order], low[order], high[order]
    frame["expected_loss"], frame["p_right"] = loss[order], chance_of[order]
    alike = np.mean(np.abs(values - values[:, [chosen]]) <= zone, axis=0) >= LEVEL
    ties = tuple(labels[k] for k in order[1:] if alike[k])
    rival = None if len(order) < 2 else labels[order[1:][np.argmax(chance_of[order[1:]])]]
    return {
        "choice": labels[chosen],
        "runner_up": rival,
        "ties": ties,
        "value": Estimate.of(values[:, chosen], sign),
        "table": frame,
        "tailoring": tailoring_of(view) if bound.name == "overall" else None,
    }


def _sign(problem: Problem, bound: Question) -> int:
    """Return what turns the value of a choice into what a user reads: rewards, a regret, a share."""
    if bound.name == "regret":
        return -1
    return 1 if bound.name == "most-probable-best" else problem.sign


def _of_contexts(view: "View", certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return what is said of one alternative per context."""
    frame, limits = frames.selection(view, zone), bool(view.problem.limits)
    chosen = np.maximum(certificate.choice, 0)
    draws = certificate.of_draws(lambda some: _named(some[..., 0, :, :] if limits else some, chosen))
    counted = np.where(certificate.choice == NONE, 0.0, certificate.counted)
    return {
        "choice": frame["selected"].tolist(),
        "runner_up": None,
        "ties": (),
        "value": Estimate.of(draws @ (counted / counted.sum()), view.problem.sign) if counted.any() else None,
        "table": frame,
        "tailoring": None if limits else tailoring_of(view),
    }


def _of_another(certificate: Certificate) -> dict[str, Any]:
    """Return what can be said of any question: its choice as it is, part by part."""
    table = pd.DataFrame({"expected_loss": certificate.expected_loss, "p_right": certificate.pcs})
    return {
        "choice": certificate.choice.tolist(),
        "runner_up": None,
        "ties": (),
        "value": None,
        "table": table,
    }


def _of_several(view: "View", certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return what is said of the m best of every context."""
    problem, chosen = view.problem, certificate.choice  # [place, context]
    labels = problem.alternatives.labels
    outside = view.belief.mean.copy()
    np.put_along_axis(outside, chosen, -np.inf, axis=0)
    next_best = outside.argmax(axis=0)
    frame = problem.contexts.frame()
    frame["selected"] = [tuple(labels[k] for k in column) for column in chosen.T.tolist()]
    frame["runner_up"] = [
        labels[k] if np.isfinite(outside[k, c]) else None for c, k in enumerate(next_best.tolist())
    ]
    frame["expected_loss"], frame["p_right"] = certificate.expected_loss, certificate.pcs
    frame["p_within"] = certificate.within(zone)
    frame["state"] = certificate.states(zone)
    return {
        "choice": frame["selected"].tolist(), "runner_up": None, "ties": (), "value": None, "table": frame,
    }  # fmt: skip


def _of_rule(view: "View", bound: NamesRules, certificate: Certificate) -> dict[str, Any]:
    """Return what is said of a rule: its value, what it loses against the table, and where it is wrong."""
    problem, shares = view.problem, bound.contexts.shares
    tree = bound.tree(view.belief)
    rule = rules.ChosenRule(tree, problem.alternatives, problem.contexts)
    named: IntArray = bound.conditions.choices(tree)

    def worth(some: Array) -> Array:
        own = _named(some, named)
        return np.stack([own @ shares, some.max(axis=-2) @ shares], axis=-1)

    drawn = certificate.of_draws(worth)
    rows = []
    for (path, label), (_, inside) in zip(rule.ends, bound.ends(tree), strict=True):
        words = " and ".join(rules.clauses(path)) or "always"
        rows.append((words, label, int(inside.sum()), float(shares[inside].sum())))
    table = pd.DataFrame(rows, columns=["where", "selected", "n_contexts", "weight"])
    return {
        "choice": rule,
        "runner_up": None,
        "ties": (),
        "value": Estimate.of(drawn[:, 0], problem.sign),
        "table": table,
        "price": Estimate.of(drawn[:, 1] - drawn[:, 0]),
        "wrong": tuple(_surely_wrong(view, named)),
    }


def _surely_wrong(view: "View", named: IntArray) -> list[str]:
    """Return, in words, the contexts in which another alternative is surely better than that of the rule."""
    certificate, labels = view.certificate(0.0), view.problem.alternatives.labels
    right = certificate.certainty.good_probability(named, 0.0)
    best = certificate.choice
    return [
        f"in context {view.problem.contexts.labels[c]} it is surely wrong: {labels[best[c]]} is better than "
        f"{labels[named[c]]}"
        for c in np.flatnonzero((right <= 1.0 - LEVEL) & (best != named)).tolist()
    ]

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
from argbest.answers.intervals import TAILS, Estimate
from argbest.answers.tailoring import Tailoring
from argbest.answers.tailoring import of_study as tailoring_of
from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import of_selected
from argbest.core.certificate import Certificate
from argbest.core.limits import NONE, BestWithinLimits
from argbest.core.outcomes import means_of
from argbest.core.question import BEST, Question, SaysChoices
from argbest.core.questions.contexts import KeepsLimits
from argbest.core.questions.one_for_all import FindsTheWorst, ValuesAlternatives
from argbest.core.questions.rule import NamesRules
from argbest.core.questions.top import NamesSeveral
from argbest.core.questions.within_limits import CountsOnlyKept
from argbest.core.states import EQUAL, LEVEL, OPEN, SURE, usual_delta
from argbest.jsonable import records, values
from argbest.lazy import later
from argbest.problems.base import Problem
from argbest.problems.labels import called, place
from argbest.questions import question as question_of
from argbest.questions import title
from argbest.table_files import in_cell
from argbest.texts import Sentences, chance, first_of, number, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from argbest.study.view import View

_SHOWN_WRONG = 3  # sentences on where a rule is wrong
ONE, EACH, SEVERAL, RULE, OTHER = "one for all", "one per context", "several per context", "rule", "other"
_report = later("argbest.report.notebook")  # draws answers; above this room


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Sentences):
    """What a study answers to a question; `str` says it in words, a notebook shows it, `plot` draws it.

    ``choice`` is the label of one alternative, a list of labels (of `best` one per context, of `top` a
    tuple per context), or a `ChosenRule`; ``form`` says which. ``expected_loss`` is what it is expected
    to fall short of the right answer, ``p_right`` the probability that it is the right one, ``p_within``
    that it loses no more than ``delta``; of questions with one choice per context these are averages by
    the weights. ``state`` is sure, equal or open, as for contexts; a ``note`` says why a claim is not
    taken at its word. ``ties`` are other choices that are as good, but for ``delta``: labels, or texts
    such as "18: 21" where they belong to one context. ``table`` has a row per alternative, per context or
    per end of the rule. ``value`` is what the choice is worth, ``tailoring`` (of `best` and `overall`)
    what choosing per context gains, ``price`` (of a rule) what the rule loses against the table. With limits
    ``p_feasible`` is the probability that the choice keeps all of them in every context where something is
    chosen, and every broken one counts as a loss of its price, in ``value``, too (``limits`` says so).
    ``view`` is the study when it was asked.
    """

    question: str
    form: str
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
    bound: Question = field(repr=False)  # the question, put to the contexts of the study
    view: "View" = field(repr=False)
    words: str = ""  # the choice, where the question has words for it
    note: str = ""
    tailoring: Tailoring | None = None
    price: Estimate | None = None
    wrong: tuple[str, ...] = ()  # where a rule is surely wrong, in words
    unit: str = ""  # of values and losses, if one was given
    p_feasible: float | None = None
    limits: str = ""  # how broken limits count, in words

    @cached_property
    def halving(self) -> Halving | None:
        """How many more replications, chosen for this question, would halve the expected loss.

        None where there is nothing to halve, or where it would take long to work out.
        """
        return halving_of(self.view, self.bound)

    @property
    def headline(self) -> str:
        """The choice in words."""
        if self.words:
            return self.words
        if self.form == RULE:
            return "; ".join(self.choice.sentences()) + self._promise
        if self.form == ONE:
            return str(self.choice) + self._promise
        n = len(self.table)
        several = "a shortlist" if self.form == SEVERAL else "one choice"
        return f"{several} for each of {n} contexts" if n > 1 else str(self.choice[0])

    @property
    def _promise(self) -> str:
        """What is to be said of limits beside a choice for all contexts, "" where it is sure to keep them."""
        if self.p_feasible is None or not self.limits or self.p_feasible >= LEVEL:
            return ""
        return " (breaks a limit)" if self.p_feasible <= 1.0 - LEVEL else " (may break a limit)"

    @property
    def meaning(self) -> str:
        """What ``value`` is."""
        meaning = _VALUES.get(self.question.partition(":")[0], "value")
        priced = self.limits and not offers(self.bound, CountsOnlyKept)
        return f"{meaning}, broken limits at their price," if priced else meaning

    @property
    def value_unit(self) -> str:
        """The unit of ``value``, "" where that is a share of the contexts."""
        return "" if self.question.partition(":")[0] == MOST_PROBABLE else self.unit

    def _amount(self, value: float) -> str:
        return with_unit(number(value, 2), self.value_unit)

    def details(self) -> list[str]:
        """Return limits, ties or runner-up, what a rule costs, where it is wrong, and doubts, in words."""
        lines = [self.limits] if self.limits else []
        if self.limits and self.p_feasible is not None:
            lines = [f"P(keeps all limits in every context) {chance(self.p_feasible)}; {self.limits}"]
        if self.ties:
            lines.append(
                f"as good, but for {self._amount(self.delta)}: {first_of(list(map(str, self.ties)))}"
            )
        elif self.runner_up is not None:
            lines.append(f"runner-up: {self.runner_up}")
        if self.price is not None:
            lines.append(
                f"price of simplicity, against the best of every context: {self.price.said(self.unit)}"
            )
        if self.wrong:
            lines += self.wrong[:_SHOWN_WRONG]
            more = len(self.wrong) - _SHOWN_WRONG
            others = "another context" if more == 1 else f"{more} more contexts"
            lines += [f"and it is surely wrong in {others}"] if more > 0 else []
        return [*lines, self.note] if self.note else lines

    def sentences(self) -> list[str]:
        """Return all there is to say of the choice, the most important first."""
        lines = [] if self.value is None else [f"{self.meaning} {self.value.said(self.value_unit)}"]
        lines.append(
            f"expected loss {self._amount(self.expected_loss)}; P(right) {chance(self.p_right)}; "
            f"P(loses at most {self._amount(self.delta)}) {chance(self.p_within)}: {self.state}"
        )
        lines += self.details()
        if self.tailoring is not None:
            lines.append(self.tailoring.said(self.unit))
        if self.state == OPEN and self.halving is not None:
            lines.append(str(self.halving))
        return lines

    def __str__(self) -> str:
        return "\n".join([f"{self.question}: {self.headline}", *self.sentences()])

    def plain(self) -> dict[str, Any]:
        """Return the answer as JSON-ready values."""
        more = self.halving
        tailoring = self.tailoring
        found = {
            "question": self.question,
            "form": self.form,
            "choice": self.choice.sentences() if self.form == RULE else self.choice,
            **{name: getattr(self, name) for name in ("expected_loss", "p_right", "p_within", "delta")},
            **({"p_feasible": self.p_feasible} if self.view.problem.limits else {}),
            "state": self.state,
            "runner_up": self.runner_up,
            "ties": list(self.ties),
            "value": None if self.value is None else self.value._asdict(),
            "price": None if self.price is None else self.price._asdict(),
            "wrong": list(self.wrong),
            "tailoring": None if tailoring is None else {
                **tailoring.value._asdict(), "over": tailoring.single, "curve": records(tailoring.curve)
            },
            "replications_to_halve": None if more is None else more.plain,
            "note": self.note,
            "table": records(self.table),
            **({"python": self.choice.python()} if self.form == RULE else {}),
        }  # fmt: skip
        return {name: values(each) for name, each in found.items()}

    def frame(self) -> pd.DataFrame:
        """Return the table for files: of a rule column by column, several labels of a cell as one text.

        Such labels are separated by commas; those that have one stand in quotation marks, as in CSV.
        """
        if self.form == RULE:
            rule: rules.ChosenRule = self.choice
            return rule.frame()
        several = [n for n in self.table if len(self.table) and isinstance(self.table[n].iloc[0], tuple)]
        texts = {str(n): [in_cell(each, ",") for each in self.table[n]] for n in several}
        return self.table.assign(**texts)

    def plot(self, *, theme: str | None = None) -> "Figure":
        """Return a picture of the answer, a figure of matplotlib; ``theme`` is "light" or "dark"."""
        figure: Figure = _report.plot_answer(self, theme=theme)
        return figure

    def _repr_html_(self) -> str:
        shown: str = _report.of_answer(self)
        return shown


MOST_PROBABLE = "most-probable-best"
_VALUES = {
    "overall": "average over contexts",
    "worst-case": "in its worst context",
    "regret": "largest loss to the best of a context",
    MOST_PROBABLE: "best in this share of the contexts",
    "best": "average over contexts",
    "rule": "average over contexts",
}


def of_study(view: "View", question: object = None, delta: float | None = None) -> Answer:
    """Return the answer of a study to a question, by default its own."""
    asked = view.problem.question if question is None else question_of(question)
    return view.inference.once(("answer", title(asked), delta), lambda: _answered(view, asked, delta))


def _answered(view: "View", asked: Any, delta: float | None) -> Answer:
    """Return the answer to a question that is checked: what all have in common, and what its kind adds."""
    problem = view.problem
    bound = problem.put(asked, view.inference.answered)
    limited = problem.limiting(bound)
    if bound == BEST or delta is not None:
        zone = view.indifference(delta)
    else:
        zone = usual_delta(means_of(view.knowledge.belief), view.ruled_out, limited)
    certificate = view.certificate(0.0) if bound == BEST else view.inference.certificate_of(limited, 0.0)
    common: dict[str, Any] = {
        "question": title(asked),
        "expected_loss": float(certificate.eoc),
        "p_right": float(certificate.pcs_e),
        "delta": zone,
        "p_within": _average(certificate, certificate.within(zone)),
        "note": doubts.sentence(view),
        "unit": problem.goal_unit,
        "bound": bound,
        "view": view,
        "limits": _of_limits(view, limited),
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
    return Answer(**common, **_of_another(view, bound, certificate))


def _of_limits(view: "View", limited: Question) -> str:
    """Return how a broken limit counts, in words; "" without limits, and for the best of every context."""
    if not offers(limited, KeepsLimits):
        return ""
    if offers(limited.inner, CountsOnlyKept):
        return "in no context an alternative that breaks a limit counts as the best"
    prices = BestWithinLimits(view.problem.price).settled(view.belief).prices
    low, high = (number(each, 2) for each in (float(prices.min()), float(prices.max())))
    price = with_unit(low if low == high else f"{low} to {high}", view.problem.goal_unit)
    return f"a broken limit counts as a loss of its price, {price}"


def _keeping(view: "View", certificate: Certificate, of: Callable[[BoolArray], AnyArray]) -> Array | None:
    """Return the probability that ``of`` is true, a function of which pairs keep all limits.

    Its argument is [draw, ..., alternative, context]; in contexts without an answer limits count as kept.
    None without limits.
    """
    if not view.problem.limits:
        return None
    answered = view.inference.answered

    def true(outcomes: Array) -> Array:
        kept = np.all(outcomes[..., 1:, :, :] >= 0, axis=-3)
        return np.asarray(of(kept if answered is None else kept | ~answered), float)

    return np.asarray(certificate.of_outcomes(true).mean(axis=0))


def _named(rewards: AnyArray, choice: IntArray) -> AnyArray:
    """Return the rewards of the alternatives chosen, [..., context]."""
    return np.asarray(rewards[..., choice, np.arange(choice.shape[-1])])


def _average(certificate: Certificate, each: Array) -> float:
    """Return the average over the parts that have an answer, by their weights."""
    counted = certificate.counted
    return float(np.where(counted > 0, each, 0.0) @ counted)


def _state(parts: dict[str, Any]) -> str:
    """Return the state of a whole answer; open where a note speaks against it."""
    if parts["note"]:
        return OPEN
    return SURE if parts["p_right"] >= LEVEL else EQUAL if parts["p_within"] >= LEVEL else OPEN


def _of_one(view: "View", bound: Any, certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return the parts of an answer with one alternative for all contexts."""
    problem, worth, chosen = view.problem, certificate.drawn_values, int(certificate.choice)
    sign = _sign(problem, bound)
    largest = worth.max(axis=1, keepdims=True)
    chance_of = (worth == largest).mean(axis=0)  # equal ones are right, each of them
    loss = (largest - worth).mean(axis=0)
    order = np.argsort(loss, kind="stable")
    order = np.concatenate([[chosen], order[(order != chosen) & problem.alternatives.active[order]]])
    in_units = sign * worth + 0.0
    low, high = np.quantile(in_units, TAILS, axis=0)
    labels = problem.alternatives.labels
    frame = problem.alternatives.frame(order)
    frame["value"], frame["low"], frame["high"] = in_units.mean(axis=0)[order], low[order], high[order]
    if offers(bound, FindsTheWorst):
        frame["worst_context"], frame["p_worst"] = _worst(view, bound, certificate, order)
    frame["expected_loss"], frame["p_right"] = loss[order], chance_of[order]
    kept = _keeping(view, certificate, lambda kept: np.asarray(kept.all(axis=-1)))
    if kept is not None:
        frame["p_feasible"] = kept[order]
    alike = np.mean(np.abs(worth - worth[:, [chosen]]) <= zone, axis=0) >= LEVEL
    ties = tuple(labels[k] for k in order[1:] if alike[k])
    rival = None if len(order) < 2 else labels[order[1:][np.argmax(chance_of[order[1:]])]]
    return {
        "form": ONE,
        "choice": labels[chosen],
        "runner_up": rival,
        "ties": ties,
        "value": Estimate.of(worth[:, chosen], sign),
        "table": frame,
        "tailoring": tailoring_of(view) if bound.name == "overall" else None,
        "p_feasible": None if kept is None else float(kept[chosen]),
    }


def _worst(
    view: "View", bound: FindsTheWorst, certificate: Certificate, order: IntArray
) -> tuple[list[Any], Array]:
    """Return the context that most often settles the value of each alternative, and how often it does."""
    found = certificate.of_draws(lambda some: bound.worst_contexts(some).astype(float))[:, order]
    times = np.apply_along_axis(np.bincount, 0, found.astype(int), minlength=view.problem.n_contexts)
    labels = view.problem.contexts.labels
    return [labels[c] for c in times.argmax(axis=0).tolist()], np.asarray(times.max(axis=0) / len(found))


def _sign(problem: Problem, bound: Question) -> int:
    """Return the sign that turns the value of a choice into what a user reads: rewards, a regret, a share."""
    if bound.name == "regret":
        return -1
    return 1 if bound.name == "most-probable-best" else problem.sign


def _of_contexts(view: "View", certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return the parts of an answer with one alternative per context."""
    frame, limits = frames.selection(view, zone), bool(view.problem.limits)
    chosen = np.maximum(certificate.choice, 0)
    draws = certificate.of_draws(lambda some: _named(some[..., 0, :, :] if limits else some, chosen))
    counted, none = np.where(certificate.choice == NONE, 0.0, certificate.counted), certificate.choice == NONE
    kept = _keeping(view, certificate, lambda kept: np.all(_named(kept, chosen) | none, axis=-1))
    shown = frames.without_notes(frames.of_active(frame, view.problem.contexts))
    return {
        "form": EACH,
        "choice": shown["selected"].tolist(),
        "runner_up": None,
        "ties": () if limits else _ties(view, certificate, chosen, frame["state"] == EQUAL, zone),
        "value": Estimate.of(draws @ (counted / counted.sum()), view.problem.sign) if counted.any() else None,
        "table": shown,
        "tailoring": tailoring_of(view),
        "p_feasible": None if kept is None or none.all() else float(kept),
    }


def _ties(
    view: "View", certificate: Certificate, last: IntArray, where: "pd.Series[bool]", zone: float
) -> tuple[str, ...]:
    """Return, in words, which alternatives are as good as the last one chosen of every context."""
    contexts = np.flatnonzero(where)
    if not len(contexts):
        return ()

    def alike(some: Array) -> Array:
        distance = np.abs(some[..., contexts] - _named(some, last)[..., None, contexts])
        return (distance <= zone).astype(float)

    equal = certificate.of_draws(alike).mean(axis=0) >= LEVEL  # [alternative, context]
    equal[last[contexts], np.arange(len(contexts))] = False
    labels, names = view.problem.alternatives.labels, view.problem.contexts.labels
    return tuple(
        f"{names[c]}: {' or '.join(str(labels[k]) for k in np.flatnonzero(equal[:, i]))}"
        for i, c in enumerate(contexts.tolist())
        if equal[:, i].any()
    )


def _of_another(view: "View", bound: Question, certificate: Certificate) -> dict[str, Any]:
    """Return the parts of the answer to any other question: its choice as it is."""
    table = pd.DataFrame({"expected_loss": certificate.expected_loss, "p_right": certificate.pcs})
    problem, words = view.problem, ""
    if offers(bound, SaysChoices):
        labels = [tuple(map(str, axis.labels)) for axis in (problem.alternatives, problem.contexts)]
        words = bound.words(certificate.choice, *labels)
    return {
        "form": OTHER,
        "words": words or str(certificate.choice.tolist()),
        "choice": certificate.choice.tolist(),
        "runner_up": None,
        "ties": (),
        "value": None,
        "table": table,
    }


def _of_several(view: "View", certificate: Certificate, zone: float) -> dict[str, Any]:
    """Return the parts of an answer with the m best of every context."""
    problem, chosen = view.problem, certificate.choice  # [place, context]
    labels = problem.alternatives.labels
    outside = certificate.known.mean.copy()
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

    def all_named(kept: BoolArray) -> AnyArray:
        each = np.all(_named(kept, chosen), axis=-2)
        return np.concatenate([each, each.all(axis=-1, keepdims=True)], axis=-1)

    if (kept := _keeping(view, certificate, all_named)) is not None:
        frame["p_feasible"] = kept[:-1]
    shown = frames.of_active(frame, problem.contexts)
    return {
        "form": SEVERAL,
        "p_feasible": None if kept is None else float(kept[-1]),
        "choice": shown["selected"].tolist(),
        "runner_up": None,
        "ties": _ties(view, certificate, chosen[-1], frame["state"] == EQUAL, zone),
        "value": None,
        "table": shown,
    }


def _of_rule(view: "View", bound: NamesRules, certificate: Certificate) -> dict[str, Any]:
    """Return the parts of an answer with a rule: its value, its loss against the table, where it is wrong."""
    problem, shares = view.problem, bound.contexts.shares
    tree = bound.tree(certificate.known)
    rule = rules.ChosenRule(tree, problem.alternatives, problem.contexts)
    named: IntArray = bound.conditions.choices(tree)

    def worth(some: Array) -> Array:
        own = _named(some, named)
        return np.stack([own @ shares, some.max(axis=-2) @ shares], axis=-1)

    drawn = certificate.of_draws(worth)
    kept = _keeping(view, certificate, lambda kept: np.all(_named(kept, named), axis=-1))
    rows = []
    for (path, label), (_, inside) in zip(rule.ends, bound.ends(tree), strict=True):
        rows.append((rules.where(path), label, int(inside.sum()), float(shares[inside].sum())))
    table = pd.DataFrame(rows, columns=["where", "selected", "n_contexts", "weight"])
    return {
        "form": RULE,
        "choice": rule,
        "runner_up": None,
        "ties": (),
        "value": Estimate.of(drawn[:, 0], problem.sign),
        "table": table,
        "p_feasible": None if kept is None else float(kept),
        "price": Estimate.of(np.maximum(drawn[:, 1] - drawn[:, 0], 0.0)),  # less than 0 is rounding
        "wrong": tuple(
            f"{place(problem.contexts, c)} it is surely wrong: {called(problem.alternatives, k)} is better "
            f"than {called(problem.alternatives, int(named[c]))}"
            for c, k in surely_wrong(view, named).items()
        ),
    }


def surely_wrong(view: "View", named: IntArray) -> dict[int, int]:
    """Return the contexts in which another alternative is surely better than that named, and which one."""
    certificate = view.certificate(0.0)
    options = certificate.options
    right = (
        certificate.certainty.good_probability(named, 0.0)
        if options is None
        else of_selected(options.right, named)
    )
    wrong = (right <= 1.0 - LEVEL) & (certificate.choice != named) & (certificate.selected >= 0)
    return {c: int(certificate.choice[c]) for c in np.flatnonzero(wrong).tolist()}

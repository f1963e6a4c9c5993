"""Problem: alternatives, contexts, a simulator, and what is known of the truth; in the user's units."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from argbest import simulators
from argbest.checks import affordable, flag, indifference_zone, interval, real, table, unicode
from argbest.core import goals
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.earlier import Earlier
from argbest.core.goals import Goal, Limit
from argbest.core.limits import NONE, BestWithinLimits
from argbest.core.outcomes import Basis, only_response
from argbest.core.question import BEST, HasLimits, Question
from argbest.core.questions.contexts import Column, Contexts, KeepsLimits, put_to
from argbest.core.questions.top import NamesSeveral
from argbest.core.questions.within_limits import WithLimits
from argbest.core.replications import Replications
from argbest.core.setting import Setting
from argbest.core.tally import Tally, from_observations
from argbest.errors import InputError
from argbest.jsonable import values
from argbest.problems import labels, units
from argbest.problems.axis import Axis, Bounds
from argbest.problems.labels import argument_words
from argbest.problems.population import DrawsPeople, People
from argbest.problems.prior_runs import PriorRuns
from argbest.questions import question as question_of
from argbest.questions import title

if TYPE_CHECKING:
    import pandas as pd

Simulate: TypeAlias = Callable[[Any, Any, int], Any]  # a number, or a dict of numbers by response

_Scalar = TypeVar("_Scalar", bound=np.generic)
MOST_PAIRS = 10**8
_TIE = 1e-9  # of the range of the truth table
_FOLLOWS_FROM_GOAL = (  # what is worked out once
    *("aim", "asked", "setting", "outcome_forms", "_outcomes", "feasible", "best", "ties", "gaps"),
    "gap_over_noise",
)


@dataclass(frozen=True, init=False, eq=False)
class Problem:
    """K alternatives, C contexts, a simulator and, where known, the truth; tables are [alternative, context].

    Args:
        alternatives (list, dicts or DataFrame): What there is to choose from: labels, or rows with named
            columns.
        contexts (list, dicts, DataFrame or Population): The situations to choose for: labels, rows, or people
            drawn from a `Population`.
        simulate: A function of (alternative, context, seed) that returns one noisy reward, or a dict of
            responses; or a `Program`.
        weights (list or dict): How much each context counts; by default all alike.
        bounds (pair, dict or list of pairs): The range of the context coordinates; by default their extremes.
        categorical (names of columns): Columns whose numbers are only identifiers.
        goal: What is to be large or small: "max", "min", or with several responses "min cost" or "min cost +
            0.2 * wait".
        limits (text or list of texts): What a choice must keep, such as "late <= 0.05".
        price: What it costs to break a limit, in units of the goal; by default what is at stake in a context.
        responses (list of names): What the simulator returns, if it returns a dict; by default taken from the
            first result.
        truth (table): The mean rewards where they are known, which score selections; with several responses a
            dict of tables.
        truth_se (table): The standard error of the truth.
        noise_sd (number or table): The standard deviation of the noise where it is known, with several
            responses a dict, of those where it is known; 0 says that there is none.
        name: The title of reports and pictures; by default the name of the simulator.
        description: A sentence about the problem.
        reward: What is simulated, for pictures and pages: "waiting time".
        unit (text, or dict by name): The unit of the goal, "minutes", or units by name: of "reward" (the
            goal), of responses, and of columns of the alternatives and the contexts.
        reward_range (pair, or dict by response): An interval that holds every single reward; values outside
            it are refused, and `Study.guarantee` then needs no normal rewards.
        rate (bool, or names of responses): Whether every single reward is 0 or 1, so that its mean is a rate;
            all other values are refused.
        question (name or question): What is to be chosen (`argbest.questions`); by default the best
            alternative of every context.
        prior_runs: Runs of earlier sources, as `Study` was given them.
    """

    alternatives: Axis
    contexts: Axis
    simulate: Simulate | None
    weights: Array  # [context], sums to 1
    bounds: Bounds
    goal: str  # as text: "max", "min", "min cost + 0.2 * wait"
    limits: tuple[Limit, ...]
    price: float | None
    responses: tuple[str, ...]  # their names; () of a simulator that returns one number
    truth: Array | None  # [alternative, context]; of several responses [response, alternative, context]
    truth_se: Array | None  # of the same shape
    noise_sd: Array | None  # of the same shape
    name: str
    description: str
    reward: str
    unit: dict[str, str]  # by name; see `units.declared_units`
    reward_range: tuple[float, float] | dict[str, tuple[float, float]] | None  # (0, 1) of a rate
    rate: bool | tuple[str, ...]  # of several responses the names of those that are rates
    question: Any  # what is to be chosen, as it was named: an object of `argbest.questions`
    prior_runs: PriorRuns | None  # of earlier sources, that a study begins with

    def __init__(
        self,
        alternatives: object,
        contexts: object,
        simulate: Simulate | None = None,
        *,
        weights: object = None,
        bounds: object = None,
        categorical: object = (),
        goal: str = "max",
        limits: object = None,
        price: float | None = None,
        responses: object = None,
        truth: object = None,
        truth_se: object = None,
        noise_sd: object = None,
        name: str | None = None,
        description: str = "",
        reward: str = "reward",
        unit: object = None,
        reward_range: object = None,
        rate: object = False,
        question: object = None,
        prior_runs: PriorRuns | None = None,
    ) -> None:
        declared = truth if responses is None and isinstance(truth, Mapping) else responses
        wanted = goals.Wanted.read(goal, limits, price, declared)
        named = wanted.responses
        if truth is None and truth_se is not None:
            raise InputError("got truth_se without truth. Give the table truth=[alternative][context] too.")
        if offers(contexts, DrawsPeople):
            _refuse_weights(weights)
            contexts, weights = contexts.drawn()
        given = Axis.of("alternative", alternatives), Axis.of("context", contexts)
        rows, columns = (
            replace(axis, word=axis.word or word)
            for axis, word in zip(labels.declared(given, categorical), argument_words(simulate), strict=True)
        )
        shape = (len(rows), len(columns))
        affordable(
            f"{shape[0]:,} alternatives x {shape[1]:,} contexts have pairs", shape[0] * shape[1], MOST_PAIRS
        )
        error = 0.0 if truth_se is None else truth_se
        truth, error = (
            _stacked(what, given, named, shape) for what, given in (("truth", truth), ("truth_se", error))
        )
        noise_sd = _stacked("noise_sd", noise_sd, named, shape, partly=True)
        tables = (len(named), *shape) if named else shape
        rates = declared_rates(rate, named) if wanted.named else flag("rate", rate)
        self.__dict__.update(  # the one way to set a field of a frozen instance
            alternatives=rows,
            contexts=columns,
            simulate=simulators.reading(_function(simulate), wanted.named),
            weights=_weights(weights, columns),
            bounds=columns.bounds(bounds),
            goal=str(wanted.goal),
            limits=wanted.limits,
            price=wanted.price,
            responses=named,
            truth=None if truth is None else _frozen(table("truth", truth, tables)),
            truth_se=None if truth is None else _spread("truth_se", error, tables),
            noise_sd=None if noise_sd is None else _spread("noise_sd", noise_sd, tables),
            name=labels.title(simulate, rows, columns) if name is None else _text("name", name),
            description=_text("description", description, empty=True),
            reward=_text("reward", reward),
            unit=units.declared_units(
                unit, wanted.goal, wanted.named, (rows, columns), complete=bool(named) or not wanted.named
            ),
            reward_range=declared_ranges(reward_range, rates, named),
            rate=rates,
            question=question_of(question),
            prior_runs=prior_runs,
        )
        _ = self.asked  # a question that does not fit the contexts is refused at once

    def __repr__(self) -> str:
        size = "{} alternatives x {} contexts".format(*self.shape)
        what = self.goal if self.responses else f"{self.goal} {self.reward}"
        kept = f", {', '.join(map(str, self.limits))}" if self.limits else ""
        return f"<Problem {self.name!r}: {size}, {what}{kept}>"

    @property
    def n_alternatives(self) -> int:
        """The number K of alternatives."""
        return len(self.alternatives)

    @property
    def n_contexts(self) -> int:
        """The number C of contexts."""
        return len(self.contexts)

    @property
    def shape(self) -> tuple[int, int]:
        """(K, C), the shape of every table."""
        return self.n_alternatives, self.n_contexts

    @property
    def in_use(self) -> tuple[int, int]:
        """How many alternatives and contexts are not retired."""
        return int(self.alternatives.active.sum()), int(self.contexts.active.sum())

    @property
    def population(self) -> People | None:
        """Where the contexts come from, if they are a population."""
        return self.contexts.people

    @property
    def common_random_numbers(self) -> bool:
        """Whether alternatives share seeds unless a study says otherwise: not where there are limits.

        Shared seeds tell more of differences between alternatives. Whether a limit is kept follows from the
        level of a response, and of that alternatives with the same luck say no more than one of them does.
        """
        return not self.limits

    @cached_property
    def setting(self) -> Setting:
        """What models and policies may know of the problem; every context allowed."""
        return Setting(
            weights=self.weights,
            separation=self.contexts.separation(self.bounds),
            allowed=np.ones(self.n_contexts, bool),
            alternatives=self.alternatives.located(self.alternatives.bounds()),
            question=self.asked,
            basis=Basis.of(self.outcome_forms),
        )

    @cached_property
    def aim(self) -> Goal:
        """The goal as an object."""
        return goals.read_goal(self.goal)

    @cached_property
    def asked(self) -> Question:
        """The question, put to the contexts of this problem; with limits only what keeps them is chosen."""
        return self.limiting(self.put(self.question))

    def limiting(self, question: Question) -> Question:
        """Return a question that was `put`, such that choices must keep the limits of this problem, if any.

        A broken limit counts as a loss of its price; see `argbest.core.questions.within_limits`.

        Args:
            question: What is to be chosen.
        """
        if not self.limits or offers(question, HasLimits) or offers(question, KeepsLimits):
            return question
        within = BestWithinLimits(self.price)
        return within if question.name == BEST.name else WithLimits(question, within)

    def put(self, question: object, answered: BoolArray | None = None) -> Question:
        """Return a question, by name or as an object, put to the contexts of this problem.

        Args:
            question (name or question): What is to be chosen.
            answered: Which contexts have an answer, [context]; in others no alternative can be chosen, and
                they do not count.
        """
        axis = self.contexts
        if axis.retired:
            answered = axis.active if answered is None else answered & axis.active
        metric = axis.metric
        columns = tuple(
            Column(self.column_word(name), tuple(values), name not in metric or isinstance(values[0], bool))
            for name, values in axis.coordinates.items()
        )
        asked = question_of(question)
        bound = put_to(asked, Contexts(self.weights, columns, answered))
        if offers(bound, NamesSeveral) and bound.m >= self.n_alternatives:
            most = self.n_alternatives - 1
            raise InputError(
                f"got the question {title(asked)!r}, which names {bound.m} alternatives, and there are "
                f"{self.n_alternatives}; expected fewer than all. Ask for at most {most}: "
                f"'{asked.name}:m={most}'."
            )
        return bound

    def column_word(self, name: str) -> str:
        """Return what a column of the contexts is called: that of plain labels as the simulator calls it.

        Args:
            name: The column.
        """
        return name if self.contexts.columns else self.contexts.word or name

    def asking(
        self, question: object = None, *, goal: object = None, limits: object = None, price: object = None
    ) -> "Problem":
        """Return the problem with another question, goal, limits or price; None: as before.

        Args:
            question (name or question): What is to be chosen.
            goal (text): What is to be large or small.
            limits (text or list of texts): What a choice must keep; () stands for no limits.
            price (number): What it costs to break a limit.
        """
        wanted = goals.Wanted.read(
            self.goal if goal is None else goal,
            self.limits if limits is None else limits,
            self.price if price is None else price,
            self.responses or None,
        )
        if wanted.named and self.is_named and not self.responses:
            raise InputError(
                f"'{wanted.named[0]}' is no response: the simulator returns numbers without a name. Let it "
                "return dicts, or ask for 'max' or 'min' without limits."
            )
        other = copy(self)
        for name in _FOLLOWS_FROM_GOAL:
            other.__dict__.pop(name, None)
        other.__dict__.update(
            question=self.question if question is None else question_of(question),
            goal=str(wanted.goal),
            limits=wanted.limits,
            price=wanted.price,
        )
        _ = other.asked
        return other

    def beginning_with(self, prior_runs: PriorRuns) -> "Problem":
        """Return the problem with runs of earlier sources, from which a study of it learns too.

        Args:
            prior_runs: The runs.
        """
        other = copy(self)
        other.__dict__.pop("_separation_of_all", None)
        other.__dict__.update(prior_runs=prior_runs)
        return other

    def earlier(self, weights: tuple[float, ...]) -> Earlier | None:
        """Return the prior runs of a weighted sum of the responses; None where they lack one of them.

        Args:
            weights: The factor of every response.
        """
        runs = self.prior_runs
        if runs is None:
            return None
        return runs.of_sum(weights, self._names, self.n_alternatives, self._separation_of_all)

    @cached_property
    def _separation_of_all(self) -> Array:
        """Squared distances of the contexts and those of prior runs, [coordinate, all, all]."""
        if self.prior_runs is None:
            return self.setting.separation
        return self.prior_runs.separation(self.contexts, self.bounds)

    def separation_of(self, rows: Axis) -> Array:
        """Return squared distances of rows from the contexts, [coordinate, row, context].

        Those from the contexts of prior runs follow, where there are such.

        Args:
            rows: The contexts to measure from.
        """
        distances = self.contexts.separation(self.bounds, rows)
        if self.prior_runs is None:
            return distances
        return np.concatenate([distances, self.prior_runs.contexts.separation(self.bounds, rows)], axis=-1)

    @property
    def sign(self) -> int:
        """+1 if larger is better for the user, -1 if smaller is."""
        return self.aim.sign

    @property
    def subject(self) -> str:
        """What the goal is about, as users call it: a response, a sum of them, or the reward."""
        return self.reward if self.aim.sum is None else str(self.aim.sum)

    @property
    def goal_unit(self) -> str:
        """The unit of what the goal is about, "" if none was given."""
        return units.of_sum(self.unit, self.aim.sum)

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The responses that the goal and the limits name, in this order; () of a goal without names."""
        return goals.Wanted(self.aim, self.limits, self.price, ()).named

    @property
    def is_named(self) -> bool:
        """Whether it is known what the simulator returns: one number, or responses with which names."""
        return bool(self.responses) or not self.mentioned

    def naming(self, responses: Iterable[str]) -> "Problem":
        """Return the problem whose simulator returns these responses, where none were declared.

        Args:
            responses: Their names, in the order of the simulator.
        """
        names = goals.Wanted.read(self.goal, self.limits, self.price, responses).responses
        rates = declared_rates(self.rate, names)
        other = copy(self)
        for name in _FOLLOWS_FROM_GOAL:
            other.__dict__.pop(name, None)
        tables = {name: getattr(self, name) for name in ("truth", "truth_se", "noise_sd")}
        stacked = {name: None if held is None else held[None] for name, held in tables.items()}
        if tables["noise_sd"] is not None and not tables["noise_sd"].any():  # none of them has any noise
            stacked["noise_sd"] = _frozen(np.zeros((len(names), *self.shape)))
            tables["noise_sd"] = None
        if len(names) > 1 and (wrong := [name for name, held in tables.items() if held is not None]):
            raise InputError(
                f"the simulator returns the responses {', '.join(names)}, and {wrong[0]} has one table. Give "
                f"{wrong[0]} as a dict of tables by response."
            )
        other.__dict__.update(
            stacked,
            responses=names,
            rate=rates,
            reward_range=declared_ranges(self.reward_range, rates, names),
            unit=units.declared_units(
                self.unit, self.aim, names, (self.alternatives, self.contexts), complete=True
            ),
        )
        return other

    def revised(self, alternatives: Axis, contexts: Axis, shares: Array) -> "Problem":
        """Return the problem with rows added at the ends of its table, or retired from it.

        Bounds are widened to hold the new rows. The truth of new pairs is not known, so the truth is dropped;
        a noise level that is the same for all pairs stays.

        Args:
            alternatives: All alternatives, the new ones last.
            contexts: All contexts, the new ones last.
            shares: How much every context counts, [context]; scaled to sum to 1 without those that are
                retired.
        """
        other = copy(self)
        for name in (*_FOLLOWS_FROM_GOAL, "_separation_of_all"):
            other.__dict__.pop(name, None)
        tables = {name: getattr(self, name) for name in ("truth", "truth_se", "noise_sd")}
        shape = len(alternatives), len(contexts)
        affordable(
            f"{shape[0]:,} alternatives x {shape[1]:,} contexts have pairs", shape[0] * shape[1], MOST_PAIRS
        )
        if shape != self.shape:
            tables |= {"truth": None, "truth_se": None, "noise_sd": _one_level(self.noise_sd, shape)}
        other.__dict__.update(
            tables,
            alternatives=alternatives,
            contexts=contexts,
            weights=_frozen(counting(shares, contexts)),
            bounds=_hull(self.bounds, contexts),
        )
        _ = other.asked
        return other

    def declares_rate(self, response: int) -> bool:
        """Return whether every value of a response, by its place, was said to be 0 or 1.

        Args:
            response: The place of the response, from 0.
        """
        return self.rate if isinstance(self.rate, bool) else self._names[response] in self.rate

    def range_of(self, response: int) -> tuple[float, float] | None:
        """Return the interval that holds every value of a response, by its place; None if none is known.

        Args:
            response: The place of the response, from 0.
        """
        if self.declares_rate(response):
            return 0.0, 1.0
        if isinstance(self.reward_range, dict):
            return self.reward_range.get(self._names[response])
        return self.reward_range

    @property
    def _names(self) -> tuple[str, ...]:
        """The responses, or those that are named, as long as nothing else is known."""
        return self.responses or self.mentioned

    @property
    def goal_response(self) -> int | None:
        """The place of the response that is the goal; None where that is a sum, or a multiple."""
        return only_response(self.setting.basis.weights[0])

    @property
    def goal_range(self) -> tuple[float, float] | None:
        """The interval that holds the goal of every replication, in the user's sign; None if unknown."""
        factors = (self.sign * self.outcome_forms[0].coefficients).tolist()
        ends = [
            sorted((factor * low, factor * high))
            for i, factor in enumerate(factors)
            if factor
            for low, high in [self.range_of(i) or (np.nan, np.nan)]
        ]
        low, high = (float(sum(each)) for each in zip(*ends, strict=True))
        return None if np.isnan(low) else (low, high)

    @property
    def truths(self) -> dict[str, Array]:
        """The truth by response, [alternative, context] each; a single number is called "reward"."""
        if self.truth is None:
            return {}
        return (
            dict(zip(self.responses, self.truth, strict=True)) if self.responses else {"reward": self.truth}
        )

    @property
    def goal_truth(self) -> Array | None:
        """[alternative, context] the truth of the goal, in the user's sign; None where it is not known."""
        if self.truth is None or not self.responses:
            return self.truth
        return np.asarray(self.sign * self.outcome_forms[0].of_tables(self.truth))

    @property
    def goal_noise_sd(self) -> Array | None:
        """[alternative, context] the noise of the goal; None where it is not known, as that of a sum.

        A sum of responses without noise has none.
        """
        if self.noise_sd is None or not self.responses:
            return self.noise_sd
        factor = np.abs(self.outcome_forms[0].coefficients)
        of_parts = self.noise_sd[factor > 0]
        if np.isnan(of_parts).any() or (len(of_parts) > 1 and of_parts.any()):
            return None
        return np.asarray(factor.max() * of_parts[0])

    def is_silent(self, responses: Iterable[str]) -> bool:
        """Return whether these responses are known to have no noise.

        Args:
            responses: Their names.
        """
        if self.noise_sd is None:
            return False
        return not self.noise_sd[[self.responses.index(name) for name in responses]].any()

    @cached_property
    def feasible(self) -> BoolArray:
        """[alternative, context] whether all limits are kept; True everywhere without limits."""
        return _frozen(np.all(self._outcomes[1:] >= 0, axis=0))

    @cached_property
    def best(self) -> IntArray:
        """[context] the best alternative, the lowest index among ties; -1 where none keeps all limits."""
        first = np.argmax(self._tied, axis=0).astype(np.int64)
        return _frozen(np.where(self.feasible.any(axis=0), first, NONE))

    @cached_property
    def ties(self) -> tuple[tuple[int, ...], ...]:
        """Per context, all within 1e-9 of the table's range of the best; () if none is feasible."""
        return tuple(tuple(map(int, np.flatnonzero(column))) for column in self._tied.T)

    @property
    def pcs_ceiling(self) -> float:
        """Σ_c w_c / #ties_c, the PCS that can be reached when ties are broken without knowing their order."""
        return float(self.weights @ (1.0 / np.maximum(self._tied.sum(axis=0), 1)))

    @cached_property
    def gaps(self) -> Array:
        """[context] how much better the best is than the second best; 0 for a tie.

        With limits of those that keep them: infinite where only one does, NaN where none does.
        """
        possible = np.where(self.feasible, self._rewards, -np.inf)
        first, second = np.take_along_axis(possible, self._first_two, axis=0)
        with np.errstate(invalid="ignore"):
            return _frozen(np.where(self._tied.sum(axis=0) > 1, 0.0, first - second))

    @cached_property
    def gap_over_noise(self) -> Array:
        """[context] the gap over the root mean square of the two noise standard deviations."""
        if (spread := self.goal_noise_sd) is None:
            raise InputError("the noise is not known. Give Problem(..., noise_sd=number or table).")
        noise = np.sqrt(np.mean(np.take_along_axis(spread, self._first_two, axis=0) ** 2, axis=0))
        ratio = np.where(self.gaps > 0, np.inf, 0.0)
        return _frozen(np.divide(self.gaps, noise, out=ratio, where=noise > 0))

    def correct(self, selected: IntArray, question: Question | None = None) -> BoolArray:
        """Return [..., context] whether the selected alternative is `best`, or right by the question.

        With limits -1 stands for "none keeps them", and is right where that is so.

        Args:
            selected: The positions of what was selected, [..., context].
            question: What was asked; by default for the best alternative of every context.
        """
        asked = self._scored_by(question)
        if asked.name != BEST.name:
            return self.good(selected, 0.0, question)
        if self.limits:
            return np.asarray(self._checked(selected, self.best.shape) == self.best)
        levelled = np.where(self._tied, self._rewards.max(axis=0), self._rewards)
        right = asked.right_choice(levelled)
        return np.asarray(self._checked(selected, right.shape) == right)

    def good(self, selected: IntArray, delta: float = 0.0, question: Question | None = None) -> BoolArray:
        """Return [..., context] whether the selected is within delta of the best; at 0 all tied ones are.

        With limits it must keep them, too; of other questions than the best they count at their price.

        Args:
            selected: The positions of what was selected, [..., context].
            delta: How far from the best a selection may be and still count as right.
            question: What was asked; by default for the best alternative of every context.
        """
        zone = indifference_zone(delta) + self._tolerance
        near = self.opportunity_cost(selected, question) <= zone
        if not self.limits or self._scored_by(question).name != BEST.name:
            return near
        named = np.asarray(selected) != NONE
        return np.asarray(np.where(named, near & ~self.infeasible(selected), self.correct(selected)))

    def opportunity_cost(self, selected: IntArray, question: Question | None = None) -> Array:
        """Return [..., context] how much worse the selected alternative is than the best.

        With limits it is the price where the selected one breaks them, and at most that elsewhere.

        Args:
            selected: The positions of what was selected, [..., context].
            question: What was asked; by default for the best alternative of every context.
        """
        asked, table = self._scored_by(question), self._outcomes if self.limits else self._rewards
        return asked.loss(table, self._checked(selected, asked.right_choice(table).shape, asked))

    def _scored_by(self, question: Question | None) -> Question:
        """Return the question that choices are scored by: as given or `Best`, with the limits if any."""
        return self.limiting(BEST if question is None else question)

    def infeasible(self, selected: IntArray, question: Question | None = None) -> BoolArray:
        """Return [..., context] whether the selected alternative breaks a limit; -1 breaks none.

        Of a question with one alternative for all contexts, whether that does; of several per context,
        whether any of them does.

        Args:
            selected: The positions of what was selected, [..., context].
            question: What was asked; by default for the best alternative of every context.
        """
        asked = self._scored_by(question)
        shape = asked.right_choice(self._outcomes if self.limits else self._rewards).shape
        chosen = self._checked(selected, shape, asked)
        if not shape:
            chosen = np.repeat(chosen[..., None], self.n_contexts, axis=-1)
        if len(shape) > 1:
            places = np.moveaxis(chosen, -2, 0)
            return np.asarray(np.any([self._breaks(each) for each in places], axis=0))
        return self._breaks(chosen)

    def _breaks(self, chosen: IntArray) -> BoolArray:
        """Return whether what is chosen for every context breaks a limit, [..., context]."""
        kept = np.take_along_axis(
            np.broadcast_to(self.feasible, (*chosen.shape[:-1], *self.shape)),
            np.maximum(chosen, 0)[..., None, :],
            axis=-2,
        )[..., 0, :]
        return np.asarray(~kept & (chosen != NONE))

    def tally(self, frame: "pd.DataFrame") -> Tally:
        """Return the tally of a frame with the columns of both `Axis.frame` and `value`, in the user's sign.

        Rows that summarise several replications say so in the columns `n` and `variance`, as those of
        `Study.observations` do. All other values are kept one by one too: their shape tells of the noise.

        Args:
            frame: The runs, a row each.
        """
        where = self.alternatives.locate(frame), self.contexts.locate(frame)
        if "value" not in frame.columns:
            raise InputError(f"got a frame with the columns {list(frame.columns)}. Add the column 'value'.")
        value = _column(frame, "value")
        n = _column(frame, "n") if "n" in frame.columns else np.ones(len(frame))
        if np.any((n < 1) | (n != np.rint(n))):
            raise InputError("the column 'n' counts replications; expected whole numbers from 1. Correct it.")
        several = n > 1
        variance = np.zeros(len(frame))
        if several.any():
            if "variance" not in frame.columns:
                raise InputError("rows with n > 1 need the column 'variance' (of the sample). Add it.")
            variance[several] = _column(frame[several], "variance")
        told = from_observations(where, value, self.shape, n=n, m2=variance * (n - 1))
        k, c = (each[~several] for each in where)
        return replace(told, replications=Replications(k, c, np.zeros_like(k), value[~several]))

    def summary(self) -> dict[str, Any]:
        """Return the problem as JSON-ready values, None where unknown; positions count from 0."""
        known = self.truth is not None
        scored = known and self.goal_noise_sd is not None
        return {
            "name": self.name,
            "goal": self.goal,
            **self._summary_of_limits(),
            "alternatives": [self.alternatives.item(k) for k in range(self.n_alternatives)],
            "contexts": [self.contexts.item(c) for c in range(self.n_contexts)],
            "weights": self.weights.tolist(),
            **{name: values(getattr(self, name)) for name in ("noise_sd", "truth", "truth_se")},
            "best": self.best.tolist() if known else None,
            "ties": [list(tied) for tied in self.ties] if known else None,
            "pcs_ceiling": self.pcs_ceiling if known else None,
            "gap_over_noise": values(self.gap_over_noise) if scored else None,
        }

    def _summary_of_limits(self) -> dict[str, Any]:
        """Return responses, limits and truth by response, where there are several responses."""
        if not self.responses:
            return {}
        return {
            "responses": list(self.responses),
            "limits": [str(limit) for limit in self.limits],
            "price": self.price,
        }

    @cached_property
    def outcome_forms(self) -> tuple[goals.LinearForm, ...]:
        """What is learned about, as linear forms of the responses: the goal and the slack of every limit."""
        return goals.outcomes(self.aim, self.limits, self.responses or self.mentioned or (self.reward,))

    @cached_property
    def _outcomes(self) -> Array:
        """The truth of the goal, larger being better, and of how far every limit is kept, [outcome, ...]."""
        rewards = self._rewards
        if not self.limits:
            return rewards[None]
        return np.stack([form.of_tables(np.asarray(self.truth)) for form in self.outcome_forms])

    @property
    def _rewards(self) -> Array:
        """The truth with larger being better."""
        if (truth := self.goal_truth) is None:
            raise InputError(
                f"the truth of problem {self.name!r} is not known; expected a table of mean rewards. "
                "Give Problem(..., truth=[alternative][context])."
            )
        return self.sign * truth

    @property
    def _tolerance(self) -> float:
        return _TIE * float(np.ptp(self._rewards))

    @property
    def _tied(self) -> BoolArray:
        rewards = np.where(self.feasible, self._rewards, -np.inf)
        with np.errstate(invalid="ignore"):
            return np.asarray(rewards.max(axis=0) - rewards <= self._tolerance)

    @property
    def _first_two(self) -> IntArray:
        """[2, context] the best alternative and the best of the others."""
        first, others = np.maximum(self.best, 0), np.where(self.feasible, self._rewards, -np.inf)
        others[first, np.arange(self.n_contexts)] = -np.inf
        return np.stack([first, np.argmax(others, axis=0)])

    def _checked(self, selected: IntArray, shape: tuple[int, ...], asked: Question | None = None) -> IntArray:
        """Return the selected alternatives, refused unless their last axes have this shape.

        Where limits are asked about, by default here, "none" can be selected, too.
        """
        array = np.asarray(selected)
        last = array.shape[max(array.ndim - len(shape), 0) :]
        shaped = array.dtype.kind in "iu" and last == shape
        least = NONE if self.limits and (asked is None or asked.name == BEST.name) else 0
        if not shaped or (array.size and not least <= array.min() <= array.max() < self.n_alternatives):
            none = f", or {NONE} for none," if least == NONE else ","
            raise InputError(
                f"got a selection of shape {array.shape} and type {array.dtype}; expected an alternative, "
                f"0 to {self.n_alternatives - 1}{none} for each context (last axis {self.n_contexts}). "
                "Correct it."
            )
        return array


def _refuse_weights(weights: object) -> None:
    """Refuse weights beside a population, which has its own."""
    if weights is not None:
        raise InputError(
            "got weights beside a population, which has its own. Give them to it: Population(..., weights=)."
        )


def _stacked(
    what: str, given: object, responses: tuple[str, ...], shape: tuple[int, int], *, partly: bool = False
) -> object:
    """Return the tables of several responses in their order, from a dict by name; anything else as it is.

    If they may be given ``partly``, those that are missing are NaN.
    """
    if not isinstance(given, Mapping):
        return given
    if not responses:
        raise InputError(
            f"got {what} by response, and no responses are declared. Declare all that the simulator returns: "
            f"responses = {list(map(str, given))!r}, and any others."
        )
    wrong = sorted(set(given) - set(responses) if partly else set(responses) ^ set(given))
    if wrong:
        missing = "has none for" if wrong[0] in responses else "names the unknown response"
        raise InputError(
            f"{what} {missing} {wrong[0]!r}; expected one for each of {', '.join(responses)}. Correct it."
        )

    def of_response(name: str) -> Array:
        if name not in given:
            return np.full(shape, np.nan)
        single = real(given[name])
        return table(f"{what} of {name}", given[name] if single is None else np.full(shape, single), shape)

    return np.stack([of_response(name) for name in responses])


def _column(frame: "pd.DataFrame", name: str) -> Array:
    """Return a column as finite numbers."""
    found = (real(value) for value in frame[name].tolist())
    numbers = np.array([np.nan if value is None else value for value in found], float)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise InputError(
            f"row {bad[0]} of the frame has {name} {frame[name].iloc[bad[0]]!r}; a replication must be a "
            "finite number. Drop the row or correct it."
        )
    return numbers


def _function(simulate: Simulate | None) -> Simulate | None:
    if simulate is None or callable(simulate):
        return simulate
    raise InputError(
        f"got simulate={simulate!r}; expected a function simulate(alternative, context, seed) -> float. "
        "Leave it out to ask and tell by hand."
    )


def declared_rates(given: object, responses: tuple[str, ...]) -> bool | tuple[str, ...]:
    """Return whether the only response is a rate, or which of several are."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, str | Iterable):
        if flag("rate", given) and len(responses) > 1:
            raise InputError(
                f"got rate=True of {len(responses)} responses ({', '.join(responses)}). Name those whose "
                f"values are 0 or 1: rate={[responses[-1]]!r}."
            )
        return bool(given)
    names = goals.checked_names([given] if isinstance(given, str) else given)
    for name in names:
        if responses and name not in responses:
            raise InputError(
                f"rate names {name!r}, which is no response; known are {', '.join(responses)}. Correct it."
            )
    return names if len(responses) != 1 else bool(names)


def declared_ranges(
    given: object, rate: bool | tuple[str, ...], responses: tuple[str, ...]
) -> tuple[float, float] | dict[str, tuple[float, float]] | None:
    """Return the interval of the only response, or those of several by name."""
    if not isinstance(given, Mapping):
        if given is not None and len(responses) > 1:
            raise InputError(
                f"got reward_range={given!r} of {len(responses)} responses. Give a dict by response: "
                f"reward_range={{{responses[0]!r}: (0, 1)}}."
            )
        return reward_limits(given, rate=rate is True)
    rates = () if isinstance(rate, bool) else rate
    for name in given:
        if responses and name not in responses:
            raise InputError(
                f"reward_range names {name!r}, which is no response; known are {', '.join(responses)}. "
                "Correct it."
            )
    found = {
        str(name): reward_limits(each, rate=name in rates or rate is True) for name, each in given.items()
    }
    kept = {name: each for name, each in found.items() if each is not None}
    return kept.get(responses[0]) if len(responses) == 1 else kept or None


def reward_limits(given: object, *, rate: bool) -> tuple[float, float] | None:
    """Return the interval that holds every single reward, None if none is known."""
    limits = None if given is None else interval("reward_range", given)
    if not rate or limits == (0.0, 1.0):
        return limits
    if limits is not None:
        raise InputError(
            f"got rate=True and reward_range=({limits[0]:g}, {limits[1]:g}); the rewards of a rate are 0 and "
            "1. Leave out one of the two."
        )
    return 0.0, 1.0


def _text(what: str, given: object, *, empty: bool = False) -> str:
    if not isinstance(given, str) or not (empty or given.strip()):
        raise InputError(f"got {what}={given!r}; expected a text{'' if empty else ' that is not empty'}.")
    return unicode(what, given)


def _frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    array.flags.writeable = False
    return array


def _weights(given: object, contexts: Axis) -> Array:
    n_contexts = len(contexts)
    if isinstance(given, Mapping):
        named = {contexts.index(label): weight for label, weight in given.items()}
        missing = [contexts.labels[c] for c in range(n_contexts) if c not in named]
        if missing or len(named) < len(given):
            what = f"leave out {missing[0]!r}" if missing else "name one context twice"
            raise InputError(f"the weights {what}. Give one weight for every context, or a list in order.")
        given = [named[c] for c in range(n_contexts)]
    weights = table("weights", np.ones(n_contexts) if given is None else given, (n_contexts,))
    if (weights < 0).any() or not 0 < weights.sum() < np.inf:
        raise InputError(
            f"got weights {weights.tolist()}; expected none negative and a positive, finite sum. "
            "Use 0 for a context that does not count in averages."
        )
    return _frozen(weights / weights.sum())


def counting(shares: Array, contexts: Axis) -> Array:
    """Return the weights [context], in proportion to the shares; 0 for those that are retired."""
    counted = np.where(contexts.active, shares, 0.0)
    active = counted[contexts.active]
    if np.ptp(active) == 0.0 and active[0] > 0:  # so that equal ones weigh as if none had been given
        counted = contexts.active.astype(float)
    if not counted.sum() > 0:
        raise InputError(
            "all contexts that are left have the weight 0, so that none of them would count. Give one of "
            "them another weight first."
        )
    return np.asarray(counted / counted.sum())


def _hull(bounds: Bounds, contexts: Axis) -> Bounds:
    """Return the bounds, widened where contexts lie outside."""
    ends = {
        name: (min(bounds[name][0], *map(float, values)), max(bounds[name][1], *map(float, values)))
        for name, values in contexts.metric.items()
    }
    return contexts.bounds(ends)


def _one_level(noise_sd: Array | None, shape: tuple[int, int]) -> Array | None:
    """Return the noise of a table of another size, where it is the same of all pairs; else None."""
    if noise_sd is None or np.any(np.ptp(noise_sd, axis=(-2, -1)) > 0):
        return None
    return _frozen(np.broadcast_to(noise_sd[..., :1, :1], (*noise_sd.shape[:-2], *shape)).copy())


def _spread(what: str, given: object, shape: tuple[int, ...]) -> Array:
    """Return a table of standard deviations, from a table or one number for all cells."""
    single = real(given)
    whole = given if single is None else np.full(shape, single)
    unknown: BoolArray = np.zeros((1, 1, 1), bool)
    if isinstance(whole, np.ndarray) and whole.shape == shape and len(shape) == 3:
        unknown = np.asarray(
            np.isnan(whole).all(axis=(-2, -1), keepdims=True)
        )  # responses of which nothing is said
        whole = np.where(unknown, 0.0, whole)
    array = table(what, whole, shape)
    if (array < 0).any():
        raise InputError(f"got {what} with {array.min()}; a standard deviation is 0 or more. Correct it.")
    return _frozen(np.where(unknown, np.nan, array) if unknown.any() else array)

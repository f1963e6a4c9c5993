"""Certificate: how sure a belief is of its own selections, or several beliefs that are equally likely."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.belief import (
    Belief,
    CountsOnPoints,
    DrawsWholeTables,
    of_selected,
    quick_draw,
    shocks_of,
    with_mean,
)
from argbest.core.certainty import Certainty
from argbest.core.decision import of_each_context
from argbest.core.focused_outcomes import not_drawn
from argbest.core.limits import NONE, about_limits
from argbest.core.outcomes import kept_probability, of_each_sum, sums_of
from argbest.core.question import BEST, HasLimits, InClosedForm, Question, Settled
from argbest.core.questions.one_for_all import ValuesAlternatives, shortfall
from argbest.core.questions.within_limits import known_by_draws
from argbest.core.states import LEVEL, NO_FEASIBLE, SURE, contenders, states
from argbest.texts import Sentences, chance, with_unit

_DRAWS = 128, 256  # Sobol points of each of many beliefs, and of few: their average rests on all of them
_ENOUGH_POINTS = 32
_MOST_KEPT = 1 << 26  # numbers of beliefs that are kept for further looks, 512 MB
_AT_ONCE = 1 << 24  # numbers of those made anew at every look, 128 MB

NormalsInParts = Callable[[int], Iterable[Array]]  # normals, some at a time: a multiple of the number given


@dataclass(frozen=True, eq=False)
class Mixture:
    """Beliefs with hyper-parameters and noise as likely as the data leave them; what they say is averaged.

    ``condition`` returns the beliefs of a slice of the points, which have an axis of their own: the first, or
    the second where contexts are looked at each by itself ([context, point, alternative, 1]). They are kept
    where one ``portion`` holds all, and made anew at every look where they are too large for that.
    """

    condition: Callable[[slice], Belief]
    n_points: int
    portion: int
    effective: Array  # how many independent points of the hyper-parameters these are worth, [...]
    axis: int = 0
    size: int = 0  # numbers that the belief of one point takes; 0: few

    @classmethod
    def of_size(
        cls, condition: Callable[[slice], Belief], n_points: int, size: int, effective: Array, axis: int
    ) -> "Mixture":
        """Return the mixture of beliefs of so many numbers each, all in one portion if these are few."""
        portion = n_points if n_points * size <= _MOST_KEPT else max(1, _AT_ONCE // size)
        return cls(condition, n_points, portion, effective, axis, size)

    @cached_property
    def means(self) -> tuple[Array, ...]:
        """The posterior means of every sum that is learned: averages of the beliefs' means.

        Nothing else may be asked of these beliefs, so only small ones are kept for it.
        """
        said = self._portions(min(self.portion, max(1, _AT_ONCE // max(self.size, 1))))
        total = sum(
            np.stack([own.mean for own in sums_of(belief)], axis=-1).sum(axis=self.axis) for _, belief in said
        )
        return tuple(np.moveaxis(np.asarray(total / self.n_points), -1, 0))

    def best_probability(self) -> Array:
        """Return P(each alternative is best) per context."""
        return self._average(lambda belief: belief.best_probability())

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return P(the selected alternative is within delta of the best) per context."""
        return self._average(
            lambda belief: belief.good_probability(self._everywhere(selected, belief), delta)
        )

    def expected_loss(self, selected: IntArray) -> Array:
        """Return E[best reward − selected reward] per context."""
        return self._average(lambda belief: belief.expected_loss(self._everywhere(selected, belief)))

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        """Return the average of closed-form lower bounds of `good_probability`, itself such a bound."""
        return self._average(lambda belief: belief.lower_bound(self._everywhere(selected, belief), delta))

    def draw(self, normals: Array) -> Array:
        """Return joint draws of all rewards [s, alternative, context], as many from every belief.

        Normals that cannot be divided evenly among the beliefs are not used.
        """
        return self.of_draws(lambda: [normals], lambda draws: draws)

    def of_draws(self, blocks: Callable[[], Iterable[Array]], say: Callable[[Array], Array]) -> Array:
        """Return what ``say`` makes of joint draws, [s, ...], of which only a block is held at a time.

        ``blocks`` gives the normals, the same ones for every portion of the beliefs.
        """
        parts = []
        for some, belief in self._portions():
            said: list[Array] = []
            for normals in blocks():
                each, shape = len(normals) // self.n_points, normals.shape[1:]
                own = normals[: each * self.n_points].reshape(each, self.n_points, *shape)
                if each or not said:
                    point = 1 + self.axis
                    draws = quick_draw(belief, np.moveaxis(own[:, some], 1, point))
                    said.append(say(np.moveaxis(draws, point, 1)))
            parts.append(np.concatenate(said))
        whole = np.concatenate(parts, axis=1)
        return whole.reshape(-1, *whole.shape[2:])

    def of_whole_tables(self, n: int, numbers: np.random.Generator, say: Callable[[Array], Array]) -> Array:
        """Return what ``say`` makes of about n joint draws of whole tables, as many of every belief."""
        each = max(1, n // self.n_points)
        parts = [say(_whole_tables(belief, each, numbers)) for _, belief in self._portions()]
        whole = np.concatenate(parts, axis=1)
        return whole.reshape(-1, *whole.shape[2:])

    def _average(self, say: Callable[[Belief], Array]) -> Array:
        """Return the average over all beliefs of what ``say`` says of them."""
        total = sum(say(belief).sum(axis=self.axis) for _, belief in self._portions())
        return np.asarray(total / self.n_points)

    def _everywhere(self, selected: IntArray, belief: Belief) -> IntArray:
        """Return the selection of every belief: the same."""
        n = belief.mean.shape[self.axis]
        return np.repeat(np.expand_dims(selected, self.axis), n, axis=self.axis)

    def _portions(self, portion: int | None = None) -> Iterator[tuple[slice, Belief]]:
        """Yield the beliefs, and of which points they are; all at once if they are kept."""
        step = self.portion if portion is None else portion
        if step >= self.n_points:
            yield slice(self.n_points), self._whole
            return
        for start in range(0, self.n_points, step):
            some = slice(start, min(start + step, self.n_points))
            yield some, self._conditioned(some)

    @cached_property
    def _whole(self) -> Belief:
        return self._conditioned(slice(self.n_points))

    def _conditioned(self, some: slice) -> Belief:
        """Return the beliefs of some points, with few Sobol points for each: their average rests on all."""
        belief = self.condition(some)
        if offers(belief, CountsOnPoints):
            return belief.with_draws(_DRAWS[self.n_points < _ENOUGH_POINTS])
        return belief


class DrawnOptions(NamedTuple):
    """What joint draws say of every option: of each alternative and, last, that none keeps all limits.

    Arrays are [..., option, context].
    """

    right: Array  # P(it is right); these sum to 1 in every context
    feasible: Array  # P(it keeps all limits); of the last, P(none does)
    loss: Array  # what it loses on average


class KnowsSome(Certainty, Protocol):
    """Probabilities and losses that, with limits, are known in some contexts; in others draws tell them."""

    def options(self, found: DrawnOptions) -> DrawnOptions:
        """Return the options as ``found`` by draws, with what is known in their place where it is."""

    def within(self, found: Array, choice: IntArray, delta: float) -> Array:
        """Return P(the choice is within delta of the best) as ``found`` by draws, or as known."""


def _whole_tables(belief: Belief, n: int, numbers: np.random.Generator) -> Array:
    """Return n joint draws of all rewards of beliefs side by side, each with random numbers of its own."""
    if offers(belief, DrawsWholeTables):
        return belief.draw_tables(n, lambda: numbers)
    return quick_draw(belief, numbers.standard_normal((n, *belief.mean.shape)))


_MANY_POINTS = 8  # points: no more need be said of averages over so many
_MANY_DRAWS = 256  # nor of so many joint draws


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Sentences):
    """Posterior probabilities and losses of what is selected: of `Best` the largest mean in every context.

    Arrays are about the parts of the ``question``, which are the contexts for `Best`: what is written below
    as [..., context] is [..., part] for other questions.
    With an indifference zone δ > 0 a selection counts as right when it is within δ of the best. The belief
    selects; ``mixture`` says how sure that is, averaged over what is not known of hyper-parameters and noise.
    What selects then has the means of the mixture (`averaged`), so that it loses least by its own account.
    Without one all is conditional on the fitted hyper-parameters, which is too confident on few data.
    Contexts that are not ``answered`` have nothing to choose: their entries are NaN; averages, minima and the
    joint probability are over the others, weighted anew.
    With limits (`HasLimits`) what is selected loses least on average over joint draws, and is -1 where that
    is to say that no alternative keeps them; right is what is best among those that do.
    Numbers are worked out when they are first asked for.
    """

    belief: Belief  # what selects
    weights: Array  # how much each context counts, [context]
    source: Array | NormalsInParts  # `normals`, or what makes them when they are asked for
    delta: float = 0.0  # how far from the best a selection may be and still count as right
    answered: BoolArray | None = None  # where something can be chosen, [..., context]; None: everywhere
    mixture: Mixture | None = None  # beliefs as likely as the data leave them, to average over
    given_certainty: Certainty | None = None  # what probabilities and losses follow from, if neither of these
    question: Question = BEST  # what is to be chosen
    numbers: Callable[[], np.random.Generator] | None = None  # for draws of whole tables, if these are large
    tables: Callable[[], Array] | None = None  # these draws, where several questions share them
    seen: Callable[[Array], Array] | None = None  # makes the table that the question sees of every joint draw
    unit: str = ""  # of rewards, for texts
    left_out: int = 0  # contexts that are not answered because nobody asks about them any more

    @cached_property
    def choice(self) -> IntArray:
        """What is chosen, [..., context] of `Best`, whether or not every context has an answer.

        The belief says it, by its means; or, where the value of a choice is not linear in the rewards, the
        joint draws: what is worth most on average over all that is not known.
        """
        if self.options is not None:
            least = np.asarray(self.options.loss.argmin(axis=-2))
            return np.where(least == self.options.loss.shape[-2] - 1, NONE, least)
        if offers(self.question, ValuesAlternatives) and not self.question.linear:
            return np.asarray(self.drawn_values.mean(axis=0).argmax(axis=-1))
        return self.question.choice(self.known)

    @cached_property
    def known(self) -> Belief:
        """What the question is asked of: the belief, or joint draws of tables where it sees others."""
        return self.belief if self.seen is None else known_by_draws(self.of_draws(lambda tables: tables))

    @cached_property
    def options(self) -> DrawnOptions | None:
        """What joint draws say of all that can be named, with limits; None without."""
        if self._settled is None:
            return None
        total = self.of_draws(self._settled.option_sums).sum(axis=0)
        n = total[..., 0, :, :].sum(axis=-2)[..., None, None, :]  # one option is right in every draw
        found = self._drawn(DrawnOptions(*np.moveaxis(total / n, -3, 0)))
        known = self.given_certainty
        return known.options(found) if known is not None and offers(known, KnowsSome) else found

    def _drawn(self, found: DrawnOptions) -> DrawnOptions:
        """Return the options; in very large tables those that are not part of the draws cannot be chosen.

        Of these, means and variances say whether they keep the limits.
        """
        undrawn = not_drawn(self.belief)
        if undrawn is None:
            return found
        feasible, loss = found.feasible.copy(), found.loss.copy()
        feasible[:-1][undrawn] = kept_probability(about_limits(self.belief))[undrawn]
        loss[:-1][undrawn] = np.inf
        return found._replace(feasible=feasible, loss=loss)

    @cached_property
    def p_feasible(self) -> Array:
        """P(the selected alternative keeps all limits), [..., context]; NaN where none is selected."""
        if self.options is None:
            return self._where_answered(np.ones(self.choice.shape))
        of_choice = of_selected(self.options.feasible, self.choice)
        return self._where_answered(np.where(self.choice == NONE, np.nan, of_choice))

    @cached_property
    def p_none_feasible(self) -> Array:
        """P(no alternative keeps all limits), [..., context]."""
        if self.options is None:
            return self._where_answered(np.zeros(self.choice.shape))
        return self._where_answered(self.options.right[..., -1, :])

    @cached_property
    def selected(self) -> IntArray:
        """The selected alternative, [..., context]; -1 where there is no answer or none keeps the limits."""
        return self.choice if self.answered is None else np.where(self.answered, self.choice, -1)

    @property
    def certainty(self) -> Certainty:
        """What probabilities and losses follow from."""
        if self.given_certainty is not None:
            return self.given_certainty
        return self.belief if self.mixture is None else self.mixture

    @property
    def n_unanswered(self) -> int:
        """The number of contexts without an answer."""
        return 0 if self.answered is None else int(np.sum(~self.answered)) - self.left_out

    @cached_property
    def counted(self) -> Array:
        """The weights of the contexts that have an answer, summing to 1, [context]."""
        weights = self.question.parts(self.weights)
        if self.answered is None:
            return weights
        own = np.where(self.answered, weights, 0.0)
        own = own if own.any() else np.where(self.answered, 1.0, 0.0)
        return np.asarray(own / own.sum())

    @cached_property
    def best_probability(self) -> Array:
        """P(each alternative is best), [..., alternative, context]; they sum to 1 in every context.

        That of the selected one is P(it is best) as ``pcs`` says it without a zone, to the last digit: it is
        known from bounds, too, where points are too few. The others share the rest. Alternatives that are
        known to be equal are all the best, and the selected one counts as such.
        With limits it is P(best among those that keep them), and what is missing to 1 is `p_none_feasible`.
        """
        if self.options is not None:
            chance = self.options.right[..., :-1, :]
            return chance if self.answered is None else np.where(self.answered[..., None, :], chance, np.nan)
        found = agreeing(self.certainty.best_probability(), self.choice, self.within(0.0), self.belief.mean)
        return found if self.answered is None else np.where(self.answered[..., None, :], found, np.nan)

    def contenders(self, level: float = LEVEL) -> tuple[IntArray, IntArray]:
        """Return alternatives by P(best), then by mean, [..., rank, context]; how many reach the level.

        With limits these are together with the chance that none keeps them, which may be enough by itself.

        Args:
            level: The probability that the contenders of a context are to reach together.
        """
        none = None if self.options is None else self.p_none_feasible
        return contenders(self.best_probability, level, self.belief.mean, none)

    @cached_property
    def likeliest(self) -> IntArray:
        """The alternative with the largest P(best), [..., context]; not always the one selected.

        The largest mean is selected, which loses least on average. Another one that is known less may be the
        best more often and lose more where it is not.
        """
        return np.asarray(self.contenders()[0][..., 0, :])

    @cached_property
    def runner_up(self) -> IntArray:
        """Of all but the selected alternative the one with the largest P(best), ties by mean, [..., context].

        A single alternative is its own.
        """
        order, _ = self.contenders()
        second = order[..., min(1, order.shape[-2] - 1), :]
        return np.asarray(np.where(self.likeliest == self.choice, second, self.likeliest))

    @property
    def pcs(self) -> Array:
        """P(the selected alternative is right), [..., context]."""
        return self.within(self.delta)

    def within(self, delta: float) -> Array:
        """Return P(the selected alternative is within delta of the best), [..., context].

        Args:
            delta: How far from the best a selection may be and still count as right.
        """
        if delta not in self._looked_up:
            if (closed := self._closed_form) is not None:
                found = closed.good_probability(self.certainty, self.choice, delta)
            else:
                found = np.mean(self._right_in_draws(delta), axis=0)
                if self.given_certainty is not None and offers(self.given_certainty, KnowsSome):
                    found = self.given_certainty.within(found, self.choice, delta)
            self._looked_up[delta] = self._where_answered(found)
        return self._looked_up[delta]

    @cached_property
    def lower_bound(self) -> Array:
        """A closed-form lower bound of ``pcs``: Slepian's of independent alternatives, else Bonferroni's.

        ``pcs`` itself for questions without one.
        """
        if (closed := self._closed_form) is None:
            return self.pcs
        return self._where_answered(closed.lower_bound(self.certainty, self.choice, self.delta))

    @cached_property
    def expected_loss(self) -> Array:
        """E[best reward − selected reward], [..., context]."""
        if self.options is not None:
            return self._where_answered(of_selected(self.options.loss, self.choice))
        if (closed := self._closed_form) is None:
            return self._where_answered(self.drawn_losses.mean(axis=0))
        return self._where_answered(closed.expected_loss(self.certainty, self.choice))

    def states(self, delta: float, level: float = LEVEL) -> AnyArray:
        """Return how every context stands, [..., context]: sure, equal (within ``delta``) or open.

        With limits also: that surely no alternative keeps them.

        Args:
            delta: The difference that does not matter.
            level: The probability from which on a context is sure, or equal.
        """
        best = self.within(0.0)
        found = states(best, best if np.all(best >= level) else self.within(delta), level)
        if self.options is not None:
            found[(self.choice == NONE) & (found == SURE)] = NO_FEASIBLE
        return found

    @property
    def pcs_e(self) -> Array:
        """Σ_c w_c PCS(c), [...]."""
        return self._average(self.pcs)

    @property
    def pcs_m(self) -> Array:
        """min_c PCS(c), [...]."""
        return np.asarray(self.pcs.min(axis=-1) if self.answered is None else np.nanmin(self.pcs, axis=-1))

    @property
    def eoc(self) -> Array:
        """Expected opportunity cost Σ_c w_c E[best − selected], [...]."""
        return self._average(self.expected_loss)

    @cached_property
    def p_all(self) -> Array:
        """P(right in every context), [...], from joint draws.

        It is kept within what the contexts say one by one: at most that of the worst one, and no less than 1
        minus the sum of their errors. So with one context it is P(right) there, and no draw is made.
        """
        each = self.pcs if self.answered is None else np.where(self.answered, self.pcs, 1.0)
        lowest, highest = np.maximum(1.0 - np.sum(1.0 - each, axis=-1), 0.0), np.asarray(each.min(axis=-1))
        if self._needs_no_draws:
            return highest
        right = self._right_in_draws(self.delta)
        if self.answered is not None:
            right = right | ~self.answered
        return np.asarray(np.clip(np.mean(np.all(right, axis=-1), axis=0), lowest, highest))

    @property
    def _needs_no_draws(self) -> bool:
        """Whether probabilities have a closed form, and no study more than one context with an answer."""
        answered = np.ones(self.counted.shape, bool) if self.answered is None else self.answered
        return self._closed_form is not None and bool(np.all(answered.sum(axis=-1) <= 1))

    @property
    def _closed_form(self) -> InClosedForm | None:
        """The question if what is asked of it has a closed form, which that of joint draws has not."""
        return self.question if self.seen is None and offers(self.question, InClosedForm) else None

    @property
    def normals(self) -> Array:
        """Standard normal, [draw, ..., alternative, context], for the joint probability alone."""
        return np.concatenate(list(self.source(1))) if callable(self.source) else self.source

    @cached_property
    def drawn_losses(self) -> Array:
        """What the choice loses in joint draws of all rewards: best − selected, [draw, ..., context]."""
        if offers(self.question, ValuesAlternatives):
            return shortfall(self.drawn_values, self.choice)
        asked = self.question if self._settled is None else self._settled
        return self.of_draws(lambda draws: asked.loss(draws, self.choice))

    @cached_property
    def _settled(self) -> Settled | None:
        """What choices lose, with limits: the price of breaking one is that of the belief."""
        return self.question.settled(self.belief) if offers(self.question, HasLimits) else None

    @cached_property
    def drawn_values(self) -> Array:
        """What every alternative is worth for all contexts in joint draws, [draw, ..., alternative].

        Only of questions that value alternatives (`ValuesAlternatives`).
        """
        if not offers(self.question, ValuesAlternatives):
            raise ValueError(f"the question {self.question.name!r} gives no value to single alternatives.")
        return self.of_draws(self.question.values)

    def of_draws(self, say: Callable[[Array], Array]) -> Array:
        """Return what ``say`` makes of the joint draws behind this certificate, [draw, ...].

        It is given draws of all rewards, [draw, ..., alternative, context], some at a time. Questions that go
        across contexts need draws of whole tables; others follow what may be the best of its context.

        Args:
            say: A function of draws of all rewards, [draw, ..., alternative, context], that returns [draw,
                ...].
        """
        if (seen := self.seen) is None:
            return self.of_outcomes(say)
        return self.of_outcomes(lambda draws: say(seen(draws)))

    def of_outcomes(self, say: Callable[[Array], Array]) -> Array:
        """Return what ``say`` makes of the joint draws themselves, with limits those of all outcomes.

        Args:
            say: A function of draws of all outcomes that returns [draw, ...].
        """
        whole = self.seen is not None or not self.question.only_the_best_matter
        if self.tables is not None and whole:
            return say(self.tables())
        if self.numbers is not None and whole:
            n = sum(map(len, self._blocks(1)))
            if self.mixture is not None:
                return self.mixture.of_whole_tables(n, self.numbers(), say)
            return say(_whole_tables(self.belief, n, self.numbers()))
        if (mixture := self.mixture) is not None:
            return mixture.of_draws(lambda: self._blocks(mixture.n_points), say)
        return np.concatenate([say(self.belief.draw(some)) for some in self._blocks(1)])

    @property
    def right_in_draws(self) -> BoolArray:
        """Whether the choice is right in joint draws, [draw, ..., context]."""
        return self._right_in_draws(self.delta)

    def _right_in_draws(self, delta: float) -> BoolArray:
        """Return whether the choice is within delta of the best in joint draws, [draw, ..., context]."""
        most = delta if self._settled is None else self._settled.tolerance(delta)
        return np.asarray(self.drawn_losses <= most)

    @property
    def n_draws(self) -> int:
        """The number of joint draws behind ``p_all``; 0 with one context, which needs none."""
        return 0 if self._needs_no_draws else len(self.drawn_losses)

    def _blocks(self, multiple: int) -> Iterable[Array]:
        """Yield normals, some at a time: a multiple of the number given, or all that were given."""
        return self.source(multiple) if callable(self.source) else [self.source]

    @property
    def p_all_se(self) -> Array:
        """The Monte Carlo standard error of ``p_all``; two more draws, one of each kind, keep it from 0.

        It is 0 with one context, where no joint draw is made.
        """
        if self._needs_no_draws:
            return np.zeros(self.p_all.shape)
        n = len(self.drawn_losses)
        share = (n * self.p_all + 1.0) / (n + 2.0)
        return np.sqrt(share * (1.0 - share) / (n + 2.0))

    def __str__(self) -> str:
        right = "right" if not self.delta else f"within {self._zone} of the best"
        return (
            f"selections {right}: PCS_E {_show(self.pcs_e)} (weighted over contexts), "
            f"PCS_M {_show(self.pcs_m)} (worst context), P(all contexts) {self._joint}, "
            f"expected opportunity cost {self._cost}{self._missing}{self._shared}{self._averaged}"
        )

    def _repr_html_(self) -> str:
        right = "right" if not self.delta else f"within {self._zone} of the best"
        rows = {
            f"A choice is {right}, on average over contexts": _show(self.pcs_e),
            "in the worst context": _show(self.pcs_m),
            "all choices at once": self._joint,
            "Expected loss": self._cost,
        }
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table><caption>Certificate: probabilities, given the model</caption>{cells}</table>"

    @property
    def _zone(self) -> str:
        return with_unit(f"{self.delta:g}", self.unit)

    @property
    def _joint(self) -> str:
        """P(all contexts) with its Monte Carlo error, where that shows in three digits."""
        small = self.p_all.ndim == 0 and self.p_all_se < 0.0005
        return _show(self.p_all) + ("" if small else f" ± {_show(self.p_all_se)}")

    @property
    def _cost(self) -> str:
        """The expected opportunity cost, in no finer digits than what is known of the selected bears."""
        least = float(np.sqrt(np.mean(of_selected(self.belief.var, np.maximum(self.choice, 0))))) / 1000
        if self.eoc.ndim == 0 and self.eoc < least:
            return with_unit(f"below {least:.1g}", self.unit)
        return with_unit(_show(self.eoc, "{:.2g}".format), self.unit)

    @property
    def common_noise(self) -> float:
        """The share of the noise that is common to all alternatives, averaged over contexts."""
        shocks = shocks_of(self.belief)
        return 0.0 if shocks is None else float(shocks.correlation.mean())

    @property
    def _shared(self) -> str:
        share = self.common_noise
        return f"; {100 * share:.0f} % of the noise is common to all alternatives" if share else ""

    @property
    def _averaged(self) -> str:
        """How many hyper-parameters were averaged over and how many joint draws made, where these are few."""
        n, draws = _MANY_POINTS if self.mixture is None else self.mixture.n_points, self.n_draws
        few = f"; averaged over {n} sets of hyper-parameters only" if n < _MANY_POINTS else ""
        return few + (f"; P(all contexts) from {draws} joint draws only" if 0 < draws < _MANY_DRAWS else "")

    @cached_property
    def _looked_up(self) -> dict[float, Array]:
        return {}

    def _where_answered(self, values: Array) -> Array:
        return values if self.answered is None else np.where(self.answered, values, np.nan)

    def _average(self, values: Array) -> Array:
        """Return the weighted mean over the contexts that have an answer, [...]."""
        return np.asarray(np.where(self.counted > 0, values, 0.0) @ self.counted)

    @property
    def _missing(self) -> str:
        if not self.n_unanswered:
            return ""
        n, have = self.n_unanswered, "has" if self.n_unanswered == 1 else "have"
        total = len(self.weights) - self.left_out
        return f"; {n} of {total} contexts {have} no answer: every alternative failed there"


def averaged(belief: Belief, mixture: Mixture | None) -> Belief:
    """Return what selects where hyper-parameters are averaged over: the belief with the mixture's means.

    The largest of these means loses least on average over all that is not known (Bayes). With limits joint
    draws of the mixture choose.
    """
    if mixture is None:
        return belief
    return of_each_sum(belief, lambda i, own: with_mean(own, mixture.means[i]))


def agreeing(chance: Array, selected: IntArray, right: Array, mean: Array) -> Array:
    """Return P(best) [..., alternative, context] with ``right`` [..., context] for the selected alternatives.

    The others share what is left as they shared it before; where they had nothing the next mean has it.
    """
    place = of_each_context(selected)
    others = chance.copy()
    others[place] = 0.0
    rest = others.sum(axis=-2)
    if chance.shape[-2] > 1 and np.any(rest <= 0):
        lower = mean.copy()
        lower[place] = -np.inf
        closest = of_each_context(lower.argmax(axis=-2))
        others[closest] = np.where(rest > 0, others[closest], 1.0)
        rest = np.where(rest > 0, rest, 1.0)
    agreed = others * np.divide(1.0 - right, rest, out=np.zeros_like(rest), where=rest > 0)[..., None, :]
    agreed[place] = right
    return np.asarray(agreed)


def _show(values: Array, form: Callable[[float], str] = chance) -> str:
    return form(float(values)) if values.ndim == 0 else np.array2string(values, precision=3)

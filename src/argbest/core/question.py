"""Questions: what is to be chosen from a table of mean rewards, and what a wrong choice costs.

A question consists of parts that are answered one by one: `Best` has one part per context, "one alternative
for all contexts" would have a single one. What a choice looks like is the question's own business: an
alternative per context, one for all, several. Whoever decides, certifies or reports asks the question for

- the choice, from a belief or from a table of rewards such as a joint draw or the truth;
- the loss of a choice, if the mean rewards were those of a table;
- the contrasts: differences of mean rewards whose signs say whether the choice is right.

Arrays about the parts are [..., part], those about contrasts [..., contrast, part].
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from argbest.core import false_selection
from argbest.core import knowledge_gradient as kg
from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, RelatesSums, best, gaps, of_selected
from argbest.core.certainty import Certainty, slepian_bound
from argbest.core.decision import leading, of_each_context


class Quantities(Protocol):
    """Weighted sums of mean rewards of which variance is to be removed, [..., quantity, part]."""

    @property
    def belief(self) -> Belief:
        """The belief that these are about."""

    def covariances(self, which: IntArray) -> Array:
        """Return the covariances of some of them with all pairs, [..., m, alternative, context].

        Args:
            which: Which of them, [..., m], counted as they lie in memory: quantity · (number of parts) +
                part.
        """

    def log_shares(self, log_weight: Array) -> Array | None:
        """Return log Σ weight · coefficient² over those that a pair is part of, per pair.

        That is all one needs to know of them where alternatives are independent, if none holds two pairs of
        one alternative; None if some do.

        Args:
            log_weight: The logarithm of what each weighs, [..., quantity, part].
        """


class Contrasts(Quantities, Protocol):
    """The differences by which a choice is ahead of others, [..., contrast, part]; positive: it is right.

    An entry that stands for no difference, such as that of a choice from itself, has an infinite ratio.
    """

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        """Return z = mean / standard deviation, and the variance; z is infinite where there is none.

        Args:
            closed: Pairs that are never simulated again, [..., alternative, context]: they are taken for
                known.
        """

    def bound(self, delta: float = 0.0) -> Array:
        """Return Π Φ((mean + δ) / standard deviation) over the contrasts of every part: roughly P(right).

        Args:
            delta: How far from right a choice may be and still count as right.
        """


class Question(Protocol):
    """What is to be chosen; a frozen dataclass. What a question may offer besides: `ABILITIES`."""

    name: ClassVar[str]
    only_the_best_matter: ClassVar[bool]
    """Whether a pair that is surely not the best of its context has no influence on the choice: of large
    tables such pairs are then left out."""

    def parts(self, weights: Array) -> Array:
        """Return how much each part counts, summing to 1, [part], from the weights of the contexts.

        Args:
            weights: How much each context counts, [context], summing to 1.
        """

    def choice(self, belief: Belief) -> IntArray:
        """Return what is chosen by this belief: what loses least on average.

        Args:
            belief: What is known of all mean rewards.
        """

    def right_choice(self, rewards: Array) -> IntArray:
        """Return what would be chosen if these were the mean rewards, [..., alternative, context].

        Args:
            rewards: The mean rewards, [..., alternative, context].
        """

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return what a choice falls short of the right one if these were the mean rewards, [..., part].

        Args:
            rewards: The mean rewards, [..., alternative, context].
            choice: What is chosen.
        """

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what the wrong choices of one study would lose, in one row; not those that are ruled out.

        Args:
            rewards: The mean rewards, [alternative, context].
            ruled_out: Pairs that cannot be chosen, [alternative, context].
        """

    def contrasts(self, belief: Belief, choice: IntArray) -> Contrasts:
        """Return the differences whose signs say whether the choice is right.

        Args:
            belief: What is known of all mean rewards.
            choice: What is chosen.
        """


class InClosedForm(Question, Protocol):
    """A question whose probabilities and losses need no joint draws."""

    def good_probability(self, certainty: Certainty, choice: IntArray, delta: float = 0.0) -> Array:
        """Return P(the choice loses no more than delta), [..., part].

        Args:
            certainty: How sure one may be of selections: a belief, or a mixture of some.
            choice: What is chosen.
            delta: How far from right a choice may be and still count as right.
        """

    def expected_loss(self, certainty: Certainty, choice: IntArray) -> Array:
        """Return the expected loss of the choice, [..., part].

        Args:
            certainty: How sure one may be of selections: a belief, or a mixture of some.
            choice: What is chosen.
        """

    def lower_bound(self, certainty: Certainty, choice: IntArray, delta: float = 0.0) -> Array:
        """Return a lower bound of `good_probability` that is quick to work out, [..., part].

        Args:
            certainty: How sure one may be of selections: a belief, or a mixture of some.
            choice: What is chosen.
            delta: How far from right a choice may be and still count as right.
        """


class SaysChoices(Question, Protocol):
    """A question whose choices look like those of no other, and that says them itself."""

    def words(self, choice: IntArray, alternatives: tuple[str, ...], contexts: tuple[str, ...]) -> str:
        """Return the choice in words, from the labels of the alternatives and of the contexts.

        Args:
            choice: What is chosen.
            alternatives: The labels of the alternatives.
            contexts: The labels of the contexts.
        """


class Weighed(NamedTuple):
    """Quantities, and what it is worth to remove variance from each."""

    quantities: Quantities  # what variance is removed from
    log_weight: Array  # logarithms of that worth, [..., quantity, part]; −∞ for entries that stand for none


class HasLimits(Question, Protocol):
    """A question about several outcomes: beliefs and tables have the goal and the slack of every limit.

    Tables of rewards are [..., outcome, alternative, context]; see `argbest.core.limits`.
    """

    def settled(self, belief: Belief) -> "Settled":
        """Return what choices lose, with all that follows from what is known now.

        Args:
            belief: What is known of the goal and of the slack of every limit.
        """

    def elsewhere(self, belief: Belief) -> "HasLimits":
        """Return the question to be put to other contexts one by one, given the belief about all of these.

        Args:
            belief: What is known of the goal and of the slack of every limit.
        """

    def of_some(self, belief: Belief) -> "HasLimits":
        """Return the question to be put to some of very many alternatives, given the belief about all.

        Args:
            belief: What is known of the goal and of the slack of every limit.
        """

    def weighed(self, belief: Belief, closed: BoolArray | None = None) -> tuple[Weighed, ...]:
        """Return all quantities that matter, of every outcome.

        Weights are logarithms of how much the expected loss falls per variance removed, times 2√(2π): the
        constant that the density of a tie leaves out, too.

        Args:
            belief: What is known of the goal and of the slack of every limit.
            closed: Pairs that are never simulated again, [..., alternative, context].
        """


class Settled(Protocol):
    """What choices lose in joint draws of all outcomes."""

    def loss(self, draws: Array, choice: IntArray) -> Array:
        """Return what a choice loses in every draw, [s, ..., part].

        Args:
            draws: Joint draws of all outcomes, [s, ..., outcome, alternative, context].
            choice: What is chosen.
        """

    def tolerance(self, delta: float) -> Array:
        """Return the largest loss of a choice that is within delta of the best, [..., part].

        Args:
            delta: How far from the best a choice may be.
        """

    def option_sums(self, draws: Array) -> Array:
        """Return, summed over draws, what they say of every option, [1, ..., 3, option, part].

        Options are the alternatives and, last, none of them. Of each: whether it is right, whether it keeps
        all limits, what it loses.

        Args:
            draws: Joint draws of all outcomes, [s, ..., outcome, alternative, context].
        """


ABILITIES = (InClosedForm, HasLimits, SaysChoices)


@dataclass(frozen=True)
class Best:
    """Which alternative is the best of every context: the usual question.

    A choice is [..., context].
    """

    name: ClassVar[str] = "best"
    only_the_best_matter: ClassVar[bool] = True

    def parts(self, weights: Array) -> Array:
        """Return the weights of the contexts: each is a part by itself."""
        return weights

    def choice(self, belief: Belief) -> IntArray:
        """Return the alternative with the largest mean of every context, the first of equal ones."""
        return best(belief)

    def right_choice(self, rewards: Array) -> IntArray:
        """Return the alternative with the largest reward of every context, the first of equal ones."""
        return np.asarray(np.argmax(rewards, axis=-2))

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return best minus chosen reward of every context, [..., context]."""
        lead = np.broadcast_shapes(rewards.shape[:-2], choice.shape[:-1])
        chosen = np.broadcast_to(choice, (*lead, choice.shape[-1]))
        of_chosen = of_selected(np.broadcast_to(rewards, (*lead, *rewards.shape[-2:])), chosen)
        return np.asarray(rewards.max(axis=-2) - of_chosen)

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what every pair loses that can be selected and is not the best of its context."""
        wrong = np.ones(rewards.shape, bool) if ruled_out is None else ~ruled_out
        possible = np.where(wrong, rewards, -np.inf)
        wrong[of_each_context(self.right_choice(possible))] = False
        return np.asarray((possible.max(axis=0) - rewards)[wrong])

    def contrasts(self, belief: Belief, choice: IntArray) -> "LeadsInContext":
        """Return chosen minus every other alternative of its context."""
        return LeadsInContext(belief, choice)

    def good_probability(self, certainty: Certainty, choice: IntArray, delta: float = 0.0) -> Array:
        """Return P(the chosen alternative is within delta of the best), [..., context]."""
        return certainty.good_probability(choice, delta)

    def expected_loss(self, certainty: Certainty, choice: IntArray) -> Array:
        """Return E[best reward − chosen reward], [..., context]."""
        return certainty.expected_loss(choice)

    def lower_bound(self, certainty: Certainty, choice: IntArray, delta: float = 0.0) -> Array:
        """Return the sharpest lower bound in closed form of `good_probability`, [..., context]."""
        return certainty.lower_bound(choice, delta)


BEST = Best()


@dataclass(frozen=True, eq=False)
class LeadsInContext:
    """f_b(c) − f_k(c) for the chosen alternative b of every context c, [..., alternative, context].

    The entry of b itself stands for no difference.
    """

    belief: Belief
    chosen: IntArray  # [..., context]

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        """Return z = d/τ, infinite for the chosen and where τ = 0, and τ² (`false_selection.open_var`)."""
        spread = false_selection.open_var(self.belief, self.chosen, closed)
        z = np.full_like(spread, np.inf)
        with np.errstate(over="ignore"):
            np.divide(
                gaps(self.belief, self.chosen), np.sqrt(np.maximum(spread, 0.0)), out=z, where=spread > 0
            )
        z[of_each_context(self.chosen)] = np.inf
        return z, spread

    def covariances(self, which: IntArray) -> Array:
        """Return Cov(f_b(c) − f_k(c), ·), [..., m, alternative, context]."""
        rival, context = np.divmod(which, self.chosen.shape[-1])
        leader = self.chosen[(*leading(context.shape)[:-1], context)]
        return cov_of_differences(self.belief, leader, rival, context)

    def log_shares(self, log_weight: Array) -> Array:
        """Return the weights themselves, and their sum for the chosen, which is part of all differences."""
        share = log_weight.copy()
        share[of_each_context(self.chosen)] = kg.log_sum(log_weight, axis=-2)
        return share

    def bound(self, delta: float = 0.0) -> Array:
        """Return Π_{k≠b} Φ((d + δ)/τ), Slepian's bound of P(b is within δ of the best), [..., context]."""
        tau = np.sqrt(self.belief.difference_var(self.chosen))
        return slepian_bound(gaps(self.belief, self.chosen) + delta, tau, self.chosen)


def cov_of_differences(belief: Belief, reference: IntArray, rival: IntArray, context: IntArray) -> Array:
    """Return Cov(f_reference(c) − f_rival(c), ·) of the listed [..., m], [..., m, alternative, context]."""
    if not offers(belief, RelatesSums):
        return belief.cov_rows(reference, context) - belief.cov_rows(rival, context)
    weight = np.ones((*context.shape, 2))
    weight[..., 1] = -1.0
    both = np.concatenate([reference[..., None], rival[..., None]], -1)
    return belief.cov_of_sums(both, context, weight)

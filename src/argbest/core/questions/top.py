"""The m best alternatives of every context: a shortlist."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from argbest.checks import whole
from argbest.core import knowledge_gradient as kg
from argbest.core.arrays import Array, BoolArray, IntArray, ndtr
from argbest.core.belief import Belief
from argbest.core.decision import leading, of_each_context
from argbest.core.question import LeadsInContext, Question, cov_of_differences

_ROUNDING = 1e-12  # of the largest reward: sums in another order differ by so much


class NamesSeveral(Question, Protocol):
    """A question that is answered by several alternatives per context: a choice is [..., place, context]."""

    m: int


@dataclass(frozen=True)
class Top:
    """Which m alternatives are the best of every context: a shortlist, the best first.

    A choice is [..., place, context]. It loses what the m named fall short of the m best, in sum.

    Args:
        m: How many alternatives are on the shortlist.
    """

    m: int = 3

    name: ClassVar[str] = "top"
    only_the_best_matter: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("m", self.m, at_least=1)

    def parts(self, weights: Array) -> Array:
        """Return the weights of the contexts: each is a part by itself."""
        return weights

    def choice(self, belief: Belief) -> IntArray:
        """Return the alternatives with the m largest means of every context, [..., place, context]."""
        return self.right_choice(belief.mean)

    def right_choice(self, rewards: Array) -> IntArray:
        """Return the alternatives with the m largest rewards of every context, the first of equal ones."""
        return np.asarray(np.argsort(-rewards, axis=-2, kind="stable")[..., : self.m, :])

    def loss(self, rewards: Array, choice: IntArray) -> Array:
        """Return the sum of the m largest rewards minus that of the chosen, [..., context]."""
        lead = np.broadcast_shapes(rewards.shape[:-2], choice.shape[:-2])
        rewards = np.broadcast_to(rewards, (*lead, *rewards.shape[-2:]))
        chosen = np.take_along_axis(rewards, np.broadcast_to(choice, (*lead, *choice.shape[-2:])), axis=-2)
        n = rewards.shape[-2]
        m = min(self.m, n)
        largest = np.partition(rewards, n - m, axis=-2)[..., n - m :, :]
        short = np.sort(largest, axis=-2) - np.sort(chosen, axis=-2)  # place by place: equal ones leave 0
        total = short.sum(axis=-2)
        return np.where(total > _ROUNDING * np.abs(rewards).max(axis=-2), total, 0.0)

    def wrong_losses(self, rewards: Array, ruled_out: BoolArray | None = None) -> Array:
        """Return what it would lose to name, in the place of the m-th, each alternative that is not named."""
        possible = rewards if ruled_out is None else np.where(ruled_out, -np.inf, rewards)
        ordered = -np.sort(-possible, axis=0)
        if self.m >= len(rewards):
            return np.zeros(0)
        with np.errstate(invalid="ignore"):  # of a context in which fewer than m can be named
            behind = (ordered[self.m - 1] - ordered[self.m :]).ravel()
        return np.asarray(behind[np.isfinite(behind)])

    def contrasts(self, belief: Belief, choice: IntArray) -> "LeadsOfTheNamed":
        """Return the m-th minus each alternative outside, and each inside minus the best one outside."""
        return LeadsOfTheNamed(belief, choice)


@dataclass(frozen=True, eq=False)
class LeadsOfTheNamed:
    """f_m − f_k for every k outside the m named, f_k − f_o for k inside, o being the best of those outside.

    One entry per alternative, [..., alternative, context]; that of the m-th stands for no difference: its
    lead over o is the entry of o. Where nobody is outside no entry stands for one.
    """

    belief: Belief
    chosen: IntArray  # [..., place, context]

    @cached_property
    def _inside(self) -> BoolArray:
        inside = np.zeros(self.belief.mean.shape, bool)
        np.put_along_axis(inside, self.chosen, True, axis=-2)
        return inside

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """The named one with the lowest mean, and the one with the highest that is not, [..., context]."""
        mean = self.belief.mean
        last = np.where(self._inside, mean, np.inf).argmin(axis=-2)
        return np.asarray(last), np.asarray(np.where(self._inside, -np.inf, mean).argmax(axis=-2))

    def standardised(self, closed: BoolArray | None = None) -> tuple[Array, Array]:
        """Return z = d/τ and τ²; z is infinite for the m-th, and where τ = 0."""
        last, first = self._ends
        z_last, var_last = LeadsInContext(self.belief, last).standardised(closed)
        z_first, var_first = LeadsInContext(self.belief, first).standardised(closed)
        z, var = np.where(self._inside, -z_first, z_last), np.where(self._inside, var_first, var_last)
        nobody = self._inside.all(axis=-2, keepdims=True)
        z = np.where(nobody | (var <= 0), np.inf, z)
        z[of_each_context(last)] = np.inf
        return z, np.where(np.isinf(z), 0.0, var)

    def covariances(self, which: IntArray) -> Array:
        """Return the covariances of some contrasts with all pairs, [..., m, alternative, context]."""
        alternative, context = np.divmod(which, self.belief.mean.shape[-1])
        where = leading(context.shape)[:-1]
        last, first = (each[(*where, context)] for each in self._ends)
        inside = self._inside[(*where, alternative, context)]
        ahead, behind = np.where(inside, alternative, last), np.where(inside, first, alternative)
        return cov_of_differences(self.belief, ahead, behind, context)

    def log_shares(self, log_weight: Array) -> Array:
        """Return the weights themselves, and for the two ends the sums of the contrasts they are part of."""
        last, first = self._ends
        share = log_weight.copy()
        share[of_each_context(last)] = kg.log_sum(np.where(self._inside, -np.inf, log_weight), axis=-2)
        within = kg.log_sum(np.where(self._inside, log_weight, -np.inf), axis=-2)
        own = share[of_each_context(first)]
        share[of_each_context(first)] = np.logaddexp(own, within)
        return share

    def bound(self, delta: float = 0.0) -> Array:
        """Return Π Φ((d + δ)/τ) over the contrasts of every context, [..., context]."""
        z, var = self.standardised()
        further = np.divide(delta, np.sqrt(var), out=np.zeros_like(var), where=var > 0)
        return np.asarray(ndtr(z + further).prod(axis=-2))

"""Several outcomes of very large tables: all sums that are learned follow the same alternatives.

By itself each sum would follow those where it is large: the cheapest ones, say, of which none keeps a limit.
What matters are alternatives that may keep the limits and be the best of those that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from argbest.core.abilities import offers
from argbest.core.arrays import Array, BoolArray, IntArray, log_ndtr
from argbest.core.belief import Belief, Focused
from argbest.core.limits import Standing
from argbest.core.outcomes import Basis, Outcomes


class FollowsAsTold(Focused, Protocol):
    """A belief about very many alternatives that follows those that it is told to."""

    follows_its_own: bool
    """Whether it says by itself which alternatives it follows."""

    def following(self, alternatives: IntArray | None) -> Belief:
        """Return the belief that follows these alternatives; None: those foremost by its own means."""


@dataclass(frozen=True, eq=False)
class FocusedOutcomes(Outcomes):
    """Outcomes of which all sums follow the same alternatives."""

    @property
    def foremost(self) -> IntArray:
        """The alternatives that are followed, in order."""
        of_first: IntArray = self.sums[0].foremost  # type: ignore[attr-defined]
        return of_first

    @property
    def inner(self) -> Outcomes:
        """The outcomes of these alone, numbered among themselves."""
        front, shared = self.foremost, self.shared
        return Outcomes(
            tuple(each.inner for each in self.sums),  # type: ignore[attr-defined]
            self.basis,
            None if shared is None else replace(shared, count=shared.count[..., front, :]),
            None if self.lowered is None else self.lowered[..., front, :],
        )

    def including(self, alternatives: IntArray) -> "FocusedOutcomes":
        """Return the outcomes with these alternatives among those that are followed."""
        sums = tuple(each.including(alternatives) for each in self.sums)  # type: ignore[attr-defined]
        return replace(self, sums=sums)


def belief_about(basis: Basis, sums: Sequence[Belief]) -> Belief:
    """Return the belief that questions are asked of; of very many alternatives it follows the foremost."""
    first = sums[0]
    if not offers(first, FollowsAsTold) or first.mean.ndim > 2:
        return basis.belief(sums)
    if len(basis.outcomes) == 1:
        return basis.belief([first if first.follows_its_own else first.following(None)])
    front = foremost(Outcomes(tuple(sums), basis), len(first.foremost))
    return FocusedOutcomes(tuple(each.following(front) for each in sums), basis)  # type: ignore[attr-defined]


def not_followed(belief: Belief) -> BoolArray | None:
    """Return which alternatives are only summarised, [alternative]; None where all are followed.

    Joint draws leave them at their means, so that these say nothing of whether they keep a limit: with limits
    they are not chosen.
    """
    if not offers(belief, Focused):
        return None
    found = np.ones(belief.mean.shape[-2], bool)
    found[belief.foremost] = False
    return found


def foremost(belief: Outcomes, n: int) -> IntArray:
    """Return n alternatives that may be the best that keeps all limits, or may be named as a safe choice.

    Two thirds are those that the fewest standard deviations keep from being the best in some context: max(d,
    0)/τ behind the leader, plus max(−ζ, 0) of every slack. The leader has the largest mean of those that are
    likely to keep the limits, or comes nearest to it. The others have the largest `Standing.worth` in some
    context, or on average.
    """
    mean, now = belief.mean, Standing.of(belief)
    zeta = np.stack(now.zeta)
    leader = _leaders(mean, now.kept, log_ndtr(zeta).sum(axis=0))
    every = np.arange(mean.shape[-1])
    behind = mean[leader, every] - mean
    spread = np.sqrt(belief.var + belief.var[leader, every])
    ratio = np.divide(behind, spread, out=np.where(behind > 0, np.inf, 0.0), where=spread > 0)
    distance = (np.maximum(ratio, 0.0) + np.maximum(-zeta, 0.0).sum(axis=0)).min(axis=1)
    distance[leader] = -1.0
    likely = np.argsort(distance, kind="stable")
    worth = np.column_stack([now.worth, now.worth.mean(axis=1)])
    rank = np.argsort(np.argsort(-worth, axis=0, kind="stable"), axis=0, kind="stable").min(axis=1)
    safe = np.argsort(rank, kind="stable")[: n // 3]
    found = np.unique(np.concatenate([leader, safe]))
    others = likely[~np.isin(likely, found)]
    return np.union1d(found, others[: max(n - len(found), 0)])


def _leaders(mean: Array, kept: Array, log_kept: Array) -> IntArray:
    """Return the leader of every context, [context]."""
    likely: BoolArray = kept >= 0.5
    among = np.where(likely, mean, -np.inf).argmax(axis=0)
    return np.where(likely.any(axis=0), among, log_kept.argmax(axis=0))

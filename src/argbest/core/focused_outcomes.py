"""Several outcomes of very large tables: all sums that are learned follow the same alternatives.

By itself each sum would follow those where it is large: the cheapest ones, say, of which none keeps a limit.
What matters are alternatives that may keep the limits and be the best of those that do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from argbest.core.abilities import offers
from argbest.core.additive_belief import DRAWN_JOINTLY
from argbest.core.arrays import Array, BoolArray, IntArray, log_ndtr
from argbest.core.belief import Belief, Focused
from argbest.core.limits import Standing
from argbest.core.outcomes import Basis, Outcomes, known_exactly
from argbest.core.tally import Tally


class FollowsAsTold(Focused, Protocol):
    """A belief about very many alternatives that follows those that it is told to."""

    @property
    def follows_its_own(self) -> bool:
        """Whether it says by itself which alternatives it follows."""

    def following(self, alternatives: IntArray | None, drawn_cells: BoolArray | None) -> Belief:
        """Return the belief that follows these alternatives and draws these cells [alternative, context].

        None and None: the alternatives that are foremost by its own means.
        """


@dataclass(frozen=True, eq=False)
class FocusedOutcomes(Outcomes):
    """Outcomes of which all sums follow the same alternatives."""

    @property
    def foremost(self) -> IntArray:
        """The alternatives that are followed, in order."""
        of_first: IntArray = self.sums[0].foremost  # type: ignore[attr-defined]
        return of_first

    @property
    def drawn_cells(self) -> BoolArray:
        """The cells that joint draws tell of, [alternative, context]; others stay at their means."""
        of_first: BoolArray = self.sums[0].summary.drawn_cells  # type: ignore[attr-defined]
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
            None if self.exact is None else self.exact[..., front, :],
        )

    def including(self, alternatives: IntArray) -> "FocusedOutcomes":
        """Return the outcomes with these alternatives among those that are followed."""
        sums = tuple(each.including(alternatives) for each in self.sums)  # type: ignore[attr-defined]
        return replace(self, sums=sums)


class SaysWhatIsDrawn(Belief, Protocol):
    """A belief about very many alternatives whose joint draws tell of some cells."""

    @property
    def drawn_cells(self) -> BoolArray:
        """These cells, [alternative, context]."""


def belief_about(basis: Basis, sums: Sequence[Belief], tallies: Sequence[Tally] = ()) -> Belief:
    """Return the belief that questions are asked of; of very many alternatives it follows the foremost."""
    first, exact = sums[0], None if len(basis.outcomes) == 1 else known_exactly(tallies)
    if not offers(first, FollowsAsTold) or first.mean.ndim > 2:
        return basis.belief(sums, exact)
    if len(basis.outcomes) == 1:
        return basis.belief([first if first.follows_its_own else first.following(None, None)])
    front, drawn = foremost(Outcomes(tuple(sums), basis, exact=exact), len(first.foremost))
    followed = tuple(each.following(front, drawn) for each in sums)  # type: ignore[attr-defined]
    return FocusedOutcomes(followed, basis, exact=exact)


def not_drawn(belief: Belief) -> BoolArray | None:
    """Return the cells [alternative, context] that joint draws leave at their means; None: there are none.

    Whether these keep a limit no draw tells: with limits they are not chosen.
    """
    return ~belief.drawn_cells if offers(belief, SaysWhatIsDrawn) else None


def foremost(belief: Outcomes, n: int) -> tuple[IntArray, BoolArray]:
    """Return about n alternatives to follow, and the cells to draw, `DRAWN_JOINTLY` of them.

    A third of the cells are of alternatives that are the safest on average, a sixth are the safest of their
    context: they have the largest `Standing.worth`. The others are those that the fewest standard deviations
    keep from being the best within limits: max(d, 0)/τ behind the leader, plus max(−ζ, 0) of every slack.
    The leader has the largest mean of those that are likely to keep the limits, or comes nearest to it.
    """
    mean, standing = belief.mean, Standing.of(belief)
    zeta, (k, c) = np.stack(standing.zeta), mean.shape
    leader = _leaders(mean, standing.kept, log_ndtr(zeta).sum(axis=0)), np.arange(c)
    behind, spread = mean[leader] - mean, np.sqrt(belief.var + belief.var[leader])
    ratio = np.divide(behind, spread, out=np.where(behind > 0, np.inf, 0.0), where=spread > 0)
    distance = np.maximum(ratio, 0.0) + np.maximum(-zeta, 0.0).sum(axis=0)
    drawn = np.zeros((k, c), bool)
    drawn[leader] = True
    drawn[np.argsort(-standing.worth.mean(axis=1), kind="stable")[: max(1, DRAWN_JOINTLY // (3 * c))]] = True
    safest = np.argsort(-standing.worth, axis=0, kind="stable")[: max(1, DRAWN_JOINTLY // (6 * c))]
    np.put_along_axis(drawn, safest, True, axis=0)
    nearest = np.argsort(np.where(drawn, np.inf, distance), axis=None, kind="stable")
    drawn.flat[nearest[: max(DRAWN_JOINTLY - int(drawn.sum()), 0)]] = True
    front = np.flatnonzero(drawn.any(axis=1))
    others = np.argsort(np.where(drawn.any(axis=1), np.inf, distance.min(axis=1)), kind="stable")
    return np.union1d(front, others[: max(n - len(front), 0)]), drawn


def _leaders(mean: Array, kept: Array, log_kept: Array) -> IntArray:
    """Return the leader of every context, [context]."""
    likely: BoolArray = kept >= 0.5
    among = np.where(likely, mean, -np.inf).argmax(axis=0)
    return np.asarray(np.where(likely.any(axis=0), among, log_kept.argmax(axis=0)))

"""Equal and random allocation: the baselines that every policy must beat."""

from dataclasses import dataclass
from typing import ClassVar

from argbest.core.decision import Decision
from argbest.policies.base import Moment, OneByOne, fewest


@dataclass(frozen=True)
class Equal(OneByOne):
    """Simulate every pair equally often.

    Every pair as often as every other, whatever a replication costs; ties at random.
    """

    takes_questions: ClassVar[bool] = True
    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return the pair with the fewest replications, those under way included."""
        return now.pick(fewest(now.count, now.candidates))


@dataclass(frozen=True)
class Random(OneByOne):
    """Simulate pairs at random.

    Pairs drawn independently and uniformly, whatever a replication costs.
    """

    takes_questions: ClassVar[bool] = True
    takes_limits: ClassVar[bool] = True

    def decide(self, now: Moment) -> Decision:
        """Return a pair drawn uniformly from those that may be simulated."""
        return now.pick(now.candidates)

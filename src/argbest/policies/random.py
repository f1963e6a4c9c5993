"""Random allocation: any pair, with equal chances."""

from dataclasses import dataclass

from argbest.core.decision import Decision
from argbest.policies.base import Moment, OneByOne


@dataclass(frozen=True)
class Random(OneByOne):
    """Simulate pairs at random.

    Pairs drawn independently and uniformly, whatever a replication costs.
    """

    def decide(self, now: Moment) -> Decision:
        """Return a pair drawn uniformly from those that may be simulated."""
        return now.pick(now.candidates)

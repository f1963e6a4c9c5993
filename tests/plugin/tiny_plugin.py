"""A package of somebody else's: a policy, a model, a problem, a question and a storage."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest import Problem
from argbest.core.arrays import Array
from argbest.core.decision import Decision
from argbest.models.frequentist import Independent
from argbest.policies.equal import Equal
from argbest.questions import Contexts, WeighsContexts
from argbest.storage.memory import MemoryStorage


@dataclass(frozen=True)
class Patient:
    """Simulate everything equally often, patiently."""

    patience: float = 1.0
    usual_model: ClassVar[str] = "plain"

    def propose(self, belief, tally, pending, setting, draws, n=1) -> Decision:  # type: ignore[no-untyped-def]
        """Return what equal allocation returns."""
        return Equal().propose(belief, tally, pending, setting, draws, n)


@dataclass(frozen=True)
class Plain(Independent):
    """Every pair by itself, under another name."""


def coin() -> Problem:
    """Return two alternatives in two contexts."""
    truth = [[0.0, 1.0], [1.0, 0.0]]
    return Problem(["a", "b"], ["x", "y"], lambda k, c, seed: seed % 7 / 7, truth=truth, name="coin")


def kept(address: str, *, name: str) -> MemoryStorage:
    """Return a storage for any address."""
    assert (address, name) == ("tiny://anywhere", "study")
    return MemoryStorage()


@dataclass(frozen=True)
class WorstHalf:
    """Which single alternative is best on average over the worse half of its contexts."""

    share: float = 0.5

    name: ClassVar[str] = "worst-half"

    def about(self, contexts: Contexts) -> "InTheWorstHalf":
        """Return the question to a table with these contexts."""
        return InTheWorstHalf(contexts, self.share)


@dataclass(frozen=True, eq=False)
class InTheWorstHalf(WeighsContexts):
    """The alternative whose worst contexts, as many as have this share of the weight, are best on average."""

    share: float

    name: ClassVar[str] = WorstHalf.name

    def weights_of(self, rewards: Array) -> Array:
        """Return the weights of the worst contexts of every alternative."""
        order = np.argsort(rewards, axis=-1)
        weight = self.contexts.shares[order]
        taken = np.clip(self.share - (np.cumsum(weight, axis=-1) - weight), 0.0, weight)
        found = np.empty_like(taken)
        np.put_along_axis(found, order, taken / self.share, axis=-1)
        return found

"""A package of somebody else's: a policy, a model, a problem and a storage for argbest."""

from dataclasses import dataclass
from typing import ClassVar

from argbest import Problem
from argbest.core.decision import Decision
from argbest.models.frequentist import Independent
from argbest.policies.equal import Equal
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

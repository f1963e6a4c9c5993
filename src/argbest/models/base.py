"""The model protocol: learning is dear and rare, conditioning is cheap and exact."""

from typing import Protocol, TypeVar

from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.setting import Setting
from argbest.core.tally import Tally

Params = TypeVar("Params")


class Model(Protocol[Params]):
    """A frozen description of a statistical model; all learned numbers live in ``Params``."""

    def fit(
        self, tally: Tally, setting: Setting, params: Params | None = None, stale: BoolArray | None = None
    ) -> Params:
        """Return the hyper-parameters learned from the tally.

        ``params`` of an earlier fit are a warm start; with ``stale`` [..., alternative] the alternatives not
        marked keep theirs.
        """

    def posterior(self, tally: Tally, setting: Setting, params: Params) -> Belief:
        """Return the belief about all cells given the data, hyper-parameters frozen."""

    def predict(self, tally: Tally, setting: Setting, params: Params, separation: Array) -> Belief:
        """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

        ``separation`` [coordinate, X, context] holds the squared scaled distances to the known contexts.
        """

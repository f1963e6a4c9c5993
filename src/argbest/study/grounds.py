"""What the answers of a study rest on: worked out once, and kept until the study knows more."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from argbest import streams
from argbest.core.arrays import Array, BoolArray
from argbest.core.belief import Belief
from argbest.core.certificate import Certificate, Mixture
from argbest.core.setting import Setting, among_the_rest
from argbest.core.tally import Tally
from argbest.models.base import Integrated, Model, integrated

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.study import Study

DRAWS = 4096
NUMBERS = 2**22  # no more random numbers than this, so large problems get fewer draws ...
FEWEST = 64  # ... but not fewer than these; then no more numbers than that at a time


class Grounds:
    """The belief, what it is unsure of, and certificates of a study at one state of its knowledge."""

    def __init__(self, study: "Study") -> None:
        self.problem, self.seed, self.model = study.problem, study.seed, study.model
        self.knowledge, self.ruled_out = study._learned(), study._ruled_out
        self.tally, self.setting = study._tally, study._journal.open_setting()
        self._certificates: dict[tuple[float, bool], Certificate] = {}
        self.selections: dict[float, pd.DataFrame] = {}  # by what counts as equal

    def still_true(self, study: "Study") -> bool:
        """Return whether the study knows no more than it did."""
        return study._learned() is self.knowledge and study._ruled_out is self.ruled_out

    @cached_property
    def belief(self) -> Belief:
        """The belief that selects, larger being better, with what is ruled out far below."""
        return among_the_rest(self.knowledge.belief, self.ruled_out)

    @cached_property
    def integrated(self) -> Integrated | None:
        """The hyper-parameters that probabilities average over."""
        known = self.tally, self.setting, self.knowledge.params
        return integrated_by_seed(self.model, *known, self.seed, self.ruled_out, self.knowledge.belief)

    @cached_property
    def mixture(self) -> Mixture | None:
        """The beliefs of those at the contexts of the study."""
        return None if self.integrated is None else self.integrated.here()

    def certificate(self, delta: float, *, integrate: bool) -> Certificate:
        """Return how sure the selections are."""
        if (delta, integrate) not in self._certificates:
            out, mixture = self.ruled_out, self.mixture if integrate else None
            answered = None if out is None or not out.all(axis=0).any() else np.any(~out, axis=0)
            self._certificates[delta, integrate] = Certificate(
                self.belief, self.problem.weights, self.normals, delta, answered, mixture
            )
        return self._certificates[delta, integrate]

    def normals(self, multiple: int) -> Iterator[Array]:
        """Yield the draws behind every certificate's joint probability, always the same, some at a time.

        Of a million pairs all of them would take 512 MB, and draws made from them several times that.
        """
        size = self.tally.count.size
        draws = max(FEWEST, min(DRAWS, NUMBERS // size))
        some = multiple * max(1, NUMBERS // size // multiple)
        generator = streams.generator(self.seed, streams.Purpose.CERTIFICATE)
        for start in range(0, draws, some):
            yield generator.standard_normal((min(some, draws - start), *self.problem.shape))


def integrated_by_seed(
    model: Model[Any],
    tally: Tally,
    setting: Setting,
    params: Any,
    seed: int,
    ruled_out: BoolArray | None = None,
    belief: Belief | None = None,
) -> Integrated | None:
    """Return what probabilities of one study average over: the same for the same data and seed."""
    generator = streams.generator(seed, streams.Purpose.INTEGRATION)
    return integrated(model, tally, setting, params, generator, ruled_out=ruled_out, known=belief)


def of_study(study: "Study") -> Grounds:
    """Return what answers rest on now."""
    kept = study._kept
    if kept is None or not kept.still_true(study):
        kept = study._kept = Grounds(study)
    return kept

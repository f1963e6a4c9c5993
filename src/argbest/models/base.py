"""The model protocol: learning is dear and rare, conditioning is cheap and exact."""

from typing import Any, Protocol, TypeVar

from argbest.core.arrays import Array
from argbest.core.belief import Belief
from argbest.core.setting import Setting
from argbest.core.tally import Tally

Params = TypeVar("Params")


class Model(Protocol[Params]):
    """A frozen description of a statistical model; all learned numbers live in ``Params``.

    A model whose fits are dear may say by a class attribute ``refit_growth = 0.1`` that it learns again when
    the observations have grown by that share, rather than every 10. One that learns about pairs from others
    has a method ``n_parameters(shape, setting)``, the number of its hyper-parameters: a study then need not
    begin with every pair. A model may also have a method ``findings(setting, params)`` that returns what it
    has learned of one study, as `argbest.core.findings.Findings`: `Study.model_summary` puts it in words.
    """

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if the model cannot serve a table [alternative, context] of this shape."""

    def fit(self, tally: Tally, setting: Setting, params: Params | None = None) -> Params:
        """Return the hyper-parameters learned from the tally.

        ``params`` of an earlier fit are a warm start, and stand where nothing has changed since.
        """

    def posterior(self, tally: Tally, setting: Setting, params: Params, known: Any = None) -> Belief:
        """Return the belief about all cells given the data, hyper-parameters frozen.

        ``known`` is the belief held before the fit that gave ``params``, all data taken in: it stands where
        that fit changed nothing.
        """

    def predict(self, tally: Tally, setting: Setting, params: Params, separation: Array) -> Belief:
        """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

        ``separation`` [coordinate, X, context] holds the squared scaled distances to the known contexts.
        """

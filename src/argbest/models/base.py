"""The model protocol: learning is expensive and rare, conditioning is cheap and exact."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, get_type_hints

import numpy as np

from argbest.core.abilities import LearnsFromOthers, LendsNoise, RefitsByGrowth, offers
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief, Focused
from argbest.core.certificate import Mixture
from argbest.core.common_noise import counted
from argbest.core.findings import Findings
from argbest.core.landmarks import structured
from argbest.core.outcomes import Outcomes, SharedNoise, known_exactly
from argbest.core.setting import Setting, among_the_rest
from argbest.core.tally import Tally
from argbest.errors import InputError

Params = TypeVar("Params")
ALONE = -1  # the kind of a study whose belief needs arrays of its own

_FEATURES = 400  # rows of a belief that many cells are summed up in, beside the contexts


class Plausible(NamedTuple, Generic[Params]):
    """Hyper-parameters and noise as likely as the data leave them: ``n`` equally likely points."""

    params: Params  # a dataclass of arrays [n, ...]
    n: int
    effective: Array  # [...]: how many independent points of the hyper-parameters these are worth


class Model(Protocol[Params]):
    """A frozen description of a statistical model; all learned numbers are in ``Params``.

    What a model may offer besides: `ABILITIES`.
    """

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if the model cannot serve a table [alternative, context] of this shape.

        Args:
            shape: The size of the table, (alternatives, contexts).
            setting: What is known of the problem.
        """

    def fit(self, tally: Tally, setting: Setting, params: Params | None = None) -> Params:
        """Return the hyper-parameters learned from the tally.

        Args:
            tally: The data: counts, means and squared deviations of every pair.
            setting: What is known of the problem.
            params: Those of an earlier fit: a warm start, and they stand where nothing has changed since.
        """

    def posterior(self, tally: Tally, setting: Setting, params: Params, known: Any = None) -> Belief:
        """Return the belief about all cells given the data, hyper-parameters frozen.

        Args:
            tally: The data: counts, means and squared deviations of every pair.
            setting: What is known of the problem.
            params: The hyper-parameters that `fit` returned.
            known (belief or None): The belief held before the fit that gave ``params``, all data taken in: it
                stands where that fit changed nothing.
        """

    def predict(self, tally: Tally, setting: Setting, params: Params, separation: Array) -> Belief:
        """Return the belief at X new contexts, each by itself: arrays [X, ..., alternative, 1].

        Args:
            tally: The data: counts, means and squared deviations of every pair.
            setting: What is known of the problem.
            params: The hyper-parameters that `fit` returned.
            separation: The squared scaled distances to the known contexts, [coordinate, X, context].
        """


class Integrates(Model[Any], Protocol):
    """A model that is not sure of its hyper-parameters: certificates average over others as likely."""

    def plausible(
        self, tally: Tally, setting: Setting, params: Any, generator: np.random.Generator
    ) -> Plausible[Any]:
        """Return hyper-parameters of one study as likely as the data leave them, on a first axis.

        Args:
            tally: The data of one study.
            setting: What is known of the problem.
            params (as of the model): The hyper-parameters that `fit` returned.
            generator: The random numbers to draw with.
        """


class Explains(Model[Any], Protocol):
    """A model that says what it has found; `Study.model_summary` puts it into words."""

    def findings(self, setting: Setting, params: Any) -> Findings:
        """Return what was learned of one study.

        Args:
            setting: What is known of the problem.
            params (as of the model): The hyper-parameters that `fit` returned.
        """


class TellsTroubles(Model[Any], Protocol):
    """A model whose search may end in a way that a user should know of."""

    def troubles(self, setting: Setting, params: Any) -> Sequence[str]:
        """Return sentences on how the search of one study ended.

        Args:
            setting: What is known of the problem.
            params (as of the model): The hyper-parameters that `fit` returned.
        """


class WeighsCommonNoise(Model[Any], Protocol):
    """A model that knows what to do with the replications in ``tally.common``."""

    weighs_common_noise: bool


class KnowsNewContexts(Model[Any], Protocol):
    """A model that says whether it can speak of contexts that were never simulated; others can."""

    knows_new_contexts: bool


class WeighsReplications(Model[Any], Protocol):
    """A model that says whether it weighs pairs by their replications, as Bayes' rule does; others do."""

    weighs_replications: bool


class TakesNoise(Model[Any], Protocol):
    """A model that can be told how noisy rewards are."""

    @property
    def noise_sd(self) -> Any:
        """The standard deviation of one replication, a number or a table, where that is known; or None."""


class LearnsNoise(Model[Any], Protocol):
    """A model that can be told what has a noise level of its own."""

    @property
    def noise(self) -> str:
        """As "pair", "alternative" or "pooled"."""


class SortsStudies(Model[Any], Protocol):
    """A model whose beliefs about some studies cannot be held in the same arrays as those about others."""

    def kinds(self, tally: Tally, setting: Setting, params: Any) -> IntArray:
        """Return a number per study [...]: those of equal number are conditioned together.

        Each of the studies of kind `ALONE` is conditioned by itself, with arrays [alternative, context].

        Args:
            tally: The data of all studies.
            setting: What is known of the problem.
            params (as of the model): The hyper-parameters that `fit` returned.
        """


class LearnsFromEarlier(Model[Any], Protocol):
    """A model that learns from runs of other sources, those in ``tally.earlier`` (`argbest.core.earlier`)."""

    def check_earlier(self, shape: tuple[int, int]) -> None:
        """Raise an InputError if it cannot do so for a table [alternative, context], theirs included."""


ABILITIES = (
    Integrates,
    LearnsFromEarlier,
    LearnsFromOthers,
    LendsNoise,
    RefitsByGrowth,
    Explains,
    TellsTroubles,
    WeighsCommonNoise,
    KnowsNewContexts,
    WeighsReplications,
    TakesNoise,
    LearnsNoise,
    SortsStudies,
)


def is_told_noise(model: Model[Any]) -> bool:
    """Return whether the model was told how noisy rewards are."""
    return offers(model, TakesNoise) and model.noise_sd is not None


class HasNoiseCorrelation(Protocol):
    """Hyper-parameters that know what of the noise alternatives share."""

    correlation: Array | None  # [..., context]: of replications of equal number; None: nothing is shared


class HasUnevenNoise(Protocol):
    """Hyper-parameters that know how unevenly the noise is spread that alternatives do not share."""

    uneven: Array | None  # [...]: see `argbest.core.common_noise.unevenness`; None: it is even


def noise_correlation(params: object) -> Array | None:
    """Return the correlation of noise that a belief takes into account, [..., context]; None: none."""
    if not offers(params, HasNoiseCorrelation) or params.correlation is None:
        return None
    uneven = params.uneven if offers(params, HasUnevenNoise) else None
    return counted(params.correlation, uneven)[1]


def learns_noise_of(model: Model[Any]) -> str:
    """Return what has a noise level of its own that the model learns, as "pair"; "" where it does not say."""
    return model.noise if offers(model, LearnsNoise) and not is_told_noise(model) else ""


def weighs_common_noise(model: Model[Any]) -> bool:
    """Return whether the model knows what to do with noise that alternatives share."""
    return offers(model, WeighsCommonNoise) and bool(model.weighs_common_noise)


def weighs_replications(model: Model[Any]) -> bool:
    """Return whether the model weighs pairs by their replications."""
    return not offers(model, WeighsReplications) or bool(model.weighs_replications)


def findings(model: Model[Any], setting: Setting, params: Any) -> Findings | None:
    """Return what the model has learned of one study; None where it does not say."""
    return model.findings(setting, params) if offers(model, Explains) else None


def integrated(
    model: Model[Any],
    tally: Tally,
    setting: Setting,
    params: Any,
    generator: np.random.Generator,
    *,
    ruled_out: BoolArray | None = None,
    known: Belief | None = None,
) -> "Integrated | None":
    """Return what certificates of one study average over, or None where the model knows of nothing else.

    ``known`` is the belief under the parameters themselves: of very many alternatives all follow the same.
    """
    if not offers(model, Integrates):
        return None
    points = model.plausible(tally, setting, params, generator)
    focus = known if known is not None and offers(known, Focused) else None
    return Integrated(model, tally, setting, points, ruled_out, focus)


class Integrated(NamedTuple):
    """Plausible hyper-parameters of one study, and what its beliefs are conditioned on."""

    model: Model[Any]
    tally: Tally  # [alternative, context]
    setting: Setting
    points: Plausible[Any]
    ruled_out: BoolArray | None  # [alternative, context]
    focus: Focused | None = None  # under the parameters found, of very many alternatives

    def at_own_contexts(self) -> Mixture:
        """Return the mixture at the contexts of the study."""

        def condition(some: slice) -> Belief:
            params = entries(self.points.params, some)
            belief = self.model.posterior(self._repeated(some), self.setting, params, self.focus)
            return among_the_rest(belief, self.ruled_out)

        n_followed = self.tally.shape[0] if self.focus is None else len(self.focus.foremost)
        return self._mixture(condition, n_followed * self.tally.shape[1], 0)

    def at(self, separation: Array, ruled_out: BoolArray | None) -> Mixture:
        """Return the mixture at X other contexts, each by itself; ``ruled_out`` is [X, alternative, 1]."""
        at_points = None if ruled_out is None else ruled_out[:, None]

        def condition(some: slice) -> Belief:
            params = entries(self.points.params, some)
            belief = self.model.predict(self._repeated(some), self.setting, params, separation)
            return among_the_rest(belief, at_points)

        return self._mixture(condition, separation.shape[1] * self.tally.shape[0], 1)

    def _repeated(self, some: slice) -> Tally:
        """Return the tally as often as there are points."""
        n = len(range(*some.indices(self.points.n)))
        return self.tally[None][np.zeros(n, int)]

    def _mixture(self, condition: Callable[[slice], Belief], n_cells: int, axis: int) -> Mixture:
        """Return the mixture of beliefs about so many cells."""
        n_rows, count = int((self.tally.count > 0).sum()), self.tally.count
        if self.tally.common is None and structured(count, names=self.setting.alternatives is None):
            n_rows = min(n_rows, self.tally.shape[1] + _FEATURES)
        each = n_cells * (n_rows + 1) + 2 * self.tally.shape[1] ** 2  # rows, and the tables of the prior
        return Mixture.of_size(condition, self.points.n, each, self.points.effective, axis)


def together(
    parts: Sequence[Integrated], shared: SharedNoise | None = None, ruled_out: BoolArray | None = None
) -> Mixture:
    """Return the mixture of a study of which these sums are learned, at its contexts.

    The i-th points of all sums are put together: they were learned apart. ``shared`` is the noise that the
    sums of a replication share; ``ruled_out`` [alternative, context] is for all of them.
    """
    exact = known_exactly([part.tally for part in parts])
    return _joined(parts, [part.at_own_contexts() for part in parts], shared, ruled_out, exact)


def together_at(parts: Sequence[Integrated], separation: Array, ruled_out: BoolArray | None) -> Mixture:
    """Return the same at X other contexts, each by itself; ``ruled_out`` is [X, alternative, 1].

    What noise the sums share is not known there: their errors are taken for independent.
    """
    if len(parts[0].setting.basis.outcomes) == 1:
        return parts[0].at(separation, ruled_out)
    at_points = None if ruled_out is None else ruled_out[:, None]
    return _joined(parts, [part.at(separation, None) for part in parts], None, at_points)


def _joined(
    parts: Sequence[Integrated],
    mixtures: Sequence[Mixture],
    shared: SharedNoise | None,
    ruled_out: BoolArray | None,
    exact: Array | None = None,
) -> Mixture:
    """Return the mixture of several sums from those of each; of one sum, its own."""
    basis = parts[0].setting.basis
    if len(basis.outcomes) == 1:
        return mixtures[0]

    def condition(some: slice) -> Belief:
        belief = Outcomes(tuple(each.condition(some) for each in mixtures), basis, shared, exact=exact)
        return among_the_rest(belief, ruled_out)

    n, size = min(each.n_points for each in mixtures), sum(each.size for each in mixtures)
    effective = np.min([each.effective for each in mixtures], axis=0)
    return Mixture.of_size(condition, n, size, effective, mixtures[0].axis)


def entries(params: Params, index: Any) -> Params:
    """Return the entries of a dataclass of arrays that an index of their first axis picks."""
    found = {each.name: getattr(params, each.name) for each in fields(params)}  # type: ignore[arg-type]
    return type(params)(**{name: part[index] for name, part in found.items() if part is not None})


def knows_new_contexts(model: Model[Any]) -> bool:
    """Return whether the model can speak of contexts that were never simulated."""
    return not offers(model, KnowsNewContexts) or bool(model.knows_new_contexts)


def troubles(model: Model[Any], setting: Setting, params: Any) -> tuple[str, ...]:
    """Return what a user should know of how the model's search ended, in sentences."""
    return tuple(model.troubles(setting, params)) if offers(model, TellsTroubles) else ()


def params_type(model: Model[Any]) -> type:
    """Return the class of a model's parameters, from which stored ones are rebuilt: what `fit` returns."""
    try:
        kind = get_type_hints(type(model).fit).get("return")
    except NameError:  # a name that only type checkers know
        kind = None
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise InputError(
            f"a stored study needs to know the parameters of {type(model).__name__}: annotate its `fit` to "
            "return a dataclass of arrays and numbers, or use storage=None."
        )
    return kind

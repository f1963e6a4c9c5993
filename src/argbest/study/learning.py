"""What a study has learned from its records and their run times, and what its answers rest on."""

import math
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from argbest import streams
from argbest.core import schedule
from argbest.core.arrays import AnyArray, Array, BoolArray
from argbest.core.belief import Belief, shares_noise, take_in
from argbest.core.certificate import Certificate, Mixture
from argbest.core.decision import Decision
from argbest.core.setting import Setting, among_the_rest
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.errors import SlowNotice
from argbest.models.base import Integrated, Model, integrated
from argbest.study.trial import Records, Trials, numbered

if TYPE_CHECKING:
    import pandas as pd

    from argbest.study.study import Study

SLOW = 5.0  # seconds of learning after which whoever waits is told what for
_QUICK = 0.02  # of these: whoever learned so quickly last time is not watched
DRAWS = 4096
NUMBERS = 2**22  # no more random numbers than this, so large problems get fewer draws ...
FEWEST = 64  # ... but not fewer than these; then no more numbers than that at a time
_PAIR = 3.0  # runs of a pair that weigh as much as what its alternative and its context say
_EFFECT = 0.5  # runs that weigh as much as the assumption that an alternative or a context is like the others
_SHORTEST = 1e-6  # of the mean run time: what a clock may have shown as zero


class Knowledge(NamedTuple):
    """The belief, and the last refit it rests on."""

    params: Any
    belief: Belief
    n_fitted: int  # observations at the last refit
    n_records: int  # records the belief has taken in
    seconds: float = math.inf  # that the last refit took, as far as is known

    @property
    def learned(self) -> step.Learned:
        """The same in the form in which studies side by side know it."""
        return step.Learned.of_one(self.params, self.belief)


def learn(
    model: Model[Any],
    setting: Setting,
    known: Knowledge | None,
    tally: Tally,
    trials: Trials,
    records: Records,
    *,
    n: int,
    refit_every: schedule.Schedule,
    sign: float,
) -> Knowledge:
    """Return the knowledge that takes in all records, of ``n`` observations.

    Hyper-parameters and standardisation are refreshed when `schedule.due` says so; until then every record
    enters by exact conditioning, in the order of telling.
    """
    if known is not None:
        belief = known.belief
        for row in range(known.n_records, len(records)):
            belief = _taken_in(belief, trials, records, row, sign)
        known = Knowledge(known.params, belief, known.n_fitted, len(records), known.seconds)
        if not schedule.due(model, refit_every, n, known.n_fitted):
            return known
    begun = time.monotonic()
    quick = known is not None and known.seconds < _QUICK * SLOW
    with nullcontext() if quick else _announced(n, int((tally.count > 0).sum())):
        found = step.learn(model, setting, tally, known.learned if known else None)
    return Knowledge(found.params, found.belief, n, len(records), time.monotonic() - begun)


def _taken_in(belief: Belief, trials: Trials, records: Records, row: int, sign: float) -> Belief:
    """Return the belief after one more record: each value by its number where alternatives share noise."""
    told = records.columns
    trial = told["trial"][row]
    where = Decision(*map(np.asarray, trials.pair(trial)))
    if not shares_noise(belief) or told["size"][row] < 0:
        return belief.update(where, np.asarray(sign * told["mean"][row]), told["n"][row])
    for number, value in numbered(trials.columns["replication"][trial], records[row].values):
        belief = take_in(belief, where, np.asarray(sign * value), np.asarray(number))
    return belief


@contextmanager
def _announced(n: int, pairs: int) -> Iterator[None]:
    """Say so once the block has taken long, not counting the compilation of code, which says so itself."""
    from argbest import compilation  # imports Numba, so not before it is needed

    done = threading.Event()

    def watch() -> None:
        begun, left = time.monotonic(), SLOW
        while not done.wait(left):
            left = max(begun, compilation.ready_since()) + SLOW - time.monotonic()
            if left <= 0.0:
                say()
                return

    def say() -> None:
        notice = (
            f"learning from {n:,} replications of {pairs:,} pairs takes more than {SLOW:g} s; it continues. "
            "Ctrl-C stops it, and no value is lost."
        )
        with suppress(SlowNotice):  # where warnings are errors: nobody could catch it in this thread
            warnings.warn(notice, SlowNotice, stacklevel=1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


class Grounds:
    """The belief, what it is unsure of, and certificates of a study at one state of its knowledge."""

    def __init__(self, study: "Study") -> None:
        self.problem, self.seed, self.model = study.problem, study.seed, study.model
        self.knowledge, self.ruled_out = study._learned(), study._ruled_out
        self.tally, self.setting = study._tally, study._journal.open_setting()
        self._certificates: dict[tuple[float, bool], Certificate] = {}
        self.selections: dict[float, pd.DataFrame] = {}  # by what counts as equal
        self.doubts: Any = None  # what speaks against its claims, once that has been asked for

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


def grounds(study: "Study") -> Grounds:
    """Return what answers rest on now."""
    kept = study._kept
    if kept is None or not kept.still_true(study):
        kept = study._kept = Grounds(study)
    return kept


def learned_costs(n: AnyArray, seconds: AnyArray) -> Array:
    """Return the mean cost of one replication of every pair [..., alternative, context], timed or not.

    ``n`` counts the timed runs of each pair, ``seconds`` is their total. The logarithm of a pair's mean time
    is taken as level + alternative + context + the pair's own part, normal with precisions ∞, a, a and w in
    units of one run (a = 1/2, w = 3), and the posterior mean is returned: pairs run often keep their own
    mean, pairs never run get level × alternative × context.

    Means are arithmetic, because budgets spend sums; shrinking is geometric, because run times differ by
    factors: an arithmetic pull towards the average would make a pair that takes a thousandth of it look a
    hundred times dearer than it is. The result has the unit of ``seconds``; it is 1 if nothing was timed.
    """
    count, total = np.asarray(n, float), np.asarray(seconds, float)
    runs, spent = count.sum(axis=(-2, -1), keepdims=True), total.sum(axis=(-2, -1), keepdims=True)
    average = np.where(spent > 0, spent / np.maximum(runs, 1), 1.0)
    ratio = np.maximum(total / np.maximum(count, 1) / average, _SHORTEST)
    log_ratio = np.where((count > 0) & (spent > 0), np.log(ratio), 0.0)
    fit = _crossed(count, log_ratio)
    return np.asarray(average * np.exp(fit + count / (count + _PAIR) * (log_ratio - fit)))


def _crossed(count: Array, log_ratio: Array) -> Array:
    """Return level + alternative + context [..., alternative, context] by penalised least squares.

    The mean time of a pair scatters about that sum with variance 1/n + 1/w.
    """
    weight = count * _PAIR / (count + _PAIR)
    k, c = weight.shape[-2:]
    rows, columns = weight.sum(axis=-1), weight.sum(axis=-2)
    normal = np.zeros((*weight.shape[:-2], 1 + k + c, 1 + k + c))
    normal[..., 0, 1 : 1 + k], normal[..., 0, 1 + k :] = rows, columns
    normal[..., 1 : 1 + k, 1 + k :] = weight
    normal += np.swapaxes(normal, -1, -2)
    whole = rows.sum(axis=-1, keepdims=True)
    diagonal = [np.where(whole > 0, whole, 1.0), rows + _EFFECT, columns + _EFFECT]
    np.einsum("...ii->...i", normal)[...] = np.concatenate(diagonal, axis=-1)
    told = weight * log_ratio
    by_row, by_column = told.sum(axis=-1), told.sum(axis=-2)
    right = np.concatenate([by_row.sum(axis=-1, keepdims=True), by_row, by_column], axis=-1)
    solved: Array = np.linalg.solve(normal, right[..., None])[..., 0]
    level, alternative, context = solved[..., :1], solved[..., 1 : 1 + k], solved[..., 1 + k :]
    return np.asarray(level[..., None] + alternative[..., :, None] + context[..., None, :])

"""What a study learns from its records and their run times."""

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from argbest import streams
from argbest.core import schedule
from argbest.core.arrays import AnyArray, Array, BoolArray
from argbest.core.belief import Belief, shares_noise, take_in
from argbest.core.decision import Decision
from argbest.core.focused_outcomes import belief_about
from argbest.core.outcomes import ONE, Basis, of_each_sum, sums_of
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.engine import step
from argbest.errors import SlowNotice
from argbest.models.base import Integrated, Model, integrated
from argbest.study.trial import Records, Trials, numbered

SLOW = 5.0  # seconds of learning after which a notice tells the user what is being waited for
_QUICK = 0.02  # part of `SLOW`: after so quick a learning the next one is not timed
_PAIR = 3.0  # runs of a pair that weigh as much as what its alternative and its context say
_EFFECT = 0.5  # runs that weigh as much as the assumption that an alternative or a context is like the others
_SHORTEST = 1e-6  # of the mean run time: what a clock may have shown as zero


class Knowledge(NamedTuple):
    """What is known of every sum of responses that is learned, and the last refit it rests on."""

    learned: step.Learned
    n_fitted: int  # replications at the last refit
    n_records: int  # records the belief has taken in
    seconds: float = math.inf  # that the last refit took, as far as is known

    @property
    def params(self) -> Any:
        """The hyper-parameters of the goal."""
        return self.learned.params[0]

    @property
    def belief(self) -> Belief:
        """The belief: with limits that about the goal and all slacks (`Outcomes`)."""
        return self.learned.belief


Known: TypeAlias = Knowledge | Callable[[], Knowledge] | None  # a function computes it when it is needed


def resolved(known: Known) -> Knowledge | None:
    """Return the knowledge, computed now if it was not."""
    return known() if callable(known) else known


def learn(
    model: Model[Any],
    setting: Setting,
    known: Knowledge | None,
    tallies: Sequence[Tally],
    trials: Trials,
    records: Records,
    *,
    n: int,
    refit_every: schedule.Schedule,
) -> Knowledge:
    """Return the knowledge that takes in all records, of ``n`` replications.

    The ``tallies`` are those of all sums of responses that are learned (``setting.basis``).
    Hyper-parameters and standardisation are refreshed when `schedule.due` says so; until then every record
    enters by exact conditioning, in the order of telling.
    """
    if known is not None:
        belief = known.belief
        for row in range(known.n_records, len(records)):
            belief = _taken_in(belief, trials, records, row, setting.basis)
        learned = step.Learned.of_one(known.learned.params, belief)
        known = Knowledge(learned, known.n_fitted, len(records), known.seconds)
        if not schedule.due(model, refit_every, n, known.n_fitted):
            return known
    begun = time.monotonic()
    quick = known is not None and known.seconds < _QUICK * SLOW
    with nullcontext() if quick else _announced(n, int((tallies[0].count > 0).sum())):
        # A belief may keep a reference to its tally, and the next value would change the tables of that.
        copies = [tally.copy() for tally in tallies]
        learned = step.learn(model, setting, copies, known.learned if known else None)
    return Knowledge(learned, n, len(records), time.monotonic() - begun)


def _taken_in(belief: Belief, trials: Trials, records: Records, row: int, basis: Basis) -> Belief:
    """Return the belief after one more record: of shared noise value by value, otherwise by its mean."""
    told = records.columns
    trial, n = told["trial"][row], told["n"][row]
    where = Decision(*map(np.asarray, trials.pair(trial)))
    values, means = records.values(row), basis.sums(records.mean(row))
    sums = None if values is None or not records.shared(row) else basis.sums(values)

    def updated(i: int, of_sum: Belief) -> Belief:
        if not shares_noise(of_sum) or sums is None:
            return of_sum.update(where, means[i], n)
        for number, value in numbered(trials.columns["replication"][trial], sums[i]):
            of_sum = take_in(of_sum, where, value, np.asarray(number))
        return of_sum

    return of_each_sum(belief, updated)


@contextmanager
def _announced(n: int, pairs: int) -> Iterator[None]:
    """Warn when the block has taken `SLOW` seconds; compiling does not count, as it has its own notice."""
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


class Learns(Protocol):
    """What is learned from some records, when somebody first asks."""

    @property
    def n_records(self) -> int:
        """How many records are learned from."""

    @property
    def knowledge(self) -> Knowledge:
        """What is known after them."""


@dataclass(eq=False)
class Learning:
    """What is learned from the records told so far, when somebody first asks; later records are not in it."""

    model: Model[Any]
    setting: Setting
    known: Known  # what was learned before
    tallies: tuple[Tally, ...]
    trials: Trials
    records: Records  # of the living study
    n: int  # replications
    refit_every: schedule.Schedule

    def __post_init__(self) -> None:
        self.n_records = len(self.records)

    @property
    def done(self) -> bool:
        """Whether somebody has asked."""
        return "knowledge" in self.__dict__

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge that takes in these records."""
        records = self.records
        if len(records) > self.n_records:
            records = records.first(self.n_records)
        return learn(
            self.model, self.setting, resolved(self.known), self.tallies, self.trials, records,
            n=self.n, refit_every=self.refit_every,
        )  # fmt: skip


@dataclass(eq=False)
class LearningOfOtherSums:
    """What the same records say of other sums of responses; those that the study learns are taken from it."""

    model: Model[Any]
    setting: Setting
    tallies: tuple[Tally, ...]
    of_study: Learns  # what the study learns
    places: tuple[int | None, ...]  # of these sums among those of the study; None: the study has it not

    @property
    def n_records(self) -> int:
        """How many records are learned from."""
        return self.of_study.n_records

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge of these sums."""
        known = self.of_study.knowledge
        sums, params, beliefs = sums_of(known.belief), [], []
        for tally, place in zip(self.tallies, self.places, strict=True):
            if place is None:
                learned = step.learn(self.model, replace(self.setting, basis=ONE), [tally])
                params.append(learned.params[0])
                beliefs.append(learned.belief)
            else:
                params.append(known.learned.params[place])
                beliefs.append(sums[place])
        together = belief_about(self.setting.basis, beliefs, self.tallies)
        return known._replace(learned=step.Learned.of_one(tuple(params), together))


@dataclass(eq=False)
class LearningAnew:
    """What is learned, when somebody asks, from tallies of an earlier moment of the study."""

    model: Model[Any]
    setting: Setting
    tallies: tuple[Tally, ...]
    n_records: int
    before: tuple[Any, ...] | None = None  # hyper-parameters from which searches start

    @cached_property
    def knowledge(self) -> Knowledge:
        """The knowledge of these tallies, all hyper-parameters fitted to them."""
        learned = step.learn(self.model, self.setting, self.tallies, before=self.before)
        return Knowledge(learned, int(self.tallies[0].count.sum()), self.n_records)


def integrated_by_seed(
    model: Model[Any],
    tallies: Sequence[Tally],
    setting: Setting,
    learned: step.Learned,
    seed: int,
    ruled_out: BoolArray | None = None,
) -> tuple[Integrated, ...] | None:
    """Return the hyper-parameters that probabilities average over, of every sum of responses.

    They are the same for the same data and seed. None where the model offers only its estimates.
    """
    generator = streams.generator(seed, streams.Purpose.INTEGRATION)
    # With limits, what is ruled excluded counts as an alternative that breaks one of them.
    excluded = ruled_out if len(setting.basis.outcomes) == 1 else None
    of_sums = [
        integrated(model, tally, setting, params, generator, ruled_out=excluded, known=belief)
        for tally, params, belief in zip(tallies, learned.params, sums_of(learned.belief), strict=True)
    ]
    return None if of_sums[0] is None else tuple(each for each in of_sums if each is not None)


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
    fit = _effects(count, log_ratio)
    return np.asarray(average * np.exp(fit + count / (count + _PAIR) * (log_ratio - fit)))


def _effects(count: Array, log_ratio: Array) -> Array:
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
    total = rows.sum(axis=-1, keepdims=True)
    diagonal = [np.where(total > 0, total, 1.0), rows + _EFFECT, columns + _EFFECT]
    np.einsum("...ii->...i", normal)[...] = np.concatenate(diagonal, axis=-1)
    weighted = weight * log_ratio
    by_row, by_column = weighted.sum(axis=-1), weighted.sum(axis=-2)
    right = np.concatenate([by_row.sum(axis=-1, keepdims=True), by_row, by_column], axis=-1)
    solved: Array = np.linalg.solve(normal, right[..., None])[..., 0]
    level, alternative, context = solved[..., :1], solved[..., 1 : 1 + k], solved[..., 1 + k :]
    return np.asarray(level[..., None] + alternative[..., :, None] + context[..., None, :])

"""What people do without a package, per context: equal allocation, OCBA, KN, sequential halving.

Every method is a function of a `Task` that yields `Look`s: what it would name after so many replications.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from argbest import Problem
from argbest.core.arrays import Array, IntArray, ndtr
from argbest.experiment.simulation import Simulators
from argbest.policies.ocba import ocba_ratios

LEVEL = 0.95  # what KN promises
KN_FIRST = 10  # Kim and Nelson: at least 10 replications before the first comparison
KN_MOST = 16_384  # replications of a pair after which a run of KN is given up
OCBA_FIRST = 5  # Chen and Lee: 5 to 20 replications before the first allocation
_CHUNK = 256  # replications of KN that are compared at once


@dataclass(frozen=True)
class Look:
    """What a method names after so many replications, and what it claims of it, if anything."""

    samples: int
    selected: IntArray  # [context]
    claimed: float | None = None  # share of contexts that are right
    answer: str = ""  # where one run is read in several ways
    budget: float | None = None  # per pair, as the method was told; None where it need not know


@dataclass(eq=False)
class Task:
    """A problem, the seed of one macro-replication, and its simulator; larger rewards are better."""

    problem: Problem
    seed: int
    looks: Array  # replications per pair at which methods are looked at
    stakes: float
    seconds: float = field(default=0.0, init=False)  # of processor time that went into no decisions
    _drawn: dict[bool, Array] = field(default_factory=dict, init=False, repr=False)

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.problem.n_alternatives * self.problem.n_contexts

    def up_to(self, most: float, least: float = 0.0) -> list[float]:
        """Return the looks between these numbers of replications per pair."""
        return [float(n) for n in self.looks if least <= n <= most]

    def rounds(self, most: float) -> list[int]:
        """Return the looks that are whole numbers of replications per pair, others rounded."""
        return sorted({round(n) for n in self.up_to(most, 0.75)})

    def simulate(self, k: IntArray, c: IntArray, n: IntArray, *, common: bool) -> Array:
        """Return the rewards of replications n of pairs, broadcast; with common seeds across alternatives."""
        cells = [each[None] for each in np.broadcast_arrays(k, c, n)]
        with self.apart():
            values = Simulators([self.problem], np.array([self.seed]), common)(*cells)[:, 0]
        if not self.problem.responses:
            return np.asarray(self.problem.sign * values[0])
        return np.asarray(self.problem.outcome_forms[0].of_tables(values))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Keep the processor time of what is done within apart from that of decisions."""
        begun = time.process_time()
        yield
        self.seconds += time.process_time() - begun

    def draws(self, n: int, *, common: bool) -> Array:
        """Return replications 0, ..., n - 1 of every pair at least, [alternative, context, replication]."""
        held = self._drawn.get(common, np.zeros((*self.problem.shape, 0)))
        if held.shape[-1] < n:
            size = max(n, 2 * held.shape[-1], 16)
            new = np.arange(held.shape[-1], size)
            k, c = (np.arange(length) for length in self.problem.shape)
            more = self.simulate(k[:, None, None], c[:, None], new, common=common)
            held = self._drawn[common] = np.concatenate([held, more], axis=-1)
        return held


Method: TypeAlias = Callable[[Task, float], Iterator[Look]]  # task and most replications per pair


def equal(task: Task, most: float) -> Iterator[Look]:
    """Yield the largest averages after n replications of every pair, alternatives sharing seeds."""
    yield from _equal(task, most, common=True)


def equal_own(task: Task, most: float) -> Iterator[Look]:
    """Yield the largest averages after n replications of every pair, each pair with its own seeds."""
    yield from _equal(task, most, common=False)


def _equal(task: Task, most: float, *, common: bool) -> Iterator[Look]:
    for n in task.rounds(most):
        mean = task.draws(n, common=common)[..., :n].mean(axis=-1)
        yield Look(n * task.pairs, mean.argmax(axis=0))


def halving(task: Task, most: float) -> Iterator[Look]:
    """Yield what sequential halving per context names for every budget; alternatives share seeds.

    Karnin, Koren and Somekh (2013). Averages are over all replications of an alternative so far.
    """
    n_alternatives, n_contexts = task.problem.shape
    for n in task.rounds(most):
        plan, total = halving_plan(n_alternatives, n * n_alternatives), 0
        left = np.tile(np.arange(n_alternatives), (n_contexts, 1))  # [context, alternative still in]
        upto = 0
        for size, more in plan:
            upto += more
            total += size * more
            draws = task.draws(upto, common=True)[..., :upto]
            mean = draws[left, np.arange(n_contexts)[:, None]].mean(axis=-1)
            order = np.argsort(-mean, axis=1, kind="stable")
            left = np.take_along_axis(left, order, axis=1)[:, : -(-size // 2)]
        yield Look(total * n_contexts, left[:, 0], budget=float(n))


def halving_plan(n_alternatives: int, budget: int) -> list[tuple[int, int]]:
    """Return the rounds of sequential halving: alternatives still in, and replications of each.

    Round r gives ⌊T / (|S_r| ⌈log₂ K⌉)⌋ to each of S_r; the better half, rounded up, goes on. A budget too
    small for one replication of each in the first round is shared equally, in one round.
    """
    rounds = max(1, int(np.ceil(np.log2(n_alternatives))))
    if budget < n_alternatives * rounds:
        return [(n_alternatives, budget // n_alternatives)]
    plan, size = [], n_alternatives
    for _ in range(rounds):
        plan.append((size, budget // (size * rounds)))
        size = -(-size // 2)
    return plan


def ocba(task: Task, most: float) -> Iterator[Look]:
    """Yield what OCBA names, run in every context alone with an equal share of the budget; own seeds.

    Chen, Lin, Yücesan and Chick (2000): five replications of every alternative, then one at a time to the
    alternative that lags most behind the ratios of the sample means and variances. Where nothing has varied
    in a context, all variances count as equal. It claims the approximate probability of correct selection,
    1 - Σ Φ(-d/s) over the others.
    """
    n_alternatives, n_contexts = task.problem.shape
    looks, columns = task.rounds(most), np.arange(n_contexts)
    for n in (n for n in looks if n < OCBA_FIRST):
        yield Look(n * task.pairs, task.draws(n, common=False)[..., :n].mean(axis=-1).argmax(axis=0))
    first = task.draws(OCBA_FIRST, common=False)[..., :OCBA_FIRST].swapaxes(0, 1)
    count = np.full((n_contexts, n_alternatives), OCBA_FIRST)
    mean, m2 = first.mean(axis=-1), first.var(axis=-1) * OCBA_FIRST
    for n in (n for n in looks if n >= OCBA_FIRST):
        while count[0].sum() < n * n_alternatives:
            var = m2 / (count - 1)
            ratios = ocba_ratios(mean, np.where(var.any(axis=1, keepdims=True), var, 1.0))
            chosen = ((count.sum(axis=1, keepdims=True) + 1) * ratios - count).argmax(axis=1)
            at = columns, chosen
            value = task.draws(int(count[at].max()) + 1, common=False)[chosen, columns, count[at]]
            count[at] += 1
            step = value - mean[at]
            mean[at] += step / count[at]
            m2[at] += step * (value - mean[at])
        yield Look(n * task.pairs, mean.argmax(axis=1), float(approximate_pcs(mean, m2, count).mean()))


def approximate_pcs(mean: Array, m2: Array, count: IntArray) -> Array:
    """Return 1 - Σ_{i≠b} Φ(-d_i/s_i) of every context, at least 0; tables are [context, alternative]."""
    var = m2 / (count - 1) / count
    best = mean.argmax(axis=1)[:, None]
    ahead = np.take_along_axis(mean, best, axis=1) - mean
    spread = np.sqrt(var + np.take_along_axis(var, best, axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong = np.where(spread > 0, ndtr(-ahead / spread), np.where(ahead > 0, 0.0, 0.5))
    np.put_along_axis(wrong, best, 0.0, axis=1)
    return np.asarray(np.maximum(1.0 - wrong.sum(axis=1), 0.0))


def kn(task: Task, most: float) -> Iterator[Look]:  # noqa: ARG001
    """Yield what KN names in every context when it has stopped, at .95 and a zone of a tenth of the stakes.

    Alternatives share seeds, as KN allows. Nothing is yielded if a context takes more than `KN_MOST`.
    """
    samples, selected = 0, []
    for c in range(task.problem.n_contexts):

        def draw(some: IntArray, start: int, stop: int, c: int = c) -> Array:
            return task.simulate(some[:, None], np.array(c), np.arange(start, stop), common=True)

        best, taken = kn_run(draw, task.problem.n_alternatives, 0.1 * task.stakes)
        if taken is None:
            return
        selected.append(best)
        samples += taken
    yield Look(samples, np.array(selected), LEVEL)


def kn_constant(n_alternatives: int, first: int, level: float = LEVEL) -> float:
    """Return h² = 2 η (n₀ - 1), η = ½ ((2α/(K - 1))^(-2/(n₀ - 1)) - 1): Kim and Nelson (2001) with c = 1."""
    eta = 0.5 * ((2.0 * (1.0 - level) / (n_alternatives - 1)) ** (-2.0 / (first - 1)) - 1.0)
    return float(2.0 * eta * (first - 1))


def kn_run(
    draw: Callable[[IntArray, int, int], Array],
    n_alternatives: int,
    zone: float,
    *,
    level: float = LEVEL,
    first: int = KN_FIRST,
) -> tuple[int, int | None]:
    """Return the alternative that KN selects and the replications it took; None if these were too many.

    ``draw(alternatives, start, stop)`` are replications [alternative, replication]. With S²_il the variance
    of differences among the first n₀, alternative i is dropped after r replications if its average is below
    that of an alternative l still in by more than W_il(r) = max(0, δ/(2r) (h² S²_il/δ² - r)).
    """
    left = np.arange(n_alternatives)
    begin = draw(left, 0, first)
    spread = kn_constant(n_alternatives, first, level) * np.var(begin[:, None] - begin[None], axis=-1, ddof=1)
    end = int(np.max(spread / zone**2)) + 1  # where W is 0 everywhere, and the largest average wins
    total, taken, r = begin.sum(axis=1), n_alternatives * first, first
    if end <= first:
        return int(total.argmax()), taken
    sums, numbers = total[:, None], np.array([first])  # of the replications r that are compared next
    while True:
        mean = sums / numbers
        width = np.maximum(0.0, (spread[np.ix_(left, left)] / zone)[..., None] - zone * numbers) / 2 / numbers
        out = np.any(mean[:, None] < mean[None] - width, axis=1)  # [alternative, r]
        when = np.flatnonzero(out.any(axis=0))
        stop = int(when[0]) if len(when) else len(numbers) - 1
        r, total = int(numbers[stop]), sums[:, stop]
        taken += len(left) * (r - first)
        first = r
        if len(when):
            left, total = left[~out[:, stop]], total[~out[:, stop]]
        if len(left) == 1 or r >= end:
            return int(left[total.argmax()]), taken
        if r >= KN_MOST:
            return int(left[total.argmax()]), None
        upto = min(r + _CHUNK, end, KN_MOST)
        sums = total[:, None] + draw(left, r, upto).cumsum(axis=1)
        numbers = np.arange(r + 1, upto + 1)

"""What a guarantee rests on: values in the order of their numbers, and bounds of leads and slacks."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from argbest.core import sequences
from argbest.core.arrays import AnyArray, Array, BoolArray, IntArray
from argbest.core.replications import PLACE, ReplicationStore, WeighedColumn
from argbest.problems.base import Problem
from argbest.storage.base import Plain
from argbest.study.assumptions import Assumed, Assumption
from argbest.study.growth import Generations, InContext
from argbest.study.trial import Records, Trials

if TYPE_CHECKING:
    from argbest.study.view import View

_ENOUGH_FOR_A_TREND = 10  # values, which come in order by chance once in two million times
_RESOLUTION = 1e-12  # of the largest reward: differences that vary by less are equal


class InOrder:
    """The values of every pair that a guarantee counts: those that no open replication of it precedes.

    Run times may depend on values, so values count in the order of their numbers and not of their arrival. A
    number without single values (it failed, or was told as a summary) is left out.
    """

    def __init__(self, shape: tuple[int, int], store: ReplicationStore) -> None:
        self._store = store
        self.goal = WeighedColumn(store, (1.0,))  # the values, in the user's sign
        self.count = np.zeros(shape, np.int64)  # values that count
        self.version = np.zeros(shape[1], np.int64)  # per context, one more with every change
        self.summarised = 0  # replications told in summaries, which have no order
        self.sorted: set[tuple[int, int]] = set()  # pairs whose values only rise or only fall: not by chance
        self._next: dict[tuple[int, int], int] = {}  # the first number that is still open
        self._early: dict[tuple[int, int], dict[int, range]] = {}  # numbers that wait for smaller ones: rows
        self._skipped: dict[tuple[int, int], dict[int, int]] = {}  # numbers never asked for: first, stop
        self._rows: dict[tuple[int, int], list[int]] = {}  # of the store that count, in the order of numbers
        self._trend: dict[tuple[int, int], int] = {}  # 1 if all values rise, -1 if they fall, 0 if neither

    def end(self, pair: tuple[int, int], number: int, rows: range, *, summarised: int = 0) -> None:
        """Record that a replication ended, with its rows of single values in the store."""
        self.summarised += summarised
        if number != self._next.get(pair, 0):  # a smaller number is still open
            self._early.setdefault(pair, {})[number] = rows
            return
        self._append(pair, rows)
        self._next[pair] = number + 1
        if pair in self._early or pair in self._skipped:
            self._advance(pair)

    def skip(self, pair: tuple[int, int], numbers: range) -> None:
        """Record that replications of these numbers will never be asked for."""
        if numbers:
            self._skipped.setdefault(pair, {})[numbers.start] = numbers.stop
            self._advance(pair)

    def _advance(self, pair: tuple[int, int]) -> None:
        """Count all values that no open number precedes."""
        early, skipped = self._early.get(pair, {}), self._skipped.get(pair, {})
        number = self._next.get(pair, 0)
        while number in early or number in skipped:
            if number in early:
                self._append(pair, early.pop(number))
            number = skipped.pop(number, number + 1)
        self._next[pair] = number

    def _append(self, pair: tuple[int, int], rows: range) -> None:
        """Count rows of the store as the next values of a pair."""
        counted, goal = self._rows.setdefault(pair, []), self.goal
        for row in rows:
            if counted:
                before, value = float(goal.at(counted[-1])), float(goal.at(row))
                step = (value > before) - (value < before)
                self._trend[pair] = step if self._trend.get(pair, step) == step else 0
            counted.append(row)
        self.count[pair] = len(counted)
        self.version[pair[1]] += 1
        if len(counted) >= _ENOUGH_FOR_A_TREND:
            (self.sorted.add if self._trend[pair] else self.sorted.discard)(pair)

    def enlarge(self, shape: tuple[int, int]) -> None:
        """Make room for further alternatives and contexts, which have no values yet."""
        count, version = np.zeros(shape, np.int64), np.zeros(shape[1], np.int64)
        count[: self.count.shape[0], : self.count.shape[1]] = self.count
        version[: len(self.version)] = self.version
        self.count, self.version = count, version

    def as_of_now(self) -> "InOrder":
        """Return a copy to read from, which later values do not change."""
        same = copy(self)  # rows of a pair are only ever appended, so that ``count`` says which belong to it
        same.count, same.version, same.sorted = self.count.copy(), self.version.copy(), {*self.sorted}
        return same

    def sum_of_context(self, context: int, weights: tuple[float, ...]) -> tuple[Array, IntArray]:
        """Return the table of `by_run` for another weighted sum of the responses."""
        return self.by_run(context, WeighedColumn(self._store, weights))

    def asking(self, weights: tuple[float, ...]) -> "InOrder":
        """Return a copy to read from whose goal is another weighted sum of the responses."""
        same = self.as_of_now()
        same.goal = WeighedColumn(self._store, weights)
        same.sorted = set()
        for k, c in np.argwhere(self.count >= _ENOUGH_FOR_A_TREND).tolist():
            pair = k, c
            steps = np.diff(same.goal.at(self._rows[pair][: self.count[pair]]))
            if np.all(steps > 0) or np.all(steps < 0):
                same.sorted.add(pair)
        return same

    def of_context(self, context: int) -> Array:
        """Return the table of `by_run` without its numbers."""
        return self.by_run(context)[0]

    def by_run(self, context: int, values: WeighedColumn | None = None) -> tuple[Array, IntArray]:
        """Return the values of a context, [alternative, number], and the run that each number belongs to.

        An alternative that has no value of a number has NaN. The values are those of the goal in the user's
        sign, or other ``values`` of the same store.
        """
        counts = self.count[:, context]
        rows_of_alternatives = [self._rows[k, context][:n] for k, n in enumerate(counts.tolist()) if n]
        rows = np.array([row for some in rows_of_alternatives for row in some], np.int64)
        run, place = self._store.number[rows] % PLACE, self._store.number[rows] // PLACE
        columns, column = np.unique(run * PLACE + place, return_inverse=True)
        table = np.full((len(counts), len(columns)), np.nan)
        table[np.repeat(np.arange(len(table)), counts), column] = (values or self.goal).at(rows)
        return table, np.asarray(columns // PLACE)

    def state(self) -> tuple[dict[str, AnyArray], Plain]:
        """Return what does not follow from trials and records alone."""
        following, trend = np.zeros_like(self.count), np.zeros_like(self.count)
        for pair, number in self._next.items():
            following[pair] = number
        for pair, sign in self._trend.items():
            trend[pair] = sign
        gaps = [[*pair, *gap] for pair, some in self._skipped.items() for gap in some.items()]
        arrays = {"following": following, "trend": trend, "version": self.version, "in_order": self.count}
        return arrays, {"summarised": self.summarised, "gaps": gaps}

    def restore(
        self,
        arrays: Mapping[str, AnyArray],
        words: Plain,
        trials: Trials,
        records: Records,
        failed: Iterable[int],
    ) -> None:
        """Record all trials that ended at once; ValueError if they do not lead to the stored state."""
        following = arrays["following"].astype(np.int64)
        names = ("alternative", "context", "replication")
        k, c, number = (trials.columns.numbers(name) for name in names)
        told, size = (records.columns.numbers(name) for name in ("trial", "size"))
        start, size = records.columns.numbers("start"), np.maximum(size, 0)
        waits = number >= following[k, c]  # [trial] for a smaller number that was open
        for trial in failed:
            if waits[trial]:
                self._early.setdefault((int(k[trial]), int(c[trial])), {})[int(number[trial])] = range(0)
        for record in np.flatnonzero(waits[told]).tolist():
            i, first = int(told[record]), int(start[record])
            early = range(first, first + int(size[record]))
            self._early.setdefault((int(k[i]), int(c[i])), {})[int(number[i])] = early
        counted = np.flatnonzero(~waits[told] & (size > 0))
        counted = counted[np.lexsort((number[told[counted]], c[told[counted]], k[told[counted]]))]
        sizes = size[counted]
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its trial
        rows = np.repeat(start[counted], sizes) + place
        np.add.at(self.count, (k[told[counted]], c[told[counted]]), sizes)
        if not np.array_equal(self.count, arrays["in_order"]):
            raise ValueError("the values in order are not those of the events")
        ends = np.cumsum(self.count).reshape(self.count.shape)
        for row, column in np.argwhere((self.count > 0) | (following > 0)).tolist():
            pair = row, column
            n, end = int(self.count[pair]), int(ends[pair])
            if n:
                self._rows[pair] = rows[end - n : end].tolist()
            if n > 1:
                self._trend[pair] = int(arrays["trend"][pair])
            if n >= _ENOUGH_FOR_A_TREND and self._trend[pair]:
                self.sorted.add(pair)
            self._next[pair] = int(following[pair])
        for row, column, first, stop in words["gaps"]:
            self._skipped.setdefault((row, column), {})[first] = stop
        self.version[...], self.summarised = arrays["version"], int(words["summarised"])


class Separations:
    """Lower bounds of leads and slacks, computed again only where values came or the selection changed."""

    def __init__(self, problem: Problem, in_order: InOrder, generations: Generations) -> None:
        self._problem, self._in_order, self.generations = problem, in_order, generations
        self.basis = problem.setting.basis
        self._known: dict[Hashable, tuple[int, Array]] = {}

    def of(self, in_order: InOrder) -> "Separations":
        """Return the bounds from these values; bounds that were computed from equal ones are reused."""
        same = copy(self)
        same._in_order = in_order
        return same

    def lower(self, selected: IntArray, alpha: float | Array, assumed: Assumption) -> Array:
        """Return lower bounds of selected minus each alternative, [alternative, context].

        Alpha is that of every context, a number or [context]. The guarantee errs only if the bound between
        the selected and the truly best alternative fails, so alpha / (K − 1) per alternative is enough. With
        m limits it is alpha / (K − 1 + m). To see this, let b be the best of the alternatives that keep all
        limits. If the selected k breaks a limit, the bound of that slack has failed: one bound for each such
        k. If k keeps all limits but is not the best, the bound of f_k − f_b has failed, one for each such k,
        or else one of the m bounds that say b breaks a limit; the latter also if none is selected. If no
        alternative keeps the limits, only bounds of slacks of K alternatives can fail.

        Replications of the same number are compared: they may share random numbers, and which ones are
        compared does not depend on their values. The selected alternative itself has inf. Where rows were
        added or retired in the course of the study, `Generations` says which numbers count, and what part of
        alpha each bound has.
        """
        each = zip(selected.tolist(), self._by_context(alpha), strict=True)
        columns = [self._of_context(c, k, error, assumed) for c, (k, error) in enumerate(each)]
        return np.stack(columns, axis=-1)

    def doubts(self, context: int, chosen: int, alpha: float) -> tuple[BoolArray, BoolArray, IntArray]:
        """Return where ties, and where skewness, contradict normal differences, and how many these are.

        These are the differences from the chosen alternative, [alternative], that `lower` uses with this
        alpha.
        """
        differences, shares, resolution = self._differences(context, chosen)
        return _doubts(differences, alpha * shares, resolution)

    def kept(self, limit: int, alpha: float | Array, assumed: Assumption, *, broken: bool = False) -> Array:
        """Return lower bounds of the slack of a limit, [alternative, context]; where they are ≥ 0 it is kept.

        With ``broken`` they are bounds of minus the slack; where these are > 0 the limit is broken. Alpha as
        for `lower`.
        """
        each = enumerate(self._by_context(alpha))
        return np.stack([self._slack(c, limit, broken, error, assumed) for c, error in each], axis=-1)

    def slack_doubts(self, context: int, limit: int, alpha: float) -> tuple[BoolArray, BoolArray, IntArray]:
        """Return where ties, and where skewness, contradict normal slacks, and the number of slacks."""
        slack, shares, resolution = self._slacks(context, limit)
        return _doubts(slack, alpha * shares, resolution)

    def _of_context(self, context: int, chosen: int, alpha: float, assumed: Assumption) -> Array:
        """Return the bounds of `lower` in one context."""

        def made() -> Array:
            differences, shares, resolution = self._differences(context, chosen)
            ends = None
            if assumed.reward_range is not None:
                low, high = assumed.reward_range
                ends = low - high, high - low
            found = _lower(differences, alpha * shares, ends, resolution, exact=assumed.exact)
            found[chosen] = np.inf
            return found

        return self._once(context, (context, chosen, alpha, assumed), made)

    def _slack(self, context: int, limit: int, broken: bool, alpha: float, assumed: Assumption) -> Array:
        """Return the bounds of `kept` in one context."""

        def made() -> Array:
            slack, shares, resolution = self._slacks(context, limit)
            ends = assumed.reward_range
            if broken:
                slack, ends = -slack, None if ends is None else (-ends[1], -ends[0])
            found = _lower(slack, alpha * shares, ends, resolution, exact=assumed.exact)
            if assumed.exact and not broken:  # a bound that is just met is kept, whatever its last digits
                met = np.all(~np.isfinite(slack) | (np.abs(slack) <= resolution), axis=-1)
                found[met & np.isfinite(found)] = 0.0
            found[_sorted(slack)] = -np.inf  # a guarantee needs the order of the runs
            return found

        return self._once(context, ("limit", context, limit, broken, alpha, assumed), made)

    def _once(self, context: int, key: Hashable, made: Callable[[], Array]) -> Array:
        """Return what ``made`` computes from the values of a context, again only if more of them came."""
        version = int(self._in_order.version[context])
        known, bounds = self._known.get(key, (-1, np.empty(0)))
        if known != version:
            bounds = made()
            self._known[key] = version, bounds
        return bounds

    def _slacks(self, context: int, limit: int) -> tuple[Array, Array, float]:
        """Return the slacks of a limit, [alternative, number], the parts of alpha, and a resolution.

        The parts are [alternative]. Slacks closer than the resolution are equal but for rounding.
        """
        outcome = self.basis.outcomes[limit + 1]
        values, runs = self._in_order.sum_of_context(context, self.basis.weights[outcome.sum])
        slack = outcome.sign * values + outcome.constant
        scale = float(np.max(np.abs(values), initial=abs(outcome.constant), where=np.isfinite(values)))
        parts, start = self._in_context(context).own
        return _packed(_from_start(slack, runs, start)), parts, _RESOLUTION * scale

    def _differences(self, context: int, chosen: int) -> tuple[Array, Array, float]:
        """Return chosen minus each alternative, [alternative, number], the parts of alpha, and a resolution.

        The parts are [alternative]. Differences closer than the resolution are equal but for rounding.
        """
        rewards, runs = self._in_order.by_run(context)
        values = self._problem.sign * rewards
        scale = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
        parts, start = self._in_context(context).with_chosen(chosen)
        return _packed(_from_start(values[chosen] - values, runs, start)), parts, _RESOLUTION * scale

    def _by_context(self, alpha: float | Array) -> list[float]:
        """Return the alpha of every context."""
        each: list[float] = np.broadcast_to(alpha, self._problem.n_contexts).tolist()
        return each

    def _in_context(self, context: int) -> InContext:
        """Return each bound's part of alpha in a context, see `lower`, and the first number that counts."""
        return self.generations.of_context(context, len(self.basis.outcomes) - 1)


class Claims(NamedTuple):
    """What the data alone say of the selections, each context by itself."""

    lower: Array  # [alternative, context]: bounds of selected minus each; inf: it cannot be the best
    kept: BoolArray  # [context]: whether the selected alternative keeps all limits

    def reached(self, delta: float) -> BoolArray:
        """Return whether the selection is certified, [context]."""
        return reached(self.lower.min(axis=0), delta) & self.kept


def claims(view: "View", alpha: float | Array, assumed: Assumed, selected: IntArray) -> Claims:
    """Return what is certified of the selections [context]; alpha is that of every context, or [context].

    Bounds are inf for the selected alternatives, for pairs that are ruled out and for those that break a
    limit. Where none is selected they are −inf for all others, which may still keep the limits.
    """
    ruled_out = view.ruled_out
    none, chosen, contexts = selected < 0, np.maximum(selected, 0), np.arange(len(selected))
    lower = view.separations.lower(chosen, alpha, assumed.goal).copy()
    for k, c in view.in_order.sorted:
        lower[np.arange(len(lower)) != chosen[c] if k == chosen[c] else k, c] = -np.inf
    lower[:, none] = -np.inf
    kept = np.ones(len(selected), bool)
    for i, own in enumerate(assumed.slacks):
        kept &= none | (view.separations.kept(i, alpha, own)[chosen, contexts] >= 0)
        broken = view.separations.kept(i, alpha, own, broken=True) > 0
        lower[broken] = np.inf
    return Claims(lower if ruled_out is None else np.where(ruled_out, np.inf, lower), kept)


def missing(view: "View", alpha: float | Array, delta: float, assumed: Assumed) -> BoolArray:
    """Return the pairs of which a guarantee needs more replications, [alternative, context].

    In every context that is not certified: the selected alternative and the rivals not yet separated. A run
    asks after every replication, so what is selected is looked up quickly, and once more where all would be
    certified.
    """
    pairs = _missing(view, alpha, delta, assumed, view.fitted_choice)
    return pairs if pairs.any() else _missing(view, alpha, delta, assumed, view.choice)


def _missing(
    view: "View", alpha: float | Array, delta: float, assumed: Assumed, selected: IntArray
) -> BoolArray:
    """Return those that a guarantee of the selected alternatives [context] needs."""
    certified = claims(view, alpha, assumed, selected)
    rivals = ~reached(certified.lower, delta)
    chosen, contexts = np.maximum(selected, 0), np.arange(view.problem.n_contexts)
    rivals[chosen, contexts] |= (selected >= 0) & (rivals.any(axis=0) | ~certified.kept)
    return np.asarray(rivals & answered(view))


def reached(lower: Array, delta: float) -> BoolArray:
    """Return whether the bounds prove that the selected is at most delta behind; with delta 0: ahead."""
    return np.asarray(lower >= -delta if delta > 0 else lower > 0)


def answered(view: "View") -> BoolArray:
    """Return in which contexts some alternative can be selected."""
    ruled_out = view.ruled_out
    return np.ones(view.problem.n_contexts, bool) if ruled_out is None else np.any(~ruled_out, axis=0)


def _lower(
    values: Array, alpha: Array, ends: tuple[float, float] | None, resolution: float, *, exact: bool
) -> Array:
    """Return lower bounds of the means of rows: for any distribution between ``ends``, else for a normal one.

    Alpha is [row].
    """
    bounds = np.empty(len(values))
    for error in np.unique(alpha).tolist():  # most often all are equal
        rows = alpha == error
        bounds[rows] = (
            sequences.normal_lower(values[rows], error, resolution=resolution, exact=exact)
            if ends is None
            else sequences.bounded_lower(values[rows], error, *ends)
        )
    return bounds


def _doubts(values: Array, alpha: Array, resolution: float) -> tuple[BoolArray, BoolArray, IntArray]:
    """Return where ties, and where skewness, contradict normal rows, and how many values these have."""
    tied, skewed = np.zeros(len(values), bool), np.zeros(len(values), bool)
    for error in np.unique(alpha).tolist() if values.size else []:  # nothing may have been told
        rows = alpha == error
        by_ties, by_skewness = sequences.doubts(values[rows], error, resolution=resolution)
        tied[rows], skewed[rows] = by_ties[:, -1], by_skewness[:, -1]
    return tied, skewed, np.sum(np.isfinite(values), axis=-1)


def _from_start(rows: Array, runs: IntArray, start: IntArray) -> Array:
    """Return the rows with NaN for numbers before the one at which each row begins to count."""
    return np.where(runs >= start[:, None], rows, np.nan) if start.any() else rows


def _sorted(rows: Array) -> BoolArray:
    """Return which rows only rise or only fall, and are too long for chance: they have been sorted."""
    step = np.diff(rows, axis=-1)
    known = np.isfinite(step)
    one_way = np.all(~known | (step > 0), axis=-1) | np.all(~known | (step < 0), axis=-1)
    return np.asarray(one_way & (np.isfinite(rows).sum(axis=-1) >= _ENOUGH_FOR_A_TREND))


def _packed(rows: Array) -> Array:
    """Return the rows with missing values moved to their ends, the others in order."""
    order = np.argsort(np.isnan(rows), axis=-1, kind="stable")
    return np.take_along_axis(rows, order, axis=-1)

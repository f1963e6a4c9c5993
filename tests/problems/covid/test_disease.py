"""Each step of a day, and whole runs, against the literal description on tiny populations."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from grids import mostly_slow
from problems.covid import literal
from scipy import stats

from argbest.core.arrays import Array, IntArray
from argbest.problems.covid import disease, draws
from argbest.problems.covid.parameters import Outbreak, Stay
from argbest.problems.covid.simulator import curves

N = 2_000
INFECTION, CONTACTS, TESTED = 0.3, 4.0, 0.5
# Short stays and lively rates, so that every branch is taken in a population of forty.
TINY = Outbreak(
    sizes=(40,),
    cases=(9,),
    tests=20,
    infection=INFECTION,
    contacts=CONTACTS,
    days=5,
    exposed=Stay(0.8, 2),
    preinfectious=Stay(1.0, 2),
    infectious=Stay(1.5, 3),
    late=Stay(2.0, 4),
    mild_share=0.4,
    false_positive=0.1,
    self_report=0.3,
    tracing_window=1.5,
    tracing_delay=1,
    leave_infected=0.3,
)
LOCAL = np.array([40.0, 9.0, TESTED, INFECTION, CONTACTS])
WIDTH = TINY.hazards.shape[1] - 1


def p_value(classes: IntArray) -> float:
    """Of a two-sample chi-square test: outcomes, the first half ours, the second theirs, rare ones merged."""
    names = np.unique(classes, return_inverse=True)[1].ravel()
    frequent = np.bincount(names)[names] >= 20
    merged = np.unique(np.where(frequent, names + 1, 0), return_inverse=True)[1].ravel()
    table = np.array([np.bincount(half, minlength=merged.max() + 1) for half in np.split(merged, 2)])
    kept = table[:, table.sum(axis=0) >= 10]
    return float(stats.chi2_contingency(kept).pvalue) if kept.shape[1] > 1 else 1.0


def both(ours: IntArray, theirs: IntArray) -> list[IntArray]:
    """Outcomes of every coordinate that varies, numbered from 0, ours before theirs."""
    columns = np.concatenate([ours, theirs]).T
    return [np.unique(x, return_inverse=True)[1].ravel() for x in columns if np.ptp(x) > 0]


def p_values_alone(ours: IntArray, theirs: IntArray) -> list[float]:
    """Of tests of every coordinate by itself: they see no dependence."""
    return [p_value(x) for x in both(ours, theirs)]


def p_values(ours: IntArray, theirs: IntArray) -> list[float]:
    """Of tests of every coordinate, of every two together, and of all together."""
    columns = both(ours, theirs)
    pairs = [p_value(x * (y.max() + 1) + y) for x, y in combinations(columns, 2)]
    every = np.unique(np.array(columns), axis=1, return_inverse=True)[1].ravel()
    return [*map(p_value, columns), *pairs, p_value(every)]


def outcome(people: IntArray, stays: IntArray) -> IntArray:
    """All counts and some of their sums, so that what must add up is compared as well.

    The sums are everybody in each stage, QM + QV, M + V, and M + V + R: those whom I has let go.
    """
    quarantined, late = people[disease.QM] + people[disease.QV], stays[disease.M :].sum()
    sums = [*stays.sum(axis=1), quarantined, late, late + people[disease.R]]
    return np.concatenate([people, stays.ravel(), sums])


def morning(rng: np.random.Generator, kind: type[literal.Run] = literal.Run) -> literal.Run:
    """A population with somebody everywhere, the same every time."""
    stage = [[3, 2], [1, 2], [2, 0, 3], [1, 2, 0, 1], [2, 1, 1, 3]]
    return kind(rng, TINY, 9, TESTED, stage, 4, 2, 3, 1)


def ours_after(step: Callable[[IntArray, IntArray, IntArray], None]) -> IntArray:
    outcomes = []
    for seed in range(N):
        people, stays = literal.counts(morning(np.random.default_rng(0)), WIDTH)
        step(draws.stream(seed, 0), people, stays)
        outcomes.append(outcome(people, stays))
    return np.array(outcomes)


@cache
def theirs_after(
    step: Callable[[literal.Run], None], kind: type[literal.Run] = literal.Run, seed: int = 5
) -> IntArray:
    outcomes, rng = [], np.random.default_rng(seed)
    for _ in range(N):
        run = morning(rng, kind)
        step(run)
        outcomes.append(outcome(*literal.counts(run, WIDTH)))
    return np.array(outcomes)


# At most 28 coordinates vary: a comparison makes at most 28 + 378 + 1 tests at this level, so the false-alarm
# rate of each test below that makes one comparison is at most 4.1e-5.
LEVEL = 1e-7


def find(run: literal.Run) -> None:
    """Test and report, and show the number found in the place of the recovered."""
    run.recovered = run.test() + run.report()


def go_on(run: literal.Run) -> None:
    run.recovered += run.progress(6)


def test_testing_and_self_report_have_the_law_of_the_description() -> None:
    def ours(state: IntArray, people: IntArray, stays: IntArray) -> None:
        people[disease.R] = disease.detect(state, people, stays, LOCAL, TINY.rates)

    assert min(p_values(ours_after(ours), theirs_after(find))) > LEVEL


@pytest.mark.parametrize("due", [1, 9])
def test_tracing_has_the_law_of_the_description(due: int) -> None:
    def ours(state: IntArray, people: IntArray, stays: IntArray) -> None:
        disease.trace(state, people, stays, due, LOCAL, TINY.rates)

    def theirs(run: literal.Run) -> None:
        run.trace(due, INFECTION, CONTACTS)

    assert min(p_values(ours_after(ours), theirs_after(theirs))) > LEVEL


def test_transmission_has_the_law_of_the_description() -> None:
    def ours(state: IntArray, people: IntArray, stays: IntArray) -> None:
        people[disease.R] = disease.infect(state, people, stays, LOCAL)

    def theirs(run: literal.Run) -> None:
        run.recovered = run.transmit(INFECTION, CONTACTS)

    mine = ours_after(ours)
    assert mine[:, disease.S].min() == 0  # nobody is infected twice: the cap binds here
    assert min(p_values(mine, theirs_after(theirs))) > LEVEL


def test_progression_has_the_law_of_the_description() -> None:
    def ours(state: IntArray, people: IntArray, stays: IntArray) -> None:
        people[disease.R] += disease.progress(state, stays, 6, TINY.mild_share, TINY.hazards)

    assert min(p_values(ours_after(ours), theirs_after(go_on))) > LEVEL


class DrawnApart(literal.Run):
    """A wrong disease: the mild and the severe of a group are drawn apart and need not add up to it.

    Each number but the recovered has by itself the right law.
    """

    def quarantine_unlabelled(self, n: int) -> None:
        self.mild_quarantined += self.binomial(n, self.outbreak.mild_share)
        self.severe_quarantined += self.binomial(n, 1 - self.outbreak.mild_share)

    def enter_late(self, n: int) -> int:
        mild = self.binomial(n, self.outbreak.mild_share)
        severe = self.binomial(n, 1 - self.outbreak.mild_share)
        return self.enter(literal.M, mild, self.outbreak.late) + self.enter(
            literal.V, severe, self.outbreak.late
        )


@pytest.mark.parametrize("step", [find, go_on])
def test_the_comparison_notices_that_counts_do_not_go_together(step: Callable[[literal.Run], None]) -> None:
    right, wrong = theirs_after(step), theirs_after(step, DrawnApart, seed=6)
    assert min(p_values(right, wrong)) < 1e-100
    alone = np.delete(np.arange(5 + 5 * WIDTH), disease.R)  # at most 19 tests: false-alarm rate 1.9e-6
    assert min(p_values_alone(right[:, alone], wrong[:, alone])) > LEVEL


def test_leaving_quarantine_has_the_law_of_the_description() -> None:
    def ours(state: IntArray, people: IntArray, _: IntArray) -> None:
        disease.release(state, people, TINY.rates)

    assert min(p_values(ours_after(ours), theirs_after(literal.Run.leave_quarantine))) > LEVEL


@pytest.mark.parametrize("delay", mostly_slow([0, 1, 2], fast=[2]))
def test_whole_runs_have_the_law_of_the_description(delay: int) -> None:
    outbreak = replace(TINY, tracing_delay=delay)
    ours = curves(outbreak, (1.0,), np.arange(N))[:, 0, -1]
    rng, theirs = np.random.default_rng(3), []
    for _ in range(N):
        run = literal.Run(rng, outbreak, 40, TESTED)
        run.begin(9)
        run.live(outbreak.days, INFECTION, CONTACTS)
        theirs.append(run.totals())
    assert min(p_values(ours, np.array(theirs))) > LEVEL


def test_the_start_has_the_law_of_the_description() -> None:
    ours = curves(TINY, (1.0,), np.arange(N))[:, 0, 0]
    rng, theirs = np.random.default_rng(4), []
    for _ in range(N):
        run = literal.Run(rng, TINY, 40, TESTED)
        run.begin(9)
        theirs.append(run.totals())
    assert min(p_values(ours, np.array(theirs))) > LEVEL


def test_the_comparison_tells_delays_of_tracing_apart() -> None:
    outbreaks = [replace(TINY, tracing_delay=delay) for delay in range(3)]
    last = [curves(o, (1.0,), np.arange(N) + i * N)[:, 0, -1] for i, o in enumerate(outbreaks)]
    assert max(min(p_values(*pair)) for pair in combinations(last, 2)) < 1e-50


def test_the_comparison_notices_a_small_change_of_the_model() -> None:
    ours = curves(TINY, (1.0,), np.arange(N))[:, 0, -1]
    other = curves(TINY, (1.0,), np.arange(N, 2 * N), infection=1.15 * INFECTION)[:, 0, -1]
    assert min(p_values(ours, other)) < LEVEL


def test_contacts_traced_come_out_longest_stay_first() -> None:
    slots = np.array([3, 0, 2], np.int64)
    assert disease.take_longest(slots, 4) == 4
    assert slots.tolist() == [1, 0, 0]
    assert disease.take_longest(slots, 4) == 1
    assert slots.tolist() == [0, 0, 0]


def test_a_stay_of_k_days_is_over_after_k_days() -> None:
    slots = np.array([5, 0, 7], np.int64)
    assert [disease.advance(slots) for _ in range(4)] == [5, 0, 7, 0]


def test_stays_are_poisson_with_the_tail_on_the_cap() -> None:
    pmf = Stay(10.0, 14).pmf
    np.testing.assert_allclose(pmf[:-1], stats.poisson(10).pmf(np.arange(14)), rtol=1e-12)
    np.testing.assert_allclose(pmf[-1], stats.poisson(10).sf(13), rtol=1e-12)
    np.testing.assert_allclose(pmf @ np.arange(15), 9.8131, atol=5e-5)
    np.testing.assert_allclose(
        Stay(1.0, 4).pmf, [0.367879, 0.367879, 0.183940, 0.061313, 0.018988], atol=5e-7
    )
    assert Stay(0.0, 0).pmf.tolist() == [1.0]


def chain(hazards: Array) -> Array:
    return np.asarray(hazards * np.append(1.0, np.cumprod(1.0 - hazards)[:-1]))


def test_the_chain_of_hazards_gives_back_the_law_of_the_stay() -> None:
    for stay in (Stay(1.0, 4), Stay(4.0, 8), Stay(0.0, 3), Stay(2.0, 0), Stay(600.0, 14)):
        expected = np.append(stay.pmf, np.zeros(14 - stay.longest))
        np.testing.assert_allclose(chain(stay.hazards(15)), expected, atol=1e-15)

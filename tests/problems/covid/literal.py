"""The disease as its description reads, one population and one run at a time: slow, no step merged."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from argbest.core.arrays import Array, IntArray
from argbest.problems.covid.parameters import Outbreak, Stay

E, P, I, M, V = range(5)  # noqa: E741


@cache
def law(stay: Stay) -> Array:
    """The probabilities of a stay; they add up to 1 to the last digit, as NumPy wants them."""
    return np.asarray(stay.pmf / stay.pmf.sum())


@dataclass
class Run:
    """One population; stage[q][r - 1] people have r days left in stage q."""

    rng: np.random.Generator
    outbreak: Outbreak
    susceptible: int
    tested: float  # chance to be tested on a day
    stage: list[list[int]] = field(default_factory=list)
    healthy_quarantined: int = 0
    mild_quarantined: int = 0
    severe_quarantined: int = 0
    recovered: int = 0

    def binomial(self, n: int, p: float) -> int:
        return int(self.rng.binomial(n, p))

    def stays(self, n: int, stay: Stay) -> list[int]:
        return [int(k) for k in self.rng.multinomial(n, law(stay))]

    def begin(self, cases: int) -> None:
        late = self.outbreak.late.longest
        lengths = [self.outbreak.exposed.longest, self.outbreak.preinfectious.longest]
        lengths += [self.outbreak.infectious.longest, late, late]
        self.stage = [[0] * n for n in lengths]
        self.susceptible -= cases
        passing = self.enter(I, cases, self.outbreak.infectious)
        self.recovered = self.enter_late(passing)

    def enter(self, q: int, n: int, stay: Stay) -> int:
        passing, *entering = self.stays(n, stay)
        self.stage[q] = [old + new for old, new in zip(self.stage[q], entering, strict=True)]
        return passing

    def enter_late(self, n: int) -> int:
        mild = self.binomial(n, self.outbreak.mild_share)
        late = self.outbreak.late
        return self.enter(M, mild, late) + self.enter(V, n - mild, late)

    def take(self, q: int, p: float) -> int:
        gone = [self.binomial(n, p) for n in self.stage[q]]
        self.stage[q] = [n - g for n, g in zip(self.stage[q], gone, strict=True)]
        return sum(gone)

    def quarantine_unlabelled(self, n: int) -> None:
        mild = self.binomial(n, self.outbreak.mild_share)
        self.mild_quarantined += mild
        self.severe_quarantined += n - mild

    def test(self) -> int:
        """Return how many infected people the day's tests find."""
        hit = (1 - self.outbreak.false_negative) * self.tested
        slip = self.outbreak.false_positive * self.tested
        unlabelled = self.take(I, hit) + self.take(P, hit) + self.take(E, slip)
        mild, severe = self.take(M, hit), self.take(V, hit)
        wrong = self.binomial(self.susceptible, slip)
        self.susceptible -= wrong
        self.healthy_quarantined += wrong
        self.quarantine_unlabelled(unlabelled)
        self.mild_quarantined += mild
        self.severe_quarantined += severe
        return unlabelled + mild + severe

    def report(self) -> int:
        """Return how many severe cases come forward."""
        found = self.take(V, self.outbreak.self_report)
        self.severe_quarantined += found
        return found

    def trace(self, due: int, infection: float, contacts: float) -> None:
        asked = int(due * self.outbreak.tracing_window * contacts)
        traced = self.binomial(asked, self.outbreak.recall)
        infected = self.binomial(traced, infection)
        healthy = min(self.susceptible, traced - infected)
        self.susceptible -= healthy
        self.healthy_quarantined += healthy
        found = 0
        for q in (E, P, I):
            for _ in range(min(sum(self.stage[q]), infected - found)):
                longest = max(r for r, n in enumerate(self.stage[q]) if n > 0)
                self.stage[q][longest] -= 1
                found += 1
        self.quarantine_unlabelled(found)

    def transmit(self, infection: float, contacts: float) -> int:
        e, p, i, m, v = map(sum, self.stage)
        infectious = i + m + v
        pool = self.susceptible + e + p + infectious + self.recovered
        if pool == 0:
            return 0
        target = self.susceptible + (1 - infection) * e
        met = int(self.rng.poisson(infectious * contacts * target / pool))
        new = min(self.binomial(met, infection), self.susceptible)
        self.susceptible -= new
        return new

    def shift(self, q: int) -> int:
        leaving = self.stage[q][0]
        self.stage[q] = [*self.stage[q][1:], 0]
        return leaving

    def progress(self, new: int) -> int:
        """Return how many recover."""
        o = self.outbreak
        moving = new
        for q, stay in ((E, o.exposed), (P, o.preinfectious), (I, o.infectious)):
            leaving = self.shift(q)
            moving = leaving + self.enter(q, moving, stay)
        leaving = self.shift(M) + self.shift(V)
        return leaving + self.enter_late(moving)

    def leave_quarantine(self) -> None:
        infected = self.mild_quarantined + self.severe_quarantined
        out = self.binomial(infected, self.outbreak.leave_infected)
        if out > 0:
            mild = min(self.binomial(out, self.mild_quarantined / infected), self.mild_quarantined)
            severe = min(out - mild, self.severe_quarantined)
            self.mild_quarantined -= mild
            self.severe_quarantined -= severe
            self.recovered += mild + severe
        healthy = self.binomial(self.healthy_quarantined, self.outbreak.leave_healthy)
        self.healthy_quarantined -= healthy
        self.susceptible += healthy

    def live(self, days: int, infection: float, contacts: float) -> None:
        found: list[int] = []
        for today in range(days):
            found.append(self.test() + self.report())
            due = today - self.outbreak.tracing_delay
            self.trace(found[due] if due >= 0 else 0, infection, contacts)
            recovered = self.progress(self.transmit(infection, contacts))
            self.leave_quarantine()
            self.recovered += recovered

    def totals(self) -> list[int]:
        quarantined = self.mild_quarantined + self.severe_quarantined
        stages = [sum(slots) for slots in self.stage]
        return [self.susceptible, *stages, self.healthy_quarantined, quarantined, self.recovered]


def infections(
    outbreak: Outbreak,
    shares: tuple[float, ...],
    rng: np.random.Generator,
    *,
    infection: float,
    contacts: float,
) -> int:
    """Return the people ever infected in one run of all populations."""
    total = 0
    for size, cases, share in zip(outbreak.sizes, outbreak.cases, shares, strict=True):
        run = Run(rng, outbreak, size, outbreak.tests * share / size)
        run.begin(cases)
        run.live(outbreak.days, infection, contacts)
        total += size - run.susceptible - run.healthy_quarantined
    return total


def counts(run: Run, width: int) -> tuple[IntArray, IntArray]:
    """Return the people without and with a clock as compiled code holds them."""
    people = [run.susceptible, run.healthy_quarantined, run.mild_quarantined, run.severe_quarantined]
    stays = [slots + [0] * (width - len(slots)) for slots in run.stage]
    return np.array([*people, run.recovered], np.int64), np.array(stays, np.int64)

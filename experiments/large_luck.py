"""Whether the best of tens of thousands of alternatives that share seeds is found: the rule, and the runs.

The rule, written before the runs that count:

- Problems: `PROBLEMS`. "tandem" was looked at with a tenth of its replication length while shared noise on
  large tables was built; "hotel" was written then and not run before the end.
- The default study with 1,500 replications in all, seeds 0 to 9.
- Loss: best minus selected true mean over the stakes, best minus median true mean.
- Aim: at most 0.01 in at least nine of ten seeds.

What was found: "tandem" 9 of 10 (median 0.002, worst 0.012), where independent noise had 1 of 4
(median 0.016, worst 0.034); "hotel" 8 of 10 (median 0.005, worst 0.018): missed by one. One study of "chain",
before shared noise counted, ended at 0.023, far from the best, which was not among those followed: the
lengthscales that a steep edge of the table asks for do not suit its middle. Shared noise does not cure that.

Why "hotel" misses, from its seeds 0 to 6 with the seeds of new studies: losses 0.000, 0.002, 0.018, 0.000,
0.007, 0.006 and 0.000, and the best was among the simulated pairs every time. Studies that lost more had met
fewer different seeds: 33, 42, 21, 63, 15, 19 and 92 of them. Seven studies prove nothing, but a reason is at
hand. What is not common to all contenders lies in some three directions (64 contenders have an unevenness of
21), as if a lucky week favoured high prices, but the model takes it for independent: more pairs with the same
seeds seem to tell as much as more seeds. The inflation is learned from replications that all alternatives
have, and a large table has none. Learned from contenders alone, it brought seed 2 from 0.018 to 0.013, in the
same number of seeds; only this seed was run, and it was not kept.

"store" was written before any run of it. Its seeds 0 to 4 lost 0.015, 0.004, 0.004, 0.007 and 0.002: four of
five within the aim; the other five seeds were not run.

`python -m experiments.large_luck PROBLEM --seeds 10` runs it.
"""

import time
from dataclasses import dataclass
from itertools import product

import click
import numpy as np
from scipy.special import betainc, pdtr, pdtrik

from argbest import Problem, Study
from argbest.cli.terminal import say
from argbest.core.arrays import Array
from argbest.problems.axis import Item
from argbest.problems.inventory import serial_inventory

BUDGET, NEAR = 1_500, 0.01


@dataclass(frozen=True)
class Tandem:
    """A simulator of three stations in a row (M/M/1 each), seen at moments far apart: jobs and capacity."""

    moments: int

    def __call__(self, line: dict[str, float], _: Item, seed: int) -> float:
        """Return the mean cost; every station has a stream of its own."""
        speed = np.array(list(line.values()))
        jobs = np.floor(np.log(np.random.default_rng(seed).random((self.moments, 3))) / np.log(1.0 / speed))
        return float(jobs.sum(axis=1).mean() + speed.sum())


def tandem() -> Problem:
    """Return 41,624 lines of three speeds; jobs arrive at rate 1, so station j holds 1/(speed − 1)."""
    speeds = np.linspace(1.1, 3.2, 22), np.linspace(1.1, 3.25, 44), np.linspace(1.1, 3.2, 43)
    grid = np.array(list(product(*(each.round(4) for each in speeds))))
    lines = [dict(zip(("first", "second", "third"), line, strict=True)) for line in grid.tolist()]
    truth = np.sum(1.0 / (grid - 1.0) + grid, axis=1)
    return Problem(lines, ["any"], Tandem(100), goal="min", truth=truth[:, None], name="tandem")


ROOMS, NIGHTS, MOST = 40, 20, 90  # of the hotel: rooms, nights of a replication, bookings


def _demand(price: float, deposit: float) -> float:
    return 150.0 * float(np.exp(-price / 70.0 - deposit / 90.0))


def _shows(deposit: float) -> float:
    return 0.72 + 0.25 * (1.0 - float(np.exp(-deposit / 12.0)))


def _night(price: float, deposit: float, booked: Array, shown: Array) -> Array:
    """Return what a night earns: the guests' price, deposits of those who stay away, less beds elsewhere."""
    return np.asarray(price * shown + deposit * (booked - shown) - 160.0 * np.maximum(shown - ROOMS, 0))


def hotel_night(plan: dict[str, float], _: Item, seed: int) -> float:
    """Return the mean earnings of some nights; demand and guests have a stream each."""
    demand, guests = np.random.default_rng(seed).spawn(2)
    mean = _demand(plan["price"], plan["deposit"])
    asked = np.ceil(pdtrik(demand.random(NIGHTS), mean))
    booked = np.minimum(np.maximum(asked, 0.0), plan["limit"])
    comes = guests.random((NIGHTS, MOST)) < _shows(plan["deposit"])
    shown = np.sum(comes & (np.arange(MOST) < booked[:, None]), axis=1)
    return float(_night(plan["price"], plan["deposit"], booked, shown).mean())


def hotel() -> Problem:
    """Return 19,200 plans of a hotel: price, deposit and how many bookings to take; truth by sums."""
    prices, deposits, limits = range(40, 120, 2), range(0, 36, 3), range(35, 75)
    n = np.arange(MOST + 1.0)
    plans, truth = [], []
    for price, deposit in product(map(float, prices), map(float, deposits)):
        chance = _shows(deposit)
        # P(at most m of n bookings show) is the incomplete beta function.
        reached = np.where(n[:, None] > n, betainc(np.maximum(n[:, None] - n, 1), n + 1.0, 1.0 - chance), 1.0)
        weight = np.diff(reached, axis=1, prepend=0.0)  # [booked, shown]
        earned = np.sum(weight * _night(price, deposit, n[:, None], n), axis=1)
        fewer = pdtr(n, _demand(price, deposit))
        asked = np.diff(fewer, prepend=0.0)
        for limit in limits:
            plans.append({"price": price, "deposit": deposit, "limit": float(limit)})
            truth.append(asked[:limit] @ earned[:limit] + (1.0 - fewer[limit - 1]) * earned[limit])
    return Problem(plans, ["any"], hotel_night, truth=np.array(truth)[:, None], name="hotel")


PARTS = (
    (9.0, 1.0, 6.0),
    (16.0, 0.6, 3.0),
    (25.0, 0.4, 5.0),
)  # of the store: mean demand, cost of one left, of one short
WEEKS, TRUCK = 12, 14.0  # of a replication; what it costs to send for parts in a week in which any is short


def store_weeks(levels: dict[str, float], _: Item, seed: int) -> float:
    """Return the mean cost of some weeks; every part has a stream of its own."""
    streams, cost, short = (
        np.random.default_rng(seed).spawn(len(PARTS)),
        np.zeros(WEEKS),
        np.zeros(WEEKS, bool),
    )
    for level, (mean, left, lost), stream in zip(levels.values(), PARTS, streams, strict=True):
        over = level - np.maximum(np.ceil(pdtrik(stream.random(WEEKS), mean)), 0.0)
        cost += left * np.maximum(over, 0.0) + lost * np.maximum(-over, 0.0)
        short |= over < 0
    return float(np.mean(cost + TRUCK * short))


def store() -> Problem:
    """Return 27,000 ways to stock three spare parts that share a truck; truth by sums."""
    ranges = range(2, 32), range(6, 36), range(12, 42)
    demand, cost, kept = np.arange(120.0), [], []
    for levels, (mean, left, lost) in zip(ranges, PARTS, strict=True):
        chance = np.diff(pdtr(demand, mean), prepend=0.0)
        over = np.array(levels)[:, None] - demand
        cost.append((left * np.maximum(over, 0.0) + lost * np.maximum(-over, 0.0)) @ chance)
        kept.append(pdtr(np.array(levels, float), mean))
    plans = [
        dict(zip(("bolts", "belts", "bulbs"), map(float, each), strict=True)) for each in product(*ranges)
    ]
    truth = [
        sum(own) + TRUCK * (1.0 - np.prod(enough))
        for own, enough in zip(product(*cost), product(*kept), strict=True)
    ]
    return Problem(plans, ["any"], store_weeks, goal="min", truth=np.array(truth)[:, None], name="store")


def chain() -> Problem:
    """Return 41,624 base-stock levels of `serial-inventory`."""
    return serial_inventory((range(2, 24), range(2, 46), range(2, 45)))


PROBLEMS = {"tandem": tandem, "hotel": hotel, "chain": chain, "store": store}


def loss(problem: Problem, seed: int, *, common: bool = True) -> float:
    """Return the loss of one study over the stakes."""
    study = Study(problem, seed=seed, common_random_numbers=common).run(BUDGET)
    true = np.asarray(problem.sign * np.asarray(problem.truth))[:, 0]
    chosen = int(np.argmax(study.view().knowledge.belief.mean[:, 0]))
    return float((true.max() - true[chosen]) / (true.max() - np.median(true)))


@click.command("python -m experiments.large_luck")
@click.argument("name", type=click.Choice(list(PROBLEMS)))
@click.option("--seeds", type=click.IntRange(1), default=10, show_default=True)
@click.option("--apart", is_flag=True, help="Every pair has seeds of its own.")
def main(name: str, seeds: int, apart: bool) -> None:
    """Run studies of a large table, and print the loss of each over the stakes."""
    problem, found = PROBLEMS[name](), []
    for seed in range(seeds):
        began = time.process_time()
        found.append(loss(problem, seed, common=not apart))
        say(
            f"{name} seed {seed}: loss {found[-1]:.4f} of the stakes, {time.process_time() - began:.0f} CPU s"
        )
    near = sum(each <= NEAR for each in found)
    say(f"{name}: {near} of {seeds} within {NEAR:g}, median {np.median(found):.4f}, worst {max(found):.4f}")


if __name__ == "__main__":
    main()

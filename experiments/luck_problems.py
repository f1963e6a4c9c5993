"""Small tables of known truth whose alternatives share seeds in different ways, for `shared_luck`.

Four stem from shipped problems. In the others one seed drives one stream per purpose, so that alternatives
meet the same customers, the same breakdowns, or the same weather.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from argbest import Problem, registry
from argbest.core.arrays import Array
from experiments.ugly_kept import one_server
from experiments.ugly_parts import Make, always, drawn, expected_waits, student_noise, table_of, waits

_PARTS = 60  # that pass the line in one replication
_PLACES = 10  # of the two buffers of the line together
_RUNS = 20_000  # that tell the truth of the line: the same for all splits, so differences are nearly exact
_AT_ONCE = 2_000


def some_of(problem: Problem, kept: Callable[[Any], bool], name: str) -> Problem:
    """Return a shipped problem with some of its alternatives."""
    every = [problem.alternatives.item(k) for k in range(problem.n_alternatives)]
    places = [k for k, item in enumerate(every) if kept(item)]
    contexts = [problem.contexts.item(c) for c in range(problem.n_contexts)]
    simulate: Any = problem.simulate
    return Problem(
        [every[k] for k in places],
        contexts,
        simulate,
        goal="max" if problem.sign > 0 else "min",
        truth=np.asarray(problem.truth)[places],
        name=name,
    )


def two_machines() -> Problem:
    """Fourteen speeds of the second machine of `flow-line`, at four prices."""
    whole = registry.problem("flow-line")
    return some_of(whole, lambda line: (line["first"], line["buffer"]) == (1.2, 4), "two-machines")


def chain() -> Problem:
    """Forty-five base-stock levels of `serial-inventory`, in its one context."""
    stocks = product((7, 9, 11, 13, 15), (8, 11, 14), (8, 12, 16))
    kept = {(shop, depot, plant) for shop, depot, plant in stocks}
    whole = registry.problem("serial-inventory")
    return some_of(whole, lambda levels: tuple(levels.values()) in kept, "chain")


def through(work: Array, buffers: tuple[int, int]) -> Array:
    """Return [run] when the last part leaves three machines, from the times of their work [run, part, 3].

    A machine holds a finished part until the next buffer has room (blocking after service).
    """
    runs, parts, _ = work.shape
    left = np.zeros((parts + 1, 4, runs))  # when part i leaves machine j; machine 0 is the store before them
    for i in range(1, parts + 1):
        for j in (1, 2, 3):
            done = np.maximum(left[i, j - 1], left[i - 1, j]) + work[:, i - 1, j - 1]
            if j < 3 and i > buffers[j - 1] + 1:
                done = np.maximum(done, left[i - buffers[j - 1] - 1, j + 1])
            left[i, j] = done
    return np.asarray(left[parts, 3])


@cache
def buffer_split() -> Problem:
    """Eleven ways to split ten places between two buffers, by the speed of the machine between them.

    Every machine has a stream of its own, so all splits meet the same work: neighbours share nearly all luck.
    """
    splits, speeds = list(range(_PLACES + 1)), [0.7, 0.85, 1.0, 1.15, 1.3]
    first = 1.1  # the speed of the first machine; the last has 1

    def rate(work: Array, split: int, speed: float) -> Array:
        pace = np.array([1.0 / first, 1.0 / speed, 1.0])
        return np.asarray(100.0 * work.shape[1] / through(work * pace, (split, _PLACES - split)))

    def simulate(split: int, speed: float, seed: int) -> float:
        work = np.stack([each.exponential(size=_PARTS) for each in np.random.default_rng(seed).spawn(3)], -1)
        return float(rate(work[None], split, speed)[0])

    generator, total = np.random.default_rng(601), np.zeros((len(splits), len(speeds)))
    for _ in range(_RUNS // _AT_ONCE):
        work = generator.exponential(size=(_AT_ONCE, _PARTS, 3))
        total += [[rate(work, split, speed).sum() for speed in speeds] for split in splits]
    return Problem(splits, speeds, simulate, truth=total / _RUNS, name="buffer-split")


def staffing() -> Problem:
    """Cost of eight hours with one to seven servers who make nobody leave (M/M/c), by the rate of calls."""
    servers, rates, hours = [2, 3, 4, 5, 6, 7], [3.0, 5.0, 7.0, 9.0, 11.0], 8.0

    def simulate(number: int, rate: float, seed: int) -> float:
        return 8.0 * number + 2.0 * waits(rate, 2.5, number, hours, seed)

    truth = table_of(lambda n, rate: 8.0 * n + 2.0 * expected_waits(rate, 2.5, n, hours), servers, rates)
    return Problem(servers, rates, simulate, goal="min", truth=truth, name="staffing")


Law = Callable[[np.random.Generator, int], Array]  # the noise of all alternatives under one seed, variance 1


def together(truth: Array, sd: Array | float, law: Law, name: str) -> Problem:
    """Return a problem with a table of means whose noise one seed draws for all alternatives at once."""
    k, c = truth.shape
    rows, columns = np.linspace(0, 1, k).round(6).tolist(), np.linspace(0, 1, c).round(6).tolist()
    spread = np.broadcast_to(sd, truth.shape)

    def simulate(alternative: float, context: float, seed: int) -> float:
        i, j = rows.index(alternative), columns.index(context)
        return float(truth[i, j] + spread[i, j] * law(np.random.default_rng(seed), k)[i])

    return Problem(rows, columns, simulate, truth=truth, noise_sd=spread, name=name)


def sharing(
    share: float, normal: Callable[[np.random.Generator], float] = lambda g: float(g.normal())
) -> Law:
    """Return noise of which a share is common to all alternatives."""

    def law(generator: np.random.Generator, k: int) -> Array:
        common = normal(generator)
        own = np.array([normal(generator) for _ in range(k)])
        return np.asarray(np.sqrt(share) * common + np.sqrt(1.0 - share) * own)

    return law


def jumps(instance: int) -> Problem:
    """Means that jump: some alternatives are lifted in some contexts. Four fifths of the noise are shared."""
    generator = np.random.default_rng([instance, 611])
    lifted = np.outer(generator.permutation(8) < 4, generator.permutation(6) < 3)
    truth = 0.4 * drawn(instance, 612) + 1.0 * lifted + 0.3 * generator.normal(size=(8, 6))
    return together(truth, 1.0, sharing(0.8), "jumps")


def groups(instance: int) -> Problem:
    """Three hidden groups of nine alternatives: within each nine tenths of the luck are shared."""
    of = np.random.default_rng([instance, 621]).permutation(9) % 3

    def law(generator: np.random.Generator, k: int) -> Array:
        common, own = generator.normal(size=3), generator.normal(size=k)
        return np.asarray(np.sqrt(0.9) * common[of] + np.sqrt(0.1) * own)

    return together(drawn(instance, 622, 9, 6), 1.0, law, "groups")


def ends(instance: int) -> Problem:
    """Luck of one end that is misfortune of the other: loadings fall from 0.9 to −0.9."""

    def law(generator: np.random.Generator, k: int) -> Array:
        loading = np.linspace(0.9, -0.9, k)
        return np.asarray(loading * generator.normal() + np.sqrt(1 - loading**2) * generator.normal(size=k))

    return together(drawn(instance, 631), 1.0, law, "ends")


def heavy(instance: int) -> Problem:
    """Seven tenths are shared, and all of it has heavy tails (Student's t with 3 degrees of freedom)."""
    return together(drawn(instance, 641), 1.0, sharing(0.7, student_noise), "heavy")


def own_seeds(instance: int) -> Problem:
    """Seeds are shared, but the noise of alternatives has nothing in common."""
    return together(drawn(instance, 651), 1.0, sharing(0.0), "own-seeds")


PROBLEMS: dict[str, Make] = {
    "queue-staffing": always(lambda: registry.problem("queue-staffing")),
    "newsvendor": always(lambda: registry.problem("newsvendor")),
    "two-machines": always(two_machines),
    "chain": always(chain),
    "buffer-split": always(buffer_split),
    "one-server": always(one_server),
    "staffing": always(staffing),
    "jumps": jumps,
    "groups": groups,
    "ends": ends,
    "heavy": heavy,
    "own-seeds": own_seeds,
}

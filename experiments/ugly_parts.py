"""What the ugly problems are made of: rates, waiting lines, tables of means, noise of many shapes."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import expm
from scipy.special import expit, ndtr

from argbest import Problem
from argbest.core.arrays import Array

Make = Callable[[int], Problem]  # a problem from the number of an instance
Noise = Callable[[np.random.Generator], float]  # of mean 0 and variance 1
Draw = Callable[[np.random.Generator, float, float], float]  # a reward from a mean and a standard deviation


def always(system: Callable[[], Problem]) -> Make:
    """Return a problem that is the same in all instances, built when it is first asked for."""
    kept = cache(system)
    return lambda _: kept()


def table_of(
    function: Callable[..., float | Sequence[float]], alternatives: Sequence[Any], contexts: Sequence[Any]
) -> Array:
    """Return a function of alternative and context as a table; several values are its last axis."""
    return np.array([[function(each, context) for context in contexts] for each in alternatives])


def logistic(x: float) -> float:
    """Return 1/(1 + exp(−x))."""
    return float(expit(x))


# --- Rates ------------------------------------------------------------------------------------------------


def rate(
    chance: Callable[[Any, Any], float],
    alternatives: Sequence[Any],
    contexts: Sequence[Any],
    name: str,
    goal: str = "max",
) -> Problem:
    """Return a problem of rewards 0 and 1; one random number, common to all alternatives, decides."""

    def simulate(alternative: Any, context: Any, seed: int) -> float:
        return float(np.random.default_rng(seed).random() < chance(alternative, context))

    truth = table_of(chance, alternatives, contexts)
    noise = np.sqrt(truth * (1.0 - truth))
    return Problem(alternatives, contexts, simulate, goal=goal, truth=truth, noise_sd=noise, name=name)


# --- Lognormal sizes --------------------------------------------------------------------------------------


def lognormal_below(power: int, limit: float, mu: float, sigma: float) -> float:
    """Return E[Xⁿ; X < limit] of a lognormal X."""
    whole = np.exp(power * mu + (power * sigma) ** 2 / 2)
    return float(whole * ndtr((np.log(limit) - mu) / sigma - power * sigma))


# --- Waiting lines ----------------------------------------------------------------------------------------


def most_customers(arrivals: float) -> int:
    """Return a number of customers that is never exceeded, where so many are expected."""
    return int(arrivals + 8 * np.sqrt(arrivals) + 20)


def waits(rate: float, service: float, servers: int, hours: float, seed: int) -> float:
    """Return the sum of the waits of all who arrive within the hours, first come first served."""
    gaps, times = np.random.default_rng(seed).spawn(2)
    most = most_customers(rate * hours)
    arrivals = np.cumsum(gaps.exponential(1.0 / rate, most))
    services = times.exponential(1.0 / service, most)
    free, total = [0.0] * servers, 0.0
    for arrival, length in zip(arrivals[arrivals < hours].tolist(), services.tolist(), strict=False):
        first = min(range(servers), key=free.__getitem__)
        begin = max(arrival, free[first])
        total += begin - arrival
        free[first] = begin + length
    return total


def expected_waits(rate: float, service: float, servers: int, hours: float) -> float:
    """Return E of `waits`: ∫ λ Σ_n P_n(t) (n − c + 1)⁺/(cμ) dt, by the transient birth-death chain."""
    most = most_customers(rate * hours)
    n = np.arange(most)
    up, down = np.where(n < most - 1, rate, 0.0), np.minimum(n, servers) * service
    chain = np.diag(up[:-1], 1) + np.diag(down[1:], -1) - np.diag(up + down)
    reward = rate * np.maximum(n - servers + 1, 0) / (servers * service)
    whole = np.zeros((most + 1, most + 1))
    whole[:most, :most], whole[:most, most] = chain, reward
    return float(expm(whole * hours)[0, most])


# --- Tables of means --------------------------------------------------------------------------------------


def drawn(instance: int, purpose: int, k: int = 8, c: int = 6) -> Array:
    """Return smooth means: a common trend, levels, and what alternatives near each other have in common."""
    generator = np.random.default_rng([instance, purpose])
    x, y = np.linspace(0, 1, k)[:, None], np.linspace(0, 1, c)
    trend, slope = generator.normal(size=2)
    peak, shift, width = (generator.uniform(*ends) for ends in ((0.1, 0.9), (-0.6, 0.6), (0.4, 0.9)))
    waves = sum(
        generator.normal() * 0.25 * np.cos(np.pi * (i * x + j * y) + generator.uniform(0, 6))
        for i in range(1, 3)
        for j in range(3)
    )
    return np.asarray(trend * y + slope * y**2 - 2.0 * ((x - peak - shift * y) / width) ** 2 + waves)


def rewards(
    truth: Array,
    sd: Array | float,
    draw: Draw,
    name: str,
    *,
    goal: str = "max",
    names: Sequence[str] = (),
    told: Array | None = None,
) -> Problem:
    """Return a problem with a table of means; every alternative has random numbers of its own.

    Alternatives are points from 0 to 1, unless they have names. ``draw`` is told the mean of a pair, or what
    the table ``told`` has in its place.
    """
    k, c = truth.shape
    spread, centre = np.broadcast_to(sd, truth.shape), truth if told is None else told
    rows: list[Any] = list(names) or np.linspace(0, 1, k).round(6).tolist()
    columns = np.linspace(0, 1, c).round(6).tolist()

    def simulate(alternative: Any, context: float, seed: int) -> float:
        i, j = rows.index(alternative), columns.index(context)
        return float(draw(np.random.default_rng([seed, i]), float(centre[i, j]), float(spread[i, j])))

    return Problem(rows, columns, simulate, goal=goal, truth=truth, noise_sd=spread, name=name)


def noisy(truth: Array, sd: Array | float, noise: Noise, name: str) -> Problem:
    """Return a problem whose rewards are a mean and noise of one shape."""
    return rewards(truth, sd, lambda generator, mean, spread: mean + spread * noise(generator), name)


def exponential_noise(generator: np.random.Generator) -> float:
    """Return a value skewed to the left."""
    return 1.0 - float(generator.exponential())


def lognormal_noise(generator: np.random.Generator) -> float:
    """Return a value skewed to the right: lognormal with σ = 1, standardised."""
    return float((generator.lognormal() - np.exp(0.5)) / np.sqrt((math.e - 1.0) * math.e))


def student_noise(generator: np.random.Generator) -> float:
    """Return a value with heavy tails: Student's t with 3 degrees of freedom, standardised."""
    return float(generator.standard_t(3) / np.sqrt(3.0))


def normal_noise(generator: np.random.Generator) -> float:
    """Return a normal value."""
    return float(generator.normal())

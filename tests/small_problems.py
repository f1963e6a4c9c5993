"""Problems that are quick to experiment on."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from argbest import Problem, streams
from argbest.problems.axis import Axis
from argbest.problems.noisy_table import NoisyTable

SHAPE = (4, 5)
NOISE_SD = 0.5


def table(seed: int = 0, *, goal: str = "max", correlation: float = 0.5) -> Problem:
    """A random truth over a line of contexts, simulated by lookup."""
    truth = np.random.default_rng(seed).normal(0.0, 1.0, SHAPE)
    alternatives = Axis.of("alternative", list("ABCD"))
    contexts = Axis.of("context", [{"x": x} for x in np.linspace(0.0, 1.0, SHAPE[1])])
    weights = [0.4, 0.1, 0.2, 0.2, 0.1]
    simulate = NoisyTable(alternatives, contexts, truth, np.full(SHAPE, NOISE_SD), correlation)
    return Problem(
        alternatives,
        contexts,
        simulate,
        weights=weights,
        goal=goal,
        truth=truth,
        noise_sd=NOISE_SD,
        name="table",
    )


def names(n: int) -> Problem:
    """So many names in one context, most of them far behind."""
    truth = np.random.default_rng(0).normal(0.0, 1.0, (n, 1))
    alternatives, contexts = Axis.of("alternative", [f"n{k}" for k in range(n)]), Axis.of("context", ["any"])
    simulate = NoisyTable(alternatives, contexts, truth, np.full((n, 1), 0.2))
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=0.2, name="names")


def numbered() -> Problem:
    """A table whose alternatives lie on a line, for models that look where they lie."""
    given = table()
    alternatives = Axis.of("alternative", [{"a": a} for a in np.linspace(0.0, 1.0, SHAPE[0])])
    assert given.truth is not None
    simulate = NoisyTable(alternatives, given.contexts, given.truth, np.full(SHAPE, NOISE_SD))
    return Problem(alternatives, given.contexts, simulate, truth=given.truth, noise_sd=NOISE_SD, name="line")


@dataclass(frozen=True)
class Plain:
    """A simulator as users write it: one call, one number."""

    def __call__(self, alternative: str, context: float, seed: int) -> float:
        return ord(alternative) % 3 + context * (ord(alternative) % 2) + float(streams.standard_normal(seed))


def plain(*, goal: str = "max") -> Problem:
    """A problem without the method `many`."""
    labels, x = list("ABCD"), np.linspace(0.0, 1.0, SHAPE[1])
    truth = [[ord(label) % 3 + value * (ord(label) % 2) for value in x] for label in labels]
    return Problem(labels, x.tolist(), Plain(), goal=goal, truth=truth, noise_sd=1.0, name="plain")


@dataclass(frozen=True)
class Turned:
    """The same with another noise, half of it common: zeros and ones, or few rewards that are large."""

    shape: str

    def __call__(self, alternative: str, context: float, seed: int) -> float:
        level = ord(alternative) % 3 + context * (ord(alternative) % 2)
        common, own = (float(streams.standard_normal(seed + i)) for i in (0, 1000 * ord(alternative)))
        noise = math.sqrt(0.5) * (common + own)
        return float(level - 1.0 + noise > 0.0) if self.shape == "rate" else level + math.exp(noise)


def turned(shape: str, *, goal: str = "max") -> Problem:
    """A problem whose rewards are a "rate", or "skewed"."""
    labels, x = list("ABCD"), np.linspace(0.0, 1.0, SHAPE[1])
    level = np.array([[ord(label) % 3 + value * (ord(label) % 2) for value in x] for label in labels])
    rate = shape == "rate"
    truth = ndtr(level - 1.0) if rate else level + math.exp(0.5)
    return Problem(labels, x.tolist(), Turned(shape), goal=goal, rate=rate, truth=truth, name=shape)


@dataclass(frozen=True)
class Family:
    """Tables with a truth of their own for every seed."""

    name: str = "family"
    description: str = "Random tables."

    def draw(self, seed: int) -> Problem:
        return table(seed)


@dataclass(frozen=True)
class Broken:
    """A simulator that never gives a number."""

    def __call__(self, alternative: str, context: float, seed: int) -> float:
        return float("nan")

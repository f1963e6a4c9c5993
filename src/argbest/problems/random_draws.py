"""Random problems: a truth of its own for every seed, drawn from a Gaussian process."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from argbest import streams
from argbest.core.arrays import Array
from argbest.core.kernels import covariance
from argbest.problems.axis import Axis, Bounds
from argbest.problems.base import Problem
from argbest.problems.noisy_table import table_problem

Term: TypeAlias = tuple[Array, Array]  # factors A [alternative, i] and B [context, j]

_NOISE_SD = 0.5
_LENGTHSCALE = 0.5
_NEIGHBOURS = 0.2  # lengthscale along the line of alternatives, whose neighbours lie 1/9 apart


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """Problems on the same alternatives and contexts, with truth Σ A Z Bᵀ over the terms, Z standard normal.

    So the truth of two pairs has covariance Σ (A Aᵀ)[k, k'] (B Bᵀ)[c, c'].
    """

    name: str
    description: str
    alternatives: Axis
    contexts: Axis
    bounds: Bounds
    terms: tuple[Term, ...]
    noise_sd: float
    correlation: float = 0.0  # of the noise of alternatives that share random numbers

    @property
    def shape(self) -> tuple[int, int]:
        """(K, C), the shape of every table."""
        return len(self.alternatives), len(self.contexts)

    def truth(self, seed: int) -> Array:
        """Return the mean rewards [alternative, context] of one seed, a function of that seed alone."""
        draws = streams.generator(seed, streams.Purpose.PROBLEM)
        total = np.zeros(self.shape)
        for a, b in self.terms:
            total += a @ draws.standard_normal((a.shape[1], b.shape[1])) @ b.T
        return total

    def draw(self, seed: int) -> Problem:
        """Return the problem of one seed."""
        return table_problem(
            self.alternatives,
            self.contexts,
            truth=self.truth(seed),
            noise_sd=np.full(self.shape, self.noise_sd),
            correlation=self.correlation,
            bounds=self.bounds,
            name=self.name,
            description=self.description,
        )


def gp_draws() -> RandomProblem:
    """Return draws of 10 independent Matérn-5/2 processes on a 4 x 4 grid, as the paper's model assumes."""
    contexts = _square()
    terms = ((np.eye(10), _factor(contexts, _LENGTHSCALE)),)
    about = "Ten independent alternatives, each a draw from a Matérn-5/2 process of variance 1"
    return _random("gp-draws", about, _names(10), contexts, terms)


def trend_draws() -> RandomProblem:
    """Return draws whose alternatives share a trend (variance 4) and differ by less.

    Offsets have variance 0.25, deviations 0.5.
    """
    contexts = _square()
    root = _factor(contexts, _LENGTHSCALE)
    flat = np.ones((len(contexts), 1))
    terms = (
        (np.ones((10, 1)), 2.0 * root),
        (np.eye(10), np.sqrt(0.25) * flat),
        (np.eye(10), np.sqrt(0.5) * root),
    )
    about = (
        "Ten alternatives that share a trend, Matérn-5/2 of variance 4, with offsets of variance 0.25 and "
        "deviations of variance 0.5 of their own"
    )
    return _random("trend-draws", about, _names(10), contexts, terms)


def metric_draws() -> RandomProblem:
    """Return draws with 10 alternatives on a line, neighbours being alike, and 10 contexts on another."""
    alternatives = Axis.of("alternative", [{"level": x} for x in np.linspace(0.0, 1.0, 10)])
    contexts = Axis.of("context", [{"x": x} for x in np.linspace(0.0, 1.0, 10)])
    terms = ((_factor(alternatives, _NEIGHBOURS), _factor(contexts, _LENGTHSCALE)),)
    about = (
        "Ten alternatives on a line, drawn from a process of variance 1, the product of a Matérn-5/2 kernel "
        f"over alternatives (lengthscale {_NEIGHBOURS}) and one over contexts"
    )
    return _random("metric-draws", about, alternatives, contexts, terms)


def _random(
    name: str, about: str, alternatives: Axis, contexts: Axis, terms: tuple[Term, ...]
) -> RandomProblem:
    description = (
        f"{about}; contexts span [0, 1] with lengthscale {_LENGTHSCALE}, the noise is normal with standard "
        f"deviation {_NOISE_SD}, and the truth is the draw itself, another for every seed."
    )
    return RandomProblem(
        name, description, alternatives, contexts, contexts.bounds(), terms, noise_sd=_NOISE_SD
    )


def _names(n: int) -> Axis:
    """Return alternatives that are names, near to none."""
    return Axis.of("alternative", [chr(ord("A") + i) for i in range(n)])


def _square() -> Axis:
    side = np.linspace(0.0, 1.0, 4)
    return Axis.of("context", [{"x1": x1, "x2": x2} for x1 in side for x2 in side])


def _factor(axis: Axis, lengthscale: float) -> Array:
    """Return the Cholesky factor of the Matérn-5/2 correlation between the entries of an axis."""
    separation = axis.separation(axis.bounds())
    lengths = np.full(len(separation), lengthscale)
    correlation = covariance("matern52", separation, lengths, np.array(1.0))
    return np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)

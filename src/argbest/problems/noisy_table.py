"""Problems that look up a mean and add noise, how hard they are; and families of them, drawn at random."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from argbest import streams
from argbest.checks import finite
from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.priors import covariance
from argbest.problems.axis import Axis, Bounds, Item
from argbest.problems.base import Problem

Term: TypeAlias = tuple[Array, Array]  # factors A [alternative, i] and B [context, j]
_NOISE_SD = 0.5
_LENGTHSCALE = 0.5
_NEIGHBOURS = 0.2  # lengthscale along the line of alternatives, whose neighbours lie 1/9 apart


@dataclass(frozen=True, eq=False)
class ByPosition(ABC):
    """A simulator that works on positions, many at a time; one call is one of them.

    Args:
        alternatives: The alternatives, with their labels.
        contexts: The contexts, with their labels.
    """

    alternatives: Axis
    contexts: Axis

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return one noisy reward."""
        cell = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.many(np.array(cell[0]), np.array(cell[1]), np.array(seed)))

    @abstractmethod
    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one.

        Args:
            alternatives: Positions of alternatives.
            contexts: Positions of contexts.
            seeds: A seed for each.
        """


@dataclass(frozen=True, eq=False)
class SeveralResponses(ABC):
    """A simulator of several responses that works on positions, many at a time; one call is one of them."""

    alternatives: Axis
    contexts: Axis

    def __call__(self, alternative: Item, context: Item, seed: int) -> dict[str, float]:
        """Return the responses of one replication by name."""
        cell = self.alternatives.index(alternative), self.contexts.index(context)
        found = self.many(np.array(cell[0]), np.array(cell[1]), np.array(seed))
        return {name: each.item() for name, each in found.items()}

    @abstractmethod
    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Mapping[str, AnyArray]:
        """Return the responses of positions and seeds, broadcast: what single calls give one by one."""


@dataclass(frozen=True, eq=False)
class NoisyTable(ByPosition):
    """A simulator that looks up the mean and adds normal noise, a function of the seed alone.

    Alternatives that share a seed would have all of that noise in common. Where they do, `with_shared_seeds`
    mixes the alternative in.

    Args:
        alternatives: The alternatives, with their labels.
        contexts: The contexts, with their labels.
        mean: The mean rewards, [alternative, context].
        noise_sd: The standard deviation of the noise, [alternative, context].
        correlation: That of the noise of two alternatives that share a seed.
        shared: Whether alternatives share seeds.
    """

    mean: Array  # [alternative, context]
    noise_sd: Array  # [alternative, context]
    correlation: float = 0.0
    shared: bool = False  # whether alternatives share seeds

    def with_shared_seeds(self) -> "NoisyTable":
        """Return the simulator for alternatives that share seeds."""
        return replace(self, shared=True)

    def many(self, alternatives: IntArray, contexts: IntArray, seeds: IntArray) -> Array:
        """Return the rewards of positions and seeds, broadcast: what single calls give one by one."""
        cells = np.asarray(alternatives), np.asarray(contexts)
        return np.asarray(self.mean[cells] + self.noise_sd[cells] * self._noise(cells[0], seeds))

    def stacked(self, others: "Sequence[NoisyTable]") -> "NoisyTable":
        """Return one table with the alternatives of all, those of every other after those before it.

        Args:
            others: Tables of the same size, with the same correlation.
        """
        mean = np.concatenate([self.mean, *(each.mean for each in others)])
        noise_sd = np.concatenate([self.noise_sd, *(each.noise_sd for each in others)])
        return replace(self, mean=mean, noise_sd=noise_sd)

    def _noise(self, alternatives: IntArray, seeds: IntArray) -> Array:
        """Return standard normal noise: common and own part in the lanes 0 and from 1 of a shared seed."""
        if not self.shared:
            return streams.standard_normal(seeds)
        n, rho = len(self.alternatives), self.correlation
        own = streams.standard_normal(seeds, 1 + alternatives % n)
        if rho >= 0:
            return np.asarray(np.sqrt(rho) * streams.standard_normal(seeds) + np.sqrt(1 - rho) * own)
        every = streams.standard_normal(np.asarray(seeds)[..., None], 1 + np.arange(n))
        mean = every.mean(axis=-1)
        return np.asarray(np.sqrt(1 - rho) * (own - mean) + np.sqrt(1 + (n - 1) * rho) * mean)


def table_problem(
    alternatives: Axis,
    contexts: Axis,
    *,
    truth: Array,
    noise_sd: Array,
    correlation: float = 0.0,
    **options: Any,
) -> Problem:
    """Return the problem whose simulator looks up its truth.

    Args:
        alternatives: What there is to choose from.
        contexts: The situations to choose for.
        truth: The mean rewards, [alternative, context].
        noise_sd: The standard deviation of the noise, [alternative, context].
        correlation: That of the noise of alternatives that share random numbers.
        options (options of `Problem`): Whatever else describes the problem.
    """
    rho = finite("correlation", correlation, above=-1.0 / max(len(alternatives) - 1, 1), below=1.0)
    simulate = NoisyTable(alternatives, contexts, truth, noise_sd, rho)
    return Problem(alternatives, contexts, simulate, truth=truth, noise_sd=noise_sd, **options)


def uniform(seeds: IntArray, n: int, *, step: int = 0) -> Array:
    """Return [..., n] numbers in (0, 1) per simulation seed; the first ones are the same whatever n is.

    They are the midpoints of 2^32 equal intervals: never 0 or 1, and with means exact to about 1e-10.
    """
    key, blocks = np.asarray(seeds)[..., None], -(-n // 4)
    counter = (np.arange(blocks), step, 0, streams.Purpose.NOISE)
    words = streams.philox(counter, (key & 0xFFFFFFFF, key >> 32)).reshape(*key.shape[:-1], 4 * blocks)
    return np.asarray((words[..., :n] + 0.5) * 2.0**-32, dtype=np.float64)


def with_hardness(problem: Problem) -> Problem:
    """Return the problem with a last clause in its description: ties, and gaps over the noise."""
    ratio = problem.gap_over_noise
    clauses = []
    tied = sum(len(tie) > 1 for tie in problem.ties)
    if tied:
        clauses.append(f"the best is tied in {tied} of {problem.n_contexts} contexts")
    if tied < problem.n_contexts:
        apart = ratio[ratio > 0]
        spread = f"{apart.min():.2g} to {apart.max():.2g} (median {np.median(apart):.2g})"
        span = spread if len(apart) > 1 else f"{apart[0]:.2g}"
        clauses.append(f"the best leads by {span} noise standard deviations")
    return replace(problem, description=f"{problem.description}; {' and elsewhere '.join(clauses)}.")


def moments_of_sum(moments: Array, added: Array, axis: int = 0) -> Array:
    """Return the moments of a quantity to which a constant is ``added``: chances times its powers 0, 1, 2."""
    zeroth, first, second = np.moveaxis(moments, axis, 0)
    return np.stack([zeroth, first + added * zeroth, second + added * (2 * first + added * zeroth)], axis)


def classical() -> Problem:
    """Return the textbook's five normal alternatives of unequal variance, the smallest mean being best."""
    problem = table_problem(
        Axis.of("alternative", ["A", "B", "C", "D", "E"]),
        Axis.of("context", ["always"]),
        truth=np.array([1.2, 2.1, 3.4, 4.87, 6.05])[:, None],
        noise_sd=np.sqrt([3.3, 2.0, 4.5, 5.3, 6.9])[:, None],
        goal="min",
        name="classical",
        description="A textbook case without contexts: five normal alternatives of unequal variance; "
        "the truth is given",
    )
    return with_hardness(problem)


@dataclass(frozen=True, eq=False)
class RandomProblem:
    """Problems on the same alternatives and contexts, with truth Σ A Z Bᵀ over the terms, Z standard normal.

    So the truth of two pairs has covariance Σ (A Aᵀ)[k, k'] (B Bᵀ)[c, c'].

    Args:
        name: What the family is called.
        description: What its problems have in common.
        alternatives: What there is to choose from.
        contexts: The situations to choose for.
        bounds: The range of the context coordinates.
        terms: The factors A and B of every term.
        noise_sd: The standard deviation of the noise.
        correlation: That of the noise of alternatives that share random numbers.
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
        """Return the mean rewards [alternative, context] of one seed, a function of that seed alone.

        Args:
            seed: Which of the problems.
        """
        draws = streams.generator(seed, streams.Purpose.PROBLEM)
        each = (a @ draws.standard_normal((a.shape[1], b.shape[1])) @ b.T for a, b in self.terms)
        return sum(each, np.zeros(self.shape))

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
    root, flat = _factor(contexts, _LENGTHSCALE), np.full((len(contexts), 1), np.sqrt(0.25))
    terms = (np.ones((10, 1)), 2.0 * root), (np.eye(10), flat), (np.eye(10), np.sqrt(0.5) * root)
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
    """Return alternatives that are names, so that none is near another."""
    return Axis.of("alternative", [chr(ord("A") + i) for i in range(n)])


def _square() -> Axis:
    side = np.linspace(0.0, 1.0, 4)
    return Axis.of("context", [{"x1": x1, "x2": x2} for x1 in side for x2 in side])


def _factor(axis: Axis, lengthscale: float) -> Array:
    """Return the Cholesky factor of the Matérn-5/2 correlation between the entries of an axis."""
    separation = axis.separation(axis.bounds())
    correlation = covariance("matern52", separation, np.full(len(separation), lengthscale), np.array(1.0))
    return np.asarray(np.linalg.cholesky(correlation), dtype=np.float64)

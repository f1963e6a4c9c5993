"""Synthetic problems: test functions on a grid of alternatives and scattered contexts, with exact truth."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from argbest import streams
from argbest.core.arrays import Array
from argbest.problems.axis import Axis, Item
from argbest.problems.base import Problem

_NOISE_SD = 3.0  # the paper's (max - min) / (100 / 3), with values scaled to a range of 100


def branin() -> Problem:
    """Return the Branin problem of Cakmak, Gao and Zhou's experiments: x1 is chosen, x2 is the context.

    The scale 0.370 is the mean, over many draws, of 100 / (max - min) at 1,000 uniform points of the domain.
    """
    return _scattered(
        "branin",
        _branin,
        {"x1": (-5.0, 10.0), "x2": (0.0, 15.0)},
        shape=(10, 10),
        scale=0.370,
        weights=(0.03, 0.07, 0.2, 0.1, 0.15, 0.2, 0.02, 0.08, 0.1, 0.05),
        description=(
            "Negated Branin function, scaled to a range of about 100, with normal noise of standard "
            "deviation 3; the truth is the function itself."
        ),
    )


def _branin(x: Array) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    valley = x2 - 5.1 / (4.0 * np.pi**2) * x1**2 + 5.0 / np.pi * x1 - 6.0
    return -(valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x1) + 10.0)


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A simulator that looks up the mean and adds normal noise, a function of the seed alone."""

    alternatives: Axis
    contexts: Axis
    mean: Array
    noise_sd: float

    def __call__(self, alternative: Item, context: Item, seed: int) -> float:
        """Return one noisy reward."""
        cell = self.alternatives.index(alternative), self.contexts.index(context)
        return float(self.mean[cell] + self.noise_sd * streams.standard_normal(seed))


def _scattered(
    name: str,
    function: Callable[[Array], Array],
    domain: dict[str, tuple[float, float]],
    *,
    shape: tuple[int, int],
    scale: float,
    weights: tuple[float, ...] | None = None,
    description: str,
) -> Problem:
    """Return the problem with alternatives even in the first coordinate and contexts random in the rest."""
    lo, hi = np.array(list(domain.values())).T
    chosen = lo[0] + (hi[0] - lo[0]) * np.linspace(0.0, 1.0, shape[0])
    scattered = lo[1:] + (hi[1:] - lo[1:]) * _uniform(shape[1], len(domain) - 1)
    first, *rest = domain
    alternatives = Axis.of("alternative", [{first: x} for x in chosen])
    contexts = Axis.of("context", [dict(zip(rest, point, strict=True)) for point in scattered])
    grid = np.empty((*shape, len(domain)))
    grid[..., 0], grid[..., 1:] = chosen[:, None], scattered
    truth = scale * function(grid)
    return Problem(
        alternatives,
        contexts,
        NoisyTable(alternatives, contexts, truth, _NOISE_SD),
        weights=weights,
        bounds={column: domain[column] for column in rest},
        truth=truth,
        noise_sd=_NOISE_SD,
        name=name,
        description=description,
    )


def _uniform(n: int, d: int) -> Array:
    """Return [n, d] numbers in [0, 1): those PyTorch draws for seed 0, which are the paper's contexts."""
    words = np.random.RandomState(0).randint(0, 2**32, size=(n, d, 2), dtype=np.uint64)
    return np.asarray(((words[..., 0] << 32 | words[..., 1]) & (2**53 - 1)) * 2.0**-53, dtype=np.float64)

"""Synthetic problems: test functions on a grid of alternatives and scattered contexts, with exact truth.

Branin, Griewank, Hartmann3 and Cosine8 as in the experiments of Cakmak, Gao and Zhou. Every scale is the
mean, over many draws, of 100 / (max - min) at 1,000 uniform points of the domain. A name that ends in `-text`
is the problem as printed, where the experiments differ; one in `-separated` has no ties and no tiny gaps.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from argbest.core.arrays import Array
from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import table_problem, with_hardness

Domain: TypeAlias = dict[str, tuple[float, float]]  # the first is chosen, the others are the context

_NOISE_SD = 3.0  # the paper's (max - min) / (100 / 3), with values scaled to a range of 100
_LEAD = 0.3  # noise standard deviations between the best two, at least, in separated problems
_CANDIDATES = 20  # contexts drawn for each one kept, more than enough
_BRANIN: Domain = {"x1": (-5.0, 10.0), "x2": (0.0, 15.0)}
_SQUARE: Domain = {"x1": (-10.0, 10.0), "x2": (-10.0, 10.0)}
_BRANIN_WEIGHTS = (0.03, 0.07, 0.2, 0.1, 0.15, 0.2, 0.02, 0.08, 0.1, 0.05)


def branin() -> Problem:
    """Return the Branin problem of the paper's experiments: x1 is chosen, x2 is the context."""
    about = "Negated Branin function"
    return _scattered("branin", about, _branin, _BRANIN, (10, 10), 0.370, weights=_BRANIN_WEIGHTS)


def branin_text() -> Problem:
    """Return Branin on the domain printed in the paper, where x2 ends at 10."""
    domain, about = _BRANIN | {"x2": (0.0, 10.0)}, "Negated Branin function as printed, with x2 up to 10"
    return _scattered("branin-text", about, _branin, domain, (10, 10), 0.359, weights=_BRANIN_WEIGHTS)


def branin_separated() -> Problem:
    """Return Branin in contexts whose best alternative leads clearly, all weighing the same."""
    about = "Negated Branin function with clear leads"
    return _scattered("branin-separated", about, _branin, _BRANIN, (10, 10), 0.370, lead=_LEAD)


def griewank() -> Problem:
    """Return the Griewank problem of the experiments: all alternatives but the last moved by 0.2.

    The function is even in x1, so without the shift alternatives come in tied pairs.
    """
    about = "Negated Griewank function without ties, alternatives shifted to break its symmetry"
    return _scattered("griewank", about, _griewank, _SQUARE, (10, 20), 49.5, moved=0.2)


def griewank_text() -> Problem:
    """Return Griewank as printed, with every best alternative tied with its mirror image."""
    about = "Negated Griewank function as printed"
    return _scattered("griewank-text", about, _griewank, _SQUARE, (10, 20), 49.5)


def griewank_separated() -> Problem:
    """Return Griewank on the half x1 >= 0, in contexts whose best alternative leads clearly."""
    domain, about = _SQUARE | {"x1": (0.0, 10.0)}, "Negated Griewank with clear leads, a function of x1 >= 0"
    return _scattered("griewank-separated", about, _griewank, domain, (10, 20), 49.5, lead=_LEAD)


def hartmann3() -> Problem:
    """Return the three-dimensional Hartmann problem: x1 is chosen, (x2, x3) is the context."""
    domain = dict.fromkeys(("x1", "x2", "x3"), (0.0, 1.0))
    return _scattered("hartmann3", "Negated Hartmann function", _hartmann3, domain, (20, 20), 26.25)


def hartmann3_separated() -> Problem:
    """Return Hartmann with the steeper x2 chosen, from ten alternatives, in contexts of clear lead."""
    domain = dict.fromkeys(("x2", "x1", "x3"), (0.0, 1.0))
    about, name = "Negated Hartmann with clear leads, a function of x2", "hartmann3-separated"
    return _scattered(
        name, about, lambda x: _hartmann3(x[..., [1, 0, 2]]), domain, (10, 20), 26.25, lead=_LEAD
    )


def cosine8() -> Problem:
    """Return the Cosine8 problem: x1 is chosen, (x2, ..., x8) is the context, and neither moves the other."""
    domain = {f"x{i}": (-1.0, 1.0) for i in range(1, 9)}
    return _scattered("cosine8", "Cosine mixture function", _cosine8, domain, (20, 40), 18.64)


def cosine8_separated() -> Problem:
    """Return Cosine8 with a common shift of all coordinates chosen, so that the best follows the context.

    Alternative t in context z is worth f(t, z_2 + t, ..., z_8 + t); the function is defined beyond [-1, 1].
    """
    domain = {"shift": (-1.0, 1.0)} | {f"x{i}": (-1.0, 1.0) for i in range(2, 9)}
    about = "Cosine mixture with clear leads, under a shift of all coordinates"
    return _scattered("cosine8-separated", about, _cosine8_shifted, domain, (20, 40), 18.64, lead=_LEAD)


def _branin(x: Array) -> Array:
    x1, x2 = x[..., 0], x[..., 1]
    valley = x2 - 5.1 / (4.0 * np.pi**2) * x1**2 + 5.0 / np.pi * x1 - 6.0
    return -(valley**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(x1) + 10.0)


def _griewank(x: Array) -> Array:
    """Return Π_i cos(x_i / √i) - Σ_i x_i² / 4000 - 1, at most 0."""
    i = np.arange(1, x.shape[-1] + 1)
    return np.asarray(np.cos(x / np.sqrt(i)).prod(axis=-1) - (x**2).sum(axis=-1) / 4000.0 - 1.0)


_HARTMANN_HEIGHT = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_STEEPNESS = np.array([[3.0, 10.0, 30.0], [0.1, 10.0, 35.0], [3.0, 10.0, 30.0], [0.1, 10.0, 35.0]])
_HARTMANN_CENTRE = 1e-4 * np.array(
    [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
)


def _hartmann3(x: Array) -> Array:
    """Return Σ_i h_i exp(-Σ_j a_ij (x_j - p_ij)²), four bumps, at most 3.86278."""
    distance = (_HARTMANN_STEEPNESS * (x[..., None, :] - _HARTMANN_CENTRE) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-distance) @ _HARTMANN_HEIGHT)


def _cosine8(x: Array) -> Array:
    """Return Σ_i [0.1 cos(5π x_i) - x_i²], at most 0.8."""
    return np.asarray((0.1 * np.cos(5.0 * np.pi * x) - x**2).sum(axis=-1))


def _cosine8_shifted(x: Array) -> Array:
    shift = x[..., :1]
    return _cosine8(np.concatenate([shift, x[..., 1:] + shift], axis=-1))


def _scattered(
    name: str,
    about: str,
    function: Callable[[Array], Array],
    domain: Domain,
    shape: tuple[int, int],
    scale: float,
    *,
    weights: tuple[float, ...] | None = None,
    moved: float = 0.0,
    lead: float = 0.0,
) -> Problem:
    """Return the problem with alternatives even in the first coordinate and contexts random in the rest.

    All alternatives but the last are `moved`. With a `lead` the contexts are the first of the sequence in
    which the best alternative is at least so many noise standard deviations ahead.
    """
    (chosen_name, *context_names), ranges = domain, np.array(list(domain.values()))
    lo, width = ranges[:, 0], ranges[:, 1] - ranges[:, 0]
    chosen = lo[0] + width[0] * np.linspace(0.0, 1.0, shape[0])
    chosen[:-1] += moved
    scattered = lo[1:] + width[1:] * _uniform(shape[1] * (_CANDIDATES if lead else 1), len(domain) - 1)
    grid = np.empty((len(chosen), len(scattered), len(domain)))
    grid[..., 0], grid[..., 1:] = chosen[:, None], scattered
    values = scale * function(grid)
    second, first = np.sort(values, axis=0)[-2:]
    kept = np.flatnonzero(first - second >= lead * _NOISE_SD)[: shape[1]]
    problem = table_problem(
        Axis.of("alternative", [{chosen_name: x} for x in chosen]),
        Axis.of("context", [dict(zip(context_names, row, strict=True)) for row in scattered[kept]]),
        truth=values[:, kept],
        noise_sd=np.full(shape, _NOISE_SD),
        weights=weights,
        bounds={column: domain[column] for column in context_names},
        name=name,
        description=f"{about}, scaled to a range of about 100, with normal noise of standard deviation 3; "
        "the truth is the function itself",
    )
    return with_hardness(problem)


def _uniform(n: int, d: int) -> Array:
    """Return [n, d] numbers in [0, 1): those PyTorch draws for seed 0, which are the paper's contexts."""
    words = np.random.RandomState(0).randint(0, 2**32, size=(n, d, 2), dtype=np.uint64)
    return np.asarray(((words[..., 0] << 32 | words[..., 1]) & (2**53 - 1)) * 2.0**-53, dtype=np.float64)

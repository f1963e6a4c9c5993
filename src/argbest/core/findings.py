"""What a fitted model says of a table: how much its parts vary, over what distance, and how large noise is.

The variation of a part x is the variance over the table's n cells that its prior expects,
E Σ(x_i − x̄)²/n = s (1 − mean correlation over all n² pairs of cells): what shifts all cells by a constant is
no variation. Independent parts add up, so that shares of the sum make sense.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array

_MOST_ROWS = 256  # of alternatives: with more, these stand for all, to three digits
_AT_ONCE = 64
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


@dataclass(frozen=True)
class Lengthscales:
    """Distances over which some parts of a model change, in ranges of the columns of one axis."""

    parts: tuple[str, ...]
    axis: Literal["alternative", "context"]
    values: Array  # [column], or [alternative, column] where every alternative has its own


@dataclass(frozen=True)
class Findings:
    """What a model has learned of one study, in the squared unit of the rewards."""

    outline: str  # a sentence on what the model is like, empty where its parts say it
    noise: Array  # [alternative, context], or broadcastable to it: variance of one replication
    kernel: str = "matern52"
    variation: dict[str, float] | None = None  # by part
    curves: Array | None = None  # [alternative]: variation over the contexts, where nothing is shared
    lengthscales: tuple[Lengthscales, ...] = ()
    # Correlation of what alternatives differ by, in this source and in every earlier one.
    sources: tuple[float, ...] = ()


def variation(prior: AdditivePrior, n_alternatives: int) -> dict[str, float]:
    """Return the variation of each part of the additive prior of one study."""
    near, related = float(prior.nearness.mean()), _mean_relation(prior, n_alternatives)
    found = {
        "trend": float(prior.trend[0, 0] - prior.trend.mean()),
        "offset": float(prior.offset) * (1.0 - related),
        "joint": float(prior.joint) * (1.0 - related * near),
        "own": float(prior.own) * (1.0 - near / n_alternatives),
    }
    if (loadings := prior.noise_like) is not None:
        together = np.sum(loadings.sum(axis=0) ** 2) / loadings.size**2
        found["noise-like"] = float(np.mean(loadings**2) - together)
    return found


def _mean_relation(prior: AdditivePrior, n_alternatives: int) -> float:
    """Return the mean of κ_A over all pairs of alternatives; of very many, from rows spread evenly."""
    if prior.alternatives is None:
        return 1.0 / n_alternatives
    rows = np.arange(n_alternatives)
    if n_alternatives > _MOST_ROWS:  # steps of the golden section do not follow the pattern of a grid
        rows = (np.arange(1, _MOST_ROWS + 1) * _GOLDEN % 1.0 * n_alternatives).astype(np.int64)
    pieces = np.array_split(rows, -(-len(rows) // _AT_ONCE))
    means = [prior.relation(piece, n_alternatives).mean(axis=-1) for piece in pieces]
    return float(np.concatenate(means).mean())

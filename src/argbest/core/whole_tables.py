"""Joint draws of all rewards of a large table by Matheron's rule: draws from the prior, corrected by data.

With g a draw from the prior, x the observed cells and ε a draw of their noise,
g − K_·x (K_xx + N)⁻¹ (g_x + ε) has the covariance of the posterior: the draw is corrected by
what replications of it would have taught. No table of all cells against all cells is made.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.blocks import drawing_root
from argbest.core.square_root_form import SquareRootForm, solve_in_place


class ObservedForm(NamedTuple):
    """The observed cells of one study, and what they were observed with."""

    alternative: IntArray  # [cell]
    context: IntArray
    form: SquareRootForm


class ConditionedOn(NamedTuple):
    """What a belief was conditioned on: studies side by side, each of which can be looked at again."""

    prior: AdditivePrior
    data: Any  # `argbest.core.seen_cells.Data`
    observed: Callable[[AdditivePrior, Any], ObservedForm]

    def study(self, index: tuple[int, ...]) -> "ConditionedOn":
        """Return that of one of several studies."""
        return ConditionedOn(self.prior.study(index), self.data.study(index), self.observed)


class Observation(NamedTuple):
    """A value with noise that was taken in later: of Σ_j weight_j f_j in a context."""

    alternative: IntArray  # [..., j]
    context: IntArray  # [...]
    weight: Array  # [..., j]
    noise: Array  # [...]

    def study(self, index: tuple[int, ...]) -> "Observation":
        """Return that of one of several studies."""
        return Observation(*(each[index] for each in self))


def from_prior(prior: AdditivePrior, n: int, n_alternatives: int, numbers: np.random.Generator) -> Array:
    """Return n draws of one study's rewards about their constant before any data."""
    table = n_alternatives, len(prior.trend)
    near = drawing_root(prior.nearness.copy()).T
    own = numbers.standard_normal((n, *table)) @ near
    related = numbers.standard_normal((n, *table)) @ near
    if prior.level is None:
        level = numbers.standard_normal((n, n_alternatives, 1))
    else:
        level = numbers.standard_normal((n, *table)) @ drawing_root(prior.level.copy()).T
    if prior.alternatives is not None:
        every = np.arange(n_alternatives)
        relation = drawing_root(prior.relation(every, n_alternatives).copy())
        related, level = relation @ related, relation @ level
    trend = numbers.standard_normal((n, 1, table[1])) @ drawing_root(prior.trend.copy()).T
    found = np.sqrt(prior.own) * own + np.sqrt(prior.joint) * related + np.sqrt(prior.offset) * level + trend
    if prior.noise_like is not None:
        found += prior.noise_like * numbers.standard_normal((n, 1, table[1]))
    return np.asarray(found)


def by_structure(own: Array, features: Array, n: int, numbers: np.random.Generator) -> Array:
    """Return n draws with covariances 1{k = j} E_k + R_i R_jᵀ, [n, alternative, context].

    ``own`` is E [alternative, context, context′], ``features`` R [alternative, context, r].
    """
    alone = numbers.standard_normal((n, *own.shape[:2]))
    by_alternative = np.swapaxes(alone, 0, 1) @ np.swapaxes(drawing_root(own.copy()), -1, -2)
    shared = numbers.standard_normal((n, features.shape[2])) @ features.reshape(-1, features.shape[2]).T
    return np.asarray(np.swapaxes(by_alternative, 0, 1) + shared.reshape(alone.shape))


def corrected(draws: Array, past: ConditionedOn, rows: Array, numbers: np.random.Generator) -> Array:
    """Return draws [n, alternative, context] from the prior of one study as the data would correct them.

    ``rows`` [cell, alternative, context] are L⁻¹ D½ K, as the belief holds them: of fewer contexts than the
    data where these are from several sources.
    """
    seen, wanted = past.observed(past.prior, past.data), draws[..., : rows.shape[-1]]
    if not len(seen.alternative):
        return wanted
    observed = draws[:, seen.alternative, seen.context].T
    learned = seen.form.halve(np.ascontiguousarray(observed), None)
    learned += numbers.standard_normal(learned.shape)
    solve_in_place(seen.form.lower, learned)
    flat = rows[: len(learned)].reshape(len(learned), -1)
    return np.asarray(wanted - (learned.T @ flat).reshape(wanted.shape))


def corrected_by_one(draws: Array, seen: Observation, row: Array, numbers: np.random.Generator) -> Array:
    """Return draws as one more value corrects them; ``row`` [alternative, context] is what it took.

    The row is v / √(s + σ²), v the covariances with the observed sum and s its variance: its entry for the
    sum itself is a = s / √(s + σ²), hence s + σ² = (a/2 + √(a²/4 + σ²))².
    """
    of_sum = float(seen.weight @ row[seen.alternative, seen.context])
    root = of_sum / 2 + np.sqrt(of_sum**2 / 4 + float(seen.noise))
    if not root > 0:
        return draws
    observed = draws[:, seen.alternative, seen.context] @ seen.weight
    observed += np.sqrt(float(seen.noise)) * numbers.standard_normal(len(draws))
    return np.asarray(draws - (observed / root)[:, None, None] * row)

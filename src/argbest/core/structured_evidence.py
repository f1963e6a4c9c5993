"""The log evidence of the additive GP from many observed cells, with its gradient, by structure.

The same as `argbest.core.additive_evidence`, at the cost that `argbest.core.structured` states, with LAPACK.
The gradient is that of the covariance with features, landmarks held fixed: with G = ααᵀ + ββᵀ − A it is
½ Σ_k tr(G_kk K′_kk) + ⟨P, Φ′⟩, P = (G without its blocks) Φ.
"""

from typing import NamedTuple

import numpy as np

from argbest.core.additive_evidence import SCALES
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array
from argbest.core.evidence import add_log_prior, doubt_of, log_likelihood, noise_slope
from argbest.core.landmarks import LEAST_MISSED, Landmarks, landmarks_of
from argbest.core.priors import KERNELS, NUGGET, covariance, level_of, scaled
from argbest.core.search import in_python
from argbest.core.setting import Coordinates
from argbest.core.structured import (
    EquallyObserved,
    Features,
    Solution,
    Solved,
    blocks_of,
    features,
    inverse_of,
    solve,
)
from argbest.core.tally import Tally

# Landmarks are those of lengthscales this much shorter, where they miss more: they serve a search that moves.
_NARROW = 0.7
_LEAST_MISSED = LEAST_MISSED / _NARROW**5

_add_log_prior, _doubt_of = in_python(add_log_prior), in_python(doubt_of)
_log_likelihood, _noise_slope = in_python(log_likelihood), in_python(noise_slope)


class ObservedTable(NamedTuple):
    """The observed alternatives and contexts of a study, and its landmarks."""

    tally: Tally
    noise: Array  # [alternative, context]: relative
    alternatives: Coordinates | None
    separation: Array  # [d, context, context]
    blocks: list[EquallyObserved]
    marks: Landmarks
    n_sources: int = 0  # the last coordinates that say which source a run is from


def prepare(
    alternatives: Coordinates | None, separation: Array, tally: Tally, noise: Array, n_sources: int = 0
) -> ObservedTable:
    """Return the data of one study, without rows and columns that have no replications."""
    seen = tally.count > 0
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    table = np.ix_(rows, columns)
    if alternatives is not None:
        alternatives = Coordinates(alternatives.points[rows], alternatives.categorical)
    between = np.ascontiguousarray(separation[:, columns][:, :, columns])
    kept, blocks = tally[table], blocks_of(tally.count[table])
    return ObservedTable(
        kept,
        noise[table],
        alternatives,
        between,
        blocks,
        Landmarks(*(np.zeros(0, np.int64),) * 3),
        n_sources,
    )


def with_landmarks(kernel: str, data: ObservedTable, theta: Array, most: int | None) -> ObservedTable:
    """Return the data with landmarks for a search that starts at θ."""
    narrow = theta.copy()
    narrow[: len(theta) - SCALES] += np.log(_NARROW)
    return data._replace(
        marks=landmarks_of(_prior(kernel, data, narrow), data.tally.shape[0], most, _LEAST_MISSED)
    )


def log_posterior(
    theta: Array, code: str, data: ObservedTable, rules: Array, gradient: Array
) -> tuple[float, float, float]:
    """Return (log evidence + log prior, constant mean, doubt) and fill the gradient in θ.

    ``code`` is the kernel's name.
    """
    gradient[:] = 0.0
    value = float(_add_log_prior(theta, rules, gradient))
    solution = _solution(theta, code, data)
    if solution is None:
        return -np.inf, 0.0, 0.0
    prior, scales, variance = _prior(code, data, theta), np.exp(theta[-SCALES:-2]), np.exp(theta[-1])
    m = int((data.tally.count > 0).sum())
    pulls = _pulls(solution)
    _add_slopes(theta, data, prior, solution.features, pulls, gradient)
    gradient[-SCALES:-2] += 0.5 * m * NUGGET * scales * np.trace(pulls.within)
    gradient[-1] += _noise_slope(_totals(data), variance, m, pulls.trace, pulls.squared)
    value += _log_evidence(theta, data, solution, pulls.quadratic)
    root = max(float(one.root.max()) for one in solution.solved)
    largest = 1.0 + root**2 * (float(prior.variance) + m * NUGGET * float(scales.sum()))
    return value, solution.constant, _doubt_of(m, largest, pulls.trace + pulls.squared)


def log_value(theta: Array, code: str, data: ObservedTable, rules: Array) -> float:
    """Return log evidence + log prior: what `log_posterior` does, without slopes."""
    solution = _solution(theta, code, data)
    if solution is None:
        return -np.inf
    _, mixed = _coordinates(solution)
    quadratic = sum(
        _quadratic(one, solution.constant, mixed[one.blocks.alternatives]) for one in solution.solved
    )
    prior = float(_add_log_prior(theta, rules, np.zeros(len(theta))))
    return prior + _log_evidence(theta, data, solution, quadratic)


def _solution(theta: Array, kernel: str, data: ObservedTable) -> Solution | None:
    """Return the solution at θ; None where rounding leaves no information about the constant."""
    tally, scales = data.tally, np.exp(theta[-SCALES:-2])
    root = np.sqrt(tally.count / (np.exp(theta[-1]) * data.noise))
    nugget = int((tally.count > 0).sum()) * NUGGET * float(scales.sum())
    found = features(_prior(kernel, data, theta), data.marks, tally.shape[0])
    try:
        solution = solve(found, data.blocks, root, tally.mean, nugget)
    except np.linalg.LinAlgError:
        return None
    return solution if solution.below > 0.0 else None


def _log_evidence(theta: Array, data: ObservedTable, solution: Solution, quadratic: float) -> float:
    """Return the log evidence, given rᵀ A r."""
    variance = float(np.exp(theta[-1]))
    known = float(_log_likelihood(_totals(data), variance, solution.log_determinant, quadratic))
    return known - 0.5 * float(np.log(solution.below / (2.0 * np.pi)))


def _totals(data: ObservedTable) -> tuple[float, float, float]:
    """Return n, Σ W/noise and Σ N log noise, as `argbest.core.evidence.observed_cells` does."""
    tally, noise = data.tally, data.noise
    return (
        float(tally.count.sum()),
        float((tally.m2 / noise).sum()),
        float((tally.count * np.log(noise)).sum()),
    )


def _prior(kernel: str, data: ObservedTable, theta: Array) -> AdditivePrior:
    """Return the prior at θ."""
    d, last = len(data.separation), len(theta) - SCALES
    value = np.exp(theta)
    trend, offset, joint, own = (np.asarray(scale) for scale in value[last:-2])
    near = value[last - d : last]
    return AdditivePrior(
        kernel=kernel,
        alternatives=data.alternatives,
        alternative_lengthscale=value[d : last - d],
        trend=covariance(kernel, data.separation, value[:d], trend),
        nearness=covariance(kernel, data.separation, near, np.asarray(1.0)),
        offset=offset,
        joint=joint,
        own=own,
        level=level_of(kernel, data.separation, near, data.n_sources),
    )


class _Pulls(NamedTuple):
    """The gradient in terms of covariances and features, and sums over the observed cells."""

    within: Array  # Σ_k G_kk, [context, context]
    on_contexts: Array  # on Ψ, [context, q]
    on_relation: Array  # on F_A, [alternative, landmark]
    quadratic: float  # rᵀ A r
    squared: float  # |ρ⁻¹ α|² + |ρ⁻¹ β|²
    trace: float  # tr (I + ρ K ρ)⁻¹


def _pulls(solution: Solution) -> _Pulls:
    """Return the pulls of all observed cells."""
    found, q = solution.features, solution.gram.shape[1] - 2
    inverse = inverse_of(solution.lower)
    spread = found.expand(inverse)  # S_k M⁻¹
    core = found.contract(spread)  # S_k M⁻¹ S_kᵀ
    both, mixed = _coordinates(solution)
    moments = solution.gram[:, :q] @ mixed  # Ψᵀα, Ψᵀβ, [alternative, q, 2]
    gram = solution.gram[:, :q, :q]
    inner = moments @ np.swapaxes(moments, 1, 2) - gram + gram @ core @ gram  # Ψᵀ G_kk Ψ
    on_relation = _on_relation(found, both, moments, inner, gram, spread)
    each = [
        _of_blocks(solution, one, mixed[k], core[k], moments[k])
        for one in solution.solved
        for k in (one.blocks.alternatives,)
    ]
    within, on_contexts, quadratic, squared, trace = (sum(parts) for parts in zip(*each, strict=True))
    return _Pulls(within, on_contexts, on_relation, quadratic, squared, trace)


def _coordinates(solution: Solution) -> tuple[Array, Array]:
    """Return Φᵀα and Φᵀβ, [r, 2], and α and β by their coordinates, [alternative, q + 2, 2].

    α = A⁰ (Ȳ − m − Φ a) and β = A⁰ (1 − Φ b) / √(1ᵀA1), a and b as Φᵀα and Φᵀβ.
    """
    turn = np.array([[-solution.constant, 1.0], [1.0 / np.sqrt(solution.below), 0.0]]).T
    both = solution.coefficients @ turn
    every = np.broadcast_to(turn, (len(solution.gram), 2, 2))
    return both, np.concatenate([-solution.features.expand(both), every], axis=1)


def _quadratic(one: Solved, constant: float, mixed: Array) -> float:
    """Return what blocks of one size add to rᵀ A r = αᵀ (Ȳ − m)."""
    across = one.half @ mixed[..., :1]  # Lᵀ ρ⁻¹ α
    return float(np.sum(across[..., 0] * (one.half[..., -1] - constant * one.half[..., -2])))


def _of_blocks(
    solution: Solution, one: Solved, mixed: Array, core: Array, moments: Array
) -> tuple[Array, Array, float, float, float]:
    """Return what blocks of one size add to Σ G_kk, to the pull on Ψ, and to the three sums."""
    found, q = solution.features, core.shape[1]
    weighed, root = one.weighed[..., :q], one.root[..., None]
    both = one.weighed @ mixed  # α, β
    carried = weighed @ core
    pull = both @ np.swapaxes(both, 1, 2) + carried @ np.swapaxes(weighed, 1, 2)
    pull -= root * one.inverse * one.root[:, None, :]
    applied = both @ np.swapaxes(moments, 1, 2) - weighed  # G_kk Ψ
    applied += carried @ solution.gram[one.blocks.alternatives][:, :q, :q]
    size = np.ones((len(core), q))  # S_k S_kᵀ, a diagonal
    size[:, found.n_trend :] = found.shared[one.blocks.alternatives, None]
    on_contexts = -both @ np.swapaxes(mixed[:, :q], 1, 2) - carried - applied * size[:, None, :]
    quadratic = _quadratic(one, solution.constant, mixed)
    trace = float(np.einsum("gii->", one.inverse) - np.sum(carried * weighed / root**2))
    squared = float(np.sum((both / root) ** 2))
    n = len(found.by_context)
    within, total = one.blocks.summed_pairs(pull, n), one.blocks.summed(on_contexts, n)
    return within, total, quadratic, squared, trace


def _on_relation(
    found: Features, both: Array, moments: Array, inner: Array, gram: Array, spread: Array
) -> Array:
    """Return the pull on F_A: what Ψᵀ P has where S_k holds F_A(k)."""
    g, a = found.n_trend, found.relation.features
    k, q, _ = gram.shape
    joint = both[g:].reshape(q - g, a.shape[1], 2)
    pull = np.einsum("kti,tai->ka", moments[:, g:], joint)
    pull -= np.einsum("ktq,kqta->ka", gram[:, g:], spread[:, :, g:].reshape(k, q, q - g, a.shape[1]))
    pull -= np.einsum("ktt->k", inner[:, g:, g:])[:, None] * a
    return np.asarray(pull)


def _add_slopes(
    theta: Array, data: ObservedTable, prior: AdditivePrior, found: Features, pulls: _Pulls, gradient: Array
) -> None:
    """Add the derivatives in the lengthscales and in the four scales."""
    d, last, g = len(data.separation), len(theta) - SCALES, found.n_trend
    trend, offset, joint, own = np.exp(theta[last:-2])
    within, near = 0.5 * pulls.within, 0.5 * float(np.sum(pulls.within * prior.nearness))
    by_part = 0.5 * np.sum(pulls.on_contexts * found.by_context, axis=0)
    gradient[last] += np.sum(within * prior.trend) + by_part[:g].sum()
    end = g + found.n_levels
    levels = within if prior.level is None else within * prior.level
    gradient[last + 1] += offset * levels.sum() + by_part[g:end].sum()
    gradient[last + 2] += joint * near + by_part[end:].sum()
    gradient[last + 3] += own * near
    on_trend = trend * within
    on_trend[:, found.trend.landmarks] += found.trend.pull(np.sqrt(trend) * pulls.on_contexts[:, :g])
    on_near = (joint + own) * within
    on_near[:, found.nearness.landmarks] += found.nearness.pull(np.sqrt(joint) * pulls.on_contexts[:, end:])
    _add_lengths(theta[:d], prior.kernel, data.separation, on_trend, gradient[:d])
    _add_lengths(theta[last - d : last], prior.kernel, data.separation, on_near, gradient[last - d : last])
    if found.level is not None:
        on_level = offset * within
        if len(found.marks.alternatives):
            on_level[:, found.level.landmarks] += found.level.pull(
                np.sqrt(offset) * pulls.on_contexts[:, g:end]
            )
        first, sources = last - data.n_sources, data.separation[-data.n_sources :]
        _add_lengths(theta[first:last], prior.kernel, sources, on_level, gradient[first:last])
    if data.alternatives is not None:
        marks = found.relation.landmarks
        between = np.swapaxes(data.alternatives.separation(data.alternatives.points[marks]), 1, 2)
        on_relation = found.relation.pull(pulls.on_relation)
        _add_lengths(theta[d : last - d], prior.kernel, between, on_relation, gradient[d : last - d])


def _add_lengths(lengths: Array, kernel: str, separation: Array, pull: Array, gradient: Array) -> None:
    """Add Σ pull · dκ/d log l for every lengthscale."""
    length = np.exp(lengths)
    sloped = pull * KERNELS[kernel][1](scaled(separation, length))
    gradient += np.einsum("ij,gij->g", sloped, separation) / length**2

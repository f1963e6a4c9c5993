"""Theory as tools: optimal allocations, rates and PCS of a known problem; contention and forecast of a study.

An allocation is a table [alternative, context] of shares or counts, or a frame with the column ``share`` such
as `optimal_allocation(problem).allocation` or `Study.allocation()`; it is scaled to sum to 1. An indifference
zone ``delta`` widens gaps below it to delta in rates and allocations, and makes selections within delta of
the best count as right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from argbest.answers import forecasting, frames
from argbest.checks import finite, indifference_zone, table, whole
from argbest.core import false_selection as core
from argbest.core.arrays import Array
from argbest.core.false_selection import Convergence
from argbest.core.states import LEVEL
from argbest.errors import InputError, warn_of_old_name
from argbest.problems.base import Problem
from argbest.study.study import Study

__all__ = [
    "PCS", "Convergence", "StaticOptimum", "contention", "convergence", "expected_pcs", "forecast",
    "optimal_allocation", "rate_function",
]  # fmt: skip


class StaticOptimum(NamedTuple):
    """The allocation of the largest rate, and that rate.

    Attributes:
        allocation: The share of every pair.
        rate: The least rate η of any pair.
    """

    allocation: pd.DataFrame  # a row per pair: its share of all replications
    rate: float  # η*: P(false selection) falls as exp(−n η*/2)


@dataclass(frozen=True)
class PCS:
    """The probability of correct selection that n replications give.

    Attributes:
        pcs_e: The mean over contexts, by their weights.
        pcs_m: That of the worst context.
        contexts: A row per context.
    """

    pcs_e: float  # Σ_c w_c PCS(c)
    pcs_m: float  # min_c PCS(c)
    contexts: pd.DataFrame  # a row per context: its PCS


def optimal_allocation(
    problem: Problem, *, delta: float = 0.0, cost: Sequence[Sequence[float]] | Array | None = None
) -> StaticOptimum:
    """Return the share of every pair under the best static allocation p*, and its rate η*.

    p* maximises min η of `rate_function` (Gao, Du and Chen, 2019; Theorem 1 of Cakmak, Gao and Zhou). A small
    gap is expensive, some 4σ²/gap² replications for each unit of rate, so the closest context may take nearly
    all.

    Args:
        problem: A problem with known truth and noise.
        delta: How far below the best another alternative must be to count as wrong; contexts whose best
            alternatives are tied are refused without it.
        cost: What a replication of every pair costs, [alternative][context]; the rate is then per unit of
            cost: with a budget of B the probability of a false selection falls as exp(−B η*/2).
    """
    share, rate = core.optimal_allocation(
        *_told_apart(problem, delta),
        cost=None if cost is None else table("costs", cost, problem.shape, above=0),
    )
    frame = _pairs(problem)
    frame["share"] = share.ravel()
    return StaticOptimum(frame, float(rate))


def rate_function(problem: Problem, allocation: object, *, delta: float = 0.0) -> pd.DataFrame:
    """Return one row per pair with its share and its rate η, infinite for the best of each context.

    η(k, c) = (F_b − F_k)² / (σ_b²/p_b + σ_k²/p_k). With n replications the false selection of k in c has a
    probability that falls as exp(−n η/2); the least η tells (Theorem 1, Cakmak, Gao and Zhou).

    Args:
        problem: A problem with known truth and noise.
        allocation (frame or table): The share of every pair, as `optimal_allocation` or `Study.allocation`
            return it.
        delta: How far below the best another alternative must be to count as wrong.
    """
    truth, noise = _known(problem)
    share = _shares(problem, allocation)
    frame = _pairs(problem)
    frame["share"] = share.ravel()
    frame["rate"] = core.rate_function(core.separated(truth, indifference_zone(delta)), noise, share).ravel()
    return frame


def expected_pcs(problem: Problem, allocation: object, n: float, *, delta: float = 0.0) -> PCS:
    """Return PCS_E, PCS_M and PCS per context when n replications have these shares and the best mean wins.

    PCS(c) = P(the largest of independent N(F_k, σ_k²/(n p_k)) is right), by quadrature; all tied for the best
    are right. Counts may be fractional. A pair without replications may come out as anything: it is above a
    simulated one with probability 1/2.

    Args:
        problem: A problem with known truth and noise.
        allocation (frame or table): The share of every pair, as `optimal_allocation` or `Study.allocation`
            return it.
        n: The number of replications.
        delta: How far from the best a selection may be and still count as right.
    """
    truth, noise = _known(problem)
    if not isinstance(n, Real) or isinstance(n, bool) or not 0 <= n < np.inf:
        raise InputError(f"n must be a finite number of replications, 0 or more, got {n!r}.")
    chance = core.selection_probability(truth, noise, _shares(problem, allocation), n)
    every = np.arange(problem.n_alternatives)[:, None] + np.zeros(problem.n_contexts, np.int64)
    pcs = np.where(problem.good(every, delta), chance, 0.0).sum(axis=0)
    frame = problem.contexts.frame()
    frame["pcs"] = pcs
    return PCS(float(pcs @ problem.weights), float(pcs.min()), frame)


def convergence(problem: Problem, allocation: object, *, delta: float = 0.0) -> Convergence:
    """Return how far an allocation is from p*: balance, spreads of η, largest difference, efficiency.

    The residuals of Theorem "optimal rate" of Cakmak, Gao and Zhou, which go to 0 under GP-C-OCBA with an
    independent prior, and min η/η*, which goes to 1.

    Args:
        problem: A problem with known truth and noise.
        allocation (frame or table): The share of every pair, as `optimal_allocation` or `Study.allocation`
            return it.
        delta: How far below the best another alternative must be to count as wrong.
    """
    return core.balance(*_told_apart(problem, delta), _shares(problem, allocation))


def contention(study: Study, *, level: float = LEVEL) -> pd.DataFrame:
    """Return one row per context: the fewest alternatives whose probabilities of being best reach ``level``.

    ``contenders`` holds their labels, likeliest first, ``size`` their number, ``probability`` the sum. A
    context without an answer has none.

    Args:
        study: The study to look at.
        level: The probability to reach.
    """
    level = finite("level", level, above=0, below=1)
    certificate = study.certificate()
    chance, (order, size) = certificate.best_probability, certificate.contenders(level)
    labels = study.problem.alternatives.labels
    frame = study.problem.contexts.frame()
    frame["contenders"] = [tuple(labels[k] for k in order[:m, c]) for c, m in enumerate(size)]
    frame["size"] = size
    together = [chance[order[:m, c], c].sum() if m else np.nan for c, m in enumerate(size)]
    frame["probability"] = np.minimum(together, 1.0)
    return frames.of_active(frame, study.problem.contexts)


def forecast(
    study: Study,
    replications: int | Sequence[int] | None = None,
    *,
    draws: int = 50,
    delta: float = 0.0,
    samples: int | Sequence[int] | None = None,
) -> pd.DataFrame:
    """Return one row per number of further replications: mean, p5 and p95 of the PCS_E that they would give.

    The question opposite to that of `Study.forecast`, answered from the same simulated paths
    (`argbest.answers.forecasting`): each of the draws from the present belief is taken for the truth, and the
    study's policy goes on until it has placed so many replications.

    Args:
        study: The study to look at.
        replications: How many further replications, one number or several; with 0 all three figures are the
            certificate's PCS_E.
        draws: How many paths are simulated: at most 256, and fewer in large tables.
        delta: How far from the best a selection may be and still count as right.
        samples: The old name of ``replications``.
    """
    if samples is not None:
        warn_of_old_name("forecast(samples=...)", "forecast(replications=...)")
        replications = samples if replications is None else replications
    if replications is None:
        raise InputError("got no number of further replications. Give one, or a list: forecast(study, 100).")
    several = [replications] if isinstance(replications, int | np.integer) else list(replications)
    further = [whole("replications", m, at_least=0) for m in several]
    paths = whole("draws", draws, at_least=1, at_most=10**6)
    return forecasting.after(study.view(), further, delta=indifference_zone(delta), paths=paths)


def _known(problem: Problem) -> tuple[Array, Array]:
    """Return the truth, larger being better, and the variance of a replication."""
    truth, noise_sd = problem.goal_truth, problem.goal_noise_sd
    if truth is None or noise_sd is None:
        missing = "truth" if truth is None else "noise_sd"
        raise InputError(
            f"the theory of problem {problem.name!r} needs its true means and its noise; {missing} is not "
            "known. Give Problem(..., truth=[alternative][context], noise_sd=number or table)."
        )
    return problem.sign * truth, noise_sd**2


def _told_apart(problem: Problem, delta: float) -> tuple[Array, Array]:
    """Return truth and noise, the best set apart by delta; ties are refused by their labels."""
    truth, noise = _known(problem)
    zone = indifference_zone(delta)
    for c, tied in enumerate(problem.ties):
        if len(tied) > 1 and not zone:
            labels = [problem.alternatives.labels[k] for k in tied]
            raise InputError(
                f"the alternatives {labels} are tied for the best in context {problem.contexts.labels[c]!r}, "
                "so no allocation has a positive rate. Give delta, the smallest difference that matters."
            )
    return core.separated(truth, zone), noise


def _shares(problem: Problem, allocation: object) -> Array:
    """Return the allocation as a table that sums to 1."""
    given: Any = allocation.allocation if isinstance(allocation, StaticOptimum) else allocation
    if isinstance(given, pd.DataFrame):
        where = problem.alternatives.locate(given), problem.contexts.locate(given)
        if "share" not in given.columns:
            raise InputError(f"got a frame with the columns {list(given.columns)}. Add the column 'share'.")
        share = np.zeros(problem.shape)
        np.add.at(share, where, table("share", given["share"], (len(given),)))
    else:
        share = table("an allocation", given, problem.shape)
    if not ((share >= 0).all() and share.sum() > 0):
        raise InputError(
            "an allocation holds finite shares or counts, none negative and some positive. Correct it."
        )
    return np.asarray(share / share.sum())


def _pairs(problem: Problem) -> pd.DataFrame:
    """Return a row per pair, in the order of a table's cells."""
    k, c = np.indices(problem.shape).reshape(2, -1)
    return pd.concat([problem.alternatives.frame(k), problem.contexts.frame(c)], axis=1)

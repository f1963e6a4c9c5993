"""TS and TS+: the two-stage procedures for linear models, with a fixed budget or a fixed confidence."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from argbest.checks import finite, one_of
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.belief import Belief
from argbest.core.decision import Decision
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.core.two_stage import (
    Law,
    constant_h,
    coordinates,
    extreme_design,
    leverage,
    pointwise_law,
    pooled_law,
    residuals,
)
from argbest.errors import InputError, TooFewDataError
from argbest.policies.base import Draws, in_sequence, largest, pick


@dataclass(frozen=True)
class _TwoStage:
    """What TS and TS+ share: shares of the budget in proportion to variances of the first stage.

    Only the contexts nearest to the corners of the context set (`extreme_design`) are simulated, and only
    their replications count. Use the `Linear` model, which carries what is learned there to all contexts. The
    shares are of replications, whatever these cost. Pairs set aside have none; the others divide theirs.

    With a ``confidence`` and a ``delta`` the first stage fixes how many replications of each design pair
    there will be (`second_stage`), and a run ends when it has them. Then the selections are right with that
    probability where the best leads by delta or more.

    Args:
        shares: The share of every pair, [..., alternative, context], summing to 1; None: by the tally at each
            decision.
        confidence: The probability with which selections are to be right.
        delta: The lead of the best alternative from which on that holds.
        contexts: Whether it holds "expected" over the contexts, or in the "worst" one.
        totals: The replications of every pair once they are fixed, [alternative, context].
    """

    shares: Array | None = None  # [..., alternative, context], sum to 1; None: by the tally at each decision
    confidence: float | None = field(default=None, kw_only=True)
    delta: float | None = field(default=None, kw_only=True)
    contexts: str = field(default="expected", kw_only=True)
    totals: IntArray | None = field(default=None, kw_only=True)  # [alternative, context], once they are fixed

    def __post_init__(self) -> None:
        one_of("contexts", self.contexts, ("expected", "worst"))
        if self.confidence is not None:
            finite("confidence", self.confidence, above=0, below=1)
        if (self.confidence is None) != (self.delta is None):
            raise InputError(
                f"got confidence={self.confidence} and delta={self.delta}; give both, for example "
                "confidence=0.95 and the smallest lead that matters as delta, or neither."
            )
        if self.delta is not None:
            finite("delta", self.delta, above=0)

    def begin(self, setting: Setting, tally: Tally) -> Self:
        """Return the policy with its shares fixed by the first stage: q = S² / ΣS², 0 off the design.

        Equal shares where no replication of the first stage varies. With a confidence the totals are fixed.
        """
        if self.confidence is not None and self.delta is not None:
            aim = setting if self.contexts == "expected" else replace(setting, weights=worst_context(setting))
            alpha = 1.0 - self.confidence
            return replace(self, totals=second_stage(tally, aim, self, delta=self.delta, alpha=alpha))
        shares = _proportions(self.variances(setting, tally), _open(setting, _geometry(setting)[1]))
        return replace(self, shares=shares)

    def finished(self, tally: Tally) -> bool:
        """Return whether all replications that the second stage asked for are in."""
        return self.totals is not None and bool(np.all(tally.count >= self.totals))

    def variances(self, setting: Setting, tally: Tally) -> Array:
        """Return S² of every design pair, 0 for all others, [..., alternative, context].

        Args:
            setting: What is known of the problem.
            tally: The data of the first stage.
        """
        raise NotImplementedError

    def law(self, n0: int, n_points: int, n_coefficients: int) -> Law:
        """Return the law of νS²/σ² for the constant h.

        Args:
            n0: The replications of every design pair in the first stage.
            n_points: The number of design contexts.
            n_coefficients: The coefficients of the line.
        """
        raise NotImplementedError

    def propose(
        self, belief: Belief, tally: Tally, pending: IntArray, setting: Setting, draws: Draws, n: int = 1
    ) -> Decision:
        """Return the design pairs farthest below their share, trials under way included; ties at random.

        The largest n q − N among the design pairs that may be simulated, n the replications at design pairs
        with the one to come. The paper's N(n) = max(current, round(n q)) after n in all asks for the same
        pairs, those with N < n q, but rounds each by itself so that the total only nears n; here it is n. If
        no design pair may be simulated: the alternative farthest below its total share over all contexts, at
        the allowed context nearest to a design context. Once totals are fixed, until they are reached: the
        pairs that lack most.
        """
        candidates, totals = setting.candidates(tally.shape), self.totals
        if totals is not None and np.any(tally.count + pending < totals):
            designed = candidates & (totals > 0)
            lacking = designed if designed.any() else candidates

            def fill_up(_: Belief, count: IntArray, lane: int) -> Decision:
                return pick(largest(np.asarray(totals - count, float), lacking), draws, lane)

            return in_sequence(fill_up, belief, tally.count, pending, n)
        x, design = _geometry(setting)
        design_pairs = _open(setting, design)
        shares = self.variances(setting, tally) if self.shares is None else self.shares
        if self.shares is None or setting.excluded is not None:  # pairs may go after shares were fixed
            shares = _proportions(np.where(design_pairs, shares, 0.0), design_pairs)
        allowed = candidates.any(axis=-2)
        away = ((x[:, None] - x[design]) ** 2).sum(axis=-1).min(axis=-1)
        nearest = np.arange(len(design)) == np.argmin(np.where(allowed, away, np.inf), axis=-1)[..., None]
        usual = np.any(candidates & design, axis=(-2, -1))[..., None, None]
        pairs = candidates & np.where(usual, design, nearest[..., None, :])

        def decide(_: Belief, count: IntArray, lane: int) -> Decision:
            overall = _deficit(shares.sum(axis=-1, keepdims=True), count.sum(axis=-1, keepdims=True))
            score = np.where(usual, _deficit(shares, count * design_pairs), overall)
            return pick(largest(score, pairs), draws, lane)

        return in_sequence(decide, belief, tally.count, pending, n)


@dataclass(frozen=True)
class TS(_TwoStage):
    """Two stages with a guarantee; rewards linear in the context.

    TS of Shen, Hong and Zhang (2021): one variance per alternative, the same at all design contexts.

    S_i² = Σ(Y − zᵀβ_i)² / (n0·m − p) over the design contexts, q_ij = S_i² / ΣS², equal over j. Call `begin`
    after the first stage to fix the shares; else they follow the tally. An alternative needs a replication
    at each of the m design contexts, and more in all than the p = d + 1 coefficients. Where some of its
    design pairs are set aside, S_i² is ΣW / Σ(N − 1) of the others, which need two replications each.
    """

    def variances(self, setting: Setting, tally: Tally) -> Array:
        """Return the residual variance of each alternative at its design pairs."""
        x, design = _geometry(setting)
        pairs = np.broadcast_to(_open(setting, design), tally.shape)
        whole = np.all(pairs == design, axis=-1)
        _require(tally, pairs, np.where(whole, 1, 2)[..., None])
        squares, freedom = residuals(x, tally, np.broadcast_to(design, tally.shape))
        if not np.all(whole):
            squares = np.where(whole, squares, np.where(pairs, tally.m2, 0.0).sum(axis=-1))
            within = np.where(pairs, tally.count - 1, 0).sum(axis=-1)
            freedom = np.where(whole, freedom, np.maximum(within, 1))
        if np.any(freedom < 1):
            raise TooFewDataError(
                f"TS needs more than {x.shape[-1] + 1} replications of every alternative at the design "
                f"contexts {np.flatnonzero(design).tolist()} (by position) to estimate its variance; an "
                "alternative has fewer. Take two or more at each of them first."
            )
        return (squares / freedom)[..., None] * pairs

    def law(self, n0: int, n_points: int, n_coefficients: int) -> Law:
        """Return χ² with n0·m − p degrees of freedom."""
        return pooled_law(n0, n_points, n_coefficients)


@dataclass(frozen=True)
class TSPlus(_TwoStage):
    """Like ts, with a separate variance for every pair.

    TS+ of Shen, Hong and Zhang (2021): a variance of its own for every design pair.

    S_ij² = W_ij / (N_ij − 1), q_ij = S_ij² / ΣS². Call `begin` after the first stage to fix the shares; else
    they follow the tally. Needs two replications of every design pair.
    """

    def variances(self, setting: Setting, tally: Tally) -> Array:
        """Return the sample variance of every design pair."""
        pairs = np.broadcast_to(_open(setting, _geometry(setting)[1]), tally.shape)
        _require(tally, pairs, 2)
        return np.where(pairs, tally.m2 / np.maximum(tally.count - 1, 1), 0.0)

    def law(self, n0: int, n_points: int, n_coefficients: int) -> Law:
        """Return the least of m χ² with n0 − 1 degrees of freedom."""
        return pointwise_law(n0, n_points)


def second_stage(
    tally: Tally, setting: Setting, procedure: _TwoStage, *, delta: float, alpha: float = 0.05
) -> IntArray:
    """Return the total replications of each pair for PCS_E ≥ 1 − alpha, 0 off the design.

    N = max(⌈h² S²/δ²⌉, n0) at every design context (Shen, Hong and Zhang 2021), [..., alternative, context],
    from a first stage of n0 replications of every design pair. Then the alternative with the largest
    prediction is the best with that probability or more (the equation of h takes the comparisons with the
    best for independent, which bounds PCS from below), where it leads by ``delta`` or more and rewards are
    linear and normal; for TS: with one variance per alternative. PCS_E is over ``setting.weights``; for the
    worst context replace them by `worst_context`.

    Args:
        tally: The data of the first stage.
        setting: What is known of the problem.
        procedure: `TS` or `TSPlus`.
        delta: The lead of the best alternative from which on the guarantee holds.
        alpha: One minus the confidence.
    """
    if not 0 < delta < np.inf:
        raise InputError(
            f"delta={delta}; expected a positive number: the smallest lead that matters, in units of reward."
        )
    x, design = _geometry(setting)
    if not np.all(_open(setting, design) == design):
        raise InputError(
            "a pair of the design has been set aside, and without it a second stage can promise nothing. "
            "Fix the simulator there, or leave its alternative out."
        )
    _require(tally, np.broadcast_to(design, tally.shape), 1)
    counts = tally.count[..., design]
    n0 = int(counts.flat[0])
    if np.any(counts != n0):
        raise InputError(
            f"design pairs have from {counts.min()} to {counts.max()} replications; the first stage needs "
            "the same number of each. Pass the tally as it was after the first stage."
        )
    variances = procedure.variances(setting, tally)
    law = procedure.law(n0, int(design.sum()), x.shape[-1] + 1)
    h = constant_h(tally.shape[-2], x[design], x, law, weights=setting.weights, alpha=alpha)
    total = np.maximum(np.ceil(variances * (h / delta) ** 2), n0).astype(np.int64)
    return total * design


def worst_context(setting: Setting) -> Array:
    """Return weights that put all on the context with the least certain prediction, for PCS_M."""
    x, design = _geometry(setting)
    worst = np.argmax(leverage(x[design], x))
    return np.where(np.arange(len(x)) == worst, 1.0, 0.0)


def _geometry(setting: Setting) -> tuple[Array, BoolArray]:
    """Return the contexts' coordinates [context, d], and which belong to the extreme design [context]."""
    x = coordinates(setting.separation)
    marked = np.zeros(len(x), bool)
    marked[extreme_design(x)] = True
    return x, marked


def _open(setting: Setting, design: BoolArray) -> BoolArray:
    """Return which design pairs are not set aside, to broadcast with [..., alternative, context]."""
    return design if setting.excluded is None else design & ~setting.excluded


def _deficit(shares: Array, count: IntArray) -> Array:
    """Return how many replications each pair lacks to its share of all with the one to come."""
    total: IntArray = count.sum(axis=(-2, -1), keepdims=True) + 1
    return np.asarray(shares * total - count)


def _proportions(variances: Array, pairs: BoolArray) -> Array:
    """Return S² / ΣS² per study, equal over the given pairs where all are 0; all 0 if there are no pairs."""
    most = variances.max(axis=(-2, -1), keepdims=True)
    # Over the largest first: a sum of tiny variances must not underflow, nor one of huge ones overflow.
    relative = np.divide(variances, most, out=np.zeros_like(variances), where=most > 0)
    relative = np.where(most > 0, relative, np.where(pairs, 1.0, 0.0))
    total = relative.sum(axis=(-2, -1), keepdims=True)
    return np.asarray(relative / np.where(total > 0, total, 1.0))


def _require(tally: Tally, pairs: BoolArray, least: int | IntArray) -> None:
    """Raise a TooFewDataError if one of the design pairs has fewer than the least number of replications."""
    short = (tally.count < least) & pairs
    if np.any(short):
        *run, k, c = np.argwhere(short)[0].tolist()
        where = f" of run {tuple(run)}" if run else ""
        raise TooFewDataError(
            f"the pair of alternative {k} and design context {c} (by position){where} has "
            f"{tally.count[*run, k, c]} replication(s); the first stage needs "
            f"{np.broadcast_to(least, short.shape)[*run, k, c]} or more of each alternative at contexts "
            f"{np.flatnonzero(pairs[*run].any(axis=0)).tolist()}. Simulate those first."
        )

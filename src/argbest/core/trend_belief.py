"""The belief of the shared-trend GP: alternatives that move together, without the KC × KC matrix.

f_k = f̄_k + T_k (g − ḡ) + η_k with g ~ N(·, S_g) and η_k ~ N(0, R_k) independent, so that
Cov(f_k, f_j) = T_k S_g T_jᵀ + 1{k=j} R_k. The mean f̄_k itself is held, so that an observation that equals it
leaves it exactly where it is.
"""

from dataclasses import dataclass

import numpy as np

from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.belief import of_selected
from argbest.core.correlated import CorrelatedAlternatives, gathered, weight_of
from argbest.core.decision import Decision, at, leading, of_each_context
from argbest.core.kernels import NUGGET
from argbest.core.tally import Tally


@dataclass(frozen=True)
class TrendBelief(CorrelatedAlternatives):
    """A common trend plus independent deviations; probabilities from fixed Sobol points, within bounds."""

    mean: Array  # [..., alternative, context]
    var: Array  # [..., alternative, context]
    noise: Array  # [..., alternative, context]
    loading: Array  # T, [..., alternative, context, latent]: what the trend's values mean for each cell
    own: Array  # R, [..., alternative, context, context]: covariance of what the trend does not explain
    trend: Array  # S_g, [..., latent, latent]

    def cov_with(self, decision: Decision) -> Array:
        """Return T_j S_g T_k[c]ᵀ + 1{j=k} R_k[:, c] for all j; O(K C²)."""
        return self._column(decision, self._direction(decision))

    def difference_var(self, reference: IntArray) -> Array:
        """Return (T_b − T_k) S_g (T_b − T_k)ᵀ + R_b + R_k at each context, 0 for the reference itself.

        The trend's part is Var + Var − 2 Cov in O(C³ + K C²); it loses no more than rounding of the trend's
        variance, and what remains is never less than the deviations' own.
        """
        chosen = of_each_context(reference)
        own = np.einsum("...kcc->...kc", self.own)
        of_trend = np.maximum(self.var - own, 0.0)
        pulled = self.loading[chosen] @ self.trend  # [..., context, latent]
        shared = np.einsum("...kcg,...cg->...kc", self.loading, pulled)
        apart = of_trend + of_selected(of_trend, reference)[..., None, :] - 2.0 * shared
        total: Array = np.maximum(apart, 0.0) + own + own[chosen][..., None, :]
        total[chosen] = 0.0
        return total

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "TrendBelief":
        """Return the exact posterior after n replications with this mean, in O(K C²).

        With a = T_k[c], w = S_g a, v = R_cc + σ²/n, D = a·w + v, u = R_k[:, c]/v: S_g −= wwᵀ/D,
        R_k −= u R_k[c], T_k −= u aᵀ, and mean and variance of all cells by their covariance with (k, c).
        """
        n = np.asarray(n, float)
        direction = self._direction(decision)
        column = self._column(decision, direction)
        block, noise = self._block(decision), at(self.noise, decision)
        row = self.own[(*block, decision.context)]
        own_var = np.take_along_axis(row, np.asarray(decision.context)[..., None], axis=-1)[..., 0]
        weight, own_weight = weight_of(n, at(column, decision), noise), weight_of(n, own_var, noise)
        surprise = (np.asarray(value, float) - at(self.mean, decision)) * weight
        # Weight times one factor, then the other: in this order nothing overflows.
        mean = self.mean + column * surprise[..., None, None]
        var = np.maximum(self.var - (column * weight[..., None, None]) * column, 0.0)
        trend = self.trend - (direction * weight[..., None])[..., :, None] * direction[..., None, :]
        gain = (row * own_weight[..., None])[..., :, None]
        own, loading = self.own.copy(), self.loading.copy()
        loading[block] -= gain * self.loading[(*block, decision.context)][..., None, :]
        own[block] -= gain * row[..., None, :]
        return TrendBelief(mean, var, self.noise, loading, own, trend)

    def draw(self, normals: Array) -> Array:
        """Return joint draws, alternative by alternative: each is drawn, and the trend learns from it.

        P = T_k S_g T_kᵀ + R_k = V Λ Vᵀ, f_k = mean + V Λ½ Vᵀ z; then g shifts by G z and S_g −= G Gᵀ with
        G = S_g T_kᵀ V Λ⁻½ Vᵀ. It is a block Cholesky factorisation of the whole covariance in O(K C³).
        """
        trend, drift = self.trend, np.zeros((*normals.shape[:-2], self.trend.shape[-1]))
        out = np.empty(normals.shape)
        for k in range(normals.shape[-2]):
            loading, z = self.loading[..., k, :, :], normals[..., k, :]
            cross = loading @ trend
            values, vectors = np.linalg.eigh(cross @ np.swapaxes(loading, -1, -2) + self.own[..., k, :, :])
            root = np.sqrt(np.maximum(values, 0.0))
            # Directions that hardly vary teach nothing that is more than rounding.
            kept = values > 1e-13 * values[..., -1:]
            inverse = np.where(kept, 1.0 / np.where(kept, root, 1.0), 0.0)
            turned = np.swapaxes(vectors, -1, -2)
            gain = np.swapaxes(cross, -1, -2) @ (vectors * inverse[..., None, :]) @ turned
            deviation = np.einsum("...ij,s...j->s...i", (vectors * root[..., None, :]) @ turned, z)
            pulled = np.einsum("...cg,s...g->s...c", loading, drift)
            out[..., k, :] = self.mean[..., k, :] + deviation + pulled
            drift = drift + np.einsum("...gj,s...j->s...g", gain, z)
            trend = trend - gain @ np.swapaxes(gain, -1, -2)
        return out

    def _block(self, decision: Decision) -> tuple[IntArray, ...]:
        """Return the index of the decided alternative, one per leading index."""
        return (*leading(self.mean.shape[:-2]), decision.alternative)

    def _direction(self, decision: Decision) -> Array:
        """Return w = S_g T_k[c]ᵀ, [..., latent]."""
        toward: Array = self.loading[(*self._block(decision), decision.context)]
        w: Array = np.einsum("...gh,...h->...g", self.trend, toward)
        return w

    def _column(self, decision: Decision, direction: Array) -> Array:
        """Return the covariance of every cell with the decided one."""
        column: Array = np.einsum("...kcg,...g->...kc", self.loading, direction)
        column[self._block(decision)] += self.own[(*self._block(decision), decision.context)]
        return column

    def _covariances_among(self, study: IntArray, context: IntArray, columns: IntArray) -> Array:
        """Return T S_g Tᵀ + diag R of the listed alternatives in each listed context, [row, m, m]."""
        k, c, latent = self.loading.shape[-3:]
        rows = self.loading.reshape(-1, k, c, latent)[study, :, context, :]
        cov: Array = rows @ self.trend.reshape(-1, latent, latent)[study] @ np.swapaxes(rows, -1, -2)
        own = np.einsum("...kcc->...kc", self.own).reshape(-1, k, c)
        np.einsum("rkk->rk", cov)[...] += own[study, :, context]
        return gathered(cov, columns)


def condition(trend: Array, deviation: Array, constant: Array, noise: Array, tally: Tally) -> TrendBelief:
    """Return the exact belief at the contexts in O(K C³), without jitter.

    ``trend`` is K_g and ``deviation`` K_d, [..., C, C]; ``constant`` m is [...], ``noise`` σ² [..., K, C].
    With A_k = H_kᵀH_k: T_k = I − K_d A_k, R_k = K_d − K_d A_k K_d; with Q = WᵀW = (Λ⁻¹ + K_g)⁻¹:
    S_g = K_g − K_g Q K_g.
    """
    half, weighted, white, pull = _absorb(trend, deviation, constant, noise, tally)
    reach, reach_g = half @ deviation[..., None, :, :], white @ trend
    loading = np.eye(tally.shape[-1]) - np.swapaxes(reach, -1, -2) @ half
    own = deviation[..., None, :, :] - np.swapaxes(reach, -1, -2) @ reach
    of_trend = trend - np.swapaxes(reach_g, -1, -2) @ reach_g
    drift = np.einsum("...ic,...i->...c", reach_g, pull)
    mean = np.einsum("...kic,...ki->...kc", reach, weighted) + constant[..., None, None]
    mean += np.einsum("...kcg,...g->...kc", loading, drift)
    var = np.einsum("...kcg,...kcg->...kc", loading @ of_trend[..., None, :, :], loading)
    var = np.maximum(var, 0.0) + np.maximum(np.einsum("...kcc->...kc", own), 0.0)
    return TrendBelief(mean, var, noise, loading, own, of_trend)


def predict(
    prior: tuple[Array, Array], cross: tuple[Array, Array], constant: Array, noise: Array, tally: Tally
) -> TrendBelief:
    """Return the belief at X new points, each by itself: arrays [X, ..., alternative, 1].

    ``prior`` is (K_g, K_d), [..., C, C], and ``cross`` their rows at the points, [X, ..., C]. A point joins
    the contexts as one never observed: T_k = (−k_dᵀA_k, 1), R_k = K_d(x, x) − k_dᵀA_k k_d. Its noise is the
    alternative's average.
    """
    half, weighted, white, pull = _absorb(*prior, constant, noise, tally)
    scale, own_scale = (each[..., 0, 0] for each in prior)
    reach = np.einsum("...kij,x...j->x...ki", half, cross[1])
    known = np.broadcast_to(prior[0], (len(cross[0]), *prior[0].shape))
    joint = np.concatenate([known, cross[0][..., None]], -1)
    reach_g = white @ joint  # [X, ..., C, C + 1]
    last = np.concatenate([cross[0], np.broadcast_to(scale, cross[0].shape[:-1])[..., None]], -1)
    of_trend = np.concatenate([joint, last[..., None, :]], -2) - np.swapaxes(reach_g, -1, -2) @ reach_g
    loading = -np.einsum("x...ki,...kij->x...kj", reach, half)
    loading = np.concatenate([loading, np.ones((*loading.shape[:-1], 1))], -1)
    own = np.maximum(own_scale[..., None] - np.sum(reach**2, axis=-1), 0.0)
    drift = np.einsum("...ic,...i->...c", reach_g, pull)
    mean = np.sum(reach * weighted, axis=-1) + np.einsum("...kg,...g->...k", loading, drift)
    mean += constant[..., None]
    var = own + np.maximum(np.einsum("...kg,...kg->...k", loading @ of_trend, loading), 0.0)
    every = np.broadcast_to(noise.mean(axis=-1), mean.shape).copy()
    mean, var, every, loading = mean[..., None], var[..., None], every[..., None], loading[..., None, :]
    return TrendBelief(mean, var, every, loading, own[..., None, None], of_trend)


def _absorb(
    trend: Array, deviation: Array, constant: Array, noise: Array, tally: Tally
) -> tuple[Array, Array, Array, Array]:
    """Return H_k and H_k r_k with A_k = H_kᵀH_k, and W and W Λ⁻¹h with WᵀW = Λ½ (I + Λ½ K_g Λ½)⁻¹ Λ½.

    Both brackets have no eigenvalue below 1, so that nothing has to be added to them.
    """
    observed = tally.count > 0
    cells = tally.shape[-2] * tally.shape[-1]
    floor = NUGGET * cells * tally.count * np.einsum("...cc->...c", trend + deviation)[..., None, :]
    variance = np.where(observed, np.maximum(noise, floor), 1.0)
    root = np.sqrt(tally.count / variance)
    residual = np.where(observed, tally.mean - constant[..., None, None], 0.0)
    eye = np.eye(tally.shape[-1])
    bracket = eye + root[..., :, None] * deviation[..., None, :, :] * root[..., None, :]
    half = np.linalg.solve(np.linalg.cholesky(bracket), eye * root[..., None, :])
    weighted = np.einsum("...kij,...kj->...ki", half, residual)
    flat = half.reshape(*half.shape[:-3], -1, half.shape[-1])
    values, vectors = np.linalg.eigh(np.swapaxes(flat, -1, -2) @ flat)
    kept = values > 1e-15 * values[..., -1:]
    size = np.sqrt(np.where(kept, values, 0.0))
    fold = np.swapaxes(vectors, -1, -2)  # Λ½ up to a rotation is size · fold
    lower = np.linalg.cholesky(eye + size[..., :, None] * (fold @ trend @ vectors) * size[..., None, :])
    h = np.einsum("...kij,...ki->...j", half, weighted)
    target = np.where(kept, np.einsum("...ij,...j->...i", fold, h) / np.where(kept, size, 1.0), 0.0)
    solved = np.linalg.solve(lower, np.concatenate([size[..., None] * fold, target[..., None]], -1))
    return half, weighted, solved[..., :-1], solved[..., -1]

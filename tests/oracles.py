"""Slow, literal computations straight from the paper and the textbooks; nothing here is clever."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.linalg import inv, slogdet
from scipy.stats import gamma, lognorm

from argbest.core.arrays import AnyArray, Array, IntArray
from argbest.core.belief import BlockBelief, ByBlocks
from argbest.core.decision import Decision
from argbest.core.tally import Tally, from_observations


@dataclass(frozen=True)
class Data:
    """Observations of one alternative, row by row."""

    x: Array  # [context, coordinate]
    where: IntArray  # [observation]
    y: Array  # [observation]

    @property
    def tally(self) -> Tally:
        """The same as sufficient statistics, [context]."""
        table = from_observations((np.zeros_like(self.where), self.where), self.y, (1, len(self.x)))
        return Tally(table.count[0], table.mean[0], table.m2[0])

    @property
    def separation(self) -> Array:
        return np.moveaxis((self.x[:, None] - self.x) ** 2, -1, 0).copy()


def random_data(rng: np.random.Generator, *, standardised: bool = False) -> Data:
    """Draw a data set: 1 to 3 coordinates, 2 to 14 contexts, some unobserved, some observed often."""
    c, d = int(rng.integers(2, 15)), int(rng.integers(1, 4))
    x = rng.random((c, d))
    prior = kernel("matern12", x, x, np.exp(rng.normal(-1, 1, d)), 1.0)
    reward = np.linalg.cholesky(prior + 1e-9 * np.eye(c)) @ rng.standard_normal(c) * rng.choice([0.1, 1, 10])
    counts = rng.integers(0, 4, c)
    counts[rng.integers(c)] += 2
    counts *= 30 if rng.random() < 0.2 else 1
    where = np.repeat(np.arange(c), counts)
    y = reward[where] + rng.choice([0.01, 0.3, 3]) * rng.standard_normal(len(where))
    return Data(x, where, (y - y.mean()) / y.std(ddof=1) if standardised else y)


def kernel(name: str, x: Array, z: Array, lengthscale: Array, scale: float) -> Array:
    """The kernel matrix, entry by entry, from the general Matérn formula."""
    from scipy.special import gamma as gamma_function
    from scipy.special import kv

    nu = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}.get(name)
    out = np.empty((len(x), len(z)))
    for i, a in enumerate(x):
        for j, b in enumerate(z):
            r = float(np.sqrt(np.sum(((a - b) / lengthscale) ** 2)))
            if nu is None:
                out[i, j] = scale * np.exp(-0.5 * r * r)
            elif r == 0:
                out[i, j] = scale
            else:
                s = np.sqrt(2 * nu) * r
                out[i, j] = scale * 2 ** (1 - nu) / gamma_function(nu) * s**nu * kv(nu, s)
    return out


def posterior(prior: Array, data: Data, constant: float, noise: Array) -> tuple[Array, Array]:
    """Mean and covariance at the contexts from the n×n formulas; ``noise`` is the variance per context."""
    cross = prior[:, data.where]
    a = inv(prior[np.ix_(data.where, data.where)] + np.diag(noise[data.where]))
    return constant + cross @ a @ (data.y - constant), prior - cross @ a @ cross.T


def log_likelihood(prior: Array, data: Data, constant: float, noise: Array) -> float:
    """The multivariate normal log density of all observations."""
    cov = prior[np.ix_(data.where, data.where)] + np.diag(noise[data.where])
    r = data.y - constant
    return float(-0.5 * (r @ inv(cov) @ r + slogdet(cov)[1] + len(r) * np.log(2 * np.pi)))


def log_prior(rules: Array, theta: Array) -> float:
    """The priors' log densities in the parameters themselves."""
    total = 0.0
    for (family, a, b, *_), t in zip(rules, theta, strict=True):
        if family == 1:
            total += gamma.logpdf(np.exp(t), a, scale=1 / b)
        elif family == 2:
            total += lognorm.logpdf(np.exp(t), b, scale=np.exp(a))
    return total


def gp_c_ocba(mean: Array, var: Array, count: IntArray) -> tuple[tuple[int, int], bool]:
    """Algorithm 1 in loops: the decision (first index on ties), and whether it was free of ties."""
    n_alternatives, n_contexts = mean.shape
    lowest, found, tied = np.inf, (0, 0), False
    for c in range(n_contexts):
        b = int(np.argmax(mean[:, c]))
        for k in range(n_alternatives):
            if k != b:
                zeta = (mean[b, c] - mean[k, c]) ** 2 / (var[b, c] + var[k, c])
                tied = zeta == lowest or (tied and zeta > lowest)
                if zeta < lowest:
                    lowest, found = zeta, (k, c)
    k, c = found
    b = int(np.argmax(mean[:, c]))
    psi1 = count[b, c] / var[b, c]
    psi2 = sum(count[j, c] / var[j, c] for j in range(n_alternatives) if j != b)
    return ((b, c) if psi1 < psi2 else (k, c)), not tied


@dataclass(frozen=True)
class DenseBelief:
    """A belief with any covariance between all cells, [alternative, context] flattened; one study only."""

    mean: Array  # [alternative, context]
    cov: Array  # [alternative · context, alternative · context]
    noise: Array  # [alternative, context]

    @property
    def var(self) -> Array:
        return np.asarray(np.diag(self.cov).reshape(self.mean.shape))

    @property
    def own_cov(self) -> None:
        return None

    def cov_with(self, decision: Decision) -> Array:
        return self.cov[:, self._flat(decision)].reshape(self.mean.shape)

    def cov_rows(self, alternative: IntArray, context: IntArray) -> Array:
        rows = self.cov[alternative * self.mean.shape[1] + context]
        return np.asarray(rows.reshape(-1, *self.mean.shape))

    def difference_var(self, reference: IntArray) -> Array:
        out = np.empty_like(self.mean)
        n_contexts = self.mean.shape[1]
        for k, c in np.ndindex(*self.mean.shape):
            i, j = k * n_contexts + c, reference[c] * n_contexts + c
            out[k, c] = self.cov[i, i] + self.cov[j, j] - 2 * self.cov[i, j]
        return out

    def update(self, decision: Decision, value: AnyArray, n: AnyArray | int = 1) -> "DenseBelief":
        i = self._flat(decision)
        column = self.cov[:, i]
        s = column[i] + self.noise.ravel()[i] / n
        mean = self.mean.ravel() + column * (float(value) - self.mean.ravel()[i]) / s
        return DenseBelief(mean.reshape(self.mean.shape), self.cov - np.outer(column, column) / s, self.noise)

    def best_probability(self) -> Array:
        draws = self.draw(np.random.default_rng(0).standard_normal((200_000, *self.mean.shape)))
        winner = np.argmax(draws, axis=1)
        return np.asarray([(winner == k).mean(axis=0) for k in range(len(self.mean))])

    def good_probability(self, selected: IntArray, delta: float = 0.0) -> Array:
        return np.asarray(np.mean(self._regret(selected) <= delta, axis=0))

    def expected_loss(self, selected: IntArray) -> Array:
        return np.asarray(np.mean(self._regret(selected), axis=0))

    def lower_bound(self, selected: IntArray, delta: float = 0.0) -> Array:
        return np.zeros(len(selected))

    def draw(self, normals: Array) -> Array:
        values, vectors = np.linalg.eigh(self.cov)
        root = vectors * np.sqrt(np.maximum(values, 0))
        flat = normals.reshape(len(normals), -1) @ root.T
        return np.asarray(self.mean + flat.reshape(len(normals), *self.mean.shape))

    def _regret(self, selected: IntArray) -> Array:
        draws = self.draw(np.random.default_rng(0).standard_normal((200_000, *self.mean.shape)))
        return np.asarray(draws.max(axis=1) - draws[:, selected, np.arange(len(selected))])

    def _flat(self, decision: Decision) -> int:
        k, c = int(decision.alternative), int(decision.context)
        return k * int(self.mean.shape[1]) + c


def random_belief(
    rng: np.random.Generator, lead: tuple[int, ...] = (), shape: tuple[int, int] = (3, 4)
) -> BlockBelief:
    k, c = shape
    root = rng.standard_normal((*lead, k, c, c))
    cov = root @ np.swapaxes(root, -1, -2) / c
    return BlockBelief(rng.standard_normal((*lead, k, c)), cov, rng.random((*lead, k, c)) + 0.1)


def dense(belief: ByBlocks) -> DenseBelief:
    k, c = belief.mean.shape
    cov = np.zeros((k * c, k * c))
    for i in range(k):
        cov[i * c : (i + 1) * c, i * c : (i + 1) * c] = belief.cov[i]
    return DenseBelief(belief.mean, cov, belief.noise)


def contrast(one: Any, other: Any) -> float:
    """Return the contrast ratio (L₁ + 0.05)/(L₂ + 0.05) of the Web Content Accessibility Guidelines."""
    from matplotlib.colors import to_rgb

    light = []
    for colour in (one, other):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour)]
        light.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(light) + 0.05) / (min(light) + 0.05)

"""Random studies for tests of the additive GP, and its covariance straight from the definition."""

from typing import NamedTuple

import numpy as np
import oracles

from argbest.core import priors
from argbest.core.additive import Inputs
from argbest.core.additive_belief import AdditiveBelief
from argbest.core.additive_prior import AdditivePrior
from argbest.core.arrays import Array, IntArray
from argbest.core.conditioning import dense
from argbest.core.priors import Hyperprior
from argbest.core.seen_cells import Data
from argbest.core.setting import Coordinates, Setting
from argbest.core.tally import Tally, from_observations
from argbest.models.additive_gp import AdditiveGP, AdditiveGPParams


class Scales(NamedTuple):
    """One point of the parameter space, not in logarithms."""

    trend_lengths: Array
    alternative_lengths: Array
    lengths: Array
    trend: float
    offset: float
    joint: float
    own: float
    like: float
    noise: float

    @classmethod
    def of(cls, theta: Array, d: int) -> "Scales":
        value = np.exp(theta)
        last = len(theta) - 6
        return cls(value[:d], value[d : last - d], value[last - d : last], *value[last:].tolist())


class Case(NamedTuple):
    z: Array | None  # [alternative, 2]: a number and a category; None: names
    x: Array  # [context, coordinate]
    shape: tuple[int, int]
    where: IntArray  # [observation]: flat cell
    y: Array
    noise: Array  # [alternative, context]: relative

    @property
    def tally(self) -> Tally:
        return from_observations(np.divmod(self.where, self.shape[1]), self.y, self.shape)

    @property
    def setting(self) -> Setting:
        c = len(self.x)
        located = None if self.z is None else Coordinates(self.z, np.array([False, True]))
        return Setting(np.full(c, 1 / c), squares(self.x), np.ones(c, bool), alternatives=located)

    def inputs(self, kernel: str = "matern52") -> Inputs:
        return Inputs(kernel, self.setting.alternatives, self.setting.separation)

    def prior(self, correlation: Array | None = None, **options: object) -> Hyperprior:
        model = AdditiveGP(**options)  # type: ignore[arg-type]
        return model._hyperprior(self.shape, self.setting, correlation=correlation)

    def covariance(self, kernel: str, scales: Scales, points: Array | None = None) -> Array:
        """The definition, over all cells, or those of other contexts against all cells."""
        points = self.x if points is None else points
        trend = oracles.kernel(kernel, points, self.x, scales.trend_lengths, scales.trend)
        near = oracles.kernel(kernel, points, self.x, scales.lengths, 1.0)
        same = np.eye(self.shape[0])
        related = same if self.z is None else self._related(kernel, scales.alternative_lengths)
        everywhere = np.ones(near.shape)
        total = np.kron(np.ones_like(same), trend) + scales.offset * np.kron(related, everywhere)
        total = total + scales.joint * np.kron(related, near) + scales.own * np.kron(same, near)
        return np.asarray(total, float)

    def _related(self, kernel: str, lengths: Array) -> Array:
        """A category is a corner of a simplex whose corners are at distance 1."""
        assert self.z is not None
        corners = (self.z[:, 1:] == np.unique(self.z[:, 1])) / np.sqrt(2.0)
        place = np.column_stack([self.z[:, 0], corners])
        every = np.concatenate([lengths[:1], np.full(corners.shape[1], lengths[1])])
        return oracles.kernel(kernel, place, place, every, 1.0)


def squares(points: Array) -> Array:
    return np.moveaxis((points[:, None] - points) ** 2, -1, 0).copy()


def case(rng: np.random.Generator, *, names: bool = False, most: tuple[int, int] = (6, 8)) -> Case:
    """Draw a study: a trend, alternatives that resemble their neighbours, some cells unobserved."""
    k, c = int(rng.integers(3, most[0] + 1)), int(rng.integers(2, most[1] + 1))
    x = rng.random((c, int(rng.integers(1, 3))))
    z = np.column_stack([rng.random(k), rng.integers(0, 3, k).astype(float)])
    where = np.append(np.repeat(np.arange(k * c), rng.integers(0, 4, k * c)), [0, 0, k * c - 1])
    truth = 2 * np.cos(3 * x[:, 0]) + np.sin(4 * z[:, :1] + 3 * x[:, 0]) + 0.3 * rng.normal(size=(k, c))
    y = truth.ravel()[where] + 0.3 * rng.normal(size=len(where))
    y = (y - y.mean()) / y.std(ddof=1)
    return Case(None if names else z, x, (k, c), where, y, np.exp(rng.normal(0, 0.5, (k, c))))


def params(one: Case, theta: Array) -> AdditiveGPParams:
    """The parameters at a point, taken for a fit to outcomes that need no standardisation."""
    scales, none = Scales.of(theta, one.x.shape[1]), np.array(0)
    return AdditiveGPParams(
        trend_lengthscale=scales.trend_lengths,
        alternative_lengthscale=scales.alternative_lengths,
        lengthscale=scales.lengths,
        trend=np.array(scales.trend),
        offset=np.array(scales.offset),
        joint=np.array(scales.joint),
        own=np.array(scales.own),
        noise=scales.noise * one.noise,
        correlation=np.zeros(one.shape[1]),
        constant=np.array(0.0),
        theta=theta,
        hessian=np.eye(len(theta)),
        shift=np.array(0.3),
        spread=np.array(1.0),
        fitted=np.zeros(one.shape, np.int64),
        searched=none,
        status=none,
        changed=np.array(True),
        noise_like=np.array(scales.like),
    )


def posterior(one: Case, theta: Array, tally: Tally, points: Array | None = None) -> tuple[Array, Array]:
    """Mean and covariance of all cells given the cells' means, the constant flat: universal kriging."""
    scales = Scales.of(theta, one.x.shape[1])
    seen = np.flatnonzero(tally.count.ravel())
    prior = one.covariance("matern52", scales)
    noisy = prior[np.ix_(seen, seen)] + np.diag(
        (scales.noise * one.noise / np.maximum(tally.count, 1)).ravel()[seen]
    )
    cross = (prior if points is None else one.covariance("matern52", scales, points))[:, seen]
    other = Case(one.z, one.x if points is None else points, one.shape, one.where, one.y, one.noise)
    own = prior if points is None else other.covariance("matern52", scales)
    return kriged(noisy, tally.mean.ravel()[seen], cross, own)


def kriged(noisy: Array, y: Array, cross: Array, own: Array) -> tuple[Array, Array]:
    """Mean and covariance of what has covariance ``cross`` with the values y, the constant flat."""
    precision, ones = np.linalg.inv(noisy), np.ones(len(y))
    below = ones @ precision @ ones
    constant = ones @ precision @ y / below
    gain = cross @ precision
    left = 1.0 - gain @ ones
    return constant + gain @ (y - constant), own - gain @ cross.T + np.outer(left, left) / below


def log_density(noisy: Array, y: Array) -> tuple[float, float]:
    """log ∫ N(y; m, S) dm, the constant flat, and its estimate."""
    precision, ones, n = np.linalg.inv(noisy), np.ones(len(y)), len(y)
    below = float(ones @ precision @ ones)
    constant = float(ones @ precision @ y) / below
    rest = y - constant
    log_determinant = float(np.linalg.slogdet(noisy)[1])
    value = -0.5 * ((n - 1) * np.log(2 * np.pi) + log_determinant + rest @ precision @ rest + np.log(below))
    return float(value), constant


def log_prior(rules: Array, theta: Array) -> float:
    """Σ (a − 1) θ − b e^θ over the parameters that have a prior: unnormalised densities of θ."""
    free = rules[:, 0] == priors.GAMMA
    a, b = rules[free, 1], rules[free, 2]
    return float(np.sum((a - 1) * theta[free] - b * np.exp(theta[free])))


def random_theta(rng: np.random.Generator, prior: Hyperprior) -> Array:
    theta: Array = prior.starts[rng.integers(len(prior.starts))] + rng.normal(0, 0.7, len(prior.rules))
    return np.clip(theta, prior.rules[:, 3], prior.rules[:, 4])


def crowd(k: int, c: int, observed: int, spread: float = 1.0) -> tuple[Setting, Tally, AdditiveBelief]:
    """Alternatives scattered over a square, of whose cells a few were observed twice."""
    rng, one = np.random.default_rng(0), np.array(1.0)
    z, x = rng.random((k, 2)), np.linspace(0, 1, c)[:, None]
    located = Coordinates(z, np.zeros(2, bool))
    where = Setting(np.full(c, 1 / c), squares(x), np.ones(c, bool), alternatives=located)
    near = priors.covariance("matern52", where.separation, np.array([0.5]), one)
    prior = AdditivePrior("matern52", located, np.full(2, 0.3), near, near, 0.1 * one, one, 0.05 * one)
    count = np.zeros((k, c), np.int64)
    count.flat[rng.choice(k * c, observed, replace=False)] = 2
    mean = np.where(count > 0, spread * np.sin(3 * z[:, :1]) + 0.5 * rng.normal(size=(k, c)), 0.0)
    tally = Tally(count, mean, count.astype(float))
    return where, tally, dense(prior, Data(tally, np.full((k, c), 0.5), np.array(0.0)))

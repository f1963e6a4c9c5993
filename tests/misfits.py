"""Studies in which the model holds, and families of studies in which it does not, for the model check.

Eight alternatives by eight contexts with smooth means of a range of about two. Contexts are numbers,
alternatives are numbers or names. Alternatives share half of their noise where the study has common random
numbers.
"""

import warnings
from collections.abc import Callable

import numpy as np
from scipy import special

from argbest import Problem, Study
from argbest.answers.model_check import ModelCheck
from argbest.core.arrays import Array
from argbest.errors import DataNotice

K, C, PER_PAIR = 8, 8, 5
SD = 0.3  # of one replication
A, X = np.linspace(0.0, 1.0, K)[:, None], np.linspace(0.0, 1.0, C)

Draw = Callable[[int, int, Array], float]  # of alternative, context and two standard normal numbers
Family = Callable[[np.random.Generator], Draw]


def smooth(rng: np.random.Generator) -> Array:
    """Means: a common trend, a lead of every alternative that drifts slowly, all waves of random phase."""
    p, q, r = rng.uniform(0.0, 2.0 * np.pi, 3)
    waves = 0.6 * np.sin(3.0 * X + p) + 0.4 * np.sin(2.5 * A + q) + 0.3 * np.sin(2.0 * (A + X) + r)
    return np.asarray(waves)


def normal(rng: np.random.Generator) -> Draw:
    """The model holds: in half of the studies the noise differs from pair to pair."""
    mean, sd = smooth(rng), SD * np.exp(0.4 * rng.normal(size=(K, C)) * rng.integers(2))
    return lambda k, c, g: mean[k, c] + sd[k, c] * g[0]


def drawn(rng: np.random.Generator) -> Draw:
    """The model holds: means are a draw from Gaussian processes, a trend and what is each one's own."""
    near = np.exp(-0.5 * ((X[:, None] - X) / 0.35) ** 2) + 1e-9 * np.eye(C)
    root = np.linalg.cholesky(near)
    mean = 0.6 * (root @ rng.normal(size=C)) + 0.4 * (root @ rng.normal(size=(C, K))).T
    return lambda k, c, g: mean[k, c] + SD * g[0]


def zero_or_one(rng: np.random.Generator) -> Draw:
    """Successes, whose probability goes from nearly never to nearly always along the contexts."""
    p = special.expit(12.0 * (X - 0.3 - 0.4 * A) + rng.normal(0.0, 0.5, (K, 1)))
    return lambda k, c, g: float(special.ndtr(g[0]) < p[k, c])


def rounded(rng: np.random.Generator) -> Draw:
    """Rewards in steps of about two standard deviations."""
    mean = smooth(rng)
    return lambda k, c, g: 0.5 * round((mean[k, c] + SD * g[0]) / 0.5)


def nearly_exact(rng: np.random.Generator) -> Draw:
    """Rewards without noise, but for something in one of ten replications."""
    mean = smooth(rng)
    return lambda k, c, g: mean[k, c] - (special.ndtr(g[1]) < 0.1) * (1.0 + 0.2 * g[0])


def rarely_a_loss(rng: np.random.Generator) -> Draw:
    """Little noise, and a large loss in one of thirty replications."""
    mean = smooth(rng)
    return lambda k, c, g: mean[k, c] + 0.1 * g[0] - 3.0 * (special.ndtr(g[1]) < 1 / 30)


def one_pair_off(rng: np.random.Generator) -> Draw:
    """One pair's mean is four standard deviations of a replication away from where it belongs."""
    mean = smooth(rng)
    mean[rng.integers(K), rng.integers(C)] += 4.0 * SD * rng.choice([-1, 1])
    return lambda k, c, g: mean[k, c] + SD * g[0]


def steps(rng: np.random.Generator) -> Draw:
    """Three alternatives step up or down by four standard deviations, each somewhere in the middle."""
    mean = smooth(rng)
    for k in rng.choice(K, 3, replace=False):
        mean[k, rng.integers(2, C - 1) :] += 4.0 * SD * rng.choice([-1, 1])
    return lambda k, c, g: mean[k, c] + SD * g[0]


def heavy_tails(rng: np.random.Generator) -> Draw:
    """Noise of Student's distribution with three degrees of freedom."""
    mean = smooth(rng)
    return lambda k, c, g: mean[k, c] + SD * float(special.stdtrit(3, special.ndtr(g[0])))


HOLD: tuple[Family, ...] = (normal, drawn)
MISFITS: tuple[Family, ...] = (
    zero_or_one, rounded, nearly_exact, rarely_a_loss, one_pair_off, steps, heavy_tails,
)  # fmt: skip


def checked(family: Family, seed: int, *, adaptive: bool = False, named: bool = False) -> ModelCheck:
    """Return the check of `study_of`."""
    return study_of(family, seed, adaptive=adaptive, named=named).model_check()


def study_of(family: Family, seed: int, *, adaptive: bool = False, named: bool = False) -> Study:
    """Return a study with the default model and policy; alternatives are numbers, or names if ``named``.

    Every pair is simulated five times; or, if ``adaptive``, as often as the policy wants after the usual
    initial design. Studies with even seeds have common random numbers.
    """
    draw, common = family(np.random.default_rng([seed, 7])), seed % 2 == 0
    alternatives = list("ABCDEFGH") if named else A[:, 0].tolist()

    def simulate(alternative: object, context: float, random: int) -> float:
        k, c = alternatives.index(alternative), round(context * (C - 1))
        shared = np.random.default_rng([random, 0]).standard_normal(2)
        own = np.random.default_rng([random, 1 + k]).standard_normal(2)
        return draw(k, c, np.sqrt(0.5) * (shared + own))

    problem = Problem(alternatives, X.tolist(), simulate)
    initial = "auto" if adaptive else PER_PAIR
    study = Study(problem, seed=seed, common_random_numbers=common, initial=initial)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        return study.run(K * C * PER_PAIR)

"""A joint GP that learns where alternatives lie: for mere names, some of which may behave alike."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.checks import whole
from argbest.core import kernels
from argbest.core.arrays import Array, BoolArray
from argbest.core.priors import FLAT, STUDY_LENGTH, STUDY_NOISE, STUDY_SCALE, Hyperprior
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.models.crossed import CrossedGP, check_size
from argbest.models.options import STUDY_NOISES, check_kernel, check_noise_shape, checked_noise

LENGTH_RANGE = (0.05, 2.0)  # of the embeddings
_SEED = 20210901  # of the random starts: the same in every fit
_SPREAD = 0.5  # their standard deviation


@dataclass(frozen=True, eq=False)
class LatentGP(CrossedGP):
    """f ~ GP(m, scale · κ_A(e_k, e_k′) · κ_C(c, c′)) with learned e_k in [−1, 1]^dimensions and κ_A RBF.

    MAP hyper-parameters on outcomes standardised over the whole study; flat priors on the embeddings and on
    their lengthscale, at most 2. There are many maxima; the best of several searches counts: from the
    principal directions of the table of means, from ``restarts`` random points (the same in every fit), and
    from points far apart (alternatives hardly related). Another order of the alternatives changes nothing
    but that order, up to rounding and unless their means tie. The embeddings are only determined up to
    shifts, rotations and reflections. Other options are those of `argbest.models.joint_gp.JointGP`; at most
    1,000 pairs, and 200 in many studies at once.
    """

    name: ClassVar[str] = "latent-gp"
    first_steps: ClassVar[int] = 30

    kernel: str = "matern52"
    dimensions: int = 1
    restarts: int = 8
    noise: str = "pooled"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        for name, least in (("dimensions", 1), ("restarts", 0)):
            object.__setattr__(self, name, whole(name, getattr(self, name), at_least=least))
        object.__setattr__(self, "noise_sd", checked_noise(self.noise, self.noise_sd, STUDY_NOISES))

    def check(self, shape: tuple[int, int], setting: Setting) -> None:  # noqa: ARG002
        """Raise an InputError if there are too many pairs."""
        check_size(shape, self.name)
        check_noise_shape(self.noise_sd, shape)

    def _alternatives(self, n: int, setting: Setting) -> tuple[str, Array, int]:  # noqa: ARG002
        return "rbf", np.zeros((1, n, n)), self.dimensions

    def _hyperprior(self, n: int, setting: Setting) -> Hyperprior:
        d = len(setting.separation)
        place = [FLAT, 0.0, 0.0, -1.0, 1.0]
        length = [FLAT, 0.0, 0.0, *np.log(LENGTH_RANGE)]
        rules = [*[place] * (n * self.dimensions), length, *[STUDY_LENGTH] * d, STUDY_SCALE, STUDY_NOISE]
        # Lengthscale of the embeddings, of the contexts, scale and noise; `_placed` fills in the embeddings.
        rest = [[1.0, *[0.5] * d, 1.0, 0.1]] * (1 + self.restarts)
        rest.append([2 * LENGTH_RANGE[0], *[0.3] * d, 1.0, 0.01])
        return Hyperprior(
            np.array(rules), np.concatenate([np.zeros((len(rest), n * self.dimensions)), np.log(rest)], 1)
        )

    def _placed(self, points: Array, data: Tally) -> Array:
        """Return the starts with the embeddings of the full search, the last ones, filled in."""
        n, q = data.shape[-2], self.dimensions
        observed = data.count > 0
        table = _without_context(data.mean, observed)
        drawn = _SPREAD * np.random.default_rng(_SEED).standard_normal((self.restarts, n, q))
        # Rows go to alternatives in the order of their means, so that names and positions do not matter.
        rank = np.argsort(np.argsort(table.sum(axis=-1), axis=-1), axis=-1)
        fixed = np.concatenate([drawn, _apart(n, q)[None]])[:, rank]  # [s, study, alternative, q]
        embeddings = np.concatenate([_principal(table, q)[None], fixed])
        filled, shape = points.copy(), (len(points), len(embeddings), n * q)
        # A start that is none, NaN, stays one.
        filled[:, -len(embeddings) :, : n * q] += np.moveaxis(embeddings, 0, 1).reshape(shape)
        return filled

    def _relation(self, embedding: Array, lengthscale: Array, setting: Setting) -> Array:  # noqa: ARG002
        apart = embedding[..., :, None, :] - embedding[..., None, :, :]
        correlation, _ = kernels.KERNELS["rbf"]
        relation: Array = correlation(np.sum(apart**2, axis=-1) / lengthscale[..., None] ** 2)
        return relation


def _without_context(mean: Array, observed: BoolArray) -> Array:
    """Return the table less the average of every context, 0 where nothing was observed."""
    average = np.sum(mean * observed, axis=-2, keepdims=True) / np.maximum(
        observed.sum(axis=-2, keepdims=True), 1
    )
    return np.where(observed, mean - average, 0.0)


def _principal(table: Array, q: int) -> Array:
    """Return the alternatives' scores on the first q principal directions, in [−0.9, 0.9], [..., K, q].

    Of the two signs the one that makes the score of the largest size positive.
    """
    k, c = table.shape[-2:]
    vectors, sizes, _ = np.linalg.svd(table, full_matrices=False)
    scores = np.zeros((*table.shape[:-1], q))
    kept = min(q, k, c)
    scores[..., :kept] = vectors[..., :kept] * sizes[..., None, :kept]
    largest = np.take_along_axis(scores, np.argmax(np.abs(scores), axis=-2)[..., None, :], axis=-2)
    unit = np.where(largest == 0, 1.0, np.sign(largest))
    size = np.max(np.abs(scores), axis=(-2, -1), keepdims=True)
    return np.asarray(0.9 * unit * scores / np.where(size > 0, size, 1.0))


def _apart(n: int, q: int) -> Array:
    """Return n points spread over [−1, 1]^q: even steps in the first coordinate, a Kronecker sequence on."""
    steps = np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)
    others = [2.0 * ((np.arange(n) * 2.0 ** (g / q)) % 1.0) - 1.0 for g in range(1, q)]
    return np.stack([steps, *others], axis=-1)

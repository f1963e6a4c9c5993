"""One Gaussian process over alternatives × contexts: for alternatives that have coordinates."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from argbest.core import kernels
from argbest.core.arrays import Array
from argbest.core.priors import STUDY_LENGTH, STUDY_NOISE, STUDY_SCALE, Hyperprior
from argbest.core.setting import Setting
from argbest.errors import InputError
from argbest.models.crossed import CrossedGP, check_size
from argbest.models.options import STUDY_NOISES, check_kernel, check_noise_shape, checked_noise


@dataclass(frozen=True, eq=False)
class JointGP(CrossedGP):
    """f ~ GP(m, scale · κ_A(k, k′) · κ_C(c, c′)) with both kernels of one family, and ARD.

    MAP hyper-parameters on outcomes standardised over the whole study. ``kernel`` is rbf, matern12, matern32
    or matern52. ``noise`` is one learned level for all pairs ("pooled"), or one per "pair" by shrinkage;
    ``noise_sd`` is the standard deviation of one observation where it is known: a number, or a table
    [alternative, context]. At most 1,000 pairs, and 200 in many studies at once.
    """

    name: ClassVar[str] = "joint-gp"
    first_steps: ClassVar[int] = 200

    kernel: str = "matern52"
    noise: str = "pooled"
    noise_sd: float | Array | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        object.__setattr__(self, "noise_sd", checked_noise(self.noise, self.noise_sd, STUDY_NOISES))

    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if alternatives are mere names, or there are too many pairs."""
        _separation(setting)
        check_size(shape, self.name)
        check_noise_shape(self.noise_sd, shape)

    def _alternatives(self, n: int, setting: Setting) -> tuple[str, Array, int]:  # noqa: ARG002
        return self.kernel, _separation(setting), 0

    def _hyperprior(self, n: int, setting: Setting) -> Hyperprior:  # noqa: ARG002
        """Return the paper's priors on lengths and noise, and a weak exponential one on the scale."""
        lengths = len(_separation(setting)) + len(setting.separation)
        rules = [*[STUDY_LENGTH] * lengths, STUDY_SCALE, STUDY_NOISE]
        starts = [[*[length] * lengths, scale, noise] for length, scale, noise in _STARTS]
        return Hyperprior(np.array(rules), np.log(starts))

    def _relation(self, embedding: Array, lengthscale: Array, setting: Setting) -> Array:  # noqa: ARG002
        return kernels.covariance(
            self.kernel, _separation(setting), lengthscale, np.ones(lengthscale.shape[:-1])
        )


# Lengthscale, scale, noise: in between, smooth, and following the data closely.
_STARTS = ((0.5, 1.0, 0.3), (1.0, 1.0, 0.01), (0.3, 1.0, 0.01))


def _separation(setting: Setting) -> Array:
    """Return the squared distances of the alternatives, or raise an InputError if there are none."""
    if setting.alternative_separation is None:
        raise InputError(
            "joint-gp needs alternatives with coordinates, got mere names. Give every alternative numbers, "
            "or use the model 'latent-gp', which learns coordinates, or 'shared-gp'."
        )
    return setting.alternative_separation

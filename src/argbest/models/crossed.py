"""What GPs over alternatives × contexts share: their parameters, their size limits, and how they learn."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from argbest.core import joint_belief, kernels, scaling
from argbest.core.arrays import Array, BoolArray, IntArray
from argbest.core.joint_belief import JointBelief
from argbest.core.priors import Hyperprior
from argbest.core.setting import Setting
from argbest.core.tally import Tally
from argbest.errors import InputError
from argbest.models.options import noise_table
from argbest.models.refitting import check_fit, scattered, starts, study_changed

if TYPE_CHECKING:
    from argbest.core.fitting import Fit

MAX_CELLS = 1000  # of one study: the cost of a fit grows with the cube, that of an update with the square
MAX_CELLS_VECTORISED = 200  # of many studies at once


@dataclass(frozen=True)
class CrossedParams:
    """Hyper-parameters of a study, in the units of the rewards; leading axes [...]."""

    embedding: Array  # [..., alternative, dimension]: learned coordinates; no dimension where they are given
    relation: Array  # [..., alternative, alternative]: prior correlation of the alternatives
    alternative_lengthscale: Array  # [..., coordinate of alternatives]
    lengthscale: Array  # [..., coordinate of contexts], scaled by their bounds
    scale: Array  # [...]: prior variance of the reward
    noise: Array  # [..., alternative, context]: variance of one observation
    constant: Array  # [...]: prior mean of the reward
    theta: Array  # [..., parameter]: where the search ended, on standardised outcomes
    shift: Array  # [...]: of the standardisation
    spread: Array  # [...]: of the standardisation
    fitted: IntArray  # [..., alternative, context]: observations at the last fit
    searched: IntArray  # [...]: observations at the last full search
    status: IntArray  # [...]: how the search ended
    changed: BoolArray  # [...]: whether the last fit was of this study


def check_size(shape: tuple[int, ...], name: str) -> None:
    """Raise an InputError if one study, or each of many at once, has more pairs than the model can serve."""
    cells, studies = shape[-2] * shape[-1], int(np.prod(shape[:-2]))
    table = f"{shape[-2]} alternatives and {shape[-1]} contexts, {cells:,} pairs"
    if cells > MAX_CELLS:
        raise InputError(
            f"{name} got {table}; it holds the covariance of all pairs and serves at most {MAX_CELLS:,}. "
            "Use fewer contexts, or the model 'shared-gp' or 'gp', whose cost grows far more slowly."
        )
    if studies > 1 and cells > MAX_CELLS_VECTORISED:
        raise InputError(
            f"{name} got {studies} studies at once of {table}; at most {MAX_CELLS_VECTORISED} are served "
            "that way. Run the studies one at a time, or use the model 'shared-gp' or 'gp'."
        )


class CrossedGP(ABC):
    """f ~ GP(m, scale · κ_A(k, k′) · κ_C(c, c′)); where alternatives lie is for the final classes to say."""

    name: ClassVar[str]
    first_steps: ClassVar[int]  # of every start; only the best goes on
    kernel: str  # of the contexts
    noise: str
    noise_sd: float | Array | None

    @abstractmethod
    def check(self, shape: tuple[int, int], setting: Setting) -> None:
        """Raise an InputError if the model cannot serve a table of this shape."""

    @abstractmethod
    def _alternatives(self, n: int, setting: Setting) -> tuple[str, Array, int]:
        """Return the kernel of the alternatives, their squared distances and their learned coordinates."""

    @abstractmethod
    def _hyperprior(self, n: int, setting: Setting) -> Hyperprior:
        """Return the prior of all parameters on standardised outcomes, and where searches start."""

    @abstractmethod
    def _relation(self, embedding: Array, lengthscale: Array, setting: Setting) -> Array:
        """Return the prior correlation of the alternatives, [..., alternative, alternative]."""

    def _placed(self, points: Array, data: Tally) -> Array:  # noqa: ARG002
        """Return the starts [study, s, parameter] adapted to the data; the usual ones need nothing."""
        return points

    def fit(self, tally: Tally, setting: Setting, params: CrossedParams | None = None) -> CrossedParams:
        """Return MAP hyper-parameters, searched from the usual starts or from ``params``.

        A study is searched again when it has new data.
        """
        from argbest.core import joint  # imports Numba, so not before it is needed

        check_size(tally.shape, self.name)
        scale = scaling.standardisation_of_study(tally)
        chosen = study_changed(tally, scale, params)
        whole = scaling.standardise(tally, scale)
        data = whole[chosen]
        prior, noise = noise_table(self, self._hyperprior(tally.shape[-2], setting), tally, scale)
        points, searched = starts(prior, data.count.sum(axis=(-2, -1)), chosen, params)
        kernel, separation, dimensions = self._alternatives(tally.shape[-2], setting)
        product = joint.Product(kernel, separation, self.kernel, setting.separation, dimensions)
        found = joint.fit_map(
            product, data, noise[chosen], prior, self._placed(points, data), first_steps=self.first_steps
        )
        check_fit(found)
        own = scaling.Scaling(scale.shift[..., 0][chosen], scale.spread[..., 0][chosen])
        fresh = self._in_units(found, data.count, searched, noise[chosen], own, setting)
        kept = None if params is None else replace(params, changed=np.zeros_like(chosen))
        return scattered(fresh, chosen, kept)

    def posterior(
        self, tally: Tally, setting: Setting, params: CrossedParams, known: JointBelief | None = None
    ) -> JointBelief:
        """Return the exact posterior at the contexts."""
        chosen = ... if known is None else params.changed
        data = tally[chosen]
        nearness = kernels.covariance(
            self.kernel, setting.separation, params.lengthscale[chosen], params.scale[chosen]
        )
        belief = joint_belief.condition(
            params.relation[chosen], nearness, params.constant[chosen], params.noise[chosen], data
        )
        return belief if known is None else scattered(belief, params.changed, known)

    def predict(
        self, tally: Tally, setting: Setting, params: CrossedParams, separation: Array
    ) -> JointBelief:
        """Return the exact posterior at new contexts, correlated across alternatives.

        Their noise is the alternative's average.
        """
        nearness = kernels.covariance(self.kernel, setting.separation, params.lengthscale, params.scale)
        cross = kernels.covariance(self.kernel, separation, params.lengthscale, params.scale)
        return joint_belief.predict(
            params.relation, nearness, np.moveaxis(cross, -2, 0), params.constant, params.noise, tally
        )

    def _in_units(
        self, found: "Fit", fitted: IntArray, searched: IntArray, noise: Array, scale: scaling.Scaling,
        setting: Setting,
    ) -> CrossedParams:  # fmt: skip
        """Return the parameters found on standardised outcomes in the units of the rewards."""
        theta, (shift, spread), n = found.theta, scale, fitted.shape[-2]
        dimensions = self._alternatives(n, setting)[2]
        first, last = n * dimensions, theta.shape[-1] - 2 - len(setting.separation)
        embedding = theta[..., :first].reshape(*theta.shape[:-1], n, dimensions)
        lengthscale = np.exp(theta[..., first:last])
        return CrossedParams(
            embedding=embedding,
            relation=self._relation(embedding, lengthscale, setting),
            alternative_lengthscale=lengthscale,
            lengthscale=np.exp(theta[..., last:-2]),
            scale=spread**2 * np.exp(theta[..., -2]),
            noise=(spread**2 * np.exp(theta[..., -1]))[..., None, None] * noise,
            constant=shift + spread * found.constant,
            theta=theta,
            shift=shift,
            spread=spread,
            fitted=fitted,
            searched=searched,
            status=found.status,
            changed=np.ones(shift.shape, bool),
        )

"""Certificate: how sure a belief is of its own selections."""

from dataclasses import dataclass

import numpy as np

from argbest.core import certainty
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, best, gaps, of_selected


@dataclass(frozen=True)
class Certificate:
    """Posterior probabilities and losses of the selected alternatives, in the units of the rewards.

    With an indifference zone δ > 0 a selection counts as right when it is within δ of the best. Everything is
    conditional on the model and its fitted hyper-parameters, so it is somewhat too confident on few data.
    """

    selected: IntArray  # [..., context]
    best_probability: Array  # [..., alternative, context]: P(each alternative is best)
    pcs: Array  # [..., context]: P(the selected alternative is right)
    lower_bound: Array  # [..., context]: closed form, Slepian's for independent alternatives (δ = 0)
    bonferroni: Array  # [..., context]: closed form, valid for any belief (δ = 0)
    expected_loss: Array  # [..., context]: E[best reward − selected reward]
    p_all: Array  # [...]: P(right in every context), from joint draws
    p_all_se: Array  # [...]: its Monte Carlo standard error
    weights: Array  # [context]
    delta: float

    @property
    def pcs_e(self) -> Array:
        """Σ_c w_c PCS(c), [...]."""
        return np.asarray(self.pcs @ self.weights)

    @property
    def pcs_m(self) -> Array:
        """min_c PCS(c), [...]."""
        return np.asarray(self.pcs.min(axis=-1))

    @property
    def eoc(self) -> Array:
        """Expected opportunity cost Σ_c w_c E[best − selected], [...]."""
        return np.asarray(self.expected_loss @ self.weights)

    def __str__(self) -> str:
        right = "right" if not self.delta else f"within {self.delta:g} of the best"
        return (
            f"selections {right}: PCS_E {_show(self.pcs_e)} (weighted over contexts), "
            f"PCS_M {_show(self.pcs_m)} (worst context), "
            f"P(all contexts) {_show(self.p_all)} ± {_show(self.p_all_se)}, "
            f"expected opportunity cost {_show(self.eoc, '.4g')}"
        )


def certify(belief: Belief, weights: Array, normals: Array, delta: float = 0.0) -> Certificate:
    """Return the certificate of choosing the largest mean in every context.

    ``normals`` [draw, ..., alternative, context] are standard normal; they only serve P(all contexts).
    """
    selected = best(belief)
    gap, tau = gaps(belief, selected), np.sqrt(belief.difference_var(selected))
    draws = belief.draw(normals)
    regret = draws.max(axis=-2) - of_selected(draws, np.broadcast_to(selected, (len(draws), *selected.shape)))
    p_all = np.mean(np.all(regret <= delta, axis=-1), axis=0)
    return Certificate(
        selected=selected,
        best_probability=belief.best_probability(),
        pcs=belief.good_probability(selected, delta),
        lower_bound=belief.lower_bound(selected),
        bonferroni=certainty.bonferroni_bound(gap, tau, selected),
        expected_loss=belief.expected_loss(selected),
        p_all=p_all,
        p_all_se=np.sqrt(p_all * (1.0 - p_all) / len(draws)),
        weights=weights,
        delta=delta,
    )


def _show(values: Array, form: str = ".3f") -> str:
    return format(float(values), form) if values.ndim == 0 else np.array2string(values, precision=3)

"""Certificate: how sure a belief is of its own selections."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from argbest.core import certainty
from argbest.core.arrays import Array, IntArray
from argbest.core.belief import Belief, best, gaps, of_selected


@dataclass(frozen=True, eq=False)
class Certificate:
    """Posterior probabilities and losses of choosing the largest mean in every context.

    With an indifference zone δ > 0 a selection counts as right when it is within δ of the best. Everything is
    conditional on the model and its fitted hyper-parameters, so it is somewhat too confident on few data.
    Numbers are worked out when they are first asked for.
    """

    belief: Belief
    weights: Array  # [context]
    normals: Array  # [draw, ..., alternative, context]: standard normal, for the joint probability alone
    delta: float = 0.0

    @cached_property
    def selected(self) -> IntArray:
        """The selected alternative, [..., context]."""
        return best(self.belief)

    @cached_property
    def best_probability(self) -> Array:
        """P(each alternative is best), [..., alternative, context]."""
        return self.belief.best_probability()

    @cached_property
    def pcs(self) -> Array:
        """P(the selected alternative is right), [..., context]."""
        return self.belief.good_probability(self.selected, self.delta)

    @cached_property
    def lower_bound(self) -> Array:
        """The sharpest closed-form lower bound of ``pcs``: Slepian's for independent alternatives."""
        return self.belief.lower_bound(self.selected, self.delta)

    @cached_property
    def bonferroni(self) -> Array:
        """Bonferroni's lower bound of ``pcs``, valid for any belief, [..., context]."""
        tau = np.sqrt(self.belief.difference_var(self.selected))
        return certainty.bonferroni_bound(gaps(self.belief, self.selected) + self.delta, tau, self.selected)

    @cached_property
    def expected_loss(self) -> Array:
        """E[best reward − selected reward], [..., context]."""
        return self.belief.expected_loss(self.selected)

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

    @cached_property
    def p_all(self) -> Array:
        """P(right in every context), [...], from joint draws."""
        draws = self.belief.draw(self.normals)
        selected = np.broadcast_to(self.selected, (len(draws), *self.selected.shape))
        regret = draws.max(axis=-2) - of_selected(draws, selected)
        return np.asarray(np.mean(np.all(regret <= self.delta, axis=-1), axis=0))

    @property
    def p_all_se(self) -> Array:
        """The Monte Carlo standard error of ``p_all``; two more draws, one of each kind, keep it from 0."""
        n = len(self.normals)
        share = (n * self.p_all + 1.0) / (n + 2.0)
        return np.sqrt(share * (1.0 - share) / (n + 2.0))

    def __str__(self) -> str:
        right = "right" if not self.delta else f"within {self.delta:g} of the best"
        return (
            f"selections {right}: PCS_E {_show(self.pcs_e)} (weighted over contexts), "
            f"PCS_M {_show(self.pcs_m)} (worst context), "
            f"P(all contexts) {_show(self.p_all)} ± {_show(self.p_all_se)}, "
            f"expected opportunity cost {_show(self.eoc, '.4g')}"
        )


def _show(values: Array, form: str = ".3f") -> str:
    return format(float(values), form) if values.ndim == 0 else np.array2string(values, precision=3)

"""Statistical models: a tally in, a belief out."""

from typing import TYPE_CHECKING

from argbest import lazy

if TYPE_CHECKING:
    from argbest.models.additive_gp import AdditiveGP
    from argbest.models.base import Model
    from argbest.models.gp import GP
    from argbest.models.independent import Independent
    from argbest.models.linear import Linear

__getattr__, __dir__ = lazy.attributes(
    "argbest.models",
    {
        "additive_gp": "AdditiveGP",
        "base": "Model",
        "gp": "GP",
        "independent": "Independent",
        "linear": "Linear",
    },
)

__all__ = ["GP", "AdditiveGP", "Independent", "Linear", "Model"]

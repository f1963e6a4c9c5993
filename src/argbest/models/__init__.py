"""Statistical models: a tally in, a belief out."""

from typing import TYPE_CHECKING

from argbest import lazy

if TYPE_CHECKING:
    from argbest.models.additive_gp import AdditiveGP
    from argbest.models.base import Model
    from argbest.models.frequentist import Independent, Linear
    from argbest.models.gp import GP

__getattr__, __dir__ = lazy.attributes(
    "argbest.models",
    {"additive_gp": "AdditiveGP", "base": "Model", "gp": "GP", "frequentist": "Independent Linear"},
)

__all__ = ["GP", "AdditiveGP", "Independent", "Linear", "Model"]

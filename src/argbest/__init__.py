"""argbest: the best alternative for every context, from noisy simulations, with a certificate."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from argbest import lazy

if TYPE_CHECKING:
    from argbest import experiment, models, policies, problems, registry, report, testing, theory
    from argbest.answers.guarantee import Guarantee
    from argbest.core.certificate import Certificate
    from argbest.errors import ArgbestError, FitError, InputError, SimulationError, StorageError, TrialError
    from argbest.models.additive_gp import AdditiveGP
    from argbest.models.gp import GP
    from argbest.models.independent import Independent
    from argbest.models.linear import Linear
    from argbest.policies.two_stage import TS, TSPlus
    from argbest.problems.base import Problem
    from argbest.problems.design import EveryPair, ExtremeContexts, RandomContexts, SpaceFilling
    from argbest.simulators.calling import batched, vectorised
    from argbest.simulators.program import Program
    from argbest.study.select import select
    from argbest.study.stopping import ExpectedPCS, Guaranteed, OpportunityCost, WorstPCS
    from argbest.study.study import Study
    from argbest.study.trial import Trial

__version__ = version("argbest")

# Imported when they are first used: a worker that simulates needs none of them, and starts ten times faster.
_MODULES = ("experiment", "models", "policies", "problems", "registry", "report", "testing", "theory")
_WHERE = {
    "Certificate": "core.certificate",
    "ArgbestError": "errors",
    "FitError": "errors",
    "InputError": "errors",
    "SimulationError": "errors",
    "StorageError": "errors",
    "TrialError": "errors",
    "AdditiveGP": "models.additive_gp",
    "GP": "models.gp",
    "Independent": "models.independent",
    "Linear": "models.linear",
    "TS": "policies.two_stage",
    "TSPlus": "policies.two_stage",
    "Problem": "problems.base",
    "EveryPair": "problems.design",
    "ExtremeContexts": "problems.design",
    "RandomContexts": "problems.design",
    "SpaceFilling": "problems.design",
    "Program": "simulators.program",
    "batched": "simulators.calling",
    "vectorised": "simulators.calling",
    "select": "study.select",
    "ExpectedPCS": "study.stopping",
    "Guarantee": "answers.guarantee",
    "Guaranteed": "study.stopping",
    "OpportunityCost": "study.stopping",
    "WorstPCS": "study.stopping",
    "Study": "study.study",
    "Trial": "study.trial",
}

__all__ = [
    "GP",
    "TS",
    "AdditiveGP",
    "ArgbestError",
    "Certificate",
    "EveryPair",
    "ExpectedPCS",
    "ExtremeContexts",
    "FitError",
    "Guarantee",
    "Guaranteed",
    "Independent",
    "InputError",
    "Linear",
    "OpportunityCost",
    "Problem",
    "Program",
    "RandomContexts",
    "SimulationError",
    "SpaceFilling",
    "StorageError",
    "Study",
    "TSPlus",
    "Trial",
    "TrialError",
    "WorstPCS",
    "__version__",
    "batched",
    "experiment",
    "models",
    "policies",
    "problems",
    "registry",
    "report",
    "select",
    "testing",
    "theory",
    "vectorised",
]


_get, __dir__ = lazy.attributes("argbest", {**_WHERE, **dict.fromkeys(_MODULES, "")})


def __getattr__(name: str) -> Any:
    if name not in _WHERE and name not in _MODULES and not name.startswith("_"):
        from argbest.models import retired

        retired.check_class(name)
    return _get(name)

"""argbest: the best alternative for every context, from noisy simulations, with a certificate."""

from typing import TYPE_CHECKING, Any

from argbest import lazy

if TYPE_CHECKING:
    from argbest import experiment, models, policies, problems, questions, registry, report, testing, theory
    from argbest.answers.guarantee import Guarantee
    from argbest.core.certificate import Certificate
    from argbest.errors import ArgbestError, FitError, InputError, SimulationError, StorageError, TrialError
    from argbest.models.additive_gp import AdditiveGP
    from argbest.models.frequentist import Independent, Linear
    from argbest.models.gp import GP
    from argbest.policies.two_stage import TS, TSPlus
    from argbest.problems.base import Problem
    from argbest.problems.design import EveryPair, ExtremeContexts, RandomContexts, SpaceFilling
    from argbest.problems.population import Population
    from argbest.simulators.calling import batched, vectorised
    from argbest.simulators.program import Program
    from argbest.study.run_options import ExpectedPCS, GuaranteedPCS, OpportunityCost, WorstPCS
    from argbest.study.select import select
    from argbest.study.study import Study
    from argbest.study.trial import Trial

    __version__: str

# Imported when they are first used: a worker that simulates needs none of them, and starts ten times faster.
_get, __dir__ = lazy.attributes(
    "argbest",
    {
        "": "experiment models policies problems questions registry report testing theory",
        "answers.guarantee": "Guarantee",
        "core.certificate": "Certificate",
        "errors": "ArgbestError FitError InputError SimulationError StorageError TrialError",
        "models.additive_gp": "AdditiveGP",
        "models.gp": "GP",
        "models.frequentist": "Independent Linear",
        "policies.two_stage": "TS TSPlus",
        "problems.base": "Problem",
        "problems.design": "EveryPair ExtremeContexts RandomContexts SpaceFilling",
        "problems.population": "Population",
        "simulators.calling": "batched vectorised",
        "simulators.program": "Program",
        "study.select": "select",
        "study.run_options": "ExpectedPCS GuaranteedPCS OpportunityCost WorstPCS",
        "study.study": "Study",
        "study.trial": "Trial",
    },
)

__all__ = [
    "GP", "TS", "AdditiveGP", "ArgbestError", "Certificate", "EveryPair", "ExpectedPCS", "ExtremeContexts",
    "FitError", "Guarantee", "GuaranteedPCS", "Independent", "InputError", "Linear", "OpportunityCost",
    "Population", "Problem", "Program", "RandomContexts", "SimulationError", "SpaceFilling", "StorageError",
    "Study", "TSPlus", "Trial", "TrialError", "WorstPCS", "__version__", "batched", "experiment",
    "models", "policies", "problems", "questions", "registry", "report", "select", "testing", "theory",
    "vectorised",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("argbest")
    if name == "Guaranteed":  # for a version
        from argbest.errors import warn_of_old_name
        from argbest.study.run_options import GuaranteedPCS

        warn_of_old_name("argbest.Guaranteed", "argbest.GuaranteedPCS")
        return GuaranteedPCS
    if name not in __all__ and not name.startswith("_"):
        from argbest.models import retired

        retired.check_class(name)
    return _get(name)

"""argbest: the best alternative for every context, from noisy simulations, with a certificate."""

from importlib.metadata import version

from argbest.core.certificate import Certificate
from argbest.errors import ArgbestError, FitError, InputError, SimulationError, StorageError, TrialError
from argbest.models.gp import GP
from argbest.models.independent import Independent
from argbest.models.joint_gp import JointGP
from argbest.models.latent_gp import LatentGP
from argbest.models.linear import Linear
from argbest.models.shared_gp import SharedGP
from argbest.problems.base import Problem
from argbest.problems.design import EveryPair, ExtremeContexts, RandomContexts
from argbest.simulators.calling import batched, vectorised
from argbest.study.select import select
from argbest.study.stopping import ExpectedPCS, OpportunityCost, WorstPCS
from argbest.study.study import Study
from argbest.study.trial import Trial

__version__ = version("argbest")

__all__ = [
    "GP",
    "ArgbestError",
    "Certificate",
    "EveryPair",
    "ExpectedPCS",
    "ExtremeContexts",
    "FitError",
    "Independent",
    "InputError",
    "JointGP",
    "LatentGP",
    "Linear",
    "OpportunityCost",
    "Problem",
    "RandomContexts",
    "SharedGP",
    "SimulationError",
    "StorageError",
    "Study",
    "Trial",
    "TrialError",
    "WorstPCS",
    "__version__",
    "batched",
    "select",
    "vectorised",
]

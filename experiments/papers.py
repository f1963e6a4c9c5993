"""The paper's contenders: every policy with the model that the paper gives it."""

from argbest import registry
from argbest.experiment import Contender

LOOKAHEAD = ("ikg", "ikg-noise-free")  # the policies of the paper that use the weights
WITH_GP = ("gp-c-ocba", *LOOKAHEAD)  # on one GP per alternative
GP = "gp"


def model(policy: str) -> str:
    """Return the name of the paper's model for a policy."""
    return GP if policy in WITH_GP else registry.usual_model(policy)


def contender(policy: str, *, initial: object = None) -> Contender:
    """Return a policy with the paper's model."""
    return Contender(policy, model(policy), initial)

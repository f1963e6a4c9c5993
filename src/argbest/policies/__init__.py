"""Sampling policies: a belief in, a decision out."""

from typing import TYPE_CHECKING

from argbest import lazy

if TYPE_CHECKING:
    from argbest.policies.base import Draws, Moment, OneByOne, Policy, largest
    from argbest.policies.dvr import DVR, DVRM, DVRLoss
    from argbest.policies.equal import Equal, Random
    from argbest.policies.ikg import IKG, LEVI
    from argbest.policies.ocba import COCBA, DSCO, GPCOCBA, OCBA
    from argbest.policies.top_two import TopTwo
    from argbest.policies.two_stage import TS, TSPlus

__getattr__, __dir__ = lazy.attributes(
    "argbest.policies",
    {
        "base": "Draws Moment OneByOne Policy largest",
        "equal": "Equal Random",
        "dvr": "DVR DVRLoss DVRM",
        "ikg": "IKG LEVI",
        "ocba": "COCBA DSCO GPCOCBA OCBA",
        "top_two": "TopTwo",
        "two_stage": "TS TSPlus",
    },
)

__all__ = [
    "COCBA", "DSCO", "DVR", "DVRM", "GPCOCBA", "IKG", "LEVI", "OCBA", "TS", "DVRLoss", "Draws", "Equal",
    "Moment", "OneByOne", "Policy", "Random", "TSPlus", "TopTwo", "largest",
]  # fmt: skip

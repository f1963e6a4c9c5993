"""Sampling policies: a belief in, a decision out."""

from typing import TYPE_CHECKING

from argbest import lazy

if TYPE_CHECKING:
    from argbest.policies.base import Draws, Moment, OneByOne, Policy, largest
    from argbest.policies.dsco import DSCO
    from argbest.policies.dvr import DVR, DVRM, DVRLoss
    from argbest.policies.equal import Equal, Random
    from argbest.policies.gp_c_ocba import GPCOCBA
    from argbest.policies.ikg import IKG
    from argbest.policies.levi import LEVI
    from argbest.policies.ocba import COCBA, OCBA
    from argbest.policies.top_two import TopTwo
    from argbest.policies.two_stage import TS, TSPlus

__getattr__, __dir__ = lazy.attributes(
    "argbest.policies",
    {
        "base": "Draws Moment OneByOne Policy largest",
        "dsco": "DSCO",
        "dvr": "DVR DVRLoss DVRM",
        "equal": "Equal Random",
        "gp_c_ocba": "GPCOCBA",
        "ikg": "IKG",
        "levi": "LEVI",
        "ocba": "COCBA OCBA",
        "top_two": "TopTwo",
        "two_stage": "TS TSPlus",
    },
)

__all__ = [
    "COCBA", "DSCO", "DVR", "DVRM", "GPCOCBA", "IKG", "LEVI", "OCBA", "TS", "DVRLoss", "Draws", "Equal",
    "Moment", "OneByOne", "Policy", "Random", "TSPlus", "TopTwo", "largest",
]  # fmt: skip

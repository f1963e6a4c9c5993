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
        "COCBA": "ocba",
        "DSCO": "dsco",
        "DVR": "dvr",
        "DVRM": "dvr",
        "DVRLoss": "dvr",
        "Equal": "equal",
        "GPCOCBA": "gp_c_ocba",
        "IKG": "ikg",
        "LEVI": "levi",
        "OCBA": "ocba",
        "Random": "equal",
        "TopTwo": "top_two",
        "TS": "two_stage",
        "TSPlus": "two_stage",
        "Policy": "base",
        "Draws": "base",
        "Moment": "base",
        "OneByOne": "base",
        "largest": "base",
    },
)

__all__ = [
    "COCBA",
    "DSCO",
    "DVR",
    "DVRM",
    "GPCOCBA",
    "IKG",
    "LEVI",
    "OCBA",
    "TS",
    "DVRLoss",
    "Draws",
    "Equal",
    "Moment",
    "OneByOne",
    "Policy",
    "Random",
    "TSPlus",
    "TopTwo",
    "largest",
]

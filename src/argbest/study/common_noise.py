"""Whether common random numbers help a study, and what is said of it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from argbest.core import common_noise
from argbest.core.belief import Belief

if TYPE_CHECKING:
    from argbest.study.study import Study


def sentences(study: "Study") -> Iterator[str]:
    """Yield how much of the noise is common to all alternatives, and what became of it."""
    ledger, belief = study._journal.ledger, study._learned().belief
    if np.any(ledger.tally.count > 1) and not ledger.tally.m2.any():
        yield "All replications of a pair gave the same value: the rewards do not depend on the seed."
    elif ledger.parted is not None:
        yield (
            "Alternatives shared random numbers at first. That made their differences less certain, so each "
            "pair has had seeds of its own since."
        )
    elif ledger.tally.common is not None:
        yield _of_shared(study, belief)


def _of_shared(study: "Study", belief: Belief) -> str:
    shocks = getattr(belief, "shocks", None)
    if shocks is not None:
        share = 100 * shocks.correlation
        extent = f", {share.min():.0f} to {share.max():.0f} % by context" if np.ptp(share) >= 1 else ""
        return (
            f"On average {share.mean():.0f} % of the noise of a replication is common to all alternatives "
            f"(common random numbers{extent})."
        )
    if not getattr(study.model, "weighs_common_noise", False):
        return (
            "Alternatives share random numbers, but this model takes their noise as independent. Use "
            "additive-gp, gp or independent to profit from them."
        )
    if common_noise.estimate(study._tally, belief.noise).any():
        return (
            "Alternatives share random numbers, but so many pairs were simulated that their noise counts as "
            "independent: differences are more certain than is said here."
        )
    return (
        "Alternatives share random numbers, but no noise in common was found: it counts as independent. Does "
        "the simulator use its seed?"
    )

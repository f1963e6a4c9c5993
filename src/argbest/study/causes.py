"""Why trials failed: their reasons, grouped by cause."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from argbest.simulators.program import COMMAND

# What differs between failures of one cause: the command that was run, numbers, addresses, identifiers.
_VARYING = re.compile(
    rf"^{COMMAND}.*$|\b0x[0-9a-f]+|\b(?=[a-f-]*\d)[0-9a-f-]{{8,}}\b|[-+]?\d+(?:[.,:]\d+)*(?:e[-+]?\d+)?",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True)
class Cause:
    """Failures that say the same but for numbers and addresses."""

    count: int
    trial: int  # the last of them
    reason: str  # which it gave


def causes(reasons: Mapping[int, str]) -> list[Cause]:
    """Return the causes of failures, given their reasons by trial: the most frequent first."""
    groups: dict[str, list[int]] = {}
    for trial in sorted(reasons):
        groups.setdefault(_VARYING.sub("#", reasons[trial]), []).append(trial)
    found = [Cause(len(group), group[-1], reasons[group[-1]]) for group in groups.values()]
    return sorted(found, key=lambda cause: (-cause.count, -cause.trial))

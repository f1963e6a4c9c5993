"""The classical case of ranking and selection: five alternatives, one context."""

import numpy as np

from argbest.problems.axis import Axis
from argbest.problems.base import Problem
from argbest.problems.noisy_table import table_problem, with_hardness

_MEANS = (1.2, 2.1, 3.4, 4.87, 6.05)
_VARIANCES = (3.3, 2.0, 4.5, 5.3, 6.9)


def classical() -> Problem:
    """Return the textbook's five normal alternatives of unequal variance, the smallest mean being best."""
    problem = table_problem(
        Axis.of("alternative", ["A", "B", "C", "D", "E"]),
        Axis.of("context", ["always"]),
        truth=np.array(_MEANS)[:, None],
        noise_sd=np.sqrt(_VARIANCES)[:, None],
        goal="min",
        name="classical",
        description="A textbook case without contexts: five normal alternatives of unequal variance; "
        "the truth is given",
    )
    return with_hardness(problem)

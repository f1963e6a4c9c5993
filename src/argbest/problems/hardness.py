"""How hard a problem is, in words computed from its tables."""

from dataclasses import replace

import numpy as np

from argbest.problems.base import Problem


def with_hardness(problem: Problem) -> Problem:
    """Return the problem with a last clause in its description: ties, and gaps over the noise."""
    ratio = problem.gap_over_noise
    clauses = []
    tied = sum(len(tie) > 1 for tie in problem.ties)
    if tied:
        clauses.append(f"the best is tied in {tied} of {problem.n_contexts} contexts")
    if tied < problem.n_contexts:
        apart = ratio[ratio > 0]
        spread = f"{apart.min():.2g} to {apart.max():.2g} (median {np.median(apart):.2g})"
        span = spread if len(apart) > 1 else f"{apart[0]:.2g}"
        clauses.append(f"the best leads by {span} noise standard deviations")
    return replace(problem, description=f"{problem.description}; {' and elsewhere '.join(clauses)}.")

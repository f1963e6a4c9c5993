"""Problems: alternatives, contexts, a simulator, and what is known of the truth."""

from typing import TYPE_CHECKING

from argbest import lazy

if TYPE_CHECKING:
    from argbest.problems.base import Problem
    from argbest.problems.catalogue import Family, ProblemEntry, pinned, table, truth
    from argbest.problems.design import EveryPair, ExtremeContexts, RandomContexts, SpaceFilling
    from argbest.problems.noisy_table import NoisyTable, RandomProblem, table_problem

__getattr__, __dir__ = lazy.attributes(
    "argbest.problems",
    {
        "base": "Problem",
        "catalogue": "Family ProblemEntry pinned table truth",
        "design": "EveryPair ExtremeContexts RandomContexts SpaceFilling",
        "noisy_table": "NoisyTable RandomProblem table_problem",
    },
)

__all__ = [
    "EveryPair", "ExtremeContexts", "Family", "NoisyTable", "Problem", "ProblemEntry", "RandomContexts",
    "RandomProblem", "SpaceFilling", "pinned", "table", "table_problem", "truth",
]  # fmt: skip

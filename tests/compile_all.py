"""Compile all numerical code once: tests in several processes would each compile it for themselves."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from argbest.core import additive, evidence, fitting, knowledge_gradient, search
from argbest.problems.covid import disease

ALL: tuple[Callable[[], Any], ...] = (
    additive._objective,
    search.searching,
    disease.run,
    evidence.inverting,
    fitting._objective,
    additive._search,
    fitting._search,
    fitting._evaluate,
    fitting._value,
    fitting._condition,
    knowledge_gradient._bounding,
)


def make(number: int) -> None:
    """Compile one of them, or load it if that was done before."""
    ALL[number]()


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(make, range(len(ALL))))

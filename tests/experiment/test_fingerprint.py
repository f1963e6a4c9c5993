"""What decides the numbers is in the description, and nothing that differs from session to session."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import small_problems

from argbest import EveryPair, Problem, RandomContexts
from argbest.experiment import Contender, Experiment
from argbest.experiment.fingerprint import text
from argbest.problems.design import design


class Thing:
    """An object as users write them."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def method(self) -> None:
        """Do nothing."""

    @cached_property
    def dear(self) -> int:
        return 3


class Slotted:
    """An object without a dict."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


@dataclass
class Record:
    """A dataclass of anything."""

    value: object
    more: dict[str, object] = field(default_factory=dict)


def first() -> None:
    """Be a function."""


def second() -> None:
    """Be another one."""


def capturing(value: object) -> Callable[[], object]:
    return lambda: value


LONG = np.arange(5000.0)
OTHER = np.where(np.arange(5000) == 2500, 0.5, LONG)  # differs where a repr shows three dots
MAKERS: list[Callable[[object], object]] = [
    lambda x: (x,),
    lambda x: (1, x),
    lambda x: [x],
    lambda x: {"a": {"b": x}},
    Record,
    lambda x: Record((0, [Record(x)])),
    lambda x: Thing(a=x),
    lambda x: Thing(inner=Thing(deep=(x,))),
    Slotted,
    lambda x: partial(print, x),
    lambda x: Thing(a=x).method,
    capturing,
]


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, "1"),
        (LONG, OTHER),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(4), np.zeros(4, np.float32)),
        (first, second),
        (Thing, Record),
        (pd.DataFrame({"a": LONG}), pd.DataFrame({"a": OTHER})),
        ((1, 2), [1, 2]),
        (np.array([first, None]), np.array([second, None])),
    ],
)
def test_things_that_differ_deep_inside_are_described_differently(
    maker: Callable[[object], object], one: object, other: object
) -> None:
    assert text(maker(one)) != text(maker(other))


@pytest.mark.parametrize("maker", MAKERS)
def test_things_made_alike_are_described_alike(maker: Callable[[object], object]) -> None:
    assert text(maker(OTHER)) == text(maker(OTHER.copy()))
    assert " at 0x" not in text(maker(Thing(rng=np.random.default_rng(1), lock=first)))


def test_the_order_of_names_and_cached_properties_do_not_matter() -> None:
    assert text({"a": 1, "b": 2}) == text({"b": 2, "a": 1})
    assert text(Thing(a=1, b=2)) == text(Thing(b=2, a=1))
    fresh, used = Thing(a=1), Thing(a=1)
    assert used.dear == 3
    assert text(fresh) == text(used)


def test_a_thing_that_holds_itself_has_an_end() -> None:
    ring = Thing(name="ring")
    ring.__dict__["self"] = [ring]
    assert text(ring).endswith("Thing(name='ring', self=[<2 up>])")


def test_designs_and_names_are_described_as_they_always_were() -> None:
    assert text("gp-c-ocba") == "gp-c-ocba"
    assert text(EveryPair(3)) == "EveryPair(replications=3)"
    assert text(RandomContexts(6, replace=True)) == "RandomContexts(number=6, replace=True)"
    assert text(design([("A", 0.5)])) == "Pairs(named=(('A', 0.5)))"


def problem(simulate: Any = None, **options: Any) -> str:
    table = small_problems.table()
    given: dict[str, Any] = {"truth": table.truth, "bounds": {"x": (0.0, 1.0)}} | options
    made = Problem(table.alternatives, table.contexts, simulate or small_problems.Plain(), **given)
    described: str = Experiment(made, "equal", replications=1).plain()["problem"]
    return described


def test_a_problem_without_a_name_is_described_as_when_all_of_them_were_called_problem() -> None:
    assert problem() == problem(name="problem")
    assert problem().startswith("problem ")
    assert problem(name="mine").startswith("mine ")


def test_the_simulator_and_the_bounds_of_a_problem_count_but_not_its_description() -> None:
    usual = problem()
    assert usual == problem() == problem(description="other words")
    assert usual != problem(bounds={"x": (0.0, 2.0)})
    assert usual != problem(small_problems.Broken())
    assert problem(partial(print, 1)) != problem(partial(print, 2))


def test_policies_and_models_of_your_own_are_told_apart_by_what_they_hold() -> None:
    class Own(Thing):
        def propose(self, *_: Any) -> None:
            """Decide nothing."""

    one, other = (Contender(Own(table=(values,))).plain() for values in (LONG, OTHER))  # type: ignore[arg-type]
    assert one["policy"] != other["policy"]


SESSION = """
import numpy as np
import small_problems
from argbest.experiment import Experiment
from argbest.experiment.fingerprint import text
print(Experiment(small_problems.table(), "equal", replications=1).plain()["problem"])
print(text({"a", "b", "c"}), text(Experiment), text(np.random.default_rng(3)), text(np.random.default_rng))
"""


def test_another_session_describes_it_alike() -> None:
    import os

    shown = [
        subprocess.run(
            [sys.executable, "-c", SESSION],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1]
    assert (
        shown[0].splitlines()[0]
        == Experiment(small_problems.table(), "equal", replications=1).plain()["problem"]
    )

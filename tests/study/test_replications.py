"""Replications in the order of their numbers, whatever the order in which they arrive."""

import gc
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from argbest import Problem, Study
from argbest.core.replications import PLACE, ReplicationStore
from argbest.study.separations import InOrder

SHAPE = (3, 2)
Outcome: TypeAlias = tuple[float, ...] | None
VALUES = st.lists(st.floats(-9, 9), min_size=1, max_size=3).map(tuple)
CELLS = st.lists(st.one_of(st.none(), VALUES), max_size=6)  # what each number of a pair gave, None: a failure


class Told:
    """A store, and which of its rows are in order."""

    def __init__(self, arrivals: list[tuple[tuple[int, int], int, Outcome]] = ()) -> None:  # type: ignore[assignment]
        self.store = ReplicationStore()
        self.order = InOrder(SHAPE, self.store)
        for arrival in arrivals:
            self.end(*arrival)

    def end(self, pair: tuple[int, int], number: int, values: Outcome) -> None:
        first = len(self.store)
        for i, value in enumerate(values or ()):
            self.store.append(*pair, number + i * PLACE, value, shared=True)
        self.order.end(pair, number, range(first, len(self.store)))


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 1)), CELLS), st.randoms(), st.data())
def test_what_counts_is_the_prefix_that_has_ended_in_the_order_of_numbers(
    cells: dict[tuple[int, int], list[Outcome]], random: Random, data: st.DataObject
) -> None:
    arrivals = [(pair, i, values) for pair, told in cells.items() for i, values in enumerate(told)]
    random.shuffle(arrivals)
    some = arrivals[: data.draw(st.integers(0, len(arrivals)))]
    found, ended = Told(some).order, {(pair, i) for pair, i, _ in some}
    for c in range(SHAPE[1]):
        rows = []
        for k in range(SHAPE[0]):
            told = cells.get((k, c), [])
            first_open = next((i for i in range(len(told)) if ((k, c), i) not in ended), len(told))
            rows.append({(i, j): v for i in range(first_open) for j, v in enumerate(told[i] or ())})
            assert found.count[k, c] == len(rows[-1])
        numbers = sorted({number for row in rows for number in row})
        expected = [[row.get(number, np.nan) for number in numbers] for row in rows]
        np.testing.assert_array_equal(found.of_context(c), np.array(expected).reshape(SHAPE[0], -1))


def test_values_that_all_rise_or_fall_are_noticed_until_one_does_not() -> None:
    rising, falling, equal = (0, 0), (1, 0), (2, 0)
    told = Told(
        [
            *((rising, i, (float(i),)) for i in range(9)),
            (falling, 0, tuple(float(-i) for i in range(12))),
            (equal, 0, (1.0,) * 30),
        ]
    )
    found = told.order
    assert found.sorted == {falling}
    told.end(rising, 9, (20.0,))
    assert found.sorted == {rising, falling}
    told.end(rising, 10, (3.0,))
    assert found.sorted == {falling}


def test_numbers_that_are_never_asked_for_are_passed_over_however_many_there_are() -> None:
    told, pair = Told(), (1, 1)
    found = told.order
    told.end(pair, 0, (1.0,))
    found.skip(pair, range(1, 2**40))
    found.skip((0, 1), range(0))
    told.end(pair, 2**40 + 1, (3.0,))
    assert found.count[pair] == 1
    told.end(pair, 2**40, (2.0,))
    assert found.count[pair] == 3


def held_by(thing: object) -> Iterator[Any]:
    """Yield all that can be reached from a thing without going through classes, functions and modules."""
    kinds = type, type(held_by), type(gc), type(gc.collect)
    seen, waiting = {id(thing)}, [thing]
    while waiting:
        yield (each := waiting.pop())
        news = [
            part for part in gc.get_referents(each) if not isinstance(part, kinds) and id(part) not in seen
        ]
        seen.update(map(id, news))
        waiting += news


@pytest.mark.parametrize("common", [False, True], ids=["own seeds", "shared seeds"])
def test_a_value_is_kept_in_one_place(common: bool, tmp_path: Path) -> None:
    """Whatever was asked for: tally, statistics of shared noise and tables are made from that place."""
    problem = Problem(["a", "b"], [0.0, 1.0], lambda alternative, context, seed: float(seed))
    study = Study(problem, storage=tmp_path / "study.db", common_random_numbers=common, policy="equal")
    for i in range(12):
        study.tell(study.ask_one(), 1000.0 + i**3)  # no mean of some is the value of another
    wanted = 1000.0 + 5**3
    study.ask()
    study.guarantee()
    assert wanted in study.observations()["value"].tolist()
    found = list(held_by(study._journal))
    arrays = [each for each in found if isinstance(each, np.ndarray) and each.dtype == float]
    owners = {id(each if each.base is None else each.base) for each in arrays if np.any(each == wanted)}
    assert len(owners) == 1
    assert not [each for each in found if type(each) is float and each == wanted]

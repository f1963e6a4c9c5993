"""Several contexts in few words: they name those that are meant, and no others."""

from itertools import product

import numpy as np
import pytest

from argbest.problems.axis import Axis
from argbest.report.grouped import grouped

RATES, DAYS, NIGHTS = (10, 20, 30, 40), ("Mon", "Sat", "Sun"), (False, True)
ROWS = list(product(RATES, DAYS, NIGHTS))
AXIS = Axis.of("context", [{"rate": r, "day": d, "night": n} for r, d, n in ROWS])


def meant(part: str) -> set[int]:
    """The contexts that a text stands for."""
    found = set(range(len(ROWS)))
    columns = {"rate": 0, "day": 1, "night": 2}
    words, column = part.replace(", ", " ").replace(" or ", " ").split(" "), ""
    values: dict[str, list[str]] = {}
    for word in words:
        if word in columns:
            column = word
        else:
            values.setdefault(column, []).append(word)
    for name, some in values.items():
        if "to" in some:
            some = [str(r) for r in RATES if int(some[0]) <= r <= int(some[-1])]
        found &= {i for i, row in enumerate(ROWS) if str(row[columns[name]]).lower() in map(str.lower, some)}
    return found


@pytest.mark.parametrize("seed", range(20))
def test_texts_stand_for_the_group_and_for_nothing_else(seed: int) -> None:
    generator = np.random.default_rng(seed)
    group = np.flatnonzero(generator.random(len(ROWS)) < generator.uniform(0.1, 0.95)).tolist()
    said = [meant(part) for part in grouped(AXIS, group)]
    assert set().union(*said) == set(group)
    assert sum(map(len, said)) == len(group)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (lambda r, d, n: d == "Sat", ["day Sat"]),
        (lambda r, d, n: d == "Sat" and r == 10, ["rate 10, day Sat"]),
        (lambda r, d, n: r < 40 and n, ["rate 10 to 30, night true"]),
        (lambda r, d, n: r in (10, 30), ["rate 10 or 30"]),
        (lambda r, d, n: r == 10 or (r == 20 and d != "Sat"), ["rate 10", "rate 20, day Mon or Sun"]),
    ],
)
def test_what_makes_no_difference_is_left_out_and_neighbours_share_a_text(chosen, said) -> None:  # type: ignore[no-untyped-def]
    assert grouped(AXIS, [i for i, row in enumerate(ROWS) if chosen(*row)]) == said


def test_a_column_stays_where_some_of_its_values_are_missing() -> None:
    rows = [{"rate": 1, "day": "Mon"}, {"rate": 2, "day": "Sat"}, {"rate": 2, "day": "Mon"}]
    assert grouped(Axis.of("context", rows), [0, 1]) == ["rate 1, day Mon", "rate 2, day Sat"]

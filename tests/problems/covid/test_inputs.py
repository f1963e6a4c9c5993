"""What the simulator refuses, and that it says so before anything runs."""

from typing import Any

import numpy as np
import pytest

from argbest.errors import InputError
from argbest.problems.covid.editions import allocation_problem, covid, covid_paper, shares
from argbest.problems.covid.parameters import Outbreak
from argbest.problems.covid.simulator import curves, infections, possible

SMALL = Outbreak(sizes=(400, 900), cases=(20, 30), tests=60.0)
HALF = (0.5, 0.5)


@pytest.mark.parametrize("run", [infections, curves])
@pytest.mark.parametrize(
    ("split", "context", "message"),
    [
        (HALF, {"infection": 1.2}, "infection must be from 0 to 1, got 1.2"),
        (HALF, {"infection": "high"}, "got infection='high'; expected a number or an array of numbers"),
        (HALF, {"infection": True}, "got infection=True; expected a number"),
        (HALF, {"contacts": -1.0}, "contacts must be from 0 to 1e"),
        (HALF, {"contacts": np.nan}, "contacts must be from 0 to 1e.*got nan"),
        (
            HALF,
            {"contacts": [[1.0], [2.0, 3.0]]},
            r"got contacts=\[\[1.0\], \[2.0, 3.0\]\]; expected a number",
        ),
        (HALF, {"cases": (401, 3)}, "cases must be from 0 to 400, got 401"),
        (HALF, {"cases": (1.5, 3)}, "cases must be whole numbers"),
        (HALF, {"cases": 5}, r"got cases of shape \(\) for 2 populations"),
        (HALF, {"tests": 1e6}, "the chance of a person to be tested on a day, must be from 0 to 1"),
        ((0.0, 0.0), {"tests": -1.0}, "tests must be from 0 to .*, got -1"),
        ((0.0, 0.0), {"tests": np.inf}, "tests must be from 0 to .*, got inf"),
        (HALF, {"lambda_": 3}, "unknown condition 'lambda_'; known are cases, contacts, infection, tests"),
        (HALF, {"infections": 0.1}, "unknown condition 'infections'.*Did you mean 'infection'"),
        ((-0.5, 0.5), {}, r"got the shares \[-0.5, 0.5\]; expected none negative and a sum of at most 1"),
        ((0.9, 1.8), {}, r"got the shares \[0.9, 1.8\]; .*for there are no more tests"),
        ((np.nan, 0.5), {}, r"got the shares \[nan, 0.5\]"),
        ("abc", {}, "got shares='abc'; expected a number or an array of numbers. Convert it"),
        (("0.5", "0.5"), {}, r"got shares=\('0.5', '0.5'\); expected a number"),
        (None, {}, "got shares=None; expected a number"),
        (0.5, {}, r"got shares of shape \(\) for 2 populations; expected the last axis to be the population"),
        ((0.5, 0.25, 0.25), {}, r"got shares of shape \(3,\) for 2 populations.*Give one number for each"),
        ((1.0,), {}, r"got shares of shape \(1,\) for 2 populations"),
        (
            np.full((4, 2), 0.5),
            {"contacts": np.ones(3)},
            r"shapes shares \(4,\), contacts \(3,\) \(shares and",
        ),
    ],
)
def test_shares_and_conditions_without_a_meaning_are_refused(
    run: Any, split: Any, context: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        run(SMALL, split, 1, **context)


@pytest.mark.parametrize("run", [infections, curves])
def test_seeds_of_another_shape_than_the_shares_are_refused(run: Any) -> None:
    with pytest.raises(InputError, match=r"got arrays of the shapes shares \(4,\), seeds \(3,\)"):
        run(SMALL, np.full((4, 2), 0.5), np.arange(3))


@pytest.mark.parametrize("run", [infections, curves])
@pytest.mark.parametrize("outbreak", [{"sizes": (400, 900)}, None, "mild"])
def test_what_is_no_outbreak_is_refused(run: Any, outbreak: Any) -> None:
    with pytest.raises(InputError, match="expected an Outbreak. Give Outbreak"):
        run(outbreak, HALF, 1)


@pytest.mark.parametrize("run", [infections, curves])
@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "one", [[1], [2, 3]], None])
def test_what_is_no_seed_is_refused(run: Any, seed: Any) -> None:
    with pytest.raises(InputError, match="a seed is an integer from 0 to 2"):
        run(SMALL, HALF, seed)


def test_a_split_is_possible_if_it_gives_away_no_more_than_all() -> None:
    splits = np.array([[0.1, 0.2, 0.7], [0.0, 0.0, 0.0], [0.4, 0.4, 0.3], [-0.1, 0.5, 0.5], [np.nan, 0, 0]])
    assert possible(splits).tolist() == [True, True, False, False, False]
    # Ten tenths add up to a little less or more than 1, as floats do.
    assert possible(np.array([list(row.values()) for row in shares()])).all()


def test_a_condition_that_is_none_is_the_outbreaks_own() -> None:
    assert (infections(SMALL, HALF, 5, contacts=None) == infections(SMALL, HALF, 5)).all()


@pytest.mark.parametrize(
    ("alternatives", "contexts", "message"),
    [
        (shares(), [{"infection": "high"}, {"infection": "low"}], "'infection' of context 0 is 'high'"),
        (shares(), [{"cases_2": "3"}], "'cases_2' of context 0 is '3'; expected a number. Convert it"),
        (shares(), [{"tests": True}], "'tests' of context 0 is True; expected a number"),
        (
            [{"share_1": text, "share_2": 0.3, "share_3": 0.2} for text in ("a half", "a third")],
            [{"tests": 5}],
            "'share_1' of alternative 0 is 'a half'; expected a number. Convert it",
        ),
        (
            [{"share_1": text, "share_2": 0.3, "share_3": 0.2} for text in ("0.5", "0.4")],
            [{"tests": 5}],
            "'share_1' of alternative 0 is '0.5'; expected a number",
        ),
        (["even", "uneven"], [{"tests": 5}], r"got alternatives with the columns \[\]; expected \['share_1'"),
    ],
)
def test_a_problem_of_text_is_refused(alternatives: Any, contexts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        allocation_problem(alternatives, contexts)


@pytest.mark.parametrize(
    ("outbreak", "message"),
    [
        ({"sizes": (10, 20, 30)}, r"got outbreak=\{'sizes'.*expected an Outbreak. Give Outbreak\(\*\*that\)"),
        ("covid", r"got outbreak='covid'; expected an Outbreak. Give Outbreak\(sizes=..., cases=..., ...\)"),
    ],
)
def test_a_problem_of_no_outbreak_is_refused(outbreak: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        allocation_problem(shares(), [{"tests": 5}], outbreak=outbreak)


@pytest.mark.parametrize("make", [covid, covid_paper])
@pytest.mark.parametrize(
    ("where", "message"),
    [
        ((-1, 0, 0), "got alternative position -1; expected whole numbers from 0 to 11"),
        ((12, 0, 0), "got alternative position 12; .*or call the simulator with the alternative itself"),
        (([0, 3], [2, -16], 0), "got context position -16; expected whole numbers from 0 to 15"),
        ((0.5, 0, 0), "got alternative position 0.5; expected whole numbers"),
        ((0, "first", 0), "got context position 'first'; expected whole numbers"),
        ((True, 0, 0), "got alternative position True; expected whole numbers"),
        ((0, 0, -1), "a seed is an integer from 0"),
        (([0, 1], [0, 1, 2], 0), r"got arrays of the shapes alternatives \(2,\), contexts \(3,\); expected"),
        ((0, [0, 1], [1, 2, 3]), r"got arrays of the shapes contexts \(2,\), seeds \(3,\); expected shapes"),
    ],
)
def test_positions_that_do_not_exist_are_refused(
    make: Any, where: tuple[Any, Any, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make().simulate.many(*where)

"""Every job has an outcome, whatever the simulator does, and however it wants to be called."""

import functools
import pickle
import time
import types
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import misbehaving
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argbest.errors import InputError, SimulationError
from argbest.simulators.calling import Outcome, Value, batched, checked, evaluate, number, vectorised

JOBS = [("a", 1, 5), ("bb", 2, 7), ("a", 1, 9), ("a", 2, 5), ("bb", 2, 8)]
EXPECTED = [11.005, 22.007, 11.009, 21.005, 22.008]


def values(outcomes: list[Outcome]) -> list[Value | None]:
    return [outcome.value for outcome in outcomes]


def reasons(outcomes: list[Outcome]) -> list[str | None]:
    return [outcome.reason for outcome in outcomes]


@pytest.mark.parametrize(
    "simulate", [misbehaving.reward, misbehaving.reward_of_seeds, misbehaving.reward_of_jobs]
)
def test_all_ways_of_calling_give_the_same_values_in_the_order_of_the_jobs(
    simulate: Callable[..., Any],
) -> None:
    outcomes = evaluate(simulate, JOBS)
    assert values(outcomes) == EXPECTED
    assert reasons(outcomes) == [None] * 5
    assert all(outcome.seconds >= 0 for outcome in outcomes)
    assert evaluate(simulate, []) == []
    assert [evaluate(simulate, [job])[0].value for job in JOBS] == EXPECTED
    assert pickle.loads(pickle.dumps(simulate)) is simulate  # noqa: S301


def test_a_batched_simulator_is_called_once_per_pair() -> None:
    calls: list[tuple[object, object, list[int]]] = []

    @batched
    def simulate(alternative: object, context: object, seeds: list[int]) -> Any:
        calls.append((alternative, context, seeds))
        return np.array(seeds, dtype=float)

    assert values(evaluate(simulate, JOBS)) == [5.0, 7.0, 9.0, 5.0, 8.0]
    assert calls == [("a", 1, [5, 9]), ("bb", 2, [7, 8]), ("a", 2, [5])]
    calls.clear()
    rows = [
        ({"servers": 1}, 1.0, 0),
        ({"servers": 1}, 1, 1),
        ({"servers": 1}, 1.0, 2),
        ({"servers": "1"}, 1, 3),
    ]
    assert values(evaluate(simulate, rows)) == [0.0, 1.0, 2.0, 3.0]
    assert [seeds for _, _, seeds in calls] == [[0, 2], [1], [3]]


def test_a_vectorised_simulator_is_called_once() -> None:
    calls: list[Any] = []

    @vectorised
    def simulate(*given: Any) -> Any:
        calls.append(given)
        return np.arange(5)

    assert values(evaluate(simulate, JOBS)) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert calls == [(["a", "bb", "a", "a", "bb"], [1, 2, 1, 2, 2], [5, 7, 9, 5, 8])]


class Batch:
    @batched
    def __call__(self, alternative: str, context: int, seeds: list[int]) -> list[float]:
        return misbehaving.reward_of_seeds(alternative, context, seeds)

    @vectorised
    def method(self, alternatives: list[str], contexts: list[int], seeds: list[int]) -> list[float]:
        return misbehaving.reward_of_jobs(alternatives, contexts, seeds)


def partly(extra: float, alternatives: list[str], contexts: list[int], seeds: list[int]) -> list[float]:
    return [extra + value for value in misbehaving.reward_of_jobs(alternatives, contexts, seeds)]


def test_marks_are_found_on_methods_objects_and_below_partials() -> None:
    assert values(evaluate(Batch(), JOBS)) == EXPECTED
    assert values(evaluate(Batch().method, JOBS)) == EXPECTED
    marked = functools.partial(functools.partial(vectorised(partly)), 0.0)
    assert values(evaluate(marked, JOBS)) == EXPECTED
    with pytest.raises(
        InputError, match="cannot be marked as batched or vectorised; decorate a plain function"
    ):
        batched(len)


def test_who_takes_the_seed_for_a_generator_is_told_how_to_make_one() -> None:
    def takes_it_for_one(alternative: str, context: int, rng: Any) -> float:
        return float(rng.normal())

    def has_another_trouble(alternative: str, context: int, seed: int) -> float:
        return float(seed.mean())  # type: ignore[attr-defined]

    told = [str(evaluate(simulate, JOBS)[0].reason) for simulate in (takes_it_for_one, has_another_trouble)]
    assert told[0].endswith(
        "The third argument is a seed: numpy.random.default_rng(seed) makes a generator of it"
    )
    assert told[1] == "AttributeError: 'int' object has no attribute 'mean'"


def test_an_exception_is_the_reason_and_the_next_job_runs() -> None:
    def simulate(alternative: str, context: int, seed: int) -> float:
        if seed == 7:
            raise ValueError("no servers")
        if seed == 8:
            raise SimulationError("the program ended with exit code 2")
        if seed == 9:
            raise KeyError
        return 1.0

    outcomes = evaluate(simulate, JOBS)
    assert values(outcomes) == [1.0, None, None, 1.0, None]
    expected = [None, "ValueError: no servers", "KeyError", None, "the program ended with exit code 2"]
    assert reasons(outcomes) == expected
    assert isinstance(outcomes[1].error, ValueError)
    sent = pickle.loads(pickle.dumps(outcomes))  # noqa: S301
    assert sent == outcomes
    assert sent[1].error is None


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_wish_to_stop_is_not_a_failure(stop: type[BaseException]) -> None:
    def simulate(alternative: str, context: int, seed: int) -> float:
        raise stop("enough")

    with pytest.raises(stop, match="enough"):
        evaluate(simulate, JOBS)


class Rude:
    def __repr__(self) -> str:
        raise RuntimeError("not shown")


class RudeError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not shown")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("3.5", "'3.5'"),
        (b"3", "b'3'"),
        (None, "None"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (np.float32("inf"), r"np\.float32\(inf\)"),
        (10**400, "10+.*0"),
        ([1.0], r"\[1\.0\]"),
        ((1.0, 2.0, 3), r"\(1\.0, 2\.0, 3\)"),
        (np.array([1.0, 2.0]), r"array\(\[1\., 2\.\]\)"),
        (np.array("x"), "array"),
        (1 + 2j, r"\(1\+2j\)"),
        (Decimal("sNaN"), r"Decimal\('sNaN'\)"),
        ({1.0}, r"\{1\.0\}"),
        (np.ma.masked, "masked"),
        (np.ma.array([3.0], mask=[True]), "masked_array"),
        (np.ma.array(3.0, mask=True), "masked"),
        (pd.NA, "<NA>"),
        (pd.NaT, "NaT"),
        (np.timedelta64(3, "ns"), "np.timedelta64"),
        (Rude(), "<Rude instance at|an object of type Rude"),
    ],
)
def test_what_is_no_number_is_a_reason(value: object, shown: str) -> None:
    with pytest.raises(SimulationError, match=f"^it returned ({shown}).*, which is not one finite number$"):
        number(value)
    [outcome] = evaluate(lambda a, c, s: value, [("a", 1, 5)])
    assert outcome.value is None
    assert outcome.reason is not None
    assert outcome.reason.startswith("it returned ")


def test_a_number_too_large_is_refused_with_the_limit() -> None:
    with pytest.raises(
        SimulationError, match=r"returned 1e\+151, which is not one finite number of at most 1e\+130"
    ):
        number(1e151)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), np.array([2]), Fraction(4, 2), Decimal(2), -1e130],
    ids=repr,
)
def test_numbers_of_all_kinds_are_numbers(value: Any) -> None:
    found = number(value)
    assert type(found) is float
    assert found == float(np.asarray(value, dtype=float).item())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"cost": float("nan"), "late": 0},
            "it returned the response 'cost' as nan, which is not one finite",
        ),
        ({"cost": 1.0, "late": "no"}, "it returned the response 'late' as 'no', which is not one finite"),
        ({"cost": 1.0, "late": None}, "it returned the response 'late' as None, which is not one finite"),
        (
            {"cost": {"mean": 1.0}},
            "it returned the response 'cost' as {'mean': 1.0}, which is not one finite",
        ),
        ({"cost": [1.0, 2.0]}, "it returned the response 'cost' as [1.0, 2.0], which is not one finite"),
        ({"cost": 1e151}, "which is not one finite number of at most 1e+130"),
        ({}, "it returned {}; expected a number for every response"),
        ({1: 2.0}, "it returned {1: 2.0}: got a response called 1; expected a text"),
        ({" ": 2.0}, "got a response called ' '; expected a text that is not empty"),
        ({"a`b": 2.0}, "has no backquote"),
    ],
)
def test_a_dict_with_something_else_than_numbers_is_a_reason_that_names_the_response(
    given: object, reason: str
) -> None:
    [outcome] = evaluate(lambda a, c, s: given, [("a", 1, 5)])
    assert outcome.value is None
    assert reason in str(outcome.reason)


def test_a_dict_of_numbers_of_all_kinds_is_a_value_and_truth_values_stay_what_they_are() -> None:
    given = types.MappingProxyType(
        {"cost": np.float32(2), "wait": Fraction(1, 2), "late": np.bool_(True), "late calls": np.array([3])}
    )
    [outcome] = evaluate(lambda a, c, s: given, [("a", 1, 5)])
    assert outcome.value == {"cost": 2.0, "wait": 0.5, "late": True, "late calls": 3.0}
    assert [type(each) for each in outcome.value.values()] == [float, float, bool, float]
    again = pickle.loads(pickle.dumps(outcome))  # noqa: S301
    assert again == outcome
    assert checked(again).value == outcome.value


@pytest.mark.parametrize("mark", [batched, vectorised])
def test_a_dict_of_columns_has_a_row_for_every_seed(mark: Callable[..., Any]) -> None:
    @mark
    def columns(alternative: object, context: object, seeds: list[int]) -> dict[str, Any]:
        late = np.array(seeds) > 6
        return {"cost": np.array(seeds) / 10, "late": late, "wait": tuple(map(float, seeds))}

    @mark
    def rows(alternative: object, context: object, seeds: list[int]) -> list[dict[str, Any]]:
        return [{"cost": seed / 10, "late": seed > 6, "wait": float(seed)} for seed in seeds]

    expected = [{"cost": seed / 10, "late": seed > 6, "wait": float(seed)} for _, _, seed in JOBS]
    for simulate in (columns, rows):
        outcomes = evaluate(simulate, JOBS)
        assert [outcome.value for outcome in outcomes] == expected
        assert all(type(outcome.value["late"]) is bool for outcome in outcomes)  # type: ignore[index]


def test_one_bad_response_of_a_batch_spoils_only_its_own_job() -> None:
    @vectorised
    def simulate(alternatives: object, contexts: object, seeds: list[int]) -> dict[str, Any]:
        return {"cost": [float("nan") if seed == 9 else 1.0 for seed in seeds], "late": [0] * len(seeds)}

    outcomes = evaluate(simulate, JOBS)
    assert [outcome.value is None for outcome in outcomes] == [False, False, True, False, False]
    assert reasons(outcomes)[2] == "it returned the response 'cost' as nan, which is not one finite number"


def test_an_error_that_cannot_be_told_has_a_reason_all_the_same() -> None:
    def simulate(alternative: str, context: int, seed: int) -> float:
        raise RudeError

    assert reasons(evaluate(simulate, JOBS[:1])) == ["RudeError"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0], "it returned 1 values; expected one value per seed, here 2"),
        (3.0, "it returned 3.0; expected one value per seed, here 2"),
        ("ab", "it returned 'ab'; expected one value per seed, here 2"),
        ({}, "it returned {}; expected a list of values for every response"),
        ({"cost": 4}, "it returned the response 'cost' as 4; expected one value per seed, here 2"),
        (
            {"cost": [1, 2], "late": [0]},
            "it returned the response 'late' as 1 values; expected one value per seed, here 2",
        ),
        (
            {"cost": [1, 2], "late": "no"},
            "it returned the response 'late' as 'no'; expected one value per seed, here 2",
        ),
        (
            {"cost": {"a": 1, "b": 2}},
            "it returned the response 'cost' as {'a': 1, 'b': 2}; expected one value per seed, here 2",
        ),
        (np.array(1.5), "it returned array(1.5); expected one value per seed, here 2"),
        (None, "it returned None; expected one value per seed, here 2"),
    ],
)
def test_a_batch_needs_one_value_per_seed(given: object, message: str) -> None:
    @batched
    def simulate(alternative: str, context: int, seeds: list[int]) -> object:
        return given if context == 1 else seeds

    outcomes = evaluate(simulate, JOBS)
    assert reasons(outcomes) == [message, None, message, None, None]
    assert values(outcomes) == [None, 7.0, None, 5.0, 8.0]


def test_one_bad_value_of_a_batch_spoils_only_its_own_job() -> None:
    @batched
    def simulate(alternative: str, context: int, seeds: list[int]) -> list[float]:
        if context == 2 and alternative == "bb":
            raise ValueError("crowded")
        return [float("nan") if seed == 9 else 1.0 for seed in seeds]

    outcomes = evaluate(simulate, JOBS)
    nan = "it returned nan, which is not one finite number"
    assert reasons(outcomes) == [None, "ValueError: crowded", nan, None, "ValueError: crowded"]


def test_time_is_measured_and_shared_among_the_jobs_of_a_call() -> None:
    @batched
    def simulate(alternative: str, context: int, seeds: list[int]) -> list[int]:
        time.sleep(0.2)
        return seeds

    outcomes = evaluate(simulate, JOBS[:3])
    assert outcomes[0].seconds == outcomes[2].seconds
    assert outcomes[0].seconds >= 0.1  # half of the call for two
    assert outcomes[1].seconds >= 0.2
    [single] = evaluate(misbehaving.after_as_simulator, [("a", 1, 0)])
    assert single.reason == "RuntimeError: late"
    assert single.seconds >= 0.05


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 99)), max_size=20))
def test_grouping_never_changes_what_a_job_gets(jobs: list[tuple[str, int, int]]) -> None:
    expected = [misbehaving.reward(*job) for job in jobs]
    for simulate in (misbehaving.reward, misbehaving.reward_of_seeds, misbehaving.reward_of_jobs):
        assert values(evaluate(simulate, jobs)) == expected

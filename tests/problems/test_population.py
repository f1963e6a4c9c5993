"""Populations: who is drawn, how much each counts, and who is left to check with."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from argbest import InputError, Population, Problem, Study


def person(generator: np.random.Generator) -> dict[str, Any]:
    return {"age": float(generator.normal(60, 10)), "smoker": bool(generator.random() < 0.3)}


def several(generator: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame([person(generator) for _ in range(7)])


def by_column(generator: np.random.Generator) -> dict[str, Any]:
    return {str(name): values for name, values in several(generator).to_dict("list").items()}


def rows(problem: Problem) -> list[Any]:
    return [problem.contexts.item(c) for c in range(problem.n_contexts)]


def test_the_same_people_are_drawn_whatever_form_the_sampler_returns() -> None:
    drawn = [rows(Problem(["a", "b"], Population(each, n=30))) for each in (person, several, by_column)]
    assert drawn[0] == drawn[1] == drawn[2]
    assert len(drawn[0]) == 30
    assert drawn[0] != rows(Problem(["a", "b"], Population(person, n=30, seed=1)))


def test_fresh_people_are_others_than_those_of_the_study() -> None:
    people = Problem(["a", "b"], Population(person, n=30)).population
    assert people is not None
    fresh = people.fresh(40)
    own = rows(Problem(["a", "b"], Population(person, n=30)))
    assert len(fresh.people) == 40
    assert fresh.source == "drawn by the sampler"
    assert not any(fresh.people.item(i) in own for i in range(40))


def test_a_table_lends_some_rows_and_holds_out_the_others(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": range(20, 70), "town": list("abcde") * 10})
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    for source in (frame, frame.to_dict("records"), path, str(path)):
        problem = Problem(["a", "b"], Population(source, n=30))
        assert problem.population is not None
        left = problem.population.fresh(100)
        ages = [*problem.contexts.columns["age"], *left.people.columns["age"]]
        assert sorted(ages) == list(range(20, 70))
        assert len(problem.contexts) == 30
        assert "held out" in left.source
        assert len(problem.population.fresh(5).people) == 5


def test_a_table_without_more_people_is_used_whole_in_its_order() -> None:
    problem = Problem(["a", "b"], Population([{"age": 3}, {"age": 1}, {"age": 2}]))
    assert problem.contexts.columns["age"] == (3, 1, 2)
    assert problem.population is not None
    with pytest.raises(InputError, match="all rows of the table are contexts"):
        problem.population.fresh(10)


def test_equal_people_are_one_context_that_weighs_as_much_as_all_of_them() -> None:
    table = [{"age": 30, "w": 1.0}, {"age": 40, "w": 2.0}, {"age": 30, "w": 5.0}]
    problem = Problem(["a", "b"], Population(table, weights="w"))
    assert problem.contexts.columns == {"age": (30, 40)}
    np.testing.assert_allclose(problem.weights, [0.75, 0.25])
    listed = Problem(["a", "b"], Population([{"age": 30}, {"age": 40}, {"age": 30}], weights=[1, 2, 5]))
    np.testing.assert_allclose(listed.weights, problem.weights)
    assert listed.population is not None
    assert listed.population.n == 3


def test_a_sampler_may_return_weights() -> None:
    problem = Problem(
        ["a", "b"], Population(lambda g: {**person(g), "w": 2.0 + g.random()}, n=9, weights="w")
    )
    assert list(problem.contexts.columns) == ["age", "smoker"]
    assert len(set(problem.weights)) == 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population([1, 2, 3]).drawn(), "needs a table with a row of covariates"),
        (lambda: Population(lambda g: 3).drawn(), "returned int without rows"),
        (lambda: Population(lambda g: []).drawn(), "without rows"),
        (lambda: Population(lambda g: {"a": [1, 2], "b": [1]}).drawn(), "without rows"),
        (lambda: Population(person, n=0), "n"),
        (lambda: Population(person, weights=[1.0]), "beside a sampler"),
        (lambda: Population([{"a": 1}], weights="w").drawn(), "expected one of the columns"),
        (lambda: Population([{"a": 1}, {"a": 2}], weights=[1.0, -1.0]).drawn(), "negative"),
        (lambda: Population([{"a": 1}, {"b": 2}]).drawn(), "expected a dict with the keys"),
        (lambda: Problem(["a", "b"], Population(person), weights=[1.0]), "beside a population"),
    ],
)
def test_what_makes_no_population_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_sampler_must_keep_its_columns() -> None:
    def odd(generator: np.random.Generator) -> dict[str, Any]:
        return {"age": 1.0} if generator.random() < 0.5 else {"size": 1.0}

    with pytest.raises(InputError, match="the same at every call"):
        Population(odd, n=30).drawn()


def test_a_stored_study_reopens_with_its_people_and_without_the_sampler(tmp_path: Path) -> None:
    study = Study(Problem(["a", "b"], Population(person, n=12)), storage=tmp_path / "s.db")
    for trial in study.ask(24):
        study.tell(trial, float(trial.pair[0]) + trial.seed % 5)
    again = Study.load(tmp_path / "s.db")
    assert rows(again.problem) == rows(study.problem)
    np.testing.assert_array_equal(again.problem.weights, study.problem.weights)
    assert again.problem.population is not None
    assert again.problem.population.words == "12 people, drawn by the sampler"
    with pytest.raises(InputError, match="not kept with a stored study"):
        again.check_population(10)
    assert again.check_population(10, person).n == 10

"""Prediction kits, and what they list against slow literal code that knows nothing but the data."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from report.page_studies import CONDITIONED, Named, anywhere, line, list_all, mixed, told, values

from argbest import GP, Problem, Study, jsonable
from argbest.answers import predicting
from argbest.answers.predicting import prediction_kit
from argbest.core.arrays import Array


def correlation(kernel: str, r: float) -> float:
    if kernel == "rbf":
        return float(np.exp(-(r**2) / 2))
    a = {"matern12": 1.0, "matern32": 3.0, "matern52": 5.0}[kernel] ** 0.5 * r
    rest = {"matern12": 0.0, "matern32": a, "matern52": a + a * a / 3}[kernel]
    return float((1 + rest) * np.exp(-a))


def distance(kit: dict[str, Any], lengths: list[float], one: list[Any], two: list[Any]) -> float:
    total = 0.0
    for column, length, x, y in zip(kit["coordinates"], lengths, one, two, strict=True):
        apart = float(x != y) if column["kind"] == "category" else (x - y) / (column["high"] - column["low"])
        total += (apart / length) ** 2
    return float(np.sqrt(total))


def prior(kit: dict[str, Any], k: int, x: list[Any], j: int, y: list[Any]) -> float:
    """Cov(f_k(x), f_j(y)) before any data."""
    kernel = kit["kernel"]
    if kit["family"] == "gp":
        if k != j:
            return 0.0
        return float(kit["scale"][k]) * correlation(kernel, distance(kit, kit["lengthscale"][k], x, y))
    trend = kit["trend"] * correlation(kernel, distance(kit, kit["trend_lengthscale"], x, y))
    own = correlation(kernel, distance(kit, kit["lengthscale"], x, y))
    alike = kit["relation"][k][j] * (kit["offset"] + kit["joint"] * own)
    return float(trend + alike + (k == j) * kit["own"] * own)


def literal(kit: dict[str, Any], at: list[Any]) -> tuple[Array, Array]:
    """Mean and covariance of all alternatives at a context, by textbook conditioning on all cell averages."""
    contexts = [list(row) for row in zip(*(column["values"] for column in kit["coordinates"]), strict=True)]
    cells = [(k, c) for k, counts in enumerate(kit["count"]) for c, n in enumerate(counts) if n]
    gram = np.array([[prior(kit, k, contexts[c], j, contexts[e]) for j, e in cells] for k, c in cells])
    gram += np.diag([kit["noise"][k][c] / kit["count"][k][c] for k, c in cells])
    who = range(len(kit["count"]))
    cross = np.array([[prior(kit, k, at, j, contexts[e]) for j, e in cells] for k in who])
    own = np.array([[prior(kit, k, at, j, at) for j in who] for k in who])
    average, cov = (
        np.array([kit["mean"][k][c] for k, c in cells]),
        own - cross @ np.linalg.solve(gram, cross.T),
    )
    if kit["family"] == "additive":  # whose constant is integrated
        ones = np.linalg.solve(gram, np.ones(len(cells)))
        constant = np.full(len(own), ones @ average / ones.sum())
        cov += np.outer(1 - cross @ ones, 1 - cross @ ones) / ones.sum()
    else:
        constant = np.array(kit["constant"], float)
    surprise = average - np.array([constant[k] for k, _ in cells])
    return constant + cross @ np.linalg.solve(gram, surprise), cov


def ingredients(study: Study) -> dict[str, Any]:
    """Return the data, the hyper-parameters and the coordinates of a study, as they are."""
    params, model = study._learned().params, study.model
    names = ("trend_lengthscale", "lengthscale", "trend", "offset", "joint", "own", "noise", "shift")
    found = {name: getattr(params, name) for name in (*names, "scale", "constant") if hasattr(params, name)}
    every = np.arange(study.problem.n_alternatives)
    if model.family == "additive":  # type: ignore[attr-defined]
        found["relation"] = study._learned().belief.foundation.prior.relation(every, len(every))  # type: ignore[attr-defined]
    tally = {"count": study._tally.count.tolist(), "mean": study._tally.mean.tolist()}
    described = {"family": model.family, "kernel": model.kernel}  # type: ignore[attr-defined]
    return {"coordinates": predicting._coordinates(study.view()), **described, **found, **tally}


def predicted(study: Study, rows: list[dict[str, Any]]) -> tuple[Array, Array]:
    """The library's own mean and variance [row, alternative]; larger is better."""
    belief = predicting.certificate_at(
        study.view(), study.problem.contexts.rows(rows), integrate=False
    ).belief
    return belief.mean[..., 0], belief.var[..., 0]


@pytest.mark.parametrize("model", CONDITIONED, ids=str)
def test_textbook_conditioning_gives_the_study_s_prediction(model: Named) -> None:
    for study in (line(model), mixed(model), line(model, names=True)):
        given, rows = ingredients(study), anywhere(study, 4, seed=1)
        mean, var = predicted(study, rows)
        for i, row in enumerate(rows):
            expected, cov = literal(given, values(row))
            np.testing.assert_allclose(mean[i], expected, atol=1e-8)
            np.testing.assert_allclose(var[i], np.diag(cov), atol=1e-8)


@pytest.mark.parametrize("study", [line("linear"), mixed("linear")], ids=["line", "mixed"])
def test_the_coefficients_of_a_line_give_the_study_s_prediction(study: Study) -> None:
    learned, columns = predicting.parameters(study.view()), prediction_kit(study.view())["coordinates"]
    assert learned is not None
    rows = anywhere(study, 4, seed=2)
    mean, _ = predicted(study, rows)
    for i, row in enumerate(rows):
        z = [1.0]
        for j, first, last in learned["ends"]:
            a, b = columns[j]["values"][first], columns[j]["values"][last]
            x = row[columns[j]["name"]]
            if columns[j]["kind"] == "category":  # any other category lies half-way
                z.append(0.0 if x == a else 1.0 if x == b else 0.5)
            else:
                z.append((x - a) / (float(b) - a))
        np.testing.assert_allclose(mean[i], learned["coefficients"] @ z, atol=1e-10)


def listed_rows(kit: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The contexts that a kit lists, in its order."""
    grid = [] if kit["stops"] is None else list(itertools.product(*kit["stops"]))
    return [*grid, *map(tuple, kit["points"])]


def assert_lists_what_the_study_says(study: Study) -> None:
    kit = json.loads(json.dumps(prediction_kit(study.view()), allow_nan=False))
    contexts = study.problem.contexts
    names = [column["name"] for column in kit["coordinates"]]
    rows = [dict(zip(names, row, strict=True)) if contexts.columns else row[0] for row in listed_rows(kit)]
    frame, chance = study.predict(rows), study.predict_proba(rows)
    np.testing.assert_allclose(kit["probability"], chance, rtol=1e-5)
    last = study.predict_proba(rows[-1:])
    np.testing.assert_allclose(kit["probability"][-1:], last, rtol=1e-5)
    labels = study.problem.alternatives.labels
    for name in ("selected", "runner_up"):
        assert [labels[k] for k in kit[name]] == frame[name].tolist()
    np.testing.assert_allclose(kit["expected_loss"], frame["expected_loss"], rtol=1e-12)
    np.testing.assert_allclose(kit["gap_sd"], frame["gap_sd"], rtol=1e-12)
    chosen = np.arange(len(rows)), kit["selected"]
    np.testing.assert_allclose(np.array(kit["probability"])[chosen], frame["p_best"], rtol=1e-5)
    np.testing.assert_allclose(kit["sign"] * np.array(kit["mean"])[chosen], frame["mean"], rtol=1e-5)
    own = {tuple(row) for row in zip(*contexts.coordinates.values(), strict=True)}
    assert own <= set(listed_rows(kit))


@dataclass(frozen=True, eq=False)
class Own(GP):
    """Somebody else's model."""


@pytest.mark.parametrize("model", ["gp", "additive-gp", "linear", "independent", Own()], ids=str)
@pytest.mark.parametrize("make", [line, mixed])
def test_a_kit_lists_what_the_study_says_at_its_contexts_and_between(
    make: Callable[[Named], Study], model: Named
) -> None:
    assert_lists_what_the_study_says(make(model))


def test_the_stops_of_a_single_number_are_its_contexts_and_even_steps_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    list_all(monkeypatch)
    kit = prediction_kit(line().view())
    [stops] = kit["stops"]
    assert set(stops) >= {0.0, 2.0, 3.0, 7.0, 10.0, 2.5}
    assert len(stops) == 49
    assert stops == sorted(stops)
    assert kit["points"] == []


def test_every_combination_of_categories_and_steps_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    list_all(monkeypatch)
    rate, night, site = prediction_kit(mixed().view())["stops"]
    assert (night, site) == ([False, True], list("abc"))
    assert {0.5, 1.0, 4.0} <= set(rate)
    assert len(rate) == 25


def scattered(n: int, columns: int) -> Study:
    """Two alternatives in contexts that lie anywhere."""
    drawn = np.random.default_rng(3).uniform(size=(n, columns))
    rows = [{f"x{j}": float(v) for j, v in enumerate(row)} for row in drawn]
    truth = np.stack([drawn.sum(axis=1), 1.0 - drawn[:, 0]])
    return told(Problem(["a", "b"], rows), truth, model="gp", policy="equal")


def test_contexts_that_lie_anywhere_are_listed_beside_an_even_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    list_all(monkeypatch)
    study = scattered(30, 2)
    kit = prediction_kit(study.view())
    assert [len(stops) for stops in kit["stops"]] == [12, 12]
    assert len(kit["points"]) == 29  # one of them is a corner of the range
    assert_lists_what_the_study_says(study)


def test_where_a_grid_would_be_too_coarse_only_the_contexts_are_listed() -> None:
    study = scattered(12, 6)
    kit = prediction_kit(study.view())
    assert kit["stops"] is None
    assert len(kit["points"]) == 12


def test_a_kit_describes_the_coordinates_of_the_contexts() -> None:
    rate, night, site = prediction_kit(mixed().view())["coordinates"]
    assert (rate["name"], rate["kind"], rate["low"], rate["high"]) == ("rate", "number", 0.5, 4.0)
    assert (night["kind"], night["low"], night["high"]) == ("boolean", 0.0, 1.0)
    assert site == {"name": "site", "kind": "category", "values": list("abc") * 6}


def test_rewards_in_a_kit_grow_with_their_quality_and_the_sign_turns_them_back() -> None:
    most, least = prediction_kit(line().view()), prediction_kit(line(goal="min").view())
    assert (most["sign"], least["sign"]) == (1, -1)
    np.testing.assert_allclose(least["mean"], -np.array(most["mean"]))


def test_independent_pairs_are_listed_where_they_were_simulated() -> None:
    study = line("independent")
    kit = prediction_kit(study.view())
    assert kit["stops"] is None
    assert kit["points"] == [[x] for x in (0.0, 2.0, 3.0, 7.0, 10.0)]
    np.testing.assert_allclose(kit["mean"], study.tally.mean.T, rtol=1e-5)
    np.testing.assert_allclose(kit["expected_loss"], study.selection()["expected_loss"], rtol=1e-10)


def test_what_is_not_finite_becomes_none() -> None:
    assert jsonable.values(np.array([[1.0, np.nan], [np.inf, 2.0]])) == [[1.0, None], [None, 2.0]]
